// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/serve/incoming.rs`.

use super::*;
use crate::serve::keep::Budget;
use std::os::unix::fs::FileExt;

fn room(memory: u64, spool: u64) -> Room {
    Room { memory: Budget::new(memory), disk: Budget::new(1 << 20), spool, response: 0 }
}

fn read(collected: Collected) -> Vec<u8> {
    match collected {
        Collected::Memory(bytes) => bytes,
        Collected::File(spool) => {
            let mut bytes = vec![0; spool.length() as usize];
            spool.file().read_exact_at(&mut bytes, 0).unwrap();
            bytes
        }
    }
}

#[test]
fn bodies_are_whole_wherever_they_are_kept() {
    for (length, spool, in_file) in
        [(0, 10, false), (10, 10, false), (11, 10, true), (2000, 10_000, true), (999, 999, false)]
    {
        let room = room(1000, spool);
        for step in [1, 7, 4096] {
            let body: Vec<u8> = (0..length).map(|i| i as u8).collect();
            let input = [&body[..], b"GET"].concat();
            let mut incoming = Incoming::new(Framing::Length(length as u64), 5000, room.clone()).unwrap();
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
            assert_eq!(matches!(collected, Collected::File(_)), in_file, "{length} bytes, {spool} in memory");
            assert_eq!(read(collected), body);
            assert_eq!((room.memory.left(), room.disk.left()), (1000, 1 << 20));
        }
    }
}

#[test]
fn the_limit_holds_for_both_framings() {
    let room = room(100, 100);
    let refused = |framing| Incoming::new(framing, 10, room.clone()).err().map(|rejection| rejection.status);
    assert_eq!(refused(Framing::Length(11)), Some(413));
    assert_eq!(refused(Framing::Length(10)), None);
    let mut incoming = Incoming::new(Framing::Chunked, 10, room.clone()).unwrap();
    assert!(!incoming.take(&mut &b"6\r\n123456\r\n5\r\n1234"[..]).unwrap());
    assert_eq!(incoming.take(&mut &b"5\r\n0\r\n\r\n"[..]).unwrap_err().status, 413);
    drop(incoming);
    assert_eq!(room.memory.left(), 100);
}

#[test]
fn without_room_on_the_disk_a_body_is_refused() {
    let room = Room { disk: Budget::new(15), ..room(100, 10) };
    let mut incoming = Incoming::new(Framing::Length(20), 100, room.clone()).unwrap();
    assert!(!incoming.take(&mut &b"0123456789ab"[..]).unwrap());
    assert_eq!(incoming.take(&mut &b"cdef"[..]).unwrap_err().status, 503);
    drop(incoming);
    assert_eq!((room.memory.left(), room.disk.left()), (100, 15));
}
