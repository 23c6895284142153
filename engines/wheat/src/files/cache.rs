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

/// Of one worker. Connections need descriptors too, and 1024 of them in all is a common limit.
pub const BOUNDS: Bounds = Bounds { resources: 4096, bytes: 32 << 20, files: 256 };

#[derive(Debug)]
pub struct Cache {
    /// By decoded path.
    entries: HashMap<Arc<[u8]>, Entry>,
    /// The keys of `entries`, the one that the hand reaches next first.
    order: VecDeque<Arc<[u8]>>,
    held: Bounds,
    bounds: Bounds,
    /// Since 1970.
    pub(super) clock: fn() -> Duration,
}

#[derive(Debug)]
struct Entry {
    resource: Arc<Resource>,
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
        let (bytes, files) = resource.weight();
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
        self.entries.insert(key, Entry { resource, checked: now, was_used: false });
        self.held.resources += 1;
        self.held.bytes += bytes;
        self.held.files += files;
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
            let (bytes, files) = entry.resource.weight();
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
mod tests {
    use std::fs::{self, File};
    use std::path::Path;

    use super::*;
    use crate::files::conditional::Strength;
    use crate::files::encoding::Coding;
    use crate::files::resource::LARGEST_KEPT;

    struct Bench {
        tree: tempfile::TempDir,
        root: Root,
        cache: Cache,
    }

    impl Bench {
        fn new(bounds: Bounds) -> Self {
            let tree = tempfile::tempdir().unwrap();
            let root = Root::open(tree.path()).unwrap();
            Self { tree, root, cache: Cache::new(bounds) }
        }

        fn at(&self, name: &str) -> std::path::PathBuf {
            self.tree.path().join(name)
        }

        fn ask(&mut self, name: &str, now: u64) -> Result<Arc<Resource>, Failure> {
            match self.cache.fresh(name.as_bytes(), now) {
                Some(resource) => Ok(resource),
                None => self.cache.current(name.as_bytes(), &self.root, name, now),
            }
        }

        fn holds(&self, name: &str) -> bool {
            self.cache.entries.contains_key(name.as_bytes())
        }

        fn agrees(&self) {
            let sums = self.cache.entries.values().fold((0, 0), |(bytes, files), entry| {
                let (more_bytes, more_files) = entry.resource.weight();
                (bytes + more_bytes, files + more_files)
            });
            assert_eq!(sums, (self.cache.held.bytes, self.cache.held.files));
            assert_eq!(self.cache.order.len(), self.cache.entries.len());
            assert_eq!(self.cache.held.resources, self.cache.entries.len());
            assert!(self.cache.held.resources <= self.cache.bounds.resources);
            assert!(
                self.cache.held.bytes <= self.cache.bounds.bytes && self.cache.held.files <= self.cache.bounds.files
            );
        }
    }

    /// Ten seconds on, when what a test has just written has long settled.
    fn later() -> Duration {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + Duration::from_secs(10)
    }

    /// Same length, and soon the same time of modification.
    fn write(path: &Path, content: &str) {
        fs::write(path, content).unwrap();
        File::open(path).unwrap().set_modified(UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
    }

    #[test]
    fn a_change_shows_at_the_next_second() {
        let mut bench = Bench::new(BOUNDS);
        bench.cache.clock = later;
        write(&bench.at("a"), "one");
        let first = bench.ask("a", 7).unwrap();
        assert!(Arc::ptr_eq(&first, &bench.ask("a", 7).unwrap()));
        assert!(Arc::ptr_eq(&first, &bench.ask("a", 8).unwrap()), "nothing changed");
        std::thread::sleep(Duration::from_millis(20)); // ctime is as coarse as a timer tick
        write(&bench.at("a"), "two");
        assert!(Arc::ptr_eq(&first, &bench.ask("a", 8).unwrap()));
        let second = bench.ask("a", 9).unwrap();
        assert!(!Arc::ptr_eq(&first, &second));
        write(&bench.at("new"), "new");
        fs::rename(bench.at("new"), bench.at("a")).unwrap();
        let third = bench.ask("a", 10).unwrap();
        assert!(!Arc::ptr_eq(&second, &third));
        fs::write(bench.at("a.gz"), "packed").unwrap();
        assert_eq!(bench.ask("a", 11).unwrap().codings, [Coding::Gzip]);
        fs::remove_file(bench.at("a")).unwrap();
        assert_eq!(bench.ask("a", 12).err(), Some(Failure::NotFound));
        assert!(!bench.holds("a"));
        bench.agrees();
    }

    #[test]
    fn an_open_file_that_is_written_to_shows_at_once() {
        let mut bench = Bench::new(BOUNDS);
        bench.cache.clock = later;
        let long = "x".repeat(LARGEST_KEPT as usize + 1);
        write(&bench.at("a"), &long);
        let first = bench.ask("a", 7).unwrap();
        assert!(Arc::ptr_eq(&first, &bench.ask("a", 7).unwrap()));
        fs::write(bench.at("a"), long + "y").unwrap();
        assert_eq!(bench.ask("a", 7).unwrap().representations[0].version.length, LARGEST_KEPT + 2);
    }

    #[test]
    fn what_changed_just_now_is_read_at_every_check() {
        let mut bench = Bench::new(BOUNDS);
        fs::write(bench.at("a"), "one").unwrap();
        let first = bench.ask("a", 1).unwrap();
        assert!(Arc::ptr_eq(&first, &bench.ask("a", 1).unwrap()));
        assert!(!Arc::ptr_eq(&first, &bench.ask("a", 2).unwrap()));
        assert_eq!(first.representations[0].head.validators().strength, Strength::Weak);
        bench.cache.clock = later;
        assert_eq!(bench.ask("a", 3).unwrap().representations[0].head.validators().strength, Strength::Strong);
    }

    #[test]
    fn each_bound_holds() {
        let long = vec![b'x'; LARGEST_KEPT as usize + 1];
        for (bounds, content) in [
            (Bounds { resources: 3, ..BOUNDS }, &b"small"[..]),
            (Bounds { bytes: 3000, ..BOUNDS }, &[b'x'; 700]),
            (Bounds { files: 3, ..BOUNDS }, &long),
        ] {
            let mut bench = Bench::new(bounds);
            for name in ["a", "b", "c", "d", "e", "f"] {
                fs::write(bench.at(name), content).unwrap();
                bench.ask(name, 1).unwrap();
                bench.ask("a", 1).unwrap();
                bench.agrees();
                assert!(bench.holds(name));
            }
            assert!(bench.holds("a"), "what is asked for again and again stays");
            assert!(!bench.holds("b"));
        }
    }

    #[test]
    fn what_is_larger_than_the_cache_is_served_without_it() {
        let mut bench = Bench::new(Bounds { bytes: 100, ..BOUNDS });
        fs::write(bench.at("a"), [b'x'; 500]).unwrap();
        assert_eq!(bench.ask("a", 1).unwrap().representations[0].version.length, 500);
        assert!(!bench.holds("a"));
    }
}
