// SPDX-License-Identifier: Apache-2.0
//! SIGUSR2: another program, perhaps a newer one, takes over. The old master starts it with its listening sockets; when it is ready the
//! workers of the old one retire. No connection finds nobody who listens, and if the new program fails nothing has changed.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair};

/// Tells a master that it takes over, from whom, and where what it inherits is.
pub const VARIABLE: &str = "WHEAT_TAKEOVER";

/// The new program, as the old master sees it.
pub struct Successor {
    line: OwnedFd,
    pub pid: u32,
}

/// What the new master has from the old one.
pub struct Legacy {
    line: OwnedFd,
    pub sockets: Vec<OwnedFd>,
    /// So many of them, the first ones, belong to a service manager.
    pub adopted: usize,
    /// Those of `--metrics`.
    pub metrics: Vec<OwnedFd>,
}

impl Successor {
    pub fn start(program: &Path, sockets: &[OwnedFd], adopted: usize, metrics: &[OwnedFd]) -> io::Result<Self> {
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        let numbers = |sockets: &[OwnedFd]| {
            sockets.iter().map(|socket| socket.as_raw_fd().to_string()).collect::<Vec<_>>().join(",")
        };
        let own = std::process::id();
        let text = format!("{own} {} {adopted} {} {}", theirs.as_raw_fd(), numbers(sockets), numbers(metrics));
        let inherited: Vec<RawFd> =
            sockets.iter().chain(metrics).map(OwnedFd::as_raw_fd).chain([theirs.as_raw_fd()]).collect();
        let mut command = Command::new(program);
        command.args(std::env::args_os().skip(1)).env(VARIABLE, text).env_remove("LISTEN_FDS").env_remove("LISTEN_PID");
        // SAFETY: between fork and exec only fcntl is called, on descriptors that are open in the child as they are here.
        unsafe {
            command.pre_exec(move || {
                inherited.iter().try_for_each(|fd| match libc::fcntl(*fd, libc::F_SETFD, 0) {
                    0 => Ok(()),
                    _ => Err(io::Error::last_os_error()),
                })
            });
        }
        // The master waits for all its children, and so for this one.
        Ok(Self { line: ours, pid: command.spawn()?.id() })
    }

    /// Whether it is ready; None: it is still at it. An end without a word is no.
    pub fn is_ready(&self) -> Option<bool> {
        match recv(&self.line, &mut [0][..], RecvFlags::DONTWAIT) {
            Ok((n, _)) => Some(n > 0),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => None,
            Err(_) => Some(false),
        }
    }
}

impl AsFd for Successor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.line.as_fd()
    }
}

impl Legacy {
    /// Once a process, before any other descriptor is opened. None: there is no old master.
    pub fn take() -> Option<Self> {
        let text = std::env::var(VARIABLE).ok()?;
        let mut words = text.split(' ');
        let parent = rustix::process::getppid().map_or(0, |pid| pid.as_raw_pid());
        if words.next()?.parse() != Ok(parent) {
            return None; // some program that the new one started
        }
        let line: RawFd = words.next()?.parse().ok()?;
        let adopted = words.next()?.parse().ok()?;
        let own = |fd: RawFd| {
            // SAFETY: the old master opened it for this process; each number comes once.
            let fd = unsafe { OwnedFd::from_raw_fd(fd) };
            fcntl_setfd(&fd, FdFlags::CLOEXEC).ok().map(|()| fd)
        };
        let all = |list: &str| -> Option<Vec<OwnedFd>> {
            list.split(',').filter(|number| !number.is_empty()).map(|number| own(number.parse().ok()?)).collect()
        };
        Some(Self { line: own(line)?, sockets: all(words.next()?)?, adopted, metrics: all(words.next()?)? })
    }

    /// Says that the old workers may go.
    pub fn ready(self) {
        let _ = send(&self.line, b"R", SendFlags::NOSIGNAL);
    }
}
