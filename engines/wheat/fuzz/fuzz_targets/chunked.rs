// SPDX-License-Identifier: Apache-2.0
//! A chunked body decodes to the same bytes and ends at the same place whole, byte by byte and cut anywhere; what is accepted
//! is what a plain reading of RFC 9112 accepts; and what was encoded comes back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wheat::http::chunked::{Decoder, Event};

#[derive(Debug, PartialEq, Eq)]
enum End {
    /// And so many bytes were taken.
    Done(usize),
    Starved,
    Refused(u16),
}

fn decode<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<u8>, End) {
    let mut decoder = Decoder::default();
    let mut data = Vec::new();
    let mut taken = 0;
    for piece in pieces {
        let mut rest = piece;
        loop {
            match decoder.next(&mut rest) {
                Ok(Event::Data(part)) => {
                    assert!(!part.is_empty());
                    data.extend_from_slice(part);
                }
                Ok(Event::Starved) => {
                    assert!(rest.is_empty());
                    break;
                }
                Ok(Event::Done) => {
                    assert_eq!(decoder.next(&mut rest), Ok(Event::Done));
                    return (data, End::Done(taken + piece.len() - rest.len()));
                }
                Err(rejection) => return (data, End::Refused(rejection.status)),
            }
        }
        taken += piece.len();
    }
    (data, End::Starved)
}

/// Lengths drawn from a seed, so that a cut is the fuzzer's to choose.
fn cut(bytes: &[u8], seed: u8) -> impl Iterator<Item = &[u8]> {
    let mut state = u32::from(seed) | 0x100;
    let mut rest = bytes;
    std::iter::from_fn(move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (piece, after) = rest.split_at((state >> 24) as usize % 9 % (rest.len() + 1));
        rest = after;
        (!(piece.is_empty() && after.is_empty())).then_some(piece)
    })
}

/// The line at the front and what follows it; None without CR LF.
fn line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.windows(2).position(|pair| pair == b"\r\n")?;
    Some((&bytes[..end], &bytes[end + 2..]))
}

/// The data, as the grammar of section 7.1 has it, extensions and trailers dropped.
fn read_plainly(mut rest: &[u8]) -> (Vec<u8>, usize) {
    let whole = rest.len();
    let mut data = Vec::new();
    loop {
        let (size, after) = line(rest).expect("a size line");
        let digits = size.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        assert!(digits > 0 && matches!(size.get(digits), None | Some(b';')), "a size and perhaps extensions");
        assert!(size.iter().all(|byte| *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f)));
        let size = usize::from_str_radix(std::str::from_utf8(&size[..digits]).unwrap(), 16).expect("a size");
        rest = after;
        if size == 0 {
            break;
        }
        data.extend_from_slice(&rest[..size]);
        rest = rest[size..].strip_prefix(b"\r\n").expect("CR LF after the data");
    }
    loop {
        let (field, after) = line(rest).expect("a trailer or the end");
        rest = after;
        if field.is_empty() {
            return (data, whole - rest.len());
        }
        let colon = field.iter().position(|byte| *byte == b':').expect("a trailer's colon");
        assert!(colon > 0 && !field[..colon].iter().any(|byte| b" \t\r\n\0".contains(byte)));
    }
}

fn encode(data: &[u8], seed: u8) -> Vec<u8> {
    let mut encoded = Vec::new();
    for chunk in cut(data, seed).filter(|chunk| !chunk.is_empty()) {
        encoded.extend_from_slice(format!("{:x};a=\"\\\"\"\r\n", chunk.len()).as_bytes());
        encoded.extend_from_slice(chunk);
        encoded.extend_from_slice(b"\r\n");
    }
    encoded.extend_from_slice(b"0\r\nA: b\r\n\r\n");
    encoded
}

fuzz_target!(|input: &[u8]| {
    let Some((seed, bytes)) = input.split_first() else { return };
    let whole = decode(std::iter::once(bytes));
    assert_eq!(decode(bytes.chunks(1)), whole);
    assert_eq!(decode(cut(bytes, *seed)), whole);
    if let (data, End::Done(taken)) = &whole {
        assert_eq!(read_plainly(bytes), (data.clone(), *taken));
    }
    let encoded = encode(bytes, *seed);
    let wanted = (bytes.to_vec(), End::Done(encoded.len()));
    assert_eq!(decode(cut(&encoded, seed.wrapping_add(1))), wanted);
    // not a byte of the next request is taken
    let followed = [&encoded[..], b"GET / HTTP/1.1\r\n"].concat();
    assert_eq!(decode(std::iter::once(&followed[..])), wanted);
});
