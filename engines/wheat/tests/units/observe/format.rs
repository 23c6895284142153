// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/observe/format.rs`.

use super::*;

fn entry() -> Entry {
    Entry {
        peer: Some("::1".parse().unwrap()),
        method: b"GET".to_vec(),
        target: b"/a?b=c".to_vec(),
        version: Some(1),
        status: 200,
        bytes: 11,
        user_agent: Some(b"curl/8".to_vec()),
        began_ns: Some(1000),
        ..Entry::default()
    }
}

const NOW: Duration = Duration::new(1_795_262_400, 7_000_000);

/// A response 1,234,567 ns after its head.
fn written(format: &Format, entry: &Entry) -> String {
    let mut out = Vec::new();
    format.write(&mut out, &mut Clock::default(), NOW, entry, 1_235_567);
    String::from_utf8(out).unwrap()
}

fn combined() -> Format {
    Format::Layout(Arc::new(Layout::combined()))
}

fn layout(format: &str) -> Format {
    Format::Layout(Arc::new(Layout::parse(format).unwrap()))
}

#[test]
fn lines_as_others_read_them() {
    assert_eq!(
        written(&combined(), &entry()),
        "::1 - - [21/Nov/2026:12:00:00 +0000] \"GET /a?b=c HTTP/1.1\" 200 11 \"-\" \"curl/8\"\n"
    );
    assert_eq!(
        written(&Format::Json, &entry()),
        "{\"time\":\"2026-11-21T12:00:00.007Z\",\"peer\":\"::1\",\"method\":\"GET\",\"target\":\"/a?b=c\",\
         \"referer\":null,\"user_agent\":\"curl/8\",\"reason\":null,\"version\":\"1.1\",\"status\":200,\"bytes\":11,\
         \"duration_s\":0.001235}\n"
    );
    let nothing = Entry { status: 400, bytes: 11, ..Entry::default() };
    assert!(written(&combined(), &nothing).starts_with("unix: - - ["));
    assert!(written(&combined(), &nothing).contains("] \"-\" 400 11 \"-\" \"-\"\n"));
    let refused = Entry { reason: Some("the head is too long"), ..nothing.clone() };
    assert!(written(&combined(), &refused).contains("] \"- (the head is too long)\" 400 11 "));
    assert!(written(&Format::Json, &nothing).contains("\"method\":null,\"target\":null"));
    assert!(written(&Format::Json, &nothing).contains("\"version\":null"));
    let line = Entry { method: Vec::new(), version: None, target: b"set a 1".to_vec(), ..entry() };
    assert!(written(&combined(), &line).contains("] \"set a 1\" 200 11 "));
}

#[test]
fn every_field_has_its_value() {
    let all = "%(h)s|%(l)s|%(u)s|%(t)s|%(r)s|%(m)s|%(U)s|%(q)s|%(H)s|%(s)s|%(B)s|%(b)s|%(f)s|%(a)s|%(T)s|%(M)s|%(D)s|%(L)s|%%";
    let known = Entry { user: Some(b"me".to_vec()), referer: Some(b"r".to_vec()), ..entry() };
    assert_eq!(
        written(&layout(all), &known),
        "::1|-|me|[21/Nov/2026:12:00:00 +0000]|GET /a?b=c HTTP/1.1|GET|/a|b=c|HTTP/1.1|200|11|11|r|curl/8|0|1|1234|0.001234|%\n"
    );
    assert_eq!(
        written(&layout(all), &Entry { peer: known.peer, ..Entry::default() }),
        "::1|-|-|[21/Nov/2026:12:00:00 +0000]|-|-|-||-|0|0|0|-|-|0|0|0|0.000000|%\n"
    );
    assert_eq!(written(&layout("%(p)s"), &known), format!("<{}>\n", std::process::id()));
}

#[test]
fn what_a_format_asks_for_by_name_is_found() {
    let format = layout("%({X-Request-Id}i)s %({content-type}o)s %({X-None}o)s %({REMOTE_USER}e)s");
    let bytes = b"GET / HTTP/1.1\r\nHost: h\r\nx-request-id: 7\r\nAuthorization: Basic bWU6cGFzcw==\r\n\r\n";
    let mut storage = crate::http::head::storage();
    let limits = crate::http::head::HeadLimits { line: 1000, head: 1000, headers: 10 };
    let head = crate::http::head::parse(bytes, &mut storage, &limits).unwrap().unwrap();
    let mut entry = format.entry(&head, None, 0);
    assert_eq!(entry.user.as_deref(), Some(&b"me"[..]));
    let named = entry.named.as_mut().unwrap();
    named.look_up_response(b"HTTP/1.1 200 OK\r\nContent-Type:  text/plain \r\nContent-Length: 2\r\n");
    named.look_up(Of::Environ, |name| (name == "REMOTE_USER").then(|| b"\"you\"".to_vec()));
    assert_eq!(written(&format, &entry), "7 text/plain - \\x22you\\x22\n");
    assert!(combined().entry(&head, None, 0).named.is_none());
}

#[test]
fn users_of_credentials() {
    for (credentials, user) in [
        ("Basic bWU6cGFzcw==", Some("me")),
        ("basic bWU6", Some("me")),
        ("Basic OnBhc3M=", None),
        ("Basic bWU=", None),
        ("Basic !", None),
        ("Bearer bWU6cGFzcw==", None),
        ("Basic", None),
    ] {
        assert_eq!(user_of(credentials.as_bytes()).as_deref(), user.map(str::as_bytes), "{credentials}");
    }
}

#[test]
fn nothing_that_a_client_sends_leaves_its_field() {
    let every: Vec<u8> = (0..=255).collect();
    let hostile =
        Entry { target: every.clone(), user_agent: Some(every), referer: Some(b"\"\n\x1b[2J\\".to_vec()), ..entry() };
    for format in [combined(), Format::Json] {
        let line = written(&format, &hostile);
        assert_eq!(line.matches('\n').count(), 1);
        assert!(line.trim_end().bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{line}");
    }
    assert_eq!(written(&combined(), &hostile).matches('"').count(), 6);
    assert!(written(&combined(), &hostile).contains("\"\\x22\\x0a\\x1b[2J\\x5c\""));
    assert!(written(&Format::Json, &hostile).contains("\"\\u0022\\u000a\\u001b[2J\\u005c\""));
}

#[test]
fn days_of_the_calendar() {
    assert_eq!(civil(0), (1970, 1, 1));
    assert_eq!(civil(11_016), (2000, 2, 29));
    assert_eq!(civil(11_017), (2000, 3, 1));
    assert_eq!(civil(47_540), (2100, 2, 28));
    assert_eq!(civil(47_541), (2100, 3, 1));
}
