// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/files/range.rs`.

use super::*;

#[test]
fn ranges_within_the_length() {
    for (field, wanted) in [
        ("bytes=0-0", vec![0..1]),
        ("bytes=0-", vec![0..100]),
        ("BYTES=5-9", vec![5..10]),
        ("bytes=90-1000", vec![90..100]),
        ("bytes=-1", vec![99..100]),
        ("bytes=-1000", vec![0..100]),
        ("bytes=0-1,4-5", vec![0..2, 4..6]),
        ("bytes= 4-5 ,, 0-1 ,", vec![4..6, 0..2]),
        ("bytes=0-1,200-", vec![0..2]),
        ("bytes=0-5,3-9", vec![0..10]),
        ("bytes=0-5,6-9", vec![0..10]),
        ("bytes=50-59,0-1,55-70", vec![50..71, 0..2]),
        ("bytes=0-18446744073709551615", vec![0..100]),
        ("bytes=0-99999999999999999999999999", vec![0..100]),
        ("bytes=-99999999999999999999999999", vec![0..100]),
        ("bytes=0000000000000000000000000001-02", vec![1..3]),
    ] {
        assert_eq!(parse(field.as_bytes(), 100), Ranges::Parts(wanted), "{field}");
    }
}

#[test]
fn ranges_beyond_the_length() {
    for (field, length) in [
        ("bytes=100-", 100),
        ("bytes=100-200,300-", 100),
        ("bytes=-0", 100),
        ("bytes=0-", 0),
        ("bytes=-5", 0),
        ("bytes=18446744073709551615-", 100),
        ("bytes=18446744073709551615-18446744073709551615", u64::MAX),
        ("bytes=99999999999999999999-99999999999999999999", u64::MAX),
    ] {
        assert_eq!(parse(field.as_bytes(), length), Ranges::Unsatisfiable, "{field}");
    }
}

#[test]
fn what_is_not_understood_is_ignored() {
    let many = format!("bytes={}", (0..=MOST).map(|n| format!("{}-{0}", n * 2)).collect::<Vec<_>>().join(","));
    for field in [
        "",
        "bytes",
        "bytes=",
        "bytes=,",
        "bytes=-",
        "bytes=a-b",
        "bytes=1",
        "bytes=5-4",
        "bytes=+1-2",
        "bytes=1-+2",
        "bytes=--1",
        "bytes=1--2",
        "bytes=1 -2",
        "bytes =1-2",
        "lines=1-2",
        "bytes=0-1,x",
        "bytes=0-1;2-3",
        "bytes=0x1-2",
        "bytes=18446744073709551616-1",
        "bytes=999999999999999999999-18446744073709551615",
        "bytes=99999999999999999999-99999999999999999998",
        &many,
    ] {
        assert_eq!(parse(field.as_bytes(), 100), Ranges::Whole, "{field}");
    }
}
