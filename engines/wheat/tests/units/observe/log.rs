// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/observe/log.rs`.

use super::*;

fn entry() -> Entry {
    Entry { method: b"GET".to_vec(), target: b"/a?b=c".to_vec(), status: 200, ..Entry::default() }
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
fn lines_are_counted_by_their_ends() {
    assert_eq!((count(b""), count(b"a\nbc\n")), (0, 2));
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
