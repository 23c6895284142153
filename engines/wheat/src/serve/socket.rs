// SPDX-License-Identifier: Apache-2.0
//! A socket that does not block: `ErrorKind::WouldBlock` says that it would.

use std::io::{self, ErrorKind, IoSlice};
use std::os::fd::{AsRawFd, OwnedFd};

/// What follows a piece that is sent: the kernel waits for it rather than send half a packet.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum After {
    Nothing,
    More,
}

pub fn result(got: isize) -> io::Result<usize> {
    usize::try_from(got).map_err(|_| io::Error::last_os_error())
}

pub fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

#[inline]
pub fn receive(fd: &OwnedFd, into: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the buffer is writable for its length.
    result(unsafe { libc::recv(fd.as_raw_fd(), into.as_mut_ptr().cast(), into.len(), 0) })
}

#[inline]
pub fn send(fd: &OwnedFd, slices: &[IoSlice], after: After) -> io::Result<usize> {
    let more = if after == After::More { libc::MSG_MORE } else { 0 };
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT | more;
    if let [one] = slices {
        // SAFETY: the slice is readable for its length.
        return result(unsafe { libc::send(fd.as_raw_fd(), one.as_ptr().cast(), one.len(), flags) });
    }
    // SAFETY: an all-zero msghdr is valid; IoSlice has the layout of iovec.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = slices.as_ptr().cast_mut().cast();
    message.msg_iovlen = slices.len() as _;
    // SAFETY: the slices outlive the call, which only reads them.
    result(unsafe { libc::sendmsg(fd.as_raw_fd(), &raw const message, flags) })
}
