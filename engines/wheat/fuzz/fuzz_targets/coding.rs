// SPDX-License-Identifier: Apache-2.0
//! The coding that is chosen is one that a plain reading of Accept-Encoding weighs as much as any other; and a head that is
//! rewritten for it keeps what is not about the bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wheat::compress::accept::choose;
use wheat::compress::headers::{fields, is, rewrite};
use wheat::options::Coding;

/// What the last element that counts says of a token, in thousandths.
fn weight(lines: &[&[u8]], token: &str) -> Option<u32> {
    let elements = lines.iter().flat_map(|line| line.split(|byte| *byte == b','));
    elements.filter_map(|element| {
        let text = std::str::from_utf8(element).ok()?;
        let (name, q) = text.split_once(';').map_or((text, None), |(name, q)| (name, Some(q.trim_matches(BLANK))));
        let name = name.trim_matches(BLANK).to_ascii_lowercase();
        if name != token && !(token == "gzip" && name == "x-gzip") {
            return None;
        }
        let Some(q) = q else { return Some(1000) };
        let number = q.strip_prefix("q=").or(q.strip_prefix("Q="))?;
        let (whole, digits) = number.split_once('.').unwrap_or((number, ""));
        let is_number = matches!(whole, "0" | "1") && digits.len() <= 3 && digits.bytes().all(|digit| digit.is_ascii_digit());
        let value = format!("{whole}{digits:0<3}").parse().ok()?;
        (is_number && value <= 1000).then_some(value)
    }).last()
}

const BLANK: [char; 5] = [' ', '\t', '\n', '\r', '\x0c'];

fn check_choice(lines: &[&[u8]], available: &[Coding]) {
    let headers: Vec<_> = lines.iter().map(|value| httparse::Header { name: "accept-ENCODING", value }).collect();
    let any = weight(lines, "*");
    let of = |coding: Coding| {
        weight(lines, coding.token()).unwrap_or(match coding {
            Coding::Identity => any.map_or(1, |any| any.min(1)),
            _ => any.unwrap_or(0),
        })
    };
    let best = available.iter().map(|coding| of(*coding)).max().unwrap_or(0).max(of(Coding::Identity));
    match choose(&headers, available) {
        None => assert_eq!(best, 0),
        Some(coding) => {
            assert!(coding == Coding::Identity || available.contains(&coding));
            assert!(best > 0 && of(coding) == best);
            let first = available.iter().find(|coding| of(**coding) == best);
            assert_eq!(coding, *first.unwrap_or(&Coding::Identity));
        }
    }
}

fn check_head(text: &[u8]) {
    let mut head = b"HTTP/1.1 200 OK\r\n".to_vec();
    for line in text.split(|byte| *byte == b'\n') {
        if memchr::memchr(b':', line).is_some_and(|colon| colon > 0) && !line.contains(&b'\r') {
            head.extend_from_slice(line);
            head.extend_from_slice(b"\r\n");
        }
    }
    for coding in Coding::ALL {
        let once = rewrite(&head, coding);
        assert!(once.starts_with(b"HTTP/1.1 200 OK\r\n") && once.ends_with(b"\r\n"));
        let about = |name: &[u8]| {
            ["content-length", "accept-ranges", "content-encoding", "vary", "etag"].iter().any(|known| is(name, known))
        };
        let kept = |head: &[u8]| -> Vec<Vec<u8>> {
            fields(head).filter(|(name, ..)| !about(name)).map(|(.., line)| line.to_vec()).collect()
        };
        assert_eq!(kept(&head), kept(&once));
        let count = |wanted: &str| fields(&once).filter(|(name, ..)| is(name, wanted)).count();
        assert_eq!((count("content-length"), count("accept-ranges")), (0, 0));
        assert_eq!(count("content-encoding"), usize::from(coding != Coding::Identity));
        assert!(count("vary") > 0);
        assert!(fields(&once).all(|(name, value, _)| !is(name, "etag") || !value.starts_with(b"\"")));
        assert_eq!(rewrite(&once, Coding::Identity).len() + 20 + coding.token().len(), match coding {
            Coding::Identity => once.len() + 28,
            _ => once.len(),
        });
    }
}

// Values of Accept-Encoding up to an empty line, then fields of a response.
fuzz_target!(|input: &[u8]| {
    let (accepted, head) = match memchr::memmem::find(input, b"\n\n") {
        Some(at) => (&input[..at], &input[at + 2..]),
        None => (input, &b""[..]),
    };
    let lines: Vec<&[u8]> = accepted.split(|byte| *byte == b'\n').collect();
    use Coding::{Gzip, Zstd};
    for available in [&[][..], &[Gzip], &[Zstd, Gzip], &Coding::PRECOMPRESSED] {
        check_choice(&lines, available);
    }
    check_head(head);
});
