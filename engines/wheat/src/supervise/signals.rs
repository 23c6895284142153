// SPDX-License-Identifier: Apache-2.0
//! Signals as something to read: they are blocked, so no handler interrupts anything, and no handler has to be safe.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

/// What the master obeys.
const OBEYED: [libc::c_int; 9] = [
    libc::SIGTERM,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGHUP,
    libc::SIGTTIN,
    libc::SIGTTOU,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGCHLD,
];

pub struct Signals {
    descriptor: OwnedFd,
}

impl Signals {
    /// Blocks them for the whole life of the process.
    pub fn block() -> io::Result<Self> {
        // SAFETY: the set is filled by sigemptyset before it is used; the descriptor is new and ours.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            for signal in OBEYED {
                libc::sigaddset(&mut set, signal);
            }
            if libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
            match libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
                -1 => Err(io::Error::last_os_error()),
                descriptor => Ok(Self { descriptor: OwnedFd::from_raw_fd(descriptor) }),
            }
        }
    }

    /// The next signal that came, without waiting.
    pub fn next(&self) -> Option<i32> {
        let mut information = [0; size_of::<libc::signalfd_siginfo>()];
        match rustix::io::read(&self.descriptor, &mut information) {
            // ssi_signo is the first field, 32 bits.
            Ok(n) if n == information.len() => {
                let number = u32::from_ne_bytes([information[0], information[1], information[2], information[3]]);
                i32::try_from(number).ok()
            }
            _ => None,
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Unblocks all signals in a child before it becomes another program, which would inherit what is blocked.
/// Async-signal-safe.
pub fn unblock_all() -> io::Result<()> {
    // SAFETY: the set is filled by sigemptyset before it is used.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        if libc::sigprocmask(libc::SIG_SETMASK, &set, std::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}
