// SPDX-License-Identifier: Apache-2.0
//! The access log: a line for each request, formatted by the event loop and written by a thread of its own. The loop never
//! waits for a disk or for whoever reads a pipe: what is not taken in time is dropped, whole lines at once, and counted.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::background;
use crate::config::{self, Config};
use crate::error::Error;
use crate::layout::Layout;
use crate::observe::counters::Slot;
use crate::observe::format::{Clock, Entry, Format};
use crate::observe::notice::Notice;
use crate::observe::syslog::Syslog;

/// Lines go to the thread when there are this many bytes of them, or when the loop has nothing else to do.
const ENOUGH: usize = 16 << 10;
/// Most bytes that wait for the thread.
const MOST_WAITING: usize = 1 << 20;
/// A pipe takes a piece of at most this size whole; lines of several workers don't mix.
const WHOLE: usize = rustix::pipe::PIPE_BUF;
/// How long the end of the worker waits for the last lines.
const LAST_LINES: Duration = Duration::from_secs(1);

pub struct AccessLog {
    pub format: Format,
    lines: Vec<u8>,
    clock: Clock,
    shared: Arc<Shared>,
    slot: &'static Slot,
}

/// What the loop and the thread share.
struct Shared {
    waiting: Mutex<Waiting>,
    changed: Condvar,
    /// Lines that could not be written.
    lost: AtomicU64,
}

#[derive(Default)]
struct Waiting {
    lines: Vec<u8>,
    reopen: bool,
    /// The thread is to end when it has written everything.
    end: bool,
    ended: bool,
}

impl AccessLog {
    /// None: no log is wanted.
    pub fn open(config: &Config, slot: &'static Slot) -> Result<Option<Self>, Error> {
        let format = match (&config.access_log_format, config.access_log) {
            (Some(layout), _) => Format::Layout(Arc::new(layout.clone())),
            (None, config::AccessLog::Off) => return Ok(None),
            (None, config::AccessLog::Combined) => Format::Layout(Arc::new(Layout::combined())),
            (None, config::AccessLog::Json) => Format::Json,
        };
        let sink = Sink::open(config)?;
        let shared = Arc::new(Shared { waiting: Mutex::default(), changed: Condvar::new(), lost: AtomicU64::new(0) });
        let theirs = Arc::clone(&shared);
        let write = move || theirs.write(sink);
        let started = background::start("access log", write);
        started.map_err(|error| Error::unavailable(format!("no thread for the access log: {error}")))?;
        Ok(Some(Self { format, lines: Vec::new(), clock: Clock::default(), shared, slot }))
    }

    pub fn record(&mut self, entry: &Entry, now_ns: u64) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.format.write(&mut self.lines, &mut self.clock, now, entry, now_ns);
        if self.lines.len() >= ENOUGH {
            self.hand_over();
        }
    }

    /// Called before the loop waits, so that the last line appears without another request.
    pub fn hand_over(&mut self) {
        if self.lines.is_empty() {
            return;
        }
        let mut dropped = self.shared.lost.swap(0, Ordering::Relaxed);
        let mut waiting = self.shared.lock();
        if waiting.lines.len() + self.lines.len() > MOST_WAITING {
            dropped += count(&self.lines);
        } else {
            waiting.lines.append(&mut self.lines);
            self.shared.changed.notify_all();
        }
        drop(waiting);
        self.lines.clear();
        if dropped > 0 {
            self.slot.log_lines_dropped.add(dropped);
        }
    }

    /// The file was moved away: the next lines go to a new one of the same name.
    pub fn reopen(&mut self) {
        self.hand_over();
        self.shared.lock().reopen = true;
        self.shared.changed.notify_all();
    }
}

