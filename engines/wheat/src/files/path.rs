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
    /// Its name without the last slash; empty for the root itself.
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
#[path = "../../tests/units/files/path.rs"]
mod tests;
