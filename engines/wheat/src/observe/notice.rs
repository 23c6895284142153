// SPDX-License-Identifier: Apache-2.0
//! Lines on standard error about what may happen with every request: the first at once, then one in ten seconds.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::clock::coarse_ns;

const PAUSE_NS: u64 = 10_000_000_000;

/// One kind of line.
pub struct Notice {
    /// When the last one was said, in monotonic nanoseconds. 0: never.
    said_ns: AtomicU64,
    /// How often there was one since.
    kept_back: AtomicU64,
}

impl Notice {
    pub const fn unsaid() -> Self {
        Self { said_ns: AtomicU64::new(0), kept_back: AtomicU64::new(0) }
    }

    pub fn say(&self, text: impl FnOnce() -> String) {
        if let Some(more) = self.turn(coarse_ns()) {
            let more = if more > 0 { format!(" ({more} more like it before)") } else { String::new() };
            // Who reads no errors is told nothing.
            let _ = io::stderr().write_all(format!("wheat: {}{more}\n", text()).as_bytes());
        }
    }

    /// None: it is not said now. Otherwise how many were not said before.
    fn turn(&self, now_ns: u64) -> Option<u64> {
        let said_ns = self.said_ns.load(Relaxed);
        let due = said_ns == 0 || now_ns.saturating_sub(said_ns) >= PAUSE_NS;
        // Of several threads one says it.
        if due && self.said_ns.compare_exchange(said_ns, now_ns.max(1), Relaxed, Relaxed).is_ok() {
            return Some(self.kept_back.swap(0, Relaxed));
        }
        self.kept_back.fetch_add(1, Relaxed);
        None
    }
}

#[cfg(test)]
#[path = "../../tests/units/observe/notice.rs"]
mod tests;
