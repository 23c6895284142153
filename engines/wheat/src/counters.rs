// SPDX-License-Identifier: Apache-2.0
//! What a worker counts. Each worker writes its own slot of the shared memory, whose readers need no lock.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A counter with one writer (the thread of the event loop), hence without the locked instruction that `fetch_add` is.
#[derive(Default)]
#[repr(transparent)]
pub struct Counter(AtomicU64);

impl Counter {
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Relaxed);
    }
    #[inline]
    pub fn set(&self, n: u64) {
        self.0.store(n, Relaxed);
    }
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

#[derive(Default)]
#[repr(C, align(128))]
pub struct Slot {
    pub requests: Counter,
    /// Responses by class: 1xx … 5xx.
    pub responses: [Counter; 5],
    pub bytes_in: Counter,
    pub bytes_out: Counter,
    pub connections_accepted: Counter,
    pub connections_open: Counter,
    pub in_flight: Counter,
    /// By `timers::Kind`.
    pub timeouts: [Counter; 5],
    /// Requests that were refused before any application saw them, by what: malformed, limit, unsupported.
    pub rejected: [Counter; 3],
    /// Connections refused because there were too many.
    pub connections_refused: Counter,
    pub application_errors: Counter,
    /// Monotonic nanoseconds of the last turn of the event loop.
    pub heartbeat: Counter,
}
