// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/files/path.rs`.

use super::*;

fn asked(target: &str) -> Result<String, Refusal> {
    let decoded = decode(split(target.as_bytes()).0)?;
    let rest = below(&decoded, "/s").expect("the prefix");
    Ok(match name(rest)? {
        Name::File(name) => name.into(),
        Name::Directory(name) => format!("{name}/"),
        Name::Root => "root".into(),
    })
}

#[test]
fn names_that_are_served() {
    for (target, wanted) in [
        ("/s/a.css", "a.css"),
        ("/s/a.css?v=/../2", "a.css"),
        ("/%73/%61%2Ecss", "a.css"),
        ("/s/d/e/f.txt", "d/e/f.txt"),
        ("/s/%20%25.txt", " %.txt"),
        ("/s/%c3%a9.txt", "é.txt"),
        ("/s/a..b...c", "a..b...c"),
        ("/s/.well-known/x", ".well-known/x"),
        ("/s/", "/"),
        ("/s/d/", "d/"),
        ("/s", "root"),
        // decoded once: a file may really be called so
        ("/s/%252e%252e%252fx", "%2e%2e%2fx"),
    ] {
        assert_eq!(asked(target).as_deref(), Ok(wanted), "{target}");
    }
}

#[test]
fn names_that_are_never_served() {
    for target in [
        "/s/..",
        "/s/.",
        "/s/../a",
        "/s/a/../b",
        "/s/./a",
        "/s/a/..",
        "/s/a/.",
        "/s/%2e%2e/a",
        "/s/.%2E/a",
        "/s//a",
        "/s//",
        "/s/a//",
        "/s//etc/passwd",
        "/s/a%2fb",
        "/s/..%2f..%2fetc",
        "/s/a\\b",
        "/s/..\\..\\a",
        "/s/%5c..%5ca",
        "/s/%c0%ae%c0%ae/a",
        "/s/%c0%af",
        "/s/%e0%80%ae/a",
        "/s/%ff",
        "/s/a%0ab",
        "/s/a%7f",
        "/s/.git/config",
        "/s/.env",
        "/s/...",
        "/s/d/.well-known.bak",
    ] {
        assert_eq!(asked(target), Err(Refusal::NoName), "{target}");
    }
    for target in ["/s/%", "/s/%2", "/s/%zz", "/s/%-1", "/s/%+1", "/s/a%00.txt", "/s/%00", "/s/a\0b", "/s/%u002e"] {
        assert_eq!(asked(target), Err(Refusal::Malformed), "{target}");
    }
}

#[test]
fn a_prefix_ends_at_a_segment() {
    assert_eq!(below(b"/static", "/static"), Some(&b""[..]));
    assert_eq!(below(b"/static/a", "/static"), Some(&b"/a"[..]));
    assert_eq!(below(b"/statics", "/static"), None);
    assert_eq!(below(b"/a", ""), Some(&b"/a"[..]));
    assert_eq!(below(b"*", ""), None);
    assert_eq!(below(b"", ""), None);
}
