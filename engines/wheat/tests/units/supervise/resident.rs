// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/supervise/resident.rs`.

#[test]
fn code_goes_on_running_without_its_pages() {
    super::give_back_code();
    assert_eq!("1,2".split(',').count(), 2);
}
