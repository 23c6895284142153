// SPDX-License-Identifier: Apache-2.0
//! What a connection has still to send, in order. Empty unless the client is slow.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, Write};
use std::os::fd::{AsFd, BorrowedFd, RawFd};
use std::sync::Arc;

use crate::serve::socket::After;
use crate::serve::transport::Transport;

pub enum Piece {
    Owned { bytes: Vec<u8>, from: usize },
    Shared { bytes: Arc<[u8]>, from: usize, to: usize },
    Kept(Kept),
    File { file: Arc<File>, offset: u64, left: u64 },
    KeptFile { file: KeptFile, offset: u64, left: u64 },
}

/// Bytes that a suspended response keeps alive.
pub struct Kept(&'static [u8]);

impl Kept {
    /// # Safety
    /// The bytes stay where they are and as they are until the outbox is empty or dropped. Who pushes them returns a
    /// suspended response that owns them, and a connection drops its outbox before its response.
    pub unsafe fn new(bytes: &[u8]) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { std::slice::from_raw_parts(bytes.as_ptr(), bytes.len()) })
    }
}

/// A file that a suspended response keeps open.
pub struct KeptFile(RawFd);

impl KeptFile {
    /// # Safety
    /// As for `Kept`: the descriptor stays open until the outbox is empty or dropped.
    pub unsafe fn new(fd: RawFd) -> Self {
        Self(fd)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the promise of `new`.
        unsafe { BorrowedFd::borrow_raw(self.0) }
    }
}

/// What is sent in one go before other connections get their turn. With more, sixty large answers that are asked for in one moment keep
/// everybody else waiting for 12 to 19 ms (`tests/slow.py`), and two such pieces are sent in less than half the time of one
/// that is twice as long: 128 KiB, `wrk -t1 -c50`, 36 us of CPU an answer instead of 84.
const TURN_BYTES: u64 = 64 << 10;
const MOST_SLICES: usize = 16;

#[derive(Default)]
pub struct Outbox {
    pieces: VecDeque<Piece>,
    /// Bytes sent since the deadline was set, and since they were counted.
    pub progress: u64,
    pub sent: u64,
}

impl Outbox {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    pub fn push(&mut self, piece: Piece) {
        let empty = match &piece {
            Piece::Owned { bytes, from } => *from == bytes.len(),
            Piece::Shared { from, to, .. } => from == to,
            Piece::Kept(kept) => kept.0.is_empty(),
            Piece::File { left, .. } | Piece::KeptFile { left, .. } => *left == 0,
        };
        if !empty {
            self.pieces.push_back(piece);
        }
    }

    /// Bytes of memory that only the outbox holds.
    pub fn owned_bytes(&self) -> usize {
        let owned = |piece: &Piece| if let Piece::Owned { bytes, from } = piece { bytes.len() - from } else { 0 };
        self.pieces.iter().map(owned).sum()
    }

    /// Moves what is owned at the end of the queue to a file.
    pub fn spool(&mut self) -> io::Result<()> {
        let mut first = self.pieces.len();
        while first > 0 && matches!(self.pieces[first - 1], Piece::Owned { .. }) {
            first -= 1;
        }
        let mut file = tempfile::tempfile()?;
        let mut left = 0;
        for piece in self.pieces.range(first..) {
            if let Piece::Owned { bytes, from } = piece {
                file.write_all(&bytes[*from..])?;
                left += (bytes.len() - from) as u64;
            }
        }
        self.pieces.truncate(first);
        self.push(Piece::File { file: Arc::new(file), offset: 0, left });
        Ok(())
    }

    /// Sends as much as the client takes, and no more than a turn; `WouldBlock` while something is left.
    pub fn send(&mut self, transport: &mut Transport) -> io::Result<()> {
        let mut turn = 0;
        while let Some(piece) = self.pieces.front() {
            if turn >= TURN_BYTES {
                return Err(ErrorKind::WouldBlock.into());
            }
            let sent = match piece {
                Piece::File { file, offset, left } => {
                    transport.send_file(file.as_fd(), *offset, (*left).min(TURN_BYTES))
                }
                Piece::KeptFile { file, offset, left } => {
                    transport.send_file(file.fd(), *offset, (*left).min(TURN_BYTES))
                }
                _ => self.send_memory(transport),
            };
            match sent {
                // A file that became shorter: what was promised cannot be kept.
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(n) => {
                    turn += n as u64;
                    self.advance(n);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        transport.flush()
    }

    fn send_memory(&self, transport: &mut Transport) -> io::Result<usize> {
        let mut slices = [(); MOST_SLICES].map(|()| IoSlice::new(&[]));
        let mut count = 0;
        let mut after = After::Nothing;
        for piece in &self.pieces {
            let bytes = match piece {
                Piece::Owned { bytes, from } => &bytes[*from..],
                Piece::Shared { bytes, from, to } => &bytes[*from..*to],
                Piece::Kept(kept) => kept.0,
                Piece::File { .. } | Piece::KeptFile { .. } => {
                    after = After::More;
                    break;
                }
            };
            if count == MOST_SLICES {
                after = After::More;
                break;
            }
            slices[count] = IoSlice::new(bytes);
            count += 1;
        }
        transport.send(&slices[..count], after)
    }

    /// Counts bytes that were sent, from here or past it.
    pub fn record(&mut self, n: usize) {
        self.progress += n as u64;
        self.sent += n as u64;
    }

    /// Takes `n` bytes off the front.
    fn advance(&mut self, n: usize) {
        self.record(n);
        let mut n = n as u64;
        while let Some(piece) = self.pieces.front_mut() {
            let (left, n_usize) = (piece.left(), usize::try_from(n).unwrap_or(usize::MAX));
            if n >= left {
                n -= left;
                self.pieces.pop_front();
                continue;
            }
            match piece {
                Piece::Owned { from, .. } | Piece::Shared { from, .. } => *from += n_usize,
                Piece::Kept(kept) => kept.0 = &kept.0[n_usize..],
                Piece::File { offset, left, .. } | Piece::KeptFile { offset, left, .. } => {
                    *offset += n;
                    *left -= n;
                }
            }
            return;
        }
    }
}

impl Piece {
    fn left(&self) -> u64 {
        match self {
            Self::Owned { bytes, from } => (bytes.len() - from) as u64,
            Self::Shared { from, to, .. } => (to - from) as u64,
            Self::Kept(kept) => kept.0.len() as u64,
            Self::File { left, .. } | Self::KeptFile { left, .. } => *left,
        }
    }
}

#[cfg(test)]
#[path = "../../tests/units/serve/outbox.rs"]
mod tests;
