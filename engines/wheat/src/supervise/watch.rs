// SPDX-License-Identifier: Apache-2.0
//! `--reload`: workers say which folders their modules are from, by an inotify(7) that they share with the master, which
//! hears of what is written there. So none of them needs a thread, and no change falls between two loads.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use rustix::io::Errno;

use crate::observe::notice::Notice;

/// For so long nothing more is written before it counts: an editor or a checkout writes several files.
const QUIET: Duration = Duration::from_millis(200);

/// The master's end.
pub struct Watch {
    inotify: OwnedFd,
    /// The first file that was written, and when the last one will have been the last.
    changed: Option<(String, Instant)>,
}

impl Watch {
    pub fn new() -> io::Result<Self> {
        Ok(Self { inotify: inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?, changed: None })
    }

    /// When `take` is to be asked.
    pub fn due(&self) -> Option<Instant> {
        self.changed.as_ref().map(|(_, due)| *due)
    }

    /// The name of a file that has changed, once it is quiet again.
    pub fn take(&mut self) -> Option<String> {
        self.hear();
        if self.due()? > Instant::now() {
            return None;
        }
        self.changed.take().map(|(name, _)| name)
    }

    fn hear(&mut self) {
        let mut room = [MaybeUninit::uninit(); 4 << 10];
        let mut reader = Reader::new(&self.inotify, &mut room);
        loop {
            match reader.next() {
                Ok(event) => {
                    let name = event.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
                    if is_module(&name) {
                        let first = self.changed.take().map_or_else(|| name.into_owned(), |(first, _)| first);
                        self.changed = Some((first, Instant::now() + QUIET));
                    }
                }
                Err(Errno::INTR) => {}
                Err(_) => return, // nothing more for now
            }
        }
    }
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }
}

/// A worker's end: has the master hear of a folder.
pub fn add(watch: &OwnedFd, folder: &Path) {
    static FULL: Notice = Notice::unsaid();
    // A file is written in place, or another one takes its name.
    match inotify::add_watch(watch, folder, WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_TO) {
        Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => {} // not there: a module out of an archive
        Err(error) => FULL.say(|| format!("--reload: changes in {} will not be seen: {error}", folder.display())),
    }
}

/// Source, or compiled by somebody else than Python; not what editors put beside it.
fn is_module(name: &str) -> bool {
    !name.starts_with('.') && (name.ends_with(".py") || name.ends_with(".so"))
}
