// SPDX-License-Identifier: Apache-2.0
//! How a call of the application gets on, as other threads see it: the master, which ends a worker that hangs, and the event
//! loop, which lets others in while a response streams or a client is waited for.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::patience;
use crate::clock::coarse_ns;
use crate::observe::counters::Slot;

/// A response that comes piece by piece for so long is a stream.
const STREAMS_AFTER_NS: u64 = 1_000_000_000;
/// A wait for a client is said to go on this often.
const SLICE: Duration = Duration::from_millis(100);

/// Of one thread.
pub struct Pace {
    slot: &'static Slot,
    /// When the first piece of the present response came, in monotonic nanoseconds. 0: none came. 1: a client is waited for.
    streams_since: AtomicU64,
    /// The call does not count among those of `--threads`.
    pub is_aside: AtomicBool,
}

impl Pace {
    pub fn new(slot: &'static Slot) -> Self {
        Self { slot, streams_since: AtomicU64::new(0), is_aside: AtomicBool::new(false) }
    }

    /// The application gave a piece of its response.
    pub fn piece(&self) {
        self.progress();
        if self.streams_since.load(Relaxed) == 0 {
            self.streams_since.store(coarse_ns(), Relaxed);
        }
    }

    /// The call has ended.
    pub fn end(&self) {
        self.progress();
        self.streams_since.store(0, Relaxed);
    }

    /// Whether others need not wait for the end of this call.
    pub fn is_long(&self, now_ns: u64) -> bool {
        match self.streams_since.load(Relaxed) {
            0 => false,
            since => now_ns.saturating_sub(since) >= STREAMS_AFTER_NS,
        }
    }

    /// A call that is aside says nothing about those that others wait for.
    fn progress(&self) {
        if !self.is_aside.load(Relaxed) {
            self.slot.progress.add_shared(1);
        }
    }

    /// Waits for a client. Whether one of the events came in this time.
    pub fn wait_for(&self, fd: i32, events: i16, time: Duration) -> io::Result<bool> {
        let before = self.streams_since.swap(1, Relaxed);
        let until = Instant::now() + time;
        let came = loop {
            self.progress();
            let left = until.saturating_duration_since(Instant::now());
            match patience::wait_for(fd, events, left.min(SLICE)) {
                Ok(false) if left > SLICE => {}
                came => break came,
            }
        };
        self.streams_since.store(before, Relaxed);
        came
    }
}
