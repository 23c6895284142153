// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/observe/stat.rs`.

use super::*;

#[test]
fn figures_read_well() {
    assert_eq!([grouped(0), grouped(999), grouped(1000), grouped(1_234_567)], ["0", "999", "1,000", "1,234,567"]);
    assert_eq!(
        [sized(1023), sized(1024), sized(1 << 30), sized(1_048_575)],
        ["1023 B", "1.0 KiB", "1.0 GiB", "1.0 MiB"]
    );
    assert!(sized(u64::MAX).ends_with(" TiB"));
    let seconds = |s: u64| lasting(s * 1_000_000_000);
    assert_eq!(
        [seconds(59), seconds(61), seconds(3660), seconds(90_000)],
        ["59 s", "1 min 1 s", "1 h 1 min", "1 d 1 h"]
    );
}

#[test]
fn a_table_has_a_row_a_worker_and_sums_them() {
    let memory = Memory::create("shop", "http://127.0.0.1:8000").unwrap();
    let slots: Vec<usize> = (0..2).map(|index| memory.take(index, 1).unwrap()).collect();
    memory.slot(slots[0]).requests.add(1000);
    memory.slot(slots[1]).requests.add(234);
    let before = memory.snapshot();
    memory.slot(slots[1]).requests.add(100);
    memory.slot(slots[1]).responses[4].add(3);
    memory.give_back(slots[0]);
    let now = memory.snapshot();
    let text = table(&now, Some(&Rates { seconds: 2.0, before: &before }));
    let row =
        |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!(row("ended")[1], "1,000");
    assert_eq!(row("all")[1..3], ["1,334", "50"]);
    assert!(text.starts_with("shop  http://127.0.0.1:8000  master "));
    assert!(!table(&now, None).contains("a second"));
    assert!(text.lines().all(|line| line == line.trim_end()));
}
