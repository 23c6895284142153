// SPDX-License-Identifier: Apache-2.0
//! The access log: a line for each request, formatted by the event loop and written by a thread of its own. The loop never
//! waits for a disk or for whoever reads a pipe: what is not taken in time is dropped, whole lines at once, and counted.
//!
//! Everything that a client chose is escaped byte by byte: no request can begin a line, end a field or move a terminal's cursor.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::background;
use crate::config::{self, Config};
use crate::error::Error;
use crate::http::head::Head;
use crate::observe::counters::Slot;
use crate::observe::notice::Notice;

/// A request that was answered, or given up.
#[derive(Clone, Default)]
pub struct Entry {
    /// None: a UNIX socket.
    pub peer: Option<IpAddr>,
    /// Empty where no request line could be read.
    pub method: Vec<u8>,
    pub target: Vec<u8>,
    /// The minor version of HTTP/1.
    pub version: u8,
    pub status: u16,
    /// Bytes of the response's body that the kernel took for the client.
    pub bytes: u64,
    pub referer: Option<Vec<u8>>,
    pub user_agent: Option<Vec<u8>>,
    /// Why it was refused.
    pub reason: Option<&'static str>,
    /// When its head was read, in monotonic nanoseconds. None: none could be read.
    pub began_ns: Option<u64>,
}

impl Entry {
    /// What a head says of it.
    pub fn of(head: &Head, began_ns: u64) -> Self {
        let field = |name: &str| {
            let found = head.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
            found.map(|header| header.value.to_vec())
        };
        Self {
            method: head.method.as_bytes().to_vec(),
            target: head.raw_target.as_bytes().to_vec(),
            referer: field("referer"),
            user_agent: field("user-agent"),
            began_ns: Some(began_ns),
            ..Self::default()
        }
    }
}

/// Lines go to the thread when there are this many bytes of them, or when the loop has nothing else to do.
const ENOUGH: usize = 16 << 10;
/// Most bytes that wait for the thread.
const MOST_WAITING: usize = 1 << 20;
/// A pipe takes a piece of at most this size whole; lines of several workers don't mix.
const WHOLE: usize = rustix::pipe::PIPE_BUF;
/// How long the end of the worker waits for the last lines.
const LAST_LINES: Duration = Duration::from_secs(1);

pub struct AccessLog {
    format: config::AccessLog,
    lines: Vec<u8>,
    line_count: u64,
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
    line_count: u64,
    reopen: bool,
    /// The thread is to end when it has written everything.
    end: bool,
    ended: bool,
}

impl AccessLog {
    /// None: no log is wanted.
    pub fn open(config: &Config, slot: &'static Slot) -> Result<Option<Self>, Error> {
        if config.access_log == config::AccessLog::Off {
            return Ok(None);
        }
        let sink = Sink::open(config.access_log_file.as_deref())
            .map_err(|error| Error::config(format!("--access-log-file: {error}")))?;
        let shared = Arc::new(Shared { waiting: Mutex::default(), changed: Condvar::new(), lost: AtomicU64::new(0) });
        let theirs = Arc::clone(&shared);
        let write = move || theirs.write(sink);
        let started = background::start("access log", write);
        started.map_err(|error| Error::unavailable(format!("no thread for the access log: {error}")))?;
        let (lines, line_count, clock) = (Vec::new(), 0, Clock::default());
        Ok(Some(Self { format: config.access_log, lines, line_count, clock, shared, slot }))
    }

    pub fn record(&mut self, entry: &Entry, now_ns: u64) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        match self.format {
            config::AccessLog::Json => json(&mut self.lines, &mut self.clock, now, entry, now_ns),
            _ => combined(&mut self.lines, &mut self.clock, now, entry),
        }
        self.line_count += 1;
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
            dropped += self.line_count;
        } else {
            waiting.lines.append(&mut self.lines);
            waiting.line_count += self.line_count;
            self.shared.changed.notify_all();
        }
        drop(waiting);
        self.lines.clear();
        self.line_count = 0;
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
            let line_count = std::mem::take(&mut waiting.line_count);
            let reopen = std::mem::take(&mut waiting.reopen);
            let end = waiting.end;
            drop(waiting);
            let reopen = reopen || REOPEN.swap(false, Ordering::Relaxed);
            if reopen {
                sink.reopen();
            }
            if let Err(error) = sink.write(&lines) {
                static FULL: Notice = Notice::unsaid();
                FULL.say(|| format!("the access log can't be written, and lines are lost: {error}"));
                self.lost.fetch_add(line_count, Ordering::Relaxed);
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
}

impl Sink {
    fn open(path: Option<&Path>) -> io::Result<Self> {
        let Some(path) = path else { return Ok(Self::StandardOutput) };
        let named = |error| io::Error::other(format!("{}: {error}", path.display()));
        Ok(Self::File { path: path.to_owned(), file: open_to_append(path).map_err(named)? })
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

    fn descriptor(&self) -> BorrowedFd<'_> {
        match self {
            Self::StandardOutput => rustix::stdio::stdout(),
            Self::File { file, .. } => file.as_fd(),
        }
    }

