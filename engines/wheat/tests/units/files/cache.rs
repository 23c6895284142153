// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/files/cache.rs`.

use std::fs::{self, File};
use std::path::Path;

use super::*;
use crate::files::conditional::Strength;
use crate::files::resource::LARGEST_KEPT;
use crate::options::Coding;

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
        assert!(self.cache.held.bytes <= self.cache.bounds.bytes && self.cache.held.files <= self.cache.bounds.files);
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
