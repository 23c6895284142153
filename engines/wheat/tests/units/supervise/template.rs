// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/supervise/template.rs`: what master and template say to each other. That it forks, `tests/test_preload.py` sees.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use super::*;

fn pair() -> (Template, OwnedFd) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    (Template::new(Pid::from_raw(1).unwrap(), 1, ours.into()), theirs.into())
}

/// A template that gives this answer to one order, and what it was ordered.
fn answering(line: OwnedFd, answer: i32) -> std::thread::JoinHandle<(usize, usize, UnixStream)> {
    std::thread::spawn(move || {
        let (index, slot, control) = next_order(&line).unwrap();
        send(&line, &answer.to_ne_bytes(), SendFlags::NOSIGNAL).unwrap();
        (index, slot, control.into())
    })
}

#[test]
fn an_order_has_all_that_makes_a_worker() {
    let (mut template, line) = pair();
    template.hear();
    assert!(!template.is_ready);
    send(&line, b"R", SendFlags::NOSIGNAL).unwrap();
    template.hear();
    assert!(template.is_ready);
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let answering = answering(line, 77);
    let pid = template.fork(3, 500, &theirs.into()).unwrap();
    let (index, slot, mut control) = answering.join().unwrap();
    assert_eq!((pid.as_raw_pid(), index, slot), (77, 3, 500));
    control.write_all(b"x").unwrap();
    drop(control);
    let mut said = String::new();
    ours.read_to_string(&mut said).unwrap();
    assert_eq!(said, "x", "it is the descriptor that was sent, and nobody else has it");
}

#[test]
fn what_cannot_be_forked_is_an_error() {
    let (template, line) = pair();
    let answering = answering(line, -1);
    let control: OwnedFd = UnixStream::pair().unwrap().1.into();
    assert!(template.fork(0, 0, &control).unwrap_err().to_string().contains("can't fork"));
    answering.join().unwrap();
    assert!(template.fork(0, 0, &control).is_err(), "it has ended");
}

#[test]
fn the_end_of_the_line_is_the_last_order() {
    let (template, line) = pair();
    drop(template);
    assert!(next_order(&line).is_none());
}
