// SPDX-License-Identifier: Apache-2.0
//! Preconditions: RFC 9110, section 13. Pure.

use std::time::{Duration, UNIX_EPOCH};

use httparse::Header;

/// What a representation is known by.
#[derive(Clone, Copy, Debug)]
pub struct Validators<'a> {
    /// With its quotes, without `W/`.
    pub opaque: &'a [u8],
    /// Whether any change of the bytes changes the tag too, and the date too as long as no two fall in one second.
    pub strength: Strength,
    /// Seconds since 1970.
    pub modified: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strength {
    Strong,
    Weak,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    Send,
    /// 304
    NotModified,
    /// 412
    Failed,
}

/// In the order of section 13.2.2, for GET and HEAD.
pub fn judge(headers: &[Header], current: &Validators) -> Precondition {
    if has(headers, "if-match") {
        if !any_tag(headers, "if-match", |tag| tag.equals_strongly(current)) {
            return Precondition::Failed;
        }
    } else if date(headers, "if-unmodified-since").is_some_and(|date| current.modified > date) {
        return Precondition::Failed;
    }
    if has(headers, "if-none-match") {
        if any_tag(headers, "if-none-match", |tag| tag.equals_weakly(current)) {
            return Precondition::NotModified;
        }
    } else if date(headers, "if-modified-since").is_some_and(|date| current.modified <= date) {
        return Precondition::NotModified;
    }
    Precondition::Send
}

/// Whether `Range` counts: no `If-Range`, or one that names exactly what we have (section 13.1.5).
pub fn ranges_hold(headers: &[Header], current: &Validators) -> bool {
    if !has(headers, "if-range") {
        return true;
    }
    let Some(value) = only(headers, "if-range") else { return false };
    match Tag::first(value) {
        Some((tag, rest)) => rest.trim_ascii().is_empty() && tag.equals_strongly(current),
        None => current.strength == Strength::Strong && seconds(value) == Some(current.modified),
    }
}

fn values<'h>(headers: &'h [Header], name: &'static str) -> impl Iterator<Item = &'h [u8]> {
    headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name)).map(|header| header.value)
}

fn has(headers: &[Header], name: &'static str) -> bool {
    values(headers, name).next().is_some()
}

/// The value of a field that makes no sense twice.
pub fn only<'h>(headers: &'h [Header], name: &'static str) -> Option<&'h [u8]> {
    let mut values = values(headers, name);
    values.next().filter(|_| values.next().is_none())
}

/// None: no such field, or not a date, which is as if it weren't there.
fn date(headers: &[Header], name: &'static str) -> Option<u64> {
    seconds(only(headers, name)?)
}

fn seconds(value: &[u8]) -> Option<u64> {
    let time = httpdate::parse_http_date(std::str::from_utf8(value).ok()?).ok()?;
    time.duration_since(UNIX_EPOCH).ok().as_ref().map(Duration::as_secs)
}

struct Tag<'a> {
    strength: Strength,
    opaque: &'a [u8],
}

impl<'a> Tag<'a> {
    /// A tag at the beginning and what follows it.
    fn first(text: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let text = text.trim_ascii_start();
        let (strength, quoted) = match text.strip_prefix(b"W/") {
            Some(quoted) => (Strength::Weak, quoted),
            None => (Strength::Strong, text),
        };
        let inside = quoted.strip_prefix(b"\"")?;
        let end = memchr::memchr(b'"', inside)? + 2;
        Some((Self { strength, opaque: &quoted[..end] }, &quoted[end..]))
    }

    fn equals_weakly(&self, current: &Validators) -> bool {
        self.opaque == current.opaque
    }

    fn equals_strongly(&self, current: &Validators) -> bool {
        (self.strength, current.strength) == (Strength::Strong, Strength::Strong) && self.equals_weakly(current)
    }
}

/// Whether a tag of a list, which may stand on several lines, is what is looked for; `*` is any. Reading ends where it no
/// longer is a list.
fn any_tag(headers: &[Header], name: &'static str, found: impl Fn(&Tag) -> bool) -> bool {
    values(headers, name).any(|value| {
        if value.trim_ascii() == b"*" {
            return true;
        }
        let mut rest = value;
        while let Some((tag, after)) = Tag::first(skip_commas(rest)) {
            let after = after.trim_ascii_start();
            if !(after.is_empty() || after.starts_with(b",")) {
                return false;
            }
            if found(&tag) {
                return true;
            }
            rest = after;
        }
        false
    })
}

fn skip_commas(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|byte| !matches!(byte, b',' | b' ' | b'\t')).unwrap_or(text.len());
    &text[start..]
}

#[cfg(test)]
#[path = "../../tests/units/files/conditional.rs"]
mod tests;