impl Drop for AccessLog {
    /// Waits a moment for the last lines to be written.
    fn drop(&mut self) {
        self.hand_over();
        let mut waiting = self.shared.lock();
        waiting.end = true;
        self.shared.changed.notify_all();
        let done = self.shared.changed.wait_timeout_while(waiting, LAST_LINES, |waiting| !waiting.ended);
        drop(done);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // What is in there is whole even if somebody panicked meanwhile.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The life of the thread.
    fn write(&self, mut sink: Sink) {
        loop {
            let idle = |waiting: &mut Waiting| waiting.lines.is_empty() && !waiting.reopen && !waiting.end;
            let woken = self.changed.wait_while(self.lock(), idle);
            let mut waiting = woken.unwrap_or_else(PoisonError::into_inner);
            let lines = std::mem::take(&mut waiting.lines);
            let reopen = std::mem::take(&mut waiting.reopen);
            let end = waiting.end;
            drop(waiting);
            let reopen = reopen || REOPEN.swap(false, Ordering::Relaxed);
            if reopen {
                sink.reopen();
            }
            if let Err((error, lost)) = sink.write(&lines) {
                static FULL: Notice = Notice::unsaid();
                FULL.say(|| format!("the access log can't be written, and lines are lost: {error}"));
                self.lost.fetch_add(lost, Ordering::Relaxed);
            }
            if end && lines.is_empty() {
                self.lock().ended = true;
                self.changed.notify_all();
                return;
            }
        }
    }
}

/// A signal asks for the file to be opened again, before the next line.
pub static REOPEN: AtomicBool = AtomicBool::new(false);

/// Where the lines go.
enum Sink {
    StandardOutput,
    File { path: PathBuf, file: File },
    Syslog(Syslog),
}

impl Sink {
    fn open(config: &Config) -> Result<Self, Error> {
        if let Some(address) = &config.access_log_syslog {
            let failed = |error| Error::unavailable(format!("--access-log-syslog {address}: {error}"));
            return Syslog::open(address).map(Self::Syslog).map_err(failed);
        }
        let Some(path) = &config.access_log_file else { return Ok(Self::StandardOutput) };
        let failed = |error| Error::config(format!("--access-log-file: {}: {error}", path.display()));
        Ok(Self::File { path: path.clone(), file: open_to_append(path).map_err(failed)? })
    }

    fn reopen(&mut self) {
        let Self::File { path, file } = self else { return };
        match open_to_append(path) {
            Ok(new) => *file = new,
            Err(error) => {
                let text = format!("wheat: {} can't be opened again, the old file goes on: {error}\n", path.display());
                let _ = io::stderr().write_all(text.as_bytes());
            }
        }
    }

    /// An error with how many lines were lost by it.
    fn write(&mut self, lines: &[u8]) -> Result<(), (io::Error, u64)> {
        let (descriptor, piece) = match self {
            Self::Syslog(syslog) => {
                let mut failed: Option<(io::Error, u64)> = None;
                for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                    if let Err(error) = syslog.send(line) {
                        failed = Some((error, failed.map_or(1, |(_, lost)| lost + 1)));
                    }
                }
                return failed.map_or(Ok(()), Err);
            }
            // One write appends whole lines to a file, however many. To anything else (a pipe, a terminal) only small ones do.
            Self::File { file, .. } if file.metadata().is_ok_and(|m| !m.file_type().is_fifo()) => {
                (File::as_fd(file), usize::MAX)
            }
            Self::File { file, .. } => (File::as_fd(file), WHOLE),
            Self::StandardOutput => (rustix::stdio::stdout(), WHOLE),
        };
        let written = pieces(lines, piece).try_for_each(|piece| write_all(descriptor, piece));
        written.map_err(|error| (error, count(lines)))
    }
}

fn count(lines: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', lines).count() as u64
}

fn open_to_append(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().append(true).create(true).mode(0o640).open(path)
}

/// Whole lines, in pieces of at most `most` bytes where the lines allow it.
fn pieces(lines: &[u8], most: usize) -> impl Iterator<Item = &[u8]> {
    let mut rest = lines;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = if rest.len() <= most {
            rest.len()
        } else {
            let last = memchr::memrchr(b'\n', &rest[..most]);
            last.or_else(|| memchr::memchr(b'\n', rest)).map_or(rest.len(), |at| at + 1)
        };
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}

fn write_all(descriptor: BorrowedFd, mut bytes: &[u8]) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, poll};
    while !bytes.is_empty() {
        match rustix::io::write(descriptor, bytes) {
            Ok(n) => bytes = &bytes[n..],
            Err(rustix::io::Errno::INTR) => {}
            // Somebody who shares this pipe made it non-blocking.
            Err(rustix::io::Errno::AGAIN) => {
                poll(&mut [PollFd::from_borrowed_fd(descriptor, PollFlags::OUT)], None)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "../../tests/units/observe/log.rs"]
mod tests;
