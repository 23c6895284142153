// SPDX-License-Identifier: Apache-2.0
//! Request bodies on their way in: decoded, counted against their limit, kept in memory and past a size in a file.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

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

/// How much memory all bodies of a worker together may still take; beyond it they go to files, whatever their size.
#[derive(Clone)]
pub struct MemoryBudget(Arc<AtomicUsize>);

impl MemoryBudget {
    pub fn new(bytes: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(bytes)))
    }

    fn take(&self, bytes: usize) -> bool {
        self.0.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(bytes)).is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.0.fetch_add(bytes, Relaxed);
    }
}

/// A body that is collected before anybody gets it.
pub struct Incoming {
    delimiter: Delimiter,
    kept: Kept,
    budget: MemoryBudget,
    /// A body up to this many bytes is kept in memory.
    spool: usize,
}

enum Kept {
    Memory(Vec<u8>),
    File(File, u64),
}

/// A whole body.
#[derive(Debug)]
pub enum Collected {
    Memory(Vec<u8>),
    /// This many bytes from its beginning.
    File(File, u64),
}

impl Incoming {
    pub fn new(framing: Framing, limit: u64, spool: usize, budget: MemoryBudget) -> Result<Self, Rejection> {
        Ok(Self { delimiter: Delimiter::new(framing, limit)?, kept: Kept::Memory(Vec::new()), budget, spool })
    }

    /// Takes bytes from the front of `input`. True: the body is whole, and what is left belongs to the next request.
    pub fn take(&mut self, input: &mut &[u8]) -> Result<bool, Rejection> {
        loop {
            match self.delimiter.next(input)? {
                Event::Starved => return Ok(false),
                Event::Done => return Ok(true),
                Event::Data(data) => {
                    self.keep(data).map_err(|_| reject(503, "there is no room to keep the body"))?;
                }
            }
        }
    }

    fn keep(&mut self, data: &[u8]) -> io::Result<()> {
        if let Kept::Memory(bytes) = &mut self.kept {
            if bytes.len() + data.len() <= self.spool && self.budget.take(data.len()) {
                bytes.extend_from_slice(data);
                return Ok(());
            }
            let mut file = tempfile::tempfile()?;
            file.write_all(bytes)?;
            let length = bytes.len();
            self.budget.give_back(length);
            self.kept = Kept::File(file, length as u64);
        }
        if let Kept::File(file, length) = &mut self.kept {
            file.write_all(data)?;
            *length += data.len() as u64;
        }
        Ok(())
    }

    /// What `take` has collected.
    pub fn collected(mut self) -> Collected {
        match std::mem::replace(&mut self.kept, Kept::Memory(Vec::new())) {
            Kept::Memory(bytes) => {
                self.budget.give_back(bytes.len());
                Collected::Memory(bytes)
            }
            Kept::File(file, length) => Collected::File(file, length),
        }
    }
}

impl Collected {
    pub fn length(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File(_, length) => *length,
        }
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if let Kept::Memory(bytes) = &self.kept {
            self.budget.give_back(bytes.len());
        }
    }
}

#[cfg(test)]
#[path = "../../tests/units/serve/incoming.rs"]
mod tests;
