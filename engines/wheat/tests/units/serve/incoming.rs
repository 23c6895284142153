// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/serve/incoming.rs`.

use super::*;
use std::io::{Read, Seek};

fn read(collected: Collected) -> Vec<u8> {
    match collected {
        Collected::Memory(bytes) => bytes,
        Collected::File(mut file, length) => {
            let mut bytes = Vec::new();
            file.rewind().unwrap();
            file.read_to_end(&mut bytes).unwrap();
            assert_eq!(bytes.len() as u64, length);
            bytes
        }
    }
}

#[test]
fn bodies_are_whole_wherever_they_are_kept() {
    let budget = MemoryBudget::new(1000);
    for (length, spool, in_file) in
        [(0, 10, false), (10, 10, false), (11, 10, true), (2000, 10_000, true), (999, 999, false)]
    {
        for step in [1, 7, 4096] {
            let body: Vec<u8> = (0..length).map(|i| i as u8).collect();
            let input = [&body[..], b"GET"].concat();
            let mut incoming = Incoming::new(Framing::Length(length as u64), 5000, spool, budget.clone()).unwrap();
            let (mut taken, mut done) = (0, false);
            for piece in input.chunks(step) {
                let mut rest = piece;
                done = incoming.take(&mut rest).unwrap();
                taken += piece.len() - rest.len();
                if done {
                    break;
                }
            }
            assert!(done && taken == length);
            let collected = incoming.collected();
            assert_eq!(matches!(collected, Collected::File(..)), in_file, "{length} bytes, {spool} in memory");
            assert_eq!(read(collected), body);
            assert_eq!(budget.0.load(Relaxed), 1000);
        }
    }
}

#[test]
fn the_limit_holds_for_both_framings() {
    let budget = MemoryBudget::new(100);
    let refused = |framing| Incoming::new(framing, 10, 100, budget.clone()).err().map(|rejection| rejection.status);
    assert_eq!(refused(Framing::Length(11)), Some(413));
    assert_eq!(refused(Framing::Length(10)), None);
    let mut incoming = Incoming::new(Framing::Chunked, 10, 100, budget.clone()).unwrap();
    assert!(!incoming.take(&mut &b"6\r\n123456\r\n5\r\n1234"[..]).unwrap());
    assert_eq!(incoming.take(&mut &b"5\r\n0\r\n\r\n"[..]).unwrap_err().status, 413);
    drop(incoming);
    assert_eq!(budget.0.load(Relaxed), 100);
}
