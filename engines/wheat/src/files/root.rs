// SPDX-License-Identifier: Apache-2.0
//! A directory that names are opened below, and nothing else.
//!
//! A name is first resolved to a descriptor that can't be read (`O_PATH`): nothing is opened by that, so a FIFO doesn't
//! block and a device doesn't notice. Only what turns out to be a regular file is then opened, through that descriptor, so
//! that nobody can put something else in its place meanwhile.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Stat, fstat, open, openat, openat2};
use rustix::io::Errno;

use super::manner::Manner;

/// Who keeps a name below the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeper {
    /// openat2 with RESOLVE_BENEATH (Linux 5.6): symbolic links are followed as long as they stay below.
    Kernel,
    /// Segment by segment, where openat2 isn't there or a sandbox forbids it: no symbolic link is followed.
    Segments,
}

#[derive(Debug)]
pub struct Root {
    directory: OwnedFd,
    keeper: Keeper,
    pub manner: Manner,
}

/// Something below the root, not opened.
pub struct Found {
    handle: OwnedFd,
    pub version: Version,
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Directory,
    Other,
}

/// Differs once the file has another content: replaced, or written to in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    device: u64,
    inode: u64,
    pub length: u64,
    pub modified: Moment,
    pub changed: Moment,
}

/// A time since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    pub seconds: i64,
    pub nanoseconds: u32,
}

impl Version {
    // the types of these fields differ from one architecture to the next
    #[allow(clippy::unnecessary_cast, clippy::useless_conversion)]
    fn of(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            length: stat.st_size as u64,
            modified: Moment { seconds: stat.st_mtime as i64, nanoseconds: stat.st_mtime_nsec as u32 },
            changed: Moment { seconds: stat.st_ctime as i64, nanoseconds: stat.st_ctime_nsec as u32 },
        }
    }
}

impl Root {
    pub fn open(path: &Path) -> io::Result<Self> {
        let directory = open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let keeper = match openat2(&directory, ".", PLACE, Mode::empty(), BELOW) {
            Err(Errno::NOSYS | Errno::PERM) => Keeper::Segments,
            _ => Keeper::Kernel,
        };
        // what `Found::open` goes through
        if let Err(error) = open(descriptor_path(&directory), OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
            return Err(io::Error::new(error.kind(), "files are opened through /proc, which is not mounted"));
        }
        Ok(Self { directory, keeper, manner: Manner::default() })
    }

    /// `name`: as `path::Name` has them, or empty for the root itself.
    pub fn find(&self, name: &str) -> Result<Found, Errno> {
        let name = if name.is_empty() { "." } else { name };
        let handle = match self.keeper {
            Keeper::Kernel => self.resolve(name)?,
            Keeper::Segments => self.walk(name)?,
        };
        let stat = fstat(&handle)?;
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Directory,
            _ => Kind::Other,
        };
        Ok(Found { handle, version: Version::of(&stat), kind })
    }

    fn resolve(&self, name: &str) -> Result<OwnedFd, Errno> {
        // EAGAIN: somebody renames directories just now, and the kernel can't vouch for the result
        let tries = 16;
        let mut last = Errno::AGAIN;
        for _ in 0..tries {
            match openat2(&self.directory, name, PLACE, Mode::empty(), BELOW) {
                Err(Errno::AGAIN | Errno::INTR) => last = Errno::AGAIN,
                result => return result,
            }
        }
        Err(last)
    }

    fn walk(&self, name: &str) -> Result<OwnedFd, Errno> {
        let mut place = openat(&self.directory, ".", PLACE, Mode::empty())?;
        for segment in name.split('/').filter(|segment| *segment != ".") {
            if segment == ".." {
                return Err(Errno::XDEV);
            }
            // O_PATH with O_NOFOLLOW gives the link itself, which is then no directory, and no file at the end
            place = openat(&place, segment, PLACE | OFlags::NOFOLLOW, Mode::empty())?;
        }
        Ok(place)
    }
}

const PLACE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
const BELOW: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);

impl Found {
    /// Opens it; it is a regular file.
    pub fn open(&self) -> Result<File, Errno> {
        debug_assert_eq!(self.kind, Kind::File);
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        open(descriptor_path(&self.handle), flags, Mode::empty()).map(File::from)
    }
}

fn descriptor_path(handle: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", handle.as_raw_fd())
}

/// What is in an open file now.
pub fn version(file: &File) -> Result<Version, Errno> {
    fstat(file).map(|stat| Version::of(&stat))
}

#[cfg(test)]
#[path = "../../tests/units/files/root.rs"]
mod tests;
