// SPDX-License-Identifier: Apache-2.0
//! What a connection has still to send, in order. Empty unless the client is slow.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice};
use std::os::fd::AsFd;
use std::sync::Arc;

use crate::serve::keep::{Budget, Room, Spool};
use crate::serve::socket::After;
use crate::serve::transport::Transport;

pub enum Piece {
    Owned { bytes: Vec<u8>, from: usize },
    Shared { bytes: Arc<[u8]>, from: usize, to: usize },
    Kept(Kept),
    File { file: Arc<File>, offset: u64, left: u64 },
    Spooled { spool: Spool, offset: u64, left: u64 },
}

/// Bytes that a response keeps alive (`Outcome::Held`).
pub struct Kept(&'static [u8]);

impl Kept {
    /// # Safety
    /// The bytes stay where they are and as they are until the outbox is empty or dropped. Who pushes them returns what holds
    /// them, and a connection drops its outbox before that.
    pub unsafe fn new(bytes: &[u8]) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { std::slice::from_raw_parts(bytes.as_ptr(), bytes.len()) })
    }
}

/// What is sent in one go before other connections get their turn. With more, sixty large answers that are asked for in one moment keep
/// everybody else waiting for 12 to 19 ms (`tests/slow.py`), and two such pieces are sent in less than half the time of one
/// that is twice as long: 128 KiB, `wrk -t1 -c50`, 36 us of CPU an answer instead of 84.
const TURN_BYTES: u64 = 64 << 10;
const MOST_SLICES: usize = 16;
/// A spool that is this long is followed by another, so that the disk gets back what is sent while the response goes on.
const SEGMENT_BYTES: u64 = 16 << 20;

#[derive(Default)]
pub struct Outbox {
    pieces: VecDeque<Piece>,
    /// Bytes in them, and those that were given up before they came here.
    left: u64,
    /// Bytes sent since the deadline was set, and since they were counted.
    pub progress: u64,
    pub sent: u64,
    /// The client is given up: nothing more is sent.
    pub lost: bool,
    /// What was taken of which budget for pieces in memory.
    charged: Option<(Budget, u64)>,
}

impl Outbox {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Bytes that the kernel has not taken for the client.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// So many bytes will never be sent, because the connection is lost.
    pub fn forgo(&mut self, bytes: usize) {
        self.left += bytes as u64;
    }

    pub fn push(&mut self, piece: Piece) {
        if piece.left() > 0 {
            self.left += piece.left();
            self.pieces.push_back(piece);
        }
    }

    /// Memory for so many more bytes. False: they had better go to the disk.
    pub fn charge(&mut self, bytes: u64, room: &Room) -> bool {
        let (_, charged) = self.charged.get_or_insert_with(|| (room.memory.clone(), 0));
        let granted = room.memory.take(bytes);
        *charged += if granted { bytes } else { 0 };
        granted
    }

    fn discharge(&mut self) {
        if let Some((budget, bytes)) = self.charged.take() {
            budget.give_back(bytes);
        }
    }

    /// Takes a copy of these bytes: to memory or, when there are many or something is there before them, to the disk. An error:
    /// there is no room, and nothing is taken.
    pub fn keep(&mut self, bytes: &[u8], room: &Room) -> io::Result<()> {
        let length = bytes.len() as u64;
        if length == 0 {
            return Ok(());
        }
        if let Some(Piece::Spooled { spool, left, .. }) = self.pieces.back_mut() {
            if spool.length() < SEGMENT_BYTES {
                spool.append(bytes)?;
                *left += length;
                self.left += length;
                return Ok(());
            }
        } else {
            let charged = self.charged.as_ref().map_or(0, |(_, charged)| *charged);
            if charged + length <= room.spool && self.charge(length, room) {
                match self.pieces.back_mut() {
                    Some(Piece::Owned { bytes: before, .. }) => {
                        before.extend_from_slice(bytes);
                        self.left += length;
                    }
                    _ => self.push(Piece::Owned { bytes: bytes.to_vec(), from: 0 }),
                }
                return Ok(());
            }
        }
        self.push(Piece::Spooled { spool: Spool::new(bytes, room)?, offset: 0, left: length });
        Ok(())
    }

    /// Sends as much as the client takes, and no more than a turn; `WouldBlock` while something is left.
    pub fn send(&mut self, transport: &mut Transport) -> io::Result<()> {
        self.send_most(transport, TURN_BYTES)
    }

    /// Sends as much as the client takes.
    pub fn send_all(&mut self, transport: &mut Transport) -> io::Result<()> {
        self.send_most(transport, u64::MAX)
    }

    fn send_most(&mut self, transport: &mut Transport, most: u64) -> io::Result<()> {
        if self.lost {
            return Err(ErrorKind::ConnectionReset.into());
        }
        let mut turn = 0;
        while let Some(piece) = self.pieces.front() {
            if turn >= most {
                return Err(ErrorKind::WouldBlock.into());
            }
            let sent = match piece {
                Piece::File { file, offset, left } => {
                    transport.send_file(file.as_fd(), *offset, (*left).min(TURN_BYTES))
                }
                Piece::Spooled { spool, offset, left } => {
                    transport.send_file(spool.file().as_fd(), *offset, (*left).min(TURN_BYTES))
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
                Piece::File { .. } | Piece::Spooled { .. } => {
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
        self.left -= n;
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
                Piece::File { offset, left, .. } | Piece::Spooled { offset, left, .. } => {
                    *offset += n;
                    *left -= n;
                }
            }
            return;
        }
        self.discharge();
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        self.discharge();
    }
}

impl Piece {
    fn left(&self) -> u64 {
        match self {
            Self::Owned { bytes, from } => (bytes.len() - from) as u64,
            Self::Shared { from, to, .. } => (to - from) as u64,
            Self::Kept(kept) => kept.0.len() as u64,
            Self::File { left, .. } | Self::Spooled { left, .. } => *left,
        }
    }
}

#[cfg(test)]
#[path = "../../tests/units/serve/outbox.rs"]
mod tests;
