// SPDX-License-Identifier: Apache-2.0
//! HTTP/1.1 as RFC 9112 has it, strictly. Pure: no socket, no clock.

pub mod chunked;
pub mod date;
pub mod forwarded;
pub mod head;
pub mod proxy;
pub mod response;

/// Why a request is refused: the connection ends after the answer, since where the next request begins is not certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection {
    pub status: u16,
    /// Part of the body of the answer.
    pub reason: &'static str,
}

pub(crate) const fn reject(status: u16, reason: &'static str) -> Rejection {
    Rejection { status, reason }
}

/// Letters, digits and these: looked up, because every name in every head is checked byte by byte.
pub(crate) const fn alphanumeric_and(others: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < table.len() {
        table[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let mut at = 0;
    while at < others.len() {
        table[others[at] as usize] = true;
        at += 1;
    }
    table
}

/// tchar of RFC 9110, 5.6.2.
#[inline]
pub const fn is_token_byte(byte: u8) -> bool {
    const TOKEN: [bool; 256] = alphanumeric_and(b"!#$%&'*+-.^_`|~");
    TOKEN[byte as usize]
}

pub fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|&b| is_token_byte(b))
}

/// The bytes without spaces and tabs around them (OWS of RFC 9110, 5.6.3).
pub fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = bytes {
        bytes = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}
