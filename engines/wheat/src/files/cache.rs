// SPDX-License-Identifier: Apache-2.0
//! Resources that were asked for lately, bounded in number, bytes and open files.
//!
//! A name is looked up once a second, so a replaced file shows within one second; what is sent from an open file is looked
//! at each time, so that a head never goes with another content. Who was asked for since the hand last passed stays (the second-chance rule): one pass over many files
//! doesn't drive out the few that everybody wants.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::resource::{Failure, Resource};
use super::root::Root;

#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub resources: usize,
    pub bytes: usize,
    pub files: usize,
}

/// The bounds of one worker. Connections need descriptors too, and 1024 of them in all is a common limit.
pub const BOUNDS: Bounds = Bounds { resources: 4096, bytes: 32 << 20, files: 256 };

#[derive(Debug)]
pub struct Cache {
    /// Entries by decoded path.
    entries: HashMap<Arc<[u8]>, Entry>,
    /// The keys of `entries`, the one that the hand reaches next first.
    order: VecDeque<Arc<[u8]>>,
    held: Bounds,
    bounds: Bounds,
    /// The time since 1970.
    pub(super) clock: fn() -> Duration,
}

#[derive(Debug)]
struct Entry {
    resource: Arc<Resource>,
    /// Bytes and open files that it was counted with.
    weight: (usize, usize),
    /// Monotonic seconds.
    checked: u64,
    was_used: bool,
}

impl Cache {
    pub fn new(bounds: Bounds) -> Self {
        let held = Bounds { resources: 0, bytes: 0, files: 0 };
        let clock = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { entries: HashMap::new(), order: VecDeque::new(), held, bounds, clock }
    }

    /// If it was looked up in this second, and its open files are as they were.
    pub fn fresh(&mut self, path: &[u8], now: u64) -> Option<Arc<Resource>> {
        let entry = self.entries.get_mut(path).filter(|entry| entry.checked == now && entry.resource.is_untouched())?;
        entry.was_used = true;
        Some(Arc::clone(&entry.resource))
    }

    /// As it is now.
    pub fn current(&mut self, path: &[u8], root: &Root, name: &str, now: u64) -> Result<Arc<Resource>, Failure> {
        if let Some(entry) = self.entries.get_mut(path) {
            if entry.resource.is_current(root, name) {
                entry.checked = now;
                entry.was_used = true;
                return Ok(Arc::clone(&entry.resource));
            }
            self.forget(path);
        }
        let loaded = match Resource::load(root, name, (self.clock)()) {
            Err(Failure::Exhausted) => {
                // better to open a file anew than not at all
                self.empty();
                Resource::load(root, name, (self.clock)())
            }
            loaded => loaded,
        };
        let resource = Arc::new(loaded?);
        self.keep(path, Arc::clone(&resource), now);
        Ok(resource)
    }

    fn keep(&mut self, path: &[u8], resource: Arc<Resource>, now: u64) {
        let weight @ (bytes, files) = resource.weight();
        if bytes > self.bounds.bytes || files > self.bounds.files {
            return;
        }
        while self.held.resources + 1 > self.bounds.resources
            || self.held.bytes + bytes > self.bounds.bytes
            || self.held.files + files > self.bounds.files
        {
            self.turn();
        }
        let key: Arc<[u8]> = path.into();
        self.order.push_back(Arc::clone(&key));
        self.entries.insert(key, Entry { resource, weight, checked: now, was_used: false });
        self.held.resources += 1;
        self.held.bytes += bytes;
        self.held.files += files;
    }

    /// After a resource that may be here has become larger.
    pub fn weigh_again(&mut self, path: &[u8]) {
        let Some(entry) = self.entries.get_mut(path) else { return };
        let (before, now) = (entry.weight, entry.resource.weight());
        entry.weight = now;
        self.held.bytes = self.held.bytes + now.0 - before.0;
        while self.held.bytes > self.bounds.bytes {
            self.turn();
        }
    }

    /// Moves the hand by one: spares the entry that was used, removes the one that wasn't.
    fn turn(&mut self) {
        let key = self.order.pop_front().expect("something is held");
        let entry = self.entries.get_mut(&key).expect("every key in order has its entry");
        if std::mem::take(&mut entry.was_used) {
            self.order.push_back(key);
        } else {
            self.release(&key);
        }
    }

    fn forget(&mut self, path: &[u8]) {
        self.release(path);
        self.order.retain(|key| **key != *path);
    }

    fn release(&mut self, path: &[u8]) {
        if let Some(entry) = self.entries.remove(path) {
            let (bytes, files) = entry.weight;
            self.held.resources -= 1;
            self.held.bytes -= bytes;
            self.held.files -= files;
        }
    }

    fn empty(&mut self) {
        *self = Self { clock: self.clock, ..Self::new(self.bounds) };
    }
}

#[cfg(test)]
#[path = "../../tests/units/files/cache.rs"]
mod tests;
