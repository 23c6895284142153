// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/serve/outbox.rs`.

use super::*;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

#[test]
fn everything_arrives_in_order_whatever_the_client_takes() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&vec![b'f'; 300_000]).unwrap();
    let file = Arc::new(file);
    let shared: Arc<[u8]> = Arc::from(vec![b's'; 200_000]);
    let kept = vec![b'k'; 100_000];
    let mut outbox = Outbox::default();
    outbox.push(Piece::Owned { bytes: b"xhead".to_vec(), from: 1 });
    outbox.push(Piece::File { file: file.clone(), offset: 100_000, left: 150_000 });
    for _ in 0..20 {
        outbox.push(Piece::Shared { bytes: shared.clone(), from: 1, to: 1001 });
    }
    outbox.push(Piece::Owned { bytes: Vec::new(), from: 0 });
    let room = Room { memory: Budget::new(1500), disk: Budget::new(5000), spool: 1000, response: 0 };
    outbox.keep(&[b'w'; 999], &room).unwrap(); // to memory
    outbox.keep(&[b'v'; 1000], &room).unwrap(); // to the disk, and what follows behind it
    outbox.keep(b"u", &room).unwrap();
    assert_eq!((room.memory.left(), room.disk.left()), (501, 3999));
    assert!(outbox.keep(&[0; 4000], &room).is_err());
    // SAFETY: `kept` outlives the outbox.
    outbox.push(Piece::Kept(unsafe { Kept::new(&kept) }));
    let mut transport = Transport::Plain(OwnedFd::from(ours));
    let mut got = Vec::new();
    let mut blocked = 0;
    let mut buffer = vec![0; 7919];
    loop {
        match outbox.send(&mut transport) {
            Ok(()) => break,
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
        blocked += 1;
        let n = theirs.read(&mut buffer).unwrap();
        got.extend_from_slice(&buffer[..n]);
    }
    drop(transport);
    theirs.read_to_end(&mut got).unwrap();
    let expected =
        [&b"head"[..], &[b'f'; 150_000], &vec![b's'; 20_000], &[b'w'; 999], &[b'v'; 1000], b"u", &kept].concat();
    assert!(got == expected && blocked > 1);
    assert_eq!((outbox.left(), room.memory.left(), room.disk.left()), (0, 1500, 5000));
    assert_eq!(outbox.progress, expected.len() as u64);
}

#[test]
fn a_spool_ends_so_that_the_disk_gets_back_what_is_sent() {
    let room = Room { memory: Budget::new(0), disk: Budget::new(1 << 30), spool: 0, response: 0 };
    let mut outbox = Outbox::default();
    let piece = vec![b'p'; 1 << 20];
    for _ in 0..20 {
        outbox.keep(&piece, &room).unwrap();
    }
    assert_eq!((outbox.pieces.len(), outbox.left()), (2, 20 << 20));
    outbox.pieces.pop_front();
    assert_eq!(room.disk.left(), (1 << 30) - (4 << 20));
    drop(outbox);
    assert_eq!(room.disk.left(), 1 << 30);
}

#[test]
fn what_is_given_up_is_not_sent() {
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let mut outbox = Outbox::default();
    outbox.push(Piece::Owned { bytes: vec![b'a'], from: 0 });
    outbox.lost = true;
    assert!(outbox.send(&mut Transport::Plain(OwnedFd::from(ours))).is_err());
}

#[test]
fn a_file_that_became_shorter_is_an_error() {
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let file = Arc::new(tempfile::tempfile().unwrap());
    let mut outbox = Outbox::default();
    outbox.push(Piece::File { file, offset: 0, left: 10 });
    let error = outbox.send(&mut Transport::Plain(OwnedFd::from(ours))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
}
