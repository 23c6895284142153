// SPDX-License-Identifier: Apache-2.0
//! Heads of responses that are compressed: whether they may be, and what becomes of them. Pure.
//!
//! A head is its status line and its fields, each with CRLF, without the empty line.

use super::Compression;
use crate::http::trim;
use crate::options::Coding;

/// The lines behind the status line: name, value and the whole.
pub fn fields(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8], &[u8])> {
    head.split_inclusive(|byte| *byte == b'\n').skip(1).map(|line| {
        let colon = memchr::memchr(b':', line).unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        (&line[..colon], trim(value.strip_suffix(b"\r\n").unwrap_or(value)), line)
    })
}

pub fn is(name: &[u8], other: &str) -> bool {
    name.eq_ignore_ascii_case(other.as_bytes())
}

fn has_element(list: &[u8], element: &str) -> bool {
    list.split(|byte| *byte == b',').any(|one| is(trim(one), element))
}

/// Whether what this head is about may be compressed, by anybody and by us. `length`: of the body, where it is known.
pub fn allow(head: &[u8], length: Option<u64>, compression: &Compression) -> bool {
    let mut media_type = None;
    for (name, value, _) in fields(head) {
        let forbids = match name.len() {
            12 if is(name, "content-type") => {
                media_type = Some(value);
                false
            }
            16 if is(name, "content-encoding") => !is(value, "identity"),
            13 if is(name, "cache-control") => has_element(value, "no-transform"),
            13 if is(name, "content-range") => true,
            // They are of the bytes as they are sent.
            14 if is(name, "content-digest") => true,
            11 if is(name, "content-md5") => true,
            6 if is(name, "digest") => true,
            _ => false,
        };
        if forbids {
            return false;
        }
    }
    media_type.is_some_and(|media_type| compression.suits(media_type, length))
}

/// The head with the body in this coding: its length is another, byte ranges of it are not to be had, and its tag is weak,
/// because the bytes differ from those that the tag was made for. With `Identity` that of a 304 about such a body.
pub fn rewrite(head: &[u8], coding: Coding) -> Vec<u8> {
    let status_line = memchr::memchr(b'\n', head).map_or(head.len(), |end| end + 1);
    let mut out = Vec::with_capacity(head.len() + 64);
    out.extend_from_slice(&head[..status_line]);
    for (name, value, line) in fields(head) {
        let dropped = is(name, "content-length") || is(name, "accept-ranges") || is(name, "content-encoding");
        if is(name, "etag") && value.starts_with(b"\"") {
            out.extend_from_slice(b"ETag: W/");
            out.extend_from_slice(value);
            out.extend_from_slice(b"\r\n");
        } else if !dropped {
            out.extend_from_slice(line);
        }
    }
    if coding != Coding::Identity {
        out.extend_from_slice(b"Content-Encoding: ");
        out.extend_from_slice(coding.token().as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    vary(&mut out);
    out
}

/// Says that another client may get it in another coding.
pub fn vary(head: &mut Vec<u8>) {
    let of_vary = |list: &[u8]| has_element(list, "accept-encoding") || has_element(list, "*");
    if !fields(head).any(|(name, value, _)| is(name, "vary") && of_vary(value)) {
        head.extend_from_slice(b"Vary: Accept-Encoding\r\n");
    }
}

#[cfg(test)]
#[path = "../../tests/units/compress/headers.rs"]
mod tests;
