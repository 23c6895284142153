// SPDX-License-Identifier: Apache-2.0
//! A head that comes in pieces means what it means whole, and an accepted head is what a plain reading of RFC 9112 finds in
//! the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wheat::http::head::{Framing, Head, HeadLimits, parse, storage};

const LIMITS: HeadLimits = HeadLimits { line: 128, head: 512, headers: 12 };

/// What must not depend on how the bytes come.
#[derive(Debug, PartialEq, Eq)]
struct Meaning {
    length: usize,
    method: String,
    target: String,
    framing: Framing,
    keep_alive: bool,
    expects_continue: bool,
    fields: Vec<(String, Vec<u8>)>,
}

impl Meaning {
    fn of(head: &Head) -> Self {
        Self {
            length: head.length,
            method: head.method.into(),
            target: head.raw_target.into(),
            framing: head.framing,
            keep_alive: head.keep_alive,
            expects_continue: head.expects_continue,
            fields: head.headers.iter().map(|header| (header.name.into(), header.value.into())).collect(),
        }
    }
}

/// None: incomplete. An error: refused with this status.
fn read(bytes: &[u8]) -> Option<Result<Meaning, u16>> {
    let mut room = storage();
    match parse(bytes, &mut room, &LIMITS) {
        Ok(head) => head.map(|head| Ok(Meaning::of(&head))),
        Err(rejection) => {
            assert!((400..600).contains(&rejection.status) && !rejection.reason.is_empty());
            Some(Err(rejection.status))
        }
    }
}

fn is_token(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte))
}

/// What the accepted bytes say, read line by line without any cleverness.
fn check_against_lines(bytes: &[u8], meaning: &Meaning) {
    let mut head = &bytes[..meaning.length];
    assert!(head.len() <= LIMITS.head);
    while let Some(rest) = head.strip_prefix(b"\r\n") {
        head = rest;
    }
    let text = head.strip_suffix(b"\r\n\r\n").expect("an empty line at the end");
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") {
        lines.push(&rest[..end]);
        rest = &rest[end + 2..];
    }
    lines.push(rest);
    for line in &lines {
        assert!(!line.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)), "a line within a line");
    }
    let first: Vec<&[u8]> = lines[0].split(|byte| *byte == b' ').collect();
    let [method, target, version] = first[..] else { panic!("a request line of {} words", first.len()) };
    assert!(lines[0].len() <= LIMITS.line);
    assert!(is_token(method) && method == meaning.method.as_bytes() && target == meaning.target.as_bytes());
    assert!(!target.is_empty() && target.iter().all(|byte| *byte > b' ' && *byte != 0x7f));
    assert!(version == b"HTTP/1.1" || version == b"HTTP/1.0");
    assert_eq!(lines.len() - 1, meaning.fields.len());
    assert!(meaning.fields.len() <= LIMITS.headers);
    let mut codings = 0;
    let mut lengths = Vec::new();
    let mut hosts = 0;
    for (line, (name, value)) in lines[1..].iter().zip(&meaning.fields) {
        let colon = line.iter().position(|byte| *byte == b':').expect("a colon");
        let wanted = &line[colon + 1..];
        let start = wanted.iter().position(|byte| !b" \t".contains(byte)).unwrap_or(wanted.len());
        let end = wanted.iter().rposition(|byte| !b" \t".contains(byte)).map_or(start, |end| end + 1);
        assert!(is_token(&line[..colon]) && line[..colon] == *name.as_bytes() && wanted[start..end] == value[..]);
        assert!(value.iter().all(|byte| *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f)));
        match name.to_ascii_lowercase().as_str() {
            "transfer-encoding" => codings += 1,
            "content-length" => lengths.push(value),
            "host" => hosts += 1,
            _ => {}
        }
    }
    assert!(hosts == 1 || (hosts == 0 && version == b"HTTP/1.0"));
    match meaning.framing {
        Framing::Chunked => {
            assert!(codings > 0 && lengths.is_empty() && version == b"HTTP/1.1");
        }
        Framing::Length(length) => {
            assert!(codings == 0 && lengths.len() <= 1);
            match lengths.first() {
                Some(digits) => {
                    assert!(digits.iter().all(u8::is_ascii_digit));
                    assert_eq!(std::str::from_utf8(digits).unwrap().parse(), Ok(length));
                }
                None => assert_eq!(length, 0),
            }
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let bytes = &bytes[..bytes.len().min(700)];
    let whole = read(bytes);
    if let Some(Ok(meaning)) = &whole {
        check_against_lines(bytes, meaning);
        assert_eq!(read(&bytes[..meaning.length]), whole, "what follows a head changes nothing in it");
    }
    let in_pieces = (0..=bytes.len()).find_map(|end| read(&bytes[..end]));
    match (&in_pieces, &whole) {
        // of two things that are wrong with a long head, what has come so far decides which is seen first
        (Some(Err(_)), Some(Err(_))) if bytes.len() > LIMITS.line => {}
        _ => assert_eq!(in_pieces, whole),
    }
});
