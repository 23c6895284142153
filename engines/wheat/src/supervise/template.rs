// SPDX-License-Identifier: Apache-2.0
//! `--preload`: a process that has imported the application and forks the workers, which share the memory that none of them writes to.
//!
//! The master starts a template for each load of the application, so that a reload has the new code, and asks it for one worker at a
//! time. The template forks twice, and the process between ends at once: the kernel gives the worker to the master, which has asked for
//! the orphans among its descendants (PR_SET_CHILD_SUBREAPER) and waits for these workers as for those that it starts itself.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recv,
    recvmsg, send, sendmsg,
};
use rustix::process::{Pid, Signal};

use crate::config::Config;
use crate::error::Error;
use crate::supervise::handover::{Context, Inheritance};

/// Longest that a fork is waited for.
const PATIENCE: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// A template, as the master sees it.
pub struct Template {
    pub pid: Pid,
    /// Which load of the application it has.
    pub generation: u64,
    /// The application is imported.
    pub is_ready: bool,
    line: OwnedFd,
}

impl Template {
    pub fn new(pid: Pid, generation: u64, line: OwnedFd) -> Self {
        Self { pid, generation, is_ready: false, line }
    }

    /// Takes note of what it says.
    pub fn hear(&mut self) {
        if !self.is_ready {
            self.is_ready = matches!(recv(&self.line, &mut [0][..], RecvFlags::DONTWAIT), Ok((1.., _)));
        }
    }

    /// A new worker with this end of the socket pair that it shares with the master.
    pub fn fork(&self, index: usize, slot: usize, control: &OwnedFd) -> io::Result<Pid> {
        let order = [index as u32, slot as u32].map(u32::to_ne_bytes).concat();
        let descriptors = [control.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
        sendmsg(&self.line, &[IoSlice::new(&order)], &mut ancillary, SendFlags::NOSIGNAL)?;
        let mut fds = [PollFd::new(&self.line, PollFlags::IN)];
        retry_on_intr(|| poll(&mut fds, Some(&PATIENCE)))?;
        let mut answer = [0; 4];
        match recv(&self.line, &mut answer[..], RecvFlags::DONTWAIT)? {
            (4, _) => match i32::from_ne_bytes(answer) {
                pid @ 1.. => Pid::from_raw(pid).ok_or_else(|| ErrorKind::InvalidData.into()),
                _ => Err(io::Error::other("the process that has imported the application can't fork")),
            },
            _ => Err(io::Error::other("the process that has imported the application has ended")),
        }
    }

    /// It is not needed any more.
    pub fn end(&self) {
        // It is our child and not waited for yet: the number is still its own.
        let _ = rustix::process::kill_process(self.pid, Signal::KILL);
    }
}

impl AsFd for Template {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.line.as_fd()
    }
}

/// What an interpreter does around a fork.
pub struct AroundFork {
    pub before: fn(),
    pub in_parent: fn(),
    pub in_child: fn(),
}

/// The life of a template. Some: this is a worker that it has forked. None: the master wants no more of them.
pub fn live(config: &Config, inheritance: Inheritance, around: &AroundFork) -> Result<Option<Context>, Error> {
    inheritance.ignore_signals_of_workers();
    let line = &inheritance.line;
    let _ = send(line, b"R", SendFlags::NOSIGNAL); // to a master that is gone no order follows either
    while let Some((index, slot, control)) = next_order(line) {
        match fork_twice(line, inheritance.master, around) {
            Ok(false) => {}
            Ok(true) => {
                if let Some(cpus) = config.affinity.cpus(index) {
                    let _ = rustix::thread::sched_setaffinity(None, &cpus); // they were allowed when the server started
                }
                return inheritance.worker_of(index, slot, control).map(Some);
            }
            Err(error) => {
                eprintln!("wheat: no worker can be forked: {error}");
                let _ = send(line, &(-1i32).to_ne_bytes(), SendFlags::NOSIGNAL);
            }
        }
    }
    Ok(None)
}

/// Index, slot and control of the next worker. None: there are no more.
fn next_order(line: &OwnedFd) -> Option<(usize, usize, OwnedFd)> {
    let (mut index, mut slot) = ([0; 4], [0; 4]);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = retry_on_intr(|| {
        let mut parts = [IoSliceMut::new(&mut index), IoSliceMut::new(&mut slot)];
        recvmsg(line, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)
    });
    if received.ok()?.bytes != index.len() + slot.len() {
        return None;
    }
    let control = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    })?;
    Some((u32::from_ne_bytes(index) as usize, u32::from_ne_bytes(slot) as usize, control))
}

/// True in the new process, which is the master's child.
fn fork_twice(line: &OwnedFd, master: u32, around: &AroundFork) -> io::Result<bool> {
    (around.before)();
    // SAFETY: the child goes on with the one thread that there is, which holds no lock but those of the interpreter, and
    // these are what `around` is for.
    match unsafe { libc::fork() } {
        -1 => {
            let error = io::Error::last_os_error();
            (around.in_parent)();
            Err(error)
        }
        0 => {
            let between = std::process::id();
            // SAFETY: as above.
            match unsafe { libc::fork() } {
                0 => {
                    if await_adoption(between, master).is_err() {
                        // SAFETY: ends this process, whose master is gone, and does nothing else.
                        unsafe { libc::_exit(1) }
                    }
                    (around.in_child)();
                    Ok(true)
                }
                pid => {
                    let _ = send(line, &pid.to_ne_bytes(), SendFlags::NOSIGNAL);
                    // SAFETY: ends this process and does nothing else.
                    unsafe { libc::_exit(0) }
                }
            }
        }
        between => {
            (around.in_parent)();
            // SAFETY: our own child, whose status nobody asks for.
            unsafe { libc::waitpid(between, std::ptr::null_mut(), 0) };
            Ok(false)
        }
    }
}

/// Until the process between has ended. A worker never outlives its master.
fn await_adoption(between: u32, master: u32) -> io::Result<()> {
    let parent = || rustix::process::getppid().map_or(0, |pid| pid.as_raw_pid() as u32);
    while parent() == between {
        std::thread::sleep(Duration::from_micros(50));
    }
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if parent() == master { Ok(()) } else { Err(ErrorKind::Interrupted.into()) }
}

#[cfg(test)]
#[path = "../../tests/units/supervise/template.rs"]
mod tests;
