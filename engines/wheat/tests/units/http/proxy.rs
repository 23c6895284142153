// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/http/proxy.rs`.

use super::*;

fn source(address: &str, port: u16, is_secure: bool) -> Option<Source> {
    Some(Source { address: address.parse().unwrap(), port, is_secure })
}

fn binary(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
    let length = (rest.len() as u16).to_be_bytes();
    [SIGNATURE, &[command, family][..], &length, rest].concat()
}

const FOUR: [u8; 12] = [192, 0, 2, 1, 192, 0, 2, 2, 0x12, 0x34, 0, 80];

#[test]
fn both_versions_say_where_a_connection_comes_from() {
    let six = [&[0x20, 1, 0xd, 0xb8][..], &[0; 11], &[7], &[0; 16], &[0, 9, 0, 80]].concat();
    let with_tls = [&FOUR[..], &[0x20, 0, 5, 1, 0, 0, 0, 0]].concat();
    let without_tls = [&FOUR[..], &[0x03, 0, 1, 9, 0x20, 0, 5, 0, 0, 0, 0, 0]].concat();
    for (bytes, expected) in [
        (b"PROXY TCP4 192.0.2.1 192.0.2.2 4660 80\r\n".to_vec(), source("192.0.2.1", 0x1234, false)),
        (b"PROXY TCP6 2001:db8::7 ::1 9 80\r\n".to_vec(), source("2001:db8::7", 9, false)),
        (b"PROXY TCP6 ::ffff:192.0.2.1 ::1 9 80\r\n".to_vec(), source("192.0.2.1", 9, false)),
        (b"PROXY UNKNOWN\r\n".to_vec(), None),
        (b"PROXY UNKNOWN whatever this is\r\n".to_vec(), None),
        (binary(0x21, 0x11, &FOUR), source("192.0.2.1", 0x1234, false)),
        (binary(0x21, 0x21, &six), source("2001:db8::7", 9, false)),
        (binary(0x21, 0x11, &with_tls), source("192.0.2.1", 0x1234, true)),
        (binary(0x21, 0x11, &without_tls), source("192.0.2.1", 0x1234, false)),
        (binary(0x20, 0x00, &[]), None),
        (binary(0x21, 0x31, &[0; 216]), None),
        (binary(0x21, 0x00, &[]), None),
    ] {
        for cut in 0..bytes.len() {
            assert_eq!(parse(&bytes[..cut]), Ok(None), "{bytes:?} cut at {cut}");
        }
        let length = bytes.len();
        let followed = [&bytes[..], b"GET / HTTP/1.1\r\n"].concat();
        assert_eq!(parse(&followed), Ok(Some(Header { length, source: expected })), "{bytes:?}");
    }
}

#[test]
fn anything_else_is_malformed() {
    let long = format!("PROXY UNKNOWN {}\r\n", "x".repeat(100));
    for bytes in [
        &b"GET / HTTP/1.1\r\n"[..],
        b"PROXY\r\n",
        b"PROXY TCP4\r\n",
        b"PROXY TCP4 192.0.2.1 192.0.2.2 1\r\n",
        b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2 3\r\n",
        b"PROXY TCP4 ::1 ::1 1 2\r\n",
        b"PROXY TCP6 192.0.2.1 192.0.2.2 1 2\r\n",
        b"PROXY TCP4 192.0.2.1 192.0.2.2 65536 2\r\n",
        b"PROXY TCP4 192.0.2.1 192.0.2.2 01 2\r\n",
        b"PROXY TCP4 192.0.2.1 192.0.2.2 1 -2\r\n",
        b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\n",
        b"PROXY  TCP4 192.0.2.1 192.0.2.2 1 2\r\n",
        long.as_bytes(),
        b"\r\n\r\n\0\r\nQUIP\n",
        &binary(0x11, 0x11, &FOUR),
        &binary(0x22, 0x11, &FOUR),
        &binary(0x21, 0x11, &FOUR[..11]),
        &binary(0x21, 0x11, &[&FOUR[..], &[0x20, 0, 5, 1]].concat()),
        &binary(0x21, 0x11, &[0; MOST_BYTES]),
    ] {
        assert_eq!(parse(bytes), Err(Malformed), "{bytes:?}");
    }
}

#[test]
fn no_bytes_make_it_panic() {
    let whole = binary(0x21, 0x11, &[&FOUR[..], &[0x20, 0, 5, 1, 0, 0, 0, 0]].concat());
    for at in 0..whole.len() {
        for byte in 0..=255 {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            if let Ok(Some(header)) = parse(&bytes) {
                assert!(header.length <= bytes.len());
            }
        }
    }
}
