// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/supervise/metrics.rs`.

use super::*;

fn ask(text: &str) -> Option<String> {
    let memory = Memory::create("sh\"op", "http://127.0.0.1:1").unwrap();
    answer(text.as_bytes(), &memory).map(|bytes| String::from_utf8(bytes).unwrap())
}

#[test]
fn only_the_counters_are_served() {
    let whole = ask("GET /metrics?x HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    assert!(whole.starts_with("HTTP/1.1 200 OK\r\n") && whole.ends_with("# EOF\n"), "{whole}");
    assert!(whole.contains("wheat_info{name=\"sh\\\"op\","), "{whole}");
    let body = whole.split("\r\n\r\n").nth(1).unwrap();
    assert!(whole.contains(&format!("Content-Length: {}\r\n", body.len())));
    let head = ask("HEAD /metrics HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    assert!(head.ends_with("\r\n\r\n") && head.contains("Content-Length: "), "{head}");
    for (text, status) in [
        ("GET / HTTP/1.1\r\n\r\n", "404"),
        ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
        ("\x00\r\n\r\n", "400"),
        (&format!("GET /metrics HTTP/1.1\r\nA: {}", "x".repeat(9000)), "431"),
    ] {
        assert!(ask(text).unwrap().starts_with(&format!("HTTP/1.1 {status} ")), "{text:.40}");
    }
    assert_eq!(ask("GET /metrics HTTP/1.1\r\nHost:"), None);
}
