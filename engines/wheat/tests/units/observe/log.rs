// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/observe/log.rs`.

use super::*;

fn entry() -> Entry {
    Entry {
        peer: Some("::1".parse().unwrap()),
        method: b"GET".to_vec(),
        target: b"/a?b=c".to_vec(),
        version: 1,
        status: 200,
        bytes: 11,
        referer: None,
        user_agent: Some(b"curl/8".to_vec()),
        reason: None,
        began_ns: Some(1000),
    }
}

const NOW: Duration = Duration::new(1_795_262_400, 7_000_000);

/// `json` as `combined` is called: a response 1,234,567 ns after its head.
fn json(out: &mut Vec<u8>, clock: &mut Clock, now: Duration, entry: &Entry) {
    super::json(out, clock, now, entry, 1_235_567);
}

fn written(format: fn(&mut Vec<u8>, &mut Clock, Duration, &Entry), entry: &Entry) -> String {
    let mut out = Vec::new();
    format(&mut out, &mut Clock::default(), NOW, entry);
    String::from_utf8(out).unwrap()
}

#[test]
fn lines_as_others_read_them() {
    assert_eq!(
        written(combined, &entry()),
        "::1 - - [21/Nov/2026:12:00:00 +0000] \"GET /a?b=c HTTP/1.1\" 200 11 \"-\" \"curl/8\"\n"
    );
    assert_eq!(
        written(json, &entry()),
        "{\"time\":\"2026-11-21T12:00:00.007Z\",\"peer\":\"::1\",\"method\":\"GET\",\"target\":\"/a?b=c\",\
         \"referer\":null,\"user_agent\":\"curl/8\",\"reason\":null,\"version\":\"1.1\",\"status\":200,\"bytes\":11,\
         \"duration_s\":0.001235}\n"
    );
    let nothing =
        Entry { method: Vec::new(), target: Vec::new(), peer: None, user_agent: None, status: 400, ..entry() };
    assert!(written(combined, &nothing).starts_with("unix: - - ["));
    assert!(written(combined, &nothing).contains("] \"-\" 400 11 \"-\" \"-\"\n"));
    let refused = Entry { reason: Some("the head is too long"), ..nothing.clone() };
    assert!(written(combined, &refused).contains("] \"- (the head is too long)\" 400 11 "));
    assert!(written(json, &nothing).contains("\"method\":null,\"target\":null"));
}

#[test]
fn nothing_that_a_client_sends_leaves_its_field() {
    let every: Vec<u8> = (0..=255).collect();
    let hostile =
        Entry { target: every.clone(), user_agent: Some(every), referer: Some(b"\"\n\x1b[2J\\".to_vec()), ..entry() };
    for format in [combined, json] {
        let line = written(format, &hostile);
        assert_eq!(line.matches('\n').count(), 1);
        assert!(line.trim_end().bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{line}");
    }
    assert_eq!(written(combined, &hostile).matches('"').count(), 6);
    assert!(written(combined, &hostile).contains("\"\\x22\\x0a\\x1b[2J\\x5c\""));
    assert!(written(json, &hostile).contains("\"\\u0022\\u000a\\u001b[2J\\u005c\""));
}

#[test]
fn days_of_the_calendar() {
    assert_eq!(civil(0), (1970, 1, 1));
    assert_eq!(civil(11_016), (2000, 2, 29));
    assert_eq!(civil(11_017), (2000, 3, 1));
    assert_eq!(civil(47_540), (2100, 2, 28));
    assert_eq!(civil(47_541), (2100, 3, 1));
}

#[test]
fn pieces_are_whole_lines() {
    let lines = b"aa\nbbb\nc\n";
    let cut = |most| pieces(lines, most).map(|piece| std::str::from_utf8(piece).unwrap()).collect::<Vec<_>>();
    assert_eq!(cut(100), ["aa\nbbb\nc\n"]);
    assert_eq!(cut(7), ["aa\nbbb\n", "c\n"]);
    assert_eq!(cut(1), ["aa\n", "bbb\n", "c\n"]);
    assert_eq!(pieces(b"", 1).count(), 0);
}

fn config(path: &Path) -> Config {
    let access_log_file = Some(path.to_owned());
    Config { access_log: config::AccessLog::Combined, access_log_file, ..Config::default() }
}

#[test]
fn every_line_arrives_and_a_moved_file_is_followed_by_a_new_one() {
    let folder = std::env::temp_dir().join(format!("wheat-log-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let (path, moved) = (folder.join("a.log"), folder.join("a.log.1"));
    let slot: &'static Slot = Box::leak(Box::default());
    let mut log = AccessLog::open(&config(&path), slot).unwrap().unwrap();
    for _ in 0..1000 {
        log.record(&entry(), 2000);
    }
    log.hand_over();
    std::fs::rename(&path, &moved).unwrap();
    log.reopen();
    // What was recorded before goes to either file, whole.
    while !path.exists() {
        std::thread::yield_now();
    }
    log.record(&entry(), 2000);
    drop(log);
    let lines = |path: &Path| std::fs::read_to_string(path).unwrap().lines().count();
    assert_eq!(lines(&path) + lines(&moved), 1001);
    assert!(lines(&path) >= 1);
    assert_eq!(slot.log_lines_dropped.get(), 0);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_reader_that_never_reads_costs_lines_and_no_time() {
    let folder = std::env::temp_dir().join(format!("wheat-pipe-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    let reader = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let slot: &'static Slot = Box::leak(Box::default());
    let mut log = AccessLog::open(&config(&path), slot).unwrap().unwrap();
    let target = Entry { target: vec![b'x'; 4000], ..entry() };
    for _ in 0..1000 {
        log.record(&target, 2000);
    }
    log.hand_over();
    assert!(slot.log_lines_dropped.get() > 0, "4 MB do not fit");
    drop(log); // waits for LAST_LINES at most
    drop(reader);
    std::fs::remove_dir_all(&folder).unwrap();
}
