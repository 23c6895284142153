// SPDX-License-Identifier: Apache-2.0
//! Request bodies on their way in: decoded, counted against their limit, kept in memory and past a size in a file.

use super::keep::{Room, Spool};
use crate::http::chunked::{Decoder, Event};
use crate::http::head::Framing;
use crate::http::{Rejection, reject};

/// The body's bytes within those of the connection.
#[derive(Clone)]
pub struct Delimiter {
    rest: Rest,
    /// Decoded bytes that may still come.
    allowed: u64,
}

#[derive(Clone)]
enum Rest {
    Length(u64),
    Chunked(Decoder),
}

const TOO_LARGE: Rejection = reject(413, "the body is too large");

impl Delimiter {
    /// `limit`: of the decoded body, in bytes.
    pub fn new(framing: Framing, limit: u64) -> Result<Self, Rejection> {
        let rest = match framing {
            Framing::Length(length) if length > limit => return Err(TOO_LARGE),
            Framing::Length(length) => Rest::Length(length),
            Framing::Chunked => Rest::Chunked(Decoder::default()),
        };
        Ok(Self { rest, allowed: limit })
    }

    /// Takes bytes from the front of `input`, up to the end of the next piece of the body.
    pub fn next<'b>(&mut self, input: &mut &'b [u8]) -> Result<Event<'b>, Rejection> {
        match &mut self.rest {
            Rest::Length(0) => Ok(Event::Done),
            Rest::Length(left) => {
                let length = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                if length == 0 {
                    return Ok(Event::Starved);
                }
                let (data, rest) = input.split_at(length);
                *input = rest;
                *left -= length as u64;
                Ok(Event::Data(data))
            }
            Rest::Chunked(decoder) => {
                let event = decoder.next(input)?;
                if let Event::Data(data) = event {
                    self.allowed = self.allowed.checked_sub(data.len() as u64).ok_or(TOO_LARGE)?;
                }
                Ok(event)
            }
        }
    }
}

/// A body that is collected before anybody gets it.
pub struct Incoming {
    delimiter: Delimiter,
    kept: Kept,
    room: Room,
}

enum Kept {
    Memory(Vec<u8>),
    File(Spool),
}

/// A whole body.
pub enum Collected {
    Memory(Vec<u8>),
    File(Spool),
}

impl Incoming {
    pub fn new(framing: Framing, limit: u64, room: Room) -> Result<Self, Rejection> {
        Ok(Self { delimiter: Delimiter::new(framing, limit)?, kept: Kept::Memory(Vec::new()), room })
    }

    /// Takes bytes from the front of `input`. True: the body is whole, and what is left belongs to the next request.
    pub fn take(&mut self, input: &mut &[u8]) -> Result<bool, Rejection> {
        loop {
            match self.delimiter.next(input)? {
                Event::Starved => return Ok(false),
                Event::Done => return Ok(true),
                Event::Data(data) => self.keep(data)?,
            }
        }
    }

    fn keep(&mut self, data: &[u8]) -> Result<(), Rejection> {
        const NO_ROOM: Rejection = reject(503, "there is no room to keep the body");
        match &mut self.kept {
            Kept::File(spool) => return spool.append(data).map_err(|_| NO_ROOM),
            Kept::Memory(bytes) => {
                let length = data.len() as u64;
                if bytes.len() as u64 + length <= self.room.spool && self.room.memory.take(length) {
                    bytes.extend_from_slice(data);
                    return Ok(());
                }
                let mut spool = Spool::new(bytes, &self.room).map_err(|_| NO_ROOM)?;
                spool.append(data).map_err(|_| NO_ROOM)?;
                self.room.memory.give_back(bytes.len() as u64);
                self.kept = Kept::File(spool);
            }
        }
        Ok(())
    }

    /// What `take` has collected.
    pub fn collected(mut self) -> Collected {
        match std::mem::replace(&mut self.kept, Kept::Memory(Vec::new())) {
            Kept::Memory(bytes) => {
                self.room.memory.give_back(bytes.len() as u64);
                Collected::Memory(bytes)
            }
            Kept::File(spool) => Collected::File(spool),
        }
    }
}

impl Collected {
    pub fn length(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File(spool) => spool.length(),
        }
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if let Kept::Memory(bytes) = &self.kept {
            self.room.memory.give_back(bytes.len() as u64);
        }
    }
}

#[cfg(test)]
#[path = "../../tests/units/serve/incoming.rs"]
mod tests;
