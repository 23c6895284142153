// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/http/date.rs`.

use super::*;

#[test]
fn imf_fixdate() {
    let mut date = DateLine::default();
    date.update(784_111_777);
    assert_eq!(date.line(), b"Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
}
