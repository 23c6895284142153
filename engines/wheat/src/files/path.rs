// SPDX-License-Identifier: Apache-2.0
//! From a request target to a name below a root. Pure.
//!
//! A target is decoded exactly once, and what could mean two things to two readers is refused rather than repaired: an
//! encoded slash, a backslash, dot segments (also encoded), empty segments, control characters, bytes that are not UTF-8
//! (so overlong forms of a dot or a slash are no names at all).

use std::borrow::Cow;

use memchr::memchr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Not a target: a broken escape, or a NUL.
    Malformed,
    /// A target, but never a file's name here.
    NoName,
}

/// A name whose every segment may be handed to the kernel: relative, no `.` or `..`, no empty segment, no NUL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name<'a> {
    File(&'a str),
    /// Without its last slash; empty for the root itself.
    Directory(&'a str),
    /// The root without the slash that makes it a directory.
    Root,
}

/// The path of an origin-form target and the rest from its question mark on.
pub fn split(target: &[u8]) -> (&[u8], &[u8]) {
    target.split_at(memchr(b'?', target).unwrap_or(target.len()))
}

/// The path with its escapes replaced, once.
pub fn decode(path: &[u8]) -> Result<Cow<'_, [u8]>, Refusal> {
    let Some(first) = memchr(b'%', path) else {
        return Ok(Cow::Borrowed(path));
    };
    let mut decoded = path[..first].to_vec();
    let mut rest = &path[first..];
    while let [byte, tail @ ..] = rest {
        if *byte != b'%' {
            decoded.push(*byte);
            rest = tail;
            continue;
        }
        let [high, low, tail @ ..] = tail else { return Err(Refusal::Malformed) };
        let digit = |byte: u8| char::from(byte).to_digit(16).ok_or(Refusal::Malformed);
        match (digit(*high)? << 4 | digit(*low)?) as u8 {
            0 => return Err(Refusal::Malformed),
            b'/' => return Err(Refusal::NoName),
            byte => decoded.push(byte),
        }
        rest = tail;
    }
    Ok(Cow::Owned(decoded))
}

/// What follows a route's prefix (given without a slash at its end): empty, or from a slash on. None: another's path.
pub fn below<'a>(path: &'a [u8], prefix: &str) -> Option<&'a [u8]> {
    let rest = path.strip_prefix(prefix.as_bytes())?;
    (rest.first() == Some(&b'/') || (rest.is_empty() && !path.is_empty())).then_some(rest)
}

/// The name that the rest of a decoded path means.
pub fn name(rest: &[u8]) -> Result<Name<'_>, Refusal> {
    let [b'/', relative @ ..] = rest else { return Ok(Name::Root) };
    if relative.contains(&0) {
        return Err(Refusal::Malformed);
    }
    let relative = std::str::from_utf8(relative).map_err(|_| Refusal::NoName)?;
    let (trimmed, is_directory) = match relative.strip_suffix('/') {
        Some(trimmed) => (trimmed, true),
        None => (relative, relative.is_empty()),
    };
    let root_itself = trimmed.is_empty() && relative.is_empty();
    if !root_itself && !trimmed.split('/').all(is_plain) {
        return Err(Refusal::NoName);
    }
    Ok(if is_directory { Name::Directory(trimmed) } else { Name::File(trimmed) })
}

/// Hidden names (`.git`, `.env`, `.htpasswd`) are refused, except the one that RFC 8615 made public.
fn is_plain(segment: &str) -> bool {
    !segment.is_empty()
        && (!segment.starts_with('.') || segment == ".well-known")
        && !segment.bytes().any(|byte| byte < 0x20 || byte == 0x7f || byte == b'\\')
}

#[cfg(test)]
mod tests {
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
}
