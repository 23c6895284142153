// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/files/conditional.rs`.

use super::*;

const DAY: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
const BEFORE: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
const AFTER: &str = "Sun, 06 Nov 1994 08:49:38 GMT";
const STRONG: Validators = Validators { opaque: b"\"a,b\"", strength: Strength::Strong, modified: 784_111_777 };
const WEAK: Validators = Validators { strength: Strength::Weak, ..STRONG };

fn with(fields: &[(&'static str, &'static str)]) -> Vec<Header<'static>> {
    fields.iter().map(|(name, value)| Header { name, value: value.as_bytes() }).collect()
}

#[test]
fn one_precondition() {
    use Precondition::{Failed, NotModified, Send};
    for (name, value, wanted) in [
        ("If-None-Match", "\"a,b\"", NotModified),
        ("if-none-match", "W/\"a,b\"", NotModified),
        ("If-None-Match", "*", NotModified),
        ("If-None-Match", "\"x\", W/\"y\" ,, \"a,b\"", NotModified),
        ("If-None-Match", "\"x\"", Send),
        ("If-None-Match", "a,b", Send),
        ("If-None-Match", "\"a,b", Send),
        ("If-None-Match", "\"x\"\"a,b\"", Send),
        ("If-None-Match", "w/\"a,b\"", Send),
        ("If-None-Match", "", Send),
        ("If-Match", "\"a,b\"", Send),
        ("If-Match", "\"x\", \"a,b\"", Send),
        ("If-Match", "*", Send),
        ("If-Match", "W/\"a,b\"", Failed),
        ("If-Match", "\"x\"", Failed),
        ("If-Match", "", Failed),
        ("If-Modified-Since", DAY, NotModified),
        ("If-Modified-Since", AFTER, NotModified),
        ("If-Modified-Since", BEFORE, Send),
        ("If-Modified-Since", "Sunday, 06-Nov-94 08:49:37 GMT", NotModified),
        ("If-Modified-Since", "Sun Nov  6 08:49:37 1994", NotModified),
        ("If-Modified-Since", "yesterday", Send),
        ("If-Unmodified-Since", DAY, Send),
        ("If-Unmodified-Since", AFTER, Send),
        ("If-Unmodified-Since", BEFORE, Failed),
        ("If-Unmodified-Since", "784111776", Send),
    ] {
        assert_eq!(judge(&with(&[(name, value)]), &STRONG), wanted, "{name}: {value}");
    }
}

#[test]
fn precedence() {
    use Precondition::{Failed, NotModified, Send};
    for (fields, wanted) in [
        // a tag hides the date of its kind
        (&[("If-Match", "\"a,b\""), ("If-Unmodified-Since", BEFORE)][..], Send),
        (&[("If-None-Match", "\"x\""), ("If-Modified-Since", DAY)], Send),
        (&[("If-None-Match", ""), ("If-Modified-Since", DAY)], Send),
        // what must hold comes before what must not
        (&[("If-None-Match", "\"a,b\""), ("If-Match", "\"x\"")], Failed),
        (&[("If-Modified-Since", DAY), ("If-Unmodified-Since", BEFORE)], Failed),
        (&[("If-Match", "*"), ("If-None-Match", "*")], NotModified),
        // a list on two lines; a date on two lines is none
        (&[("If-None-Match", "\"x\""), ("If-None-Match", "\"a,b\"")], NotModified),
        (&[("If-Modified-Since", DAY), ("If-Modified-Since", DAY)], Send),
    ] {
        assert_eq!(judge(&with(fields), &STRONG), wanted, "{fields:?}");
    }
}

#[test]
fn a_weak_tag_never_matches_strongly() {
    assert_eq!(judge(&with(&[("If-Match", "\"a,b\"")]), &WEAK), Precondition::Failed);
    assert_eq!(judge(&with(&[("If-None-Match", "\"a,b\"")]), &WEAK), Precondition::NotModified);
    assert!(!ranges_hold(&with(&[("If-Range", "\"a,b\"")]), &WEAK));
    assert!(!ranges_hold(&with(&[("If-Range", DAY)]), &WEAK));
}

#[test]
fn ranges_hold_for_exactly_what_is_there() {
    assert!(ranges_hold(&[], &STRONG));
    for (value, wanted) in [
        ("\"a,b\"", true),
        ("W/\"a,b\"", false),
        ("\"x\"", false),
        ("\"a,b\", \"a,b\"", false),
        (DAY, true),
        (BEFORE, false),
        (AFTER, false),
        ("*", false),
    ] {
        assert_eq!(ranges_hold(&with(&[("If-Range", value)]), &STRONG), wanted, "{value}");
    }
    assert!(!ranges_hold(&with(&[("If-Range", DAY), ("If-Range", DAY)]), &STRONG));
}
