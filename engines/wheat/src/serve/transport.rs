// SPDX-License-Identifier: Apache-2.0
//! A connection's bytes, plain or through TLS. Nothing here blocks: `ErrorKind::WouldBlock` says that it would.

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
#[cfg(feature = "tls")]
use std::sync::Arc;

use super::socket::{self, After};
#[cfg(feature = "tls")]
use super::tls::{self, Session};
use crate::config::Config;
use crate::error::Error;

pub enum Transport {
    Plain(OwnedFd),
    #[cfg(feature = "tls")]
    Tls(Box<Session>),
}

/// Makes transports of accepted sockets.
pub struct Opener {
    #[cfg(feature = "tls")]
    tls: Option<Arc<rustls::ServerConfig>>,
}

impl Opener {
    /// `alpn`: what the protocol is called within TLS.
    #[cfg(feature = "tls")]
    pub fn new(config: &Config, alpn: Option<&[u8]>) -> Result<Self, Error> {
        let tls = config.tls.as_ref().map(|files| tls::server_config(files, alpn)).transpose();
        Ok(Self { tls: tls.map_err(Error::config)? })
    }

    #[cfg(not(feature = "tls"))]
    pub fn new(config: &Config, _alpn: Option<&[u8]>) -> Result<Self, Error> {
        match config.tls {
            Some(_) => Err(Error::config("--tls-certificate: this wheat was built without TLS")),
            None => Ok(Self {}),
        }
    }

    pub fn is_secure(&self) -> bool {
        #[cfg(feature = "tls")]
        return self.tls.is_some();
        #[cfg(not(feature = "tls"))]
        false
    }

    /// None: a TLS session could not be made.
    pub fn open(&self, socket: OwnedFd) -> Option<Transport> {
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            return Some(Transport::Tls(Box::new(Session::new(socket, tls.clone()).ok()?)));
        }
        Some(Transport::Plain(socket))
    }
}

impl Transport {
    pub fn fd(&self) -> RawFd {
        match self {
            Self::Plain(fd) => fd.as_raw_fd(),
            #[cfg(feature = "tls")]
            Self::Tls(session) => session.fd(),
        }
    }

    #[inline]
    pub fn is_plain(&self) -> bool {
        matches!(self, Self::Plain(_))
    }

    /// 0: the client has ended its side.
    #[inline]
    pub fn receive(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(fd) => socket::receive(fd, into),
            #[cfg(feature = "tls")]
            Self::Tls(session) => session.receive(into),
        }
    }

    /// Whether `receive` would give bytes that the kernel knows nothing of.
    pub fn holds_input(&mut self) -> bool {
        match self {
            Self::Plain(_) => false,
            #[cfg(feature = "tls")]
            Self::Tls(session) => session.holds_input(),
        }
    }

    /// Sends several slices in order; gives the number of bytes that were taken.
    #[inline]
    pub fn send(&mut self, slices: &[IoSlice], after: After) -> io::Result<usize> {
        match self {
            Self::Plain(fd) => socket::send(fd, slices, after),
            #[cfg(feature = "tls")]
            Self::Tls(session) => session.send(slices),
        }
    }

    /// Sends `length` bytes of `file` from `offset` on; gives the number that were taken. 0: the file is shorter than that.
    pub fn send_file(&mut self, file: BorrowedFd, offset: u64, length: u64) -> io::Result<usize> {
        match self {
            Self::Plain(fd) => {
                let mut offset = offset as libc::off_t;
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                // SAFETY: both descriptors are open, `offset` is a local variable.
                socket::result(unsafe { libc::sendfile(fd.as_raw_fd(), file.as_raw_fd(), &raw mut offset, length) })
            }
            #[cfg(feature = "tls")]
            Self::Tls(session) => session.send_file(file, offset, length),
        }
    }

    /// Sends what `send` took and could not yet pass on.
    #[inline]
    pub fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(_) => Ok(()),
            #[cfg(feature = "tls")]
            Self::Tls(session) => session.flush(),
        }
    }

    /// Whether `flush` has something left to do.
    #[inline]
    pub fn holds_output(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            #[cfg(feature = "tls")]
            Self::Tls(session) => session.holds_output(),
        }
    }

    /// Bytes that the kernel has and the client not yet.
    pub fn queued(&self) -> usize {
        let mut queued: libc::c_int = 0;
        // SAFETY: writes one int.
        unsafe { libc::ioctl(self.fd(), libc::TIOCOUTQ, &raw mut queued) };
        usize::try_from(queued).unwrap_or(0)
    }

    /// Says that nothing more will be sent.
    pub fn finish(&mut self) {
        #[cfg(feature = "tls")]
        if let Self::Tls(session) = self {
            session.finish();
        }
        // SAFETY: a system call on a descriptor that is open.
        unsafe { libc::shutdown(self.fd(), libc::SHUT_WR) };
    }

    /// Makes closing reset the connection from now on: the client learns that what it has is not the whole, and the kernel
    /// forgets at once what was not taken.
    pub fn reset_on_close(&self) {
        let linger = libc::linger { l_onoff: 1, l_linger: 0 };
        // SAFETY: the option's value is a `linger` of that size.
        unsafe {
            libc::setsockopt(
                self.fd(),
                libc::SOL_SOCKET,
                libc::SO_LINGER,
                (&raw const linger).cast(),
                size_of::<libc::linger>() as libc::socklen_t,
            )
        };
    }
}
