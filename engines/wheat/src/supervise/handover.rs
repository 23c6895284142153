// SPDX-License-Identifier: Apache-2.0
//! What master and worker say to each other: descriptors and their numbers at the start, single bytes afterwards.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::config::Config;
use crate::error::Error;
use crate::observe::counters::{Memory, Slot};
use crate::observe::log::REOPEN;

/// Tells a process that it is a worker, and where what it inherits is.
pub const VARIABLE: &str = "WHEAT_WORKER";
/// The value of the variable for a worker that only imports the application.
pub const CHECK: &str = "check";

/// What the master gives a worker.
pub struct Context {
    /// Counts from 0; two workers have the same one while one takes over from the other.
    pub index: usize,
    /// Shared by all workers.
    pub listeners: Vec<OwnedFd>,
    /// None: without a master.
    pub control: Option<Control>,
    /// With `--reload`: where folders are told to the master.
    pub watch: Option<OwnedFd>,
    pub slot: &'static Slot,
}

/// Numbers of what a worker inherits, as text in its environment.
#[derive(Debug, PartialEq, Eq)]
pub struct Handover {
    pub master: u32,
    pub index: usize,
    pub slot: usize,
    pub control: RawFd,
    pub counters: RawFd,
    pub watch: Option<RawFd>,
    pub listeners: Vec<RawFd>,
}

impl Handover {
    pub fn to_text(&self) -> String {
        let listeners: Vec<String> = self.listeners.iter().map(RawFd::to_string).collect();
        let Self { master, index, slot, control, counters, .. } = self;
        let watch = self.watch.map_or("-".into(), |fd| fd.to_string());
        format!("{master} {index} {slot} {control} {counters} {watch} {}", listeners.join(","))
    }

    pub fn from_text(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let handover = Self {
            master: words.next()?.parse().ok()?,
            index: words.next()?.parse().ok()?,
            slot: words.next()?.parse().ok()?,
            control: words.next()?.parse().ok()?,
            counters: words.next()?.parse().ok()?,
            watch: match words.next()? {
                "-" => None,
                fd => Some(fd.parse().ok()?),
            },
            listeners: words.next()?.split(',').map(str::parse).collect::<Result<_, _>>().ok()?,
        };
        if words.next().is_some() { None } else { Some(handover) }
    }
}

/// An order of the master to a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The server ends: answer what is in flight, close what is idle, end.
    Finish,
    /// Another worker takes over: leave the listeners and end when every connection had its next answer or its
    /// deadline. An idle one is not closed at once: a client may be sending on it this moment, and its request would be lost.
    Retire,
    ReopenLogs,
}

impl Order {
    fn byte(self) -> u8 {
        match self {
            Self::Finish => b'f',
            Self::Retire => b'r',
            Self::ReopenLogs => b'l',
        }
    }
}

/// What a worker tells its master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// The application is imported, and the next connection will be accepted.
    Ready,
    /// `--max-requests` is reached: start another one, then let me retire.
    ReplaceMe,
}

impl Report {
    fn byte(self) -> u8 {
        match self {
            Self::Ready => b'R',
            Self::ReplaceMe => b'M',
        }
    }
}

/// The worker's end of the socket pair that it shares with the master. Readable: `order` has something to say.
pub struct Control {
    socket: OwnedFd,
}

impl Control {
    pub fn new(socket: OwnedFd) -> Self {
        Self { socket }
    }

    /// The next order, without waiting. The end of the stream is `Finish`, again and again.
    pub fn order(&self) -> Option<Order> {
        let mut byte = [0];
        match recv(&self.socket, &mut byte[..], RecvFlags::DONTWAIT) {
            Ok((1.., _)) => match byte[0] {
                b'r' => Some(Order::Retire),
                b'l' => Some(Order::ReopenLogs),
                _ => Some(Order::Finish),
            },
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => None,
            Ok((0, _)) | Err(_) => Some(Order::Finish),
        }
    }

    pub fn report(&self, report: Report) {
        // A master that is gone needs no report; its end of the stream says the rest.
        let _ = send(&self.socket, &[report.byte()], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    }
}

impl AsFd for Control {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsRawFd for Control {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

/// The master's end.
pub struct Line {
    socket: OwnedFd,
}

impl Line {
    pub fn new(socket: OwnedFd) -> Self {
        Self { socket }
    }