    fn write(&self, lines: &[u8]) -> io::Result<()> {
        // One write appends whole lines to a file, however many. To anything else (a pipe, a terminal) only small ones do.
        let is_file =
            matches!(self, Self::File { file, .. } if file.metadata().is_ok_and(|m| !m.file_type().is_fifo()));
        let piece = if is_file { usize::MAX } else { WHOLE };
        pieces(lines, piece).try_for_each(|piece| write_all(self.descriptor(), piece))
    }
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

/// Date and time in UTC, made anew once a second.
#[derive(Default)]
struct Clock {
    second: Option<u64>,
    /// 21/Nov/2026:12:00:00 +0000
    common: String,
    /// 2026-11-21T12:00:00
    iso: String,
}

impl Clock {
    fn set(&mut self, second: u64) {
        if self.second == Some(second) {
            return;
        }
        let (year, month, day) = civil(second / 86400);
        let (h, m, s) = (second / 3600 % 24, second / 60 % 60, second % 60);
        let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let name = names[month as usize - 1];
        self.common = format!("{day:02}/{name}/{year}:{h:02}:{m:02}:{s:02} +0000");
        self.iso = format!("{year}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}");
        self.second = Some(second);
    }
}

/// Year, month and day of a day since 1970-01-01. Source: H. Hinnant, chrono-Compatible Low-Level Date Algorithms, 2013.
fn civil(days: u64) -> (u64, u64, u64) {
    let z = days + 719_468;
    let (era, of_era) = (z / 146_097, z % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153; // March is 0
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, of_year - (153 * shifted + 2) / 5 + 1)
}

fn combined(out: &mut Vec<u8>, clock: &mut Clock, now: Duration, entry: &Entry) {
    clock.set(now.as_secs());
    peer(out, entry.peer);
    let _ = write!(out, " - - [{}] \"", clock.common);
    if entry.method.is_empty() {
        out.push(b'-');
        if let Some(reason) = entry.reason {
            let _ = write!(out, " ({reason})");
        }
    } else {
        escape(out, &entry.method, b"\\x");
        out.push(b' ');
        escape(out, &entry.target, b"\\x");
        let _ = write!(out, " HTTP/1.{}", entry.version);
    }
    let _ = write!(out, "\" {} {} \"", entry.status, entry.bytes);
    escape(out, entry.referer.as_deref().unwrap_or(b"-"), b"\\x");
    out.extend_from_slice(b"\" \"");
    escape(out, entry.user_agent.as_deref().unwrap_or(b"-"), b"\\x");
    out.extend_from_slice(b"\"\n");
}

fn json(out: &mut Vec<u8>, clock: &mut Clock, now: Duration, entry: &Entry, now_ns: u64) {
    clock.set(now.as_secs());
    let _ = write!(out, "{{\"time\":\"{}.{:03}Z\",\"peer\":\"", clock.iso, now.subsec_millis());
    peer(out, entry.peer);
    out.push(b'"');
    let line = Some(&entry.method[..]).filter(|method| !method.is_empty());
    let fields = [
        ("method", line),
        ("target", line.map(|_| &entry.target[..])),
        ("referer", entry.referer.as_deref()),
        ("user_agent", entry.user_agent.as_deref()),
        ("reason", entry.reason.map(str::as_bytes)),
    ];
    for (name, value) in fields {
        let _ = write!(out, ",\"{name}\":");
        match value {
            None => out.extend_from_slice(b"null"),
            Some(value) => {
                out.push(b'"');
                escape(out, value, b"\\u00");
                out.push(b'"');
            }
        }
    }
    let seconds = entry.began_ns.map_or(0, |began_ns| now_ns - began_ns) as f64 / 1e9;
    let (version, status, bytes) = (entry.version, entry.status, entry.bytes);
    let _ = writeln!(
        out,
        ",\"version\":\"1.{version}\",\"status\":{status},\"bytes\":{bytes},\"duration_s\":{seconds:.6}}}"
    );
}

fn peer(out: &mut Vec<u8>, peer: Option<IpAddr>) {
    let _ = match peer {
        Some(address) => write!(out, "{address}"),
        None => write!(out, "unix:"),
    };
}

/// Printable ASCII as it is; quote, backslash and everything else as `prefix` and two hexadecimal digits.
fn escape(out: &mut Vec<u8>, bytes: &[u8], prefix: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for &byte in bytes {
        if matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\' {
            out.push(byte);
        } else {
            out.extend_from_slice(prefix);
            out.extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
    }
}

#[cfg(test)]
#[path = "../../tests/units/observe/log.rs"]
mod tests;
