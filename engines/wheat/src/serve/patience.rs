// SPDX-License-Identifier: Apache-2.0
//! Waiting for clients. A deadline means progress: who takes or sends something in it is waited for again.

use std::io;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

use super::outbox::Outbox;
use super::transport::Transport;

/// Less than this in a deadline's time counts as nothing: a trickle does not hold a connection open.
pub const LEAST_PROGRESS: u64 = 4 << 10;

/// Since when a client is waited for, and what it had taken by then.
pub struct Watch {
    patience: Duration,
    until: Instant,
    /// Sent by then, less what the kernel still had of it.
    taken: i64,
}

fn taken(transport: &Transport, outbox: &Outbox) -> i64 {
    outbox.sent as i64 - transport.queued() as i64
}

impl Watch {
    pub fn new(patience: Duration, transport: &Transport, outbox: &Outbox) -> Self {
        Self { patience, until: Instant::now() + patience, taken: taken(transport, outbox) }
    }

    pub fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// After its time: whether the client has taken something, and has as much time again.
    pub fn renew(&mut self, transport: &Transport, outbox: &Outbox) -> bool {
        let now = taken(transport, outbox);
        let goes_on = now - self.taken >= LEAST_PROGRESS as i64;
        self.taken = now;
        self.until = Instant::now() + self.patience;
        goes_on
    }
}

/// Whether one of the events came in this time.
pub fn wait_for(fd: RawFd, events: i16, time: Duration) -> io::Result<bool> {
    let mut poll = libc::pollfd { fd, events, revents: 0 };
    let milliseconds = i32::try_from(time.as_millis() + 1).unwrap_or(i32::MAX);
    // SAFETY: one pollfd, as said.
    match unsafe { libc::poll(&raw mut poll, 1, milliseconds) } {
        0 => Ok(false),
        1.. => Ok(true),
        _ => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(true), // as good a reason to look again
            error => Err(error),
        },
    }
}
