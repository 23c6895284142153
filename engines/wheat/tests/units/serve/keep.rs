// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/serve/keep.rs`.

use super::*;

fn room(disk: u64) -> Room {
    Room { memory: Budget::new(100), disk: Budget::new(disk), spool: 10, response: 1000 }
}

#[test]
fn a_spool_takes_all_or_nothing_and_gives_the_disk_back() {
    let room = room(10);
    let mut spool = Spool::new(b"abcd", &room).unwrap();
    spool.append(b"efgh").unwrap();
    assert!(spool.append(b"ijk").is_err());
    assert_eq!((spool.length(), room.disk.left()), (8, 2));
    let mut read = [0; 8];
    spool.file().read_exact_at(&mut read, 0).unwrap();
    assert_eq!(&read, b"abcdefgh");
    drop(spool);
    assert_eq!(room.disk.left(), 10);
    assert!(Spool::new(&[0; 11], &room).is_err());
    assert_eq!(room.disk.left(), 10);
}

#[test]
fn a_full_disk_is_an_error_and_takes_nothing() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let room = room(100);
    let mut spool = Spool { file: full, length: 0, disk: room.disk.clone() };
    assert!(spool.append(b"abc").is_err());
    assert_eq!((spool.length(), room.disk.left()), (0, 100));
}
