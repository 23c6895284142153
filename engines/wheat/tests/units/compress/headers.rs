// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/compress/headers.rs`.

use super::*;
use crate::options::{codings, media_types};

fn allowed(fields: &str, length: Option<u64>) -> bool {
    let types = media_types("text/*,application/json,*+xml").unwrap();
    let compression = Compression { codings: codings("gzip").unwrap(), least: 1000, types };
    allow(format!("HTTP/1.1 200 OK\r\n{fields}").as_bytes(), length, &compression)
}

#[test]
fn what_may_be_compressed() {
    for (fields, wanted) in [
        ("Content-Type: text/html\r\n", true),
        ("A: b\r\ncontent-type:  TEXT/HTML ; charset=utf-8 \r\n", true),
        ("Content-Type: application/json\r\n", true),
        ("Content-Type: image/svg+xml\r\n", true),
        ("Content-Type: image/png\r\n", false),
        ("Content-Type: application/jsonp\r\n", false),
        ("Content-Type: text\r\n", false),
        ("", false),
        ("Content-Type: text/html\r\nContent-Encoding: br\r\n", false),
        ("Content-Type: text/html\r\nContent-Encoding: identity\r\n", true),
        ("Content-Type: text/html\r\nCache-Control: max-age=1 , No-Transform\r\n", false),
        ("Content-Type: text/html\r\nCache-Control: max-age=1, public\r\n", true),
        ("Content-Type: text/html\r\nContent-Range: bytes 0-9/20\r\n", false),
        ("Content-Type: text/html\r\nContent-Digest: sha-256=:x:\r\n", false),
        ("Content-Type: text/html\r\nContent-MD5: x\r\n", false),
        ("Content-Type: text/html\r\nDigest: x\r\n", false),
    ] {
        assert_eq!(allowed(fields, Some(1000)), wanted, "{fields}");
        assert!(!allowed(fields, Some(999)), "{fields}");
        assert_eq!(allowed(fields, None), wanted, "{fields}");
    }
}

#[test]
fn a_head_of_a_compressed_body() {
    let text = |head: &str, coding| String::from_utf8(rewrite(head.as_bytes(), coding)).unwrap();
    let head = "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 5000\r\nSet-Cookie: a=b\r\nAccept-Ranges: bytes\r\n";
    let coded =
        "HTTP/1.1 200 OK\r\nETag: W/\"a\"\r\nSet-Cookie: a=b\r\nContent-Encoding: br\r\nVary: Accept-Encoding\r\n";
    assert_eq!(text(head, Coding::Brotli), coded);
    let weak = "HTTP/1.1 304 \r\netag: W/\"a\"\r\nVary: Cookie, accept-encoding\r\n";
    assert_eq!(text(weak, Coding::Identity), weak);
    let other = "HTTP/1.1 200 OK\r\nVary: Cookie\r\n";
    assert_eq!(text(other, Coding::Identity), format!("{other}Vary: Accept-Encoding\r\n"));
    let any = "HTTP/1.1 200 OK\r\nVary: *\r\n";
    assert_eq!(text(any, Coding::Gzip), format!("{any}Content-Encoding: gzip\r\n"));
}
