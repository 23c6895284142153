// SPDX-License-Identifier: Apache-2.0
//! Where bodies wait, both ways: in memory to a limit, then in files without a name. What all bodies of a worker take of memory
//! and of the disk is bounded.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::config::Limits;
use crate::observe::notice::Notice;

/// Memory of all bodies of a worker together; beyond it they go to files whatever their size.
const MEMORY_BYTES: u64 = 16 << 20;

/// Of a response, unless `--limit-response` says otherwise.
const RESPONSE_BYTES: usize = 64 << 20;

/// Bytes that may still be taken.
#[derive(Clone)]
pub struct Budget(Arc<AtomicU64>);

impl Budget {
    pub fn new(bytes: u64) -> Self {
        Self(Arc::new(AtomicU64::new(bytes)))
    }

    pub fn take(&self, bytes: u64) -> bool {
        self.0.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(bytes)).is_ok()
    }

    pub fn give_back(&self, bytes: u64) {
        self.0.fetch_add(bytes, Relaxed);
    }

    pub fn left(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// The room that a worker has for bodies.
#[derive(Clone)]
pub struct Room {
    pub memory: Budget,
    pub disk: Budget,
    /// Of one body in memory.
    pub spool: u64,
    /// Of one response, in memory and on the disk together.
    pub response: u64,
}

impl Room {
    /// `threads`: which call the application.
    pub fn of(limits: &Limits, threads: usize) -> Self {
        let response = if threads > 1 { RESPONSE_BYTES } else { limits.disk };
        Self {
            memory: Budget::new(MEMORY_BYTES),
            disk: Budget::new(limits.disk as u64),
            spool: limits.spool as u64,
            response: limits.response.unwrap_or(response) as u64,
        }
    }
}

/// A file without a name: bytes come at its end and are read from anywhere. The disk has them back when it is dropped.
pub struct Spool {
    file: File,
    length: u64,
    disk: Budget,
}

impl Spool {
    /// With its first bytes.
    pub fn new(bytes: &[u8], room: &Room) -> io::Result<Self> {
        let mut spool = Self { file: tempfile::tempfile().map_err(told)?, length: 0, disk: room.disk.clone() };
        spool.append(bytes)?;
        Ok(spool)
    }

    /// All of the bytes, or none.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let length = bytes.len() as u64;
        if !self.disk.take(length) {
            return Err(told(io::Error::new(ErrorKind::StorageFull, "--limit-disk is reached")));
        }
        if let Err(error) = self.file.write_all_at(bytes, self.length) {
            self.disk.give_back(length);
            return Err(told(error));
        }
        self.length += length;
        Ok(())
    }

    pub fn length(&self) -> u64 {
        self.length
    }

    pub fn file(&self) -> &File {
        &self.file
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        self.disk.give_back(self.length);
    }
}

/// Says that there is no room, now and then.
fn told(error: io::Error) -> io::Error {
    static FULL: Notice = Notice::unsaid();
    FULL.say(|| format!("a body can't be kept in {}: {error}", std::env::temp_dir().display()));
    error
}

#[cfg(test)]
#[path = "../../tests/units/serve/keep.rs"]
mod tests;
