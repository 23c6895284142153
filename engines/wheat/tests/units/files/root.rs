// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/files/root.rs`.

use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;

use super::*;

fn tree() -> tempfile::TempDir {
    let tree = tempfile::tempdir().unwrap();
    let at = |name: &str| tree.path().join(name);
    fs::create_dir_all(at("root/d")).unwrap();
    fs::write(at("secret"), "secret").unwrap();
    fs::write(at("root/a"), "a").unwrap();
    fs::write(at("root/d/b"), "b").unwrap();
    for (to, link) in [
        ("a", "root/inside"),
        ("../a", "root/d/up"),
        ("d", "root/directory"),
        ("../secret", "root/out"),
        ("/etc/passwd", "root/absolute"),
        ("..", "root/parent"),
        ("loop", "root/loop"),
        ("/proc/self/root/etc/passwd", "root/magic"),
        ("/dev/zero", "root/device"),
    ] {
        symlink(to, at(link)).unwrap();
    }
    rustix::fs::mknodat(rustix::fs::CWD, at("root/fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("root/socket")).unwrap();
    tree
}

fn roots(tree: &tempfile::TempDir) -> [Root; 2] {
    let root = || Root::open(&tree.path().join("root")).unwrap();
    [root(), Root { keeper: Keeper::Segments, ..root() }]
}

fn read(root: &Root, name: &str) -> Option<String> {
    let found = root.find(name).ok().filter(|found| found.kind == Kind::File)?;
    let mut text = String::new();
    found.open().unwrap().read_to_string(&mut text).unwrap();
    Some(text)
}

#[test]
fn files_below_are_opened() {
    for root in roots(&tree()) {
        assert_eq!(read(&root, "a").as_deref(), Some("a"));
        assert_eq!(read(&root, "d/b").as_deref(), Some("b"));
        assert_eq!(root.find("").unwrap().kind, Kind::Directory);
        assert_eq!(root.find("d").unwrap().kind, Kind::Directory);
        assert_eq!(root.find("none").err(), Some(Errno::NOENT));
        assert_eq!(root.find("a/b").err(), Some(Errno::NOTDIR));
    }
}

#[test]
fn no_link_leads_out() {
    let tree = tree();
    for root in roots(&tree) {
        for name in ["out", "absolute", "parent/secret", "loop", "magic", "device", "d/../../secret", "../secret"] {
            assert_eq!(read(&root, name), None, "{name} {:?}", root.keeper);
        }
    }
}

#[test]
fn links_that_stay_below_are_followed_by_the_kernel_only() {
    let tree = tree();
    let [kernel, segments] = roots(&tree);
    if kernel.keeper == Keeper::Kernel {
        for (name, wanted) in [("inside", "a"), ("d/up", "a"), ("directory/b", "b")] {
            assert_eq!(read(&kernel, name).as_deref(), Some(wanted), "{name}");
        }
    }
    for name in ["inside", "d/up", "directory/b"] {
        assert_eq!(read(&segments, name), None, "{name}");
    }
}

#[test]
fn what_is_no_file_is_found_without_being_opened() {
    for root in roots(&tree()) {
        for name in ["fifo", "socket"] {
            assert_eq!(root.find(name).unwrap().kind, Kind::Other, "{name}");
        }
    }
}
