// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/observe/notice.rs`.

use super::*;

#[test]
fn one_in_ten_seconds_is_said_and_the_others_are_counted() {
    let notice = Notice::unsaid();
    let second = 1_000_000_000;
    assert_eq!(notice.turn(5 * second), Some(0));
    assert_eq!(notice.turn(6 * second), None);
    assert_eq!(notice.turn(14 * second), None);
    assert_eq!(notice.turn(15 * second), Some(2));
    assert_eq!(notice.turn(30 * second), Some(0));
}
