// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/http/head.rs`.

use super::*;

const LIMITS: HeadLimits = HeadLimits { line: 8192, head: 32768, headers: 100 };

fn with<T>(bytes: &[u8], look: impl FnOnce(Result<Option<&Head>, Rejection>) -> T) -> T {
    let mut room = storage();
    match parse(bytes, &mut room, &LIMITS) {
        Ok(head) => look(Ok(head.as_ref())),
        Err(rejection) => look(Err(rejection)),
    }
}

fn status(bytes: &[u8]) -> u16 {
    with(bytes, |got| match got {
        Ok(Some(_)) => 200,
        Ok(None) => 0,
        Err(rejection) => rejection.status,
    })
}

#[test]
fn a_plain_request() {
    with(b"GET /a?b=c HTTP/1.1\r\nHost: h\r\n\r\nrest", |head| {
        let head = head.unwrap().unwrap();
        assert_eq!((head.method, head.target, head.minor), ("GET", Target::Path("/a?b=c"), 1));
        assert_eq!((head.framing, head.keep_alive, head.length), (Framing::NO_BODY, true, 32));
    });
}

#[test]
fn cut_anywhere_it_is_incomplete() {
    let whole = b"\r\nPOST / HTTP/1.1\r\nHost: h\r\nContent-Length: 12\r\nX-Y:  z \r\n\r\n";
    for cut in 0..whole.len() {
        assert_eq!(status(&whole[..cut]), 0, "cut at {cut}");
    }
    assert_eq!(status(whole), 200);
}

#[test]
fn line_ends_are_cr_lf() {
    for bad in [
        "GET / HTTP/1.1\nHost: h\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\n\n",
        "GET / HTTP/1.1\r\nHost: h\nA: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\rA: b\r\n\r\n",
        "\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nA:\n\r\n",
        "GET / HTTP/1.0\n\n",
    ] {
        assert_eq!(status(bad.as_bytes()), 400, "{bad:?}");
    }
    assert_eq!(status(b"GET / HTTP/1.0\r\n\r\n"), 200);
    assert_eq!(status(b"\r\n\r\nGET / HTTP/1.0\r\n\r\n"), 200);
}

#[test]
fn header_fields_are_strict() {
    for bad in [
        "Host: h\r\nA : b",
        "Host: h\r\n A: b",
        "Host: h\r\nA: b\r\n c",
        "Host: h\r\n: b",
        "Host: h\r\nA",
        "Host: h\r\nA: b\0c",
        "Host: h\r\nA\0: b",
        "Host: h\r\nA: b\x01",
        "Host: h\r\nA: \x7f",
        "Host: h\r\nA(: b",
        "A: b",
        "Host: h\r\nHost: h",
        "Host: h h",
        "Host: h/",
        "Host: a@b",
        "Host: h:1x",
        "Host: [::1",
        "Host: []",
    ] {
        assert_eq!(status(format!("GET / HTTP/1.1\r\n{bad}\r\n\r\n").as_bytes()), 400, "{bad:?}");
    }
    for good in
        ["Host:", "Host: h:80", "Host: [::1]:80", "Host: [::1]", "host:\th\t", "Host: h\r\nA:", "Host: h\r\nA: \u{e9}"]
    {
        assert_eq!(status(format!("GET / HTTP/1.1\r\n{good}\r\n\r\n").as_bytes()), 200, "{good:?}");
    }
}

#[test]
fn request_lines_are_strict() {
    for (line, expected) in [
        ("GET  / HTTP/1.1", 400),
        ("GET /  HTTP/1.1", 400),
        ("GET / HTTP/1.1 ", 400),
        (" GET / HTTP/1.1", 400),
        ("GET /", 400),
        ("GET / HTTP/1.10", 400),
        ("GET / HTTP/2.0", 505),
        ("GET / HTTP/0.9", 505),
        ("GET / http/1.1", 400),
        ("GET / HTTP/1,1", 400),
        ("GET\t/ HTTP/1.1", 400),
        ("G@T / HTTP/1.1", 400),
        ("GET a HTTP/1.1", 400),
        ("GET * HTTP/1.1", 400),
        ("CONNECT a:1 HTTP/1.1", 501),
        ("GET ftp://a/ HTTP/1.1", 400),
        ("GET http:///a HTTP/1.1", 400),
        ("GET http://a@b/ HTTP/1.1", 400),
        ("OPTIONS * HTTP/1.1", 200),
        ("GET http://a:80/b HTTP/1.1", 200),
        ("GET http://a?b HTTP/1.1", 200),
        ("GET HTTPS://a HTTP/1.1", 200),
        ("M-SEARCH / HTTP/1.1", 200),
        ("GET /a\0 HTTP/1.1", 400),
        ("GET // HTTP/1.1", 200),
    ] {
        assert_eq!(status(format!("{line}\r\nHost: h\r\n\r\n").as_bytes()), expected, "{line:?}");
    }
    assert_eq!(status(b"\x16\x03\x01\x02\x00\x01\x00"), 400);
}

#[test]
fn the_authority_of_the_target_is_kept() {
    with(b"GET http://a:80/b?c#d HTTP/1.1\r\nHost: h\r\n\r\n", |head| {
        let head = head.unwrap().unwrap();
        assert_eq!((head.target, head.authority), (Target::Path("/b?c"), Some("a:80")));
    });
}

