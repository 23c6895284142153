// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/supervise/identity.rs`.

use super::*;

#[test]
fn a_user_is_found_by_name_and_by_number() {
    let root = account("root").unwrap();
    assert_eq!((root.user, root.group, root.name.to_bytes()), (0, 0, &b"root"[..]));
    assert_eq!(account("0").unwrap().name, root.name);
    assert!(account("no such user").is_none());
    assert!(account("4294967293").is_none());
}

#[test]
fn a_group_need_not_have_a_name() {
    assert_eq!(group_named("root"), Ok(0));
    assert_eq!(group_named("4294967293"), Ok(4_294_967_293));
    assert!(group_named("no such group").unwrap_err().text.contains("there is no such group"));
}

#[test]
fn the_group_that_was_chosen_is_the_first() {
    let groups = groups_of(c"root", 4_294_967_293);
    assert_eq!(groups[0], 4_294_967_293);
    assert!(groups.len() < 64);
}
