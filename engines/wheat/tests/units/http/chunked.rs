// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/http/chunked.rs`.

use super::*;

/// The decoded body and what is left of the input, or the status of the refusal; input in pieces of `step` bytes.
fn decode(input: &[u8], step: usize) -> Result<Option<(Vec<u8>, usize)>, u16> {
    let mut decoder = Decoder::default();
    let mut body = Vec::new();
    let mut taken = 0;
    for piece in input.chunks(step) {
        let mut rest = piece;
        loop {
            match decoder.next(&mut rest).map_err(|rejection| rejection.status)? {
                Event::Data(data) => body.extend_from_slice(data),
                Event::Starved => break,
                Event::Done => return Ok(Some((body, input.len() - taken - (piece.len() - rest.len())))),
            }
        }
        taken += piece.len();
    }
    Ok(None)
}

#[test]
fn whole_bytewise_or_in_pieces_it_is_the_same() {
    for (input, expected) in [
        ("5\r\nhello\r\n0\r\n\r\n", Ok(Some(("hello", 0)))),
        ("5\r\nhello\r\n0\r\n\r\nGET", Ok(Some(("hello", 3)))),
        (
            "00005;a=b;c=\"d \\\" e\"\r\nhello\r\nA\r\n0123456789\r\n0;x\r\nT: u\r\nV:\r\n\r\n",
            Ok(Some(("hello0123456789", 0))),
        ),
        ("0\r\n\r\n", Ok(Some(("", 0)))),
        ("5\r\nhello", Ok(None)),
        ("0\r\n", Ok(None)),
        ("5\nhello\r\n0\r\n\r\n", Err(400)),
        ("5\r\nhello\n0\r\n\r\n", Err(400)),
        ("5\r\nhelloxx0\r\n\r\n", Err(400)),
        ("0x5\r\nhello", Err(400)),
        ("+5\r\nhello", Err(400)),
        ("-1\r\nhello", Err(400)),
        (" 5\r\nhello", Err(400)),
        ("5 \r\nhello", Err(400)),
        ("\r\nhello", Err(400)),
        (";a\r\nhello", Err(400)),
        ("g\r\nhello", Err(400)),
        ("1000000000000000\r\n", Err(400)),
        ("FFFFFFFFFFFFFFFFF\r\n", Err(400)),
        ("5;a\nb\r\nhello", Err(400)),
        ("5;a\rb\r\nhello", Err(400)),
        ("5;a=\"\n\"\r\nhello", Err(400)),
        ("5;a\0\r\nhello", Err(400)),
        ("0\r\nT u\r\n\r\n", Err(400)),
        ("0\r\n T: u\r\n\r\n", Err(400)),
        ("0\r\nT: u\n\r\n", Err(400)),
        ("0\r\n: u\r\n\r\n", Err(400)),
        ("0\r\n\rx", Err(400)),
        ("0\n\n", Err(400)),
    ] {
        for step in 1..=input.len() {
            let got = decode(input.as_bytes(), step);
            let expected =
                expected.map(|found| found.map(|(body, left): (&str, usize)| (body.as_bytes().to_vec(), left)));
            assert_eq!(got, expected, "{input:?} in pieces of {step}");
        }
    }
}

#[test]
fn what_is_discarded_is_bounded() {
    assert_eq!(decode(format!("5;{}", "a".repeat(300)).as_bytes(), 7), Err(400));
    assert_eq!(decode(format!("0\r\n{}", "a: b\r\n".repeat(3000)).as_bytes(), 7), Err(431));
    // an extension a byte before the limit, again with each chunk
    let body = format!("1;{}\r\nx\r\n", "a".repeat(254)).repeat(40) + "0\r\n\r\n";
    assert_eq!(decode(body.as_bytes(), 11), Ok(Some((b"x".repeat(40), 0))));
}