#[test]
fn bodies_have_one_end() {
    for (fields, expected) in [
        ("Content-Length: 5", Ok(Framing::Length(5))),
        ("Transfer-Encoding: chunked", Ok(Framing::Chunked)),
        ("Transfer-Encoding: CHUNKED ", Ok(Framing::Chunked)),
        ("Content-Length: 9223372036854775807", Ok(Framing::Length(i64::MAX as u64))),
        ("Content-Length: 5\r\nContent-Length: 5", Err(400)),
        ("Content-Length: 5\r\nContent-Length: 6", Err(400)),
        ("Content-Length: 5, 5", Err(400)),
        ("Content-Length: +5", Err(400)),
        ("Content-Length: -5", Err(400)),
        ("Content-Length: 0x5", Err(400)),
        ("Content-Length: 1_0", Err(400)),
        ("Content-Length:", Err(400)),
        ("Content-Length: 5 5", Err(400)),
        ("Content-Length: 9223372036854775808", Err(400)),
        ("Content-Length: 18446744073709551617", Err(400)),
        ("Content-Length: 5\r\nTransfer-Encoding: chunked", Err(400)),
        ("Transfer-Encoding: chunked\r\nContent-Length: 5", Err(400)),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", Err(400)),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: x", Err(400)),
        ("Transfer-Encoding: chunked, identity", Err(400)),
        ("Transfer-Encoding: gzip, chunked", Err(501)),
        ("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked", Err(501)),
        ("Transfer-Encoding: identity", Err(400)),
        ("Transfer-Encoding: xchunked", Err(400)),
        ("Transfer-Encoding: \x0bchunked", Err(400)),
        ("Transfer-Encoding: chunked,", Ok(Framing::Chunked)),
        ("Transfer-Encoding: , chunked", Ok(Framing::Chunked)),
        ("Transfer-Encoding:\r\nTransfer-Encoding: ,chunked", Ok(Framing::Chunked)),
        ("Transfer-Encoding: ,", Err(400)),
        ("Content-Length: 5\r\nTransfer-Encoding: ,", Err(400)),
        ("Content-Type: a\r\nContent-Type: a", Err(400)),
        ("Transfer-Encoding: \"chunked\"", Err(400)),
        ("Transfer-Encoding: chunked;q=1", Err(400)),
        ("Transfer-Encoding:", Err(400)),
        ("Transfer-Encoding : chunked", Err(400)),
    ] {
        with(format!("POST / HTTP/1.1\r\nHost: h\r\n{fields}\r\n\r\n").as_bytes(), |head| {
            let got = head.map(|head| head.unwrap().framing).map_err(|rejection| rejection.status);
            assert_eq!(got, expected, "{fields:?}");
        });
    }
    assert_eq!(status(b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
}

#[test]
fn what_becomes_of_the_connection() {
    for (minor, fields, expected) in [
        (1, "", true),
        (1, "Connection: close\r\n", false),
        (1, "Connection: a, Close\r\n", false),
        (0, "", false),
        (0, "Connection: Keep-Alive\r\n", true),
        (0, "Connection: keep-alive, close\r\n", false),
    ] {
        with(format!("GET / HTTP/1.{minor}\r\nHost: h\r\n{fields}\r\n").as_bytes(), |head| {
            assert_eq!(head.unwrap().unwrap().keep_alive, expected, "{minor} {fields:?}");
        });
    }
}

#[test]
fn expectations() {
    assert_eq!(status(b"POST / HTTP/1.1\r\nHost: h\r\nExpect: 200-ok\r\n\r\n"), 417);
    with(b"POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\n\r\n", |head| {
        assert!(head.unwrap().unwrap().expects_continue);
    });
    with(b"POST / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n", |head| assert!(!head.unwrap().unwrap().expects_continue));
}

#[test]
fn a_later_minor_version_is_read_as_the_last_that_is_known() {
    let later = |line: &str| as_http_1_1(format!("{line}\r\nHost: h\r\n\r\n").as_bytes());
    for line in ["GET / HTTP/1.2", "\r\nGET /a HTTP/1.9"] {
        assert_eq!(status(&later(line).unwrap()), 200, "{line}");
    }
    for line in
        ["GET / HTTP/1.1", "GET / HTTP/2.0", "GET / HTTP/1.10", "GET / xHTTP/1.2", "GET HTTP/1.2x", "HTTP/1.2", ""]
    {
        assert_eq!(later(line), None, "{line}");
    }
    assert_eq!(as_http_1_1(b"GET / HTTP/1.2"), None);
    assert_eq!(as_http_1_1(b"GET / HTTP/1.2\n"), None);
}

#[test]
fn targets_say_whether_they_are_for_https() {
    for (target, is_https) in [("/", false), ("http://h/", false), ("https://h/", true), ("HTTPS://h", true)] {
        with(format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n").as_bytes(), |head| {
            assert_eq!(head.unwrap().unwrap().is_https, is_https, "{target}");
        });
    }
    for target in ["/\u{e9}", "http://h/\u{e9}"] {
        assert_eq!(status(format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n").as_bytes()), 400);
    }
}

#[test]
fn limits_have_their_status() {
    let line = |n: usize| format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", "a".repeat(n)).into_bytes();
    assert_eq!(status(&line(8000)), 200);
    assert_eq!(status(&line(8192)), 414);
    assert_eq!(status(&line(70_000)), 414);
    assert_eq!(status(&line(9000)[..8500]), 414);
    let headers = |n: usize| format!("GET / HTTP/1.1\r\nHost: h\r\n{}\r\n", "A: b\r\n".repeat(n)).into_bytes();
    assert_eq!(status(&headers(99)), 200);
    assert_eq!(status(&headers(100)), 431);
    let long = format!("GET / HTTP/1.1\r\nHost: h\r\nA: {}\r\n\r\n", "a".repeat(40_000)).into_bytes();
    assert_eq!(status(&long), 431);
    assert_eq!(status(&long[..33_000]), 431);
}