    pub fn order(&self, order: Order) {
        // A worker that is gone needs no order, and one that reads none is killed at its deadline.
        let _ = send(&self.socket, &[order.byte()], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    }

    /// The next report, without waiting; `Err` when there will be no more.
    pub fn report(&self) -> io::Result<Option<Report>> {
        let mut byte = [0];
        match recv(&self.socket, &mut byte[..], RecvFlags::DONTWAIT) {
            Ok((1.., _)) if byte[0] == b'M' => Ok(Some(Report::ReplaceMe)),
            Ok((1.., _)) => Ok(Some(Report::Ready)),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(None),
            Ok((0, _)) => Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Line {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Whether this process was started by a master, and is not some program that an application started.
pub fn is_worker() -> bool {
    inherited().is_some()
}

fn inherited() -> Option<Handover> {
    let handover = Handover::from_text(&std::env::var(VARIABLE).ok()?)?;
    let parent = rustix::process::getppid().map_or(0, |pid| pid.as_raw_pid() as u32);
    (handover.master == parent).then_some(handover)
}

/// What a process has from the master: all that a worker serves with, and that a template (`--preload`) gives the workers which it forks.
pub struct Inheritance {
    /// The process id.
    pub master: u32,
    index: usize,
    slot: usize,
    pub line: OwnedFd,
    counters: OwnedFd,
    watch: Option<OwnedFd>,
    listeners: Vec<OwnedFd>,
}

/// Takes over what the master handed down. Once a process, before any thread is started.
pub fn inherit(config: &Config) -> Result<Inheritance, Error> {
    let lost = |what: &dyn std::fmt::Display| Error::unavailable(format!("the master handed down no {what}"));
    let handover = inherited()
        .ok_or_else(|| Error::usage("a worker is started by its master: run wheat itself, not this module"))?;
    change_directory(config)?;
    let own = |fd: RawFd| {
        // SAFETY: the numbers come from the master, which opened them for this process; each is taken once.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        // Programs that the application starts do not inherit them.
        fcntl_setfd(&fd, FdFlags::CLOEXEC).map(|()| fd)
    };
    let Handover { master, index, slot, .. } = handover;
    let line = own(handover.control).map_err(|error| lost(&format!("control: {error}")))?;
    let counters = own(handover.counters).map_err(|error| lost(&format!("counters: {error}")))?;
    let watch = handover.watch.map(own).transpose().map_err(|error| lost(&format!("inotify: {error}")))?;
    let listeners: Result<_, _> = handover.listeners.iter().map(|fd| own(*fd)).collect();
    let listeners = listeners.map_err(|error| lost(&format!("socket: {error}")))?;
    Ok(Inheritance { master, index, slot, line, counters, watch, listeners })
}

impl Inheritance {
    /// Makes this process a worker.
    pub fn worker(self) -> Result<Context, Error> {
        let Self { index, slot, line, counters, watch, listeners, .. } = self;
        let slot = Memory::slot_for_life(counters, slot)
            .map_err(|error| Error::unavailable(format!("no memory for the counters: {error}")))?;
        call_it(&format!("wheat worker {index}"));
        finish_at_terminate(line.as_raw_fd());
        handle(libc::SIGUSR1, reopen);
        handle(libc::SIGUSR2, ignore);
        Ok(Context { index, listeners, control: Some(Control::new(line)), watch, slot })
    }

    /// Makes this process, which a template has forked, a worker that has all but these in common with the others.
    pub fn worker_of(self, index: usize, slot: usize, line: OwnedFd) -> Result<Context, Error> {
        Self { index, slot, line, ..self }.worker()
    }

    /// What workers do at these signals a template does not.
    pub fn ignore_signals_of_workers(&self) {
        call_it("wheat template");
        handle(libc::SIGUSR1, ignore);
        handle(libc::SIGUSR2, ignore);
    }
}

/// For ps and top.
fn call_it(name: &str) {
    let name = std::ffi::CString::new(name).expect("no NUL");
    let _ = rustix::thread::set_name(&name);
}

/// `--chdir`
pub fn change_directory(config: &Config) -> Result<(), Error> {
    let Some(folder) = &config.chdir else { return Ok(()) };
    std::env::set_current_dir(folder).map_err(|error| Error::config(format!("--chdir {}: {error}", folder.display())))
}

/// The socket that the signal handler ends.
static ENDS: AtomicI32 = AtomicI32::new(-1);

/// SIGTERM to a worker alone is an order to finish: the handler ends the reading side of the control socket, which wakes
/// the event loop. Nothing else happens in the handler.
fn finish_at_terminate(control: RawFd) {
    extern "C" fn end(_: libc::c_int) {
        // SAFETY: shutdown(2) is async-signal-safe; the descriptor stays open until the process ends. errno is kept for
        // the code that the signal interrupts.
        unsafe {
            let errno = *libc::__errno_location();
            libc::shutdown(ENDS.load(Ordering::Relaxed), libc::SHUT_RD);
            *libc::__errno_location() = errno;
        }
    }
    ENDS.store(control, Ordering::Relaxed);
    handle(libc::SIGTERM, end);
}

/// SIGUSR1 to a worker alone: its access log is opened again.
extern "C" fn reopen(_: libc::c_int) {
    REOPEN.store(true, Ordering::Relaxed);
}

/// SIGUSR2 is for the master. It is not ignored by the kernel, which programs that the application starts would inherit.
extern "C" fn ignore(_: libc::c_int) {}

/// `handler` only does what is async-signal-safe.
fn handle(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) {
    // SAFETY: as said; the zeroed rest of sigaction is an empty mask.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(signal, &action, std::ptr::null_mut());
    }
}

#[cfg(test)]
#[path = "../../tests/units/supervise/handover.rs"]
mod tests;
