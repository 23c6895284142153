// SPDX-License-Identifier: Apache-2.0
//! HTTP/1.1 as RFC 9112 has it, strictly. Pure: no socket, no clock.

pub mod chunked;
pub mod date;
pub mod head;
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

/// tchar of RFC 9110, 5.6.2.
pub const fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~'
        )
}

pub fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|&b| is_token_byte(b))
}

/// Without spaces and tabs around it (OWS of RFC 9110, 5.6.3).
pub fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = bytes {
        bytes = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}
