// SPDX-License-Identifier: Apache-2.0
//! The chunked transfer coding (RFC 9112, 7.1), decoded strictly and in pieces of any size.

use super::{Rejection, is_token_byte, reject};

/// Most digits of one chunk's size, leading zeros included: they would be bytes without end outside of every other limit.
const MOST_SIZE_DIGITS: u32 = 64;
/// Most bytes of one chunk's extensions, which mean nothing here.
const MOST_EXTENSION_BYTES: u32 = 256;
/// Most bytes of a trailer section, which is discarded: nothing in it may pass for a header (RFC 9112, 7.1.2).
const MOST_TRAILER_BYTES: u32 = 8192;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the first digit of a size.
    SizeStart,
    Size,
    Extension,
    /// Inside the quoted string of an extension's value.
    Quoted,
    /// After the backslash in one.
    QuotedPair,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    TrailerStart,
    TrailerName,
    TrailerValue,
    TrailerLf,
    EndLf,
    Done,
}

/// Where the decoder stands in one body.
#[derive(Clone, Debug)]
pub struct Decoder {
    state: State,
    /// The size of the present chunk while that is read, then what is missing of its data.
    remaining: u64,
    size_digits: u32,
    extension_bytes: u32,
    trailer_bytes: u32,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Event<'b> {
    Data(&'b [u8]),
    /// All that was given is taken.
    Starved,
    /// The body has ended; what is left of the input belongs to the next request.
    Done,
}

impl Default for Decoder {
    fn default() -> Self {
        Self { state: State::SizeStart, remaining: 0, size_digits: 0, extension_bytes: 0, trailer_bytes: 0 }
    }
}

impl Decoder {
    /// Takes bytes from the front of `input` up to the end of the next piece of data. After `Done` it takes nothing more.
    pub fn next<'b>(&mut self, input: &mut &'b [u8]) -> Result<Event<'b>, Rejection> {
        const CHUNK_SIZE: Rejection = reject(400, "a chunk size is malformed");
        const CHUNK_END: Rejection = reject(400, "a chunk does not end with CR LF");
        const EXTENSION: Rejection = reject(400, "a chunk extension is malformed");
        const TRAILER: Rejection = reject(400, "a trailer field is malformed");
        loop {
            if self.state == State::Done {
                return Ok(Event::Done);
            }
            if self.state == State::Data {
                let length = usize::try_from(self.remaining).unwrap_or(usize::MAX).min(input.len());
                if length == 0 {
                    return Ok(Event::Starved);
                }
                let (data, rest) = input.split_at(length);
                *input = rest;
                self.remaining -= length as u64;
                if self.remaining == 0 {
                    self.state = State::DataCr;
                }
                return Ok(Event::Data(data));
            }
            let Some((&byte, rest)) = input.split_first() else { return Ok(Event::Starved) };
            *input = rest;
            self.state = match (self.state, byte) {
                (State::SizeStart | State::Size, digit) if digit.is_ascii_hexdigit() => {
                    // Below 2^60, so that no sum of sizes overflows.
                    self.size_digits += 1;
                    if self.remaining >> 56 != 0 || self.size_digits > MOST_SIZE_DIGITS {
                        return Err(reject(400, "a chunk size is too large"));
                    }
                    let digit = (digit as char).to_digit(16).unwrap_or_default();
                    self.remaining = self.remaining << 4 | u64::from(digit);
                    State::Size
                }
                (State::Size, b'\r') => State::SizeLf,
                (State::Size, b';' | b' ' | b'\t') => {
                    self.extension_bytes = 1;
                    if byte != b';' {
                        // BWS before an extension is the sender's mistake (RFC 9112, 7.1.1) and others trim it differently
                        return Err(CHUNK_SIZE);
                    }
                    State::Extension
                }
                (State::SizeStart | State::Size, _) => return Err(CHUNK_SIZE),

                (State::Extension, b'\r') => State::SizeLf,
                (state @ (State::Extension | State::Quoted | State::QuotedPair), byte) => {
                    self.extension_bytes += 1;
                    if self.extension_bytes > MOST_EXTENSION_BYTES {
                        return Err(reject(400, "a chunk extension is too long"));
                    }
                    match (state, byte) {
                        (State::Extension, b'"') => State::Quoted,
                        (State::Extension, b';' | b'=' | b' ' | b'\t') => State::Extension,
                        (State::Extension, byte) if is_token_byte(byte) => State::Extension,
                        (State::Quoted, b'"') => State::Extension,
                        (State::Quoted, b'\\') => State::QuotedPair,
                        (State::Quoted | State::QuotedPair, b'\t' | b' '..=b'~' | 0x80..) => State::Quoted,
                        _ => return Err(EXTENSION),
                    }
                }
                (State::SizeLf, b'\n') => {
                    if self.remaining == 0 {
                        State::TrailerStart
                    } else {
                        State::Data
                    }
                }
                (State::SizeLf, _) => return Err(CHUNK_SIZE),

                (State::DataCr, b'\r') => State::DataLf,
                (State::DataLf, b'\n') => {
                    self.size_digits = 0;
                    State::SizeStart
                }
                (State::DataCr | State::DataLf, _) => return Err(CHUNK_END),

                (State::TrailerStart, b'\r') => State::EndLf,
                (state @ (State::TrailerStart | State::TrailerName | State::TrailerValue), byte) => {
                    self.trailer_bytes += 1;
                    if self.trailer_bytes > MOST_TRAILER_BYTES {
                        return Err(reject(431, "the trailers are too long"));
                    }
                    match (state, byte) {
                        (State::TrailerName, b':') => State::TrailerValue,
                        (State::TrailerStart | State::TrailerName, byte) if is_token_byte(byte) => State::TrailerName,
                        (State::TrailerValue, b'\r') => State::TrailerLf,
                        (State::TrailerValue, b'\t' | b' '..=b'~' | 0x80..) => State::TrailerValue,
                        _ => return Err(TRAILER),
                    }
                }
                (State::TrailerLf, b'\n') => State::TrailerStart,
                (State::EndLf, b'\n') => State::Done,
                (State::TrailerLf | State::EndLf, _) => return Err(TRAILER),
                (State::Data | State::Done, _) => unreachable!("handled above"),
            };
        }
    }
}

#[cfg(test)]
#[path = "../../tests/units/http/chunked.rs"]
mod tests;
