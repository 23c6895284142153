// SPDX-License-Identifier: Apache-2.0
//! What answers a request: the interface between the event loop and an application, whatever its language.

use std::io::{self, ErrorKind, IoSlice};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::http::chunked::Event;
use crate::http::date;
use crate::http::head::Head;
use crate::serve::incoming::{Collected, Delimiter};
use crate::serve::outbox::{Kept, KeptFile, Outbox, Piece};
use crate::serve::socket::After;
use crate::serve::transport::Transport;

/// Where a connection comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// None: a UNIX socket.
    pub address: Option<IpAddr>,
    pub port: u16,
}

pub struct Request<'a> {
    pub head: &'a Head<'a, 'a>,
    pub body: Body<'a>,
    pub peer: Peer,
    /// Which of the worker's listeners accepted it.
    pub listener: usize,
}

pub enum Body<'a> {
    None,
    Whole(&'a [u8]),
    Collected(Collected),
    /// The body is still to come: `Out::receive_body` gives it.
    Streamed,
}

/// How far a response has come.
pub enum Outcome<R> {
    /// All of it is in the buffer, sent, or in the outbox.
    Done,
    /// The client is to take what the outbox holds, then the application is called again.
    Suspended(R),
    /// It cannot be completed: the connection ends so that the client can tell.
    Broken,
}

/// What calls an application. Each thread that calls has its own.
pub trait Application {
    /// A response that waits for its client.
    type Response: Send + 'static;

    /// Lets others run (the interpreter's other threads) while this thread waits.
    fn wait<T>(&mut self, wait: impl FnOnce() -> T) -> T;

    /// Whether there are others: then the event loop looks for work before it lets them run, since it may have to wait for
    /// its turn to come back.
    fn others_wait(&mut self) -> bool;

    fn call(&mut self, request: Request, out: &mut Out) -> Outcome<Self::Response>;

    /// The outbox is empty: goes on with the response.
    fn resume(&mut self, response: Self::Response, out: &mut Out) -> Outcome<Self::Response>;

    /// The connection is lost.
    fn abandon(&mut self, response: Self::Response);

    /// Does what is due between two turns of the event loop. False: the worker is to end.
    fn turn(&mut self) -> bool;
}

/// What is known of the response under way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    /// 0 until the response begins.
    pub status: u16,
    /// Whether the connection stays open after it.
    pub keep_alive: bool,
    pub minor: u8,
    pub head_only: bool,
    /// Bytes of the body, without its framing.
    pub body_bytes: u64,
    /// The application failed.
    pub failed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    Clear,
    /// The client does not take more for now; the rest is in the outbox.
    Blocked,
}

/// A body that the application takes while it comes in.
pub struct Streamed {
    pub delimiter: Delimiter,
    /// Bytes of the connection that were received and not yet looked at.
    pub ahead: Vec<u8>,
    pub expects_continue: bool,
    pub ended: bool,
    pub patience: Duration,
}

impl Streamed {
    /// How many of the bytes received belong to the body, if it ends among them.
    pub fn end(&self) -> Option<usize> {
        let (mut delimiter, mut input) = (self.delimiter.clone(), &self.ahead[..]);
        loop {
            match delimiter.next(&mut input) {
                Ok(Event::Data(_)) => {}
                Ok(Event::Done) => return Some(self.ahead.len() - input.len()),
                Ok(Event::Starved) | Err(_) => return None,
            }
        }
    }
}

/// The way out for one response.
pub struct Out<'a> {
    /// What `flush` sends, or later the event loop: nothing but whole responses may be left in it when a call ends as `Done`.
    pub buffer: &'a mut Vec<u8>,
    pub facts: &'a mut Facts,
    pub date_line: &'a [u8; date::LENGTH],
    /// With it the caller may wait for a slow client: it has a thread of its own.
    pub patience: Option<Duration>,
    pub streamed: Option<&'a mut Streamed>,
    pub transport: &'a mut Transport,
    pub outbox: &'a mut Outbox,
}

/// Up to this many bytes are copied to the buffer; more are sent from where they are.
pub const COPIED: usize = 4 << 10;

/// Bytes that may wait of a response that its application pushes faster than its client takes it.
const MOST_WAITING: usize = 1 << 20;

impl Out<'_> {
    /// The client is to learn that what it got is not the whole.
    pub fn reset_on_close(&self) {
        self.transport.reset_on_close();
    }

    /// Sends the buffer. An error: the connection is lost.
    pub fn flush(&mut self) -> io::Result<Flow> {
        flush(self.buffer, After::Nothing, self.outbox, self.transport)
    }

    /// Sends the buffer, then these bytes and then a short tail.
    ///
    /// # Safety
    /// As `Kept::new` has it, when the answer is `Blocked`.
    pub unsafe fn send_kept(&mut self, bytes: &[u8], tail: &[u8]) -> io::Result<Flow> {
        let mut sent = 0;
        if self.outbox.is_empty() {
            let slices = [IoSlice::new(self.buffer), IoSlice::new(bytes), IoSlice::new(tail)];
            sent = match self.transport.send(&slices, After::Nothing) {
                Ok(sent) => sent,
                Err(error) if is_passing(&error) => 0,
                Err(error) => return Err(error),
            };
            self.outbox.record(sent);
        }
        let of_buffer = sent.min(self.buffer.len());
        let of_bytes = (sent - of_buffer).min(bytes.len());
        let of_tail = sent - of_buffer - of_bytes;
        if of_buffer < self.buffer.len() {
            self.outbox.push(Piece::Owned { bytes: self.buffer.clone(), from: of_buffer });
        }
        self.buffer.clear();
        // SAFETY: the caller's promise.
        self.outbox.push(Piece::Kept(unsafe { Kept::new(&bytes[of_bytes..]) }));
        if of_tail < tail.len() {
            self.outbox.push(Piece::Owned { bytes: tail[of_tail..].to_vec(), from: 0 });
        }
        self.state()
    }

    /// Sends the buffer and then `length` bytes of a file from `offset` on.
    ///
    /// # Safety
    /// As `KeptFile::new` has it, when the answer is `Blocked`.
    pub unsafe fn send_kept_file(&mut self, fd: i32, offset: u64, length: u64) -> io::Result<Flow> {
        // SAFETY: the caller's promise.
        self.send_piece(Piece::KeptFile { file: unsafe { KeptFile::new(fd) }, offset, left: length })
    }

    pub fn send_piece(&mut self, piece: Piece) -> io::Result<Flow> {
        self.outbox.push(Piece::Owned { bytes: self.buffer.clone(), from: 0 });
        self.buffer.clear();
        self.outbox.push(piece);
        match self.outbox.send(self.transport) {
            Err(error) if !is_passing(&error) => Err(error),
            _ => self.state(),
        }
    }

    /// Keeps what the client has not taken in a file rather than in memory, where that is a lot.
    pub fn spool(&mut self) -> io::Result<()> {
        if self.outbox.owned_bytes() > MOST_WAITING { self.outbox.spool() } else { Ok(()) }
    }

    fn state(&self) -> io::Result<Flow> {
        Ok(if self.outbox.is_empty() && !self.transport.holds_output() { Flow::Clear } else { Flow::Blocked })
    }

    /// Waits until the client has taken everything; it must take something in each `patience`.
    pub fn flush_waiting(&mut self, patience: Duration) -> io::Result<()> {
        while self.flush()? == Flow::Blocked {
            wait_for(self.transport, libc::POLLOUT, Instant::now() + patience)?;
        }
        Ok(())
    }

    /// The head is about to be written: a body that is not there by now need not ever come, and the connection ends.
    pub fn decide_keep_alive(&mut self) {
        if self.streamed.as_deref().is_some_and(|streamed| streamed.end().is_none()) {
            self.facts.keep_alive = false;
        }
    }

    /// Appends a piece of a streamed body, waiting for the client if there is none. False: the body has ended.
    pub fn receive_body(&mut self, into: &mut Vec<u8>) -> io::Result<bool> {
        let invalid = |rejection: crate::http::Rejection| io::Error::new(ErrorKind::InvalidData, rejection.reason);
        loop {
            let Some(streamed) = self.streamed.as_deref_mut() else { return Ok(false) };
            if streamed.ended {
                return Ok(false);
            }
            let mut input = &streamed.ahead[..];
            let event = streamed.delimiter.next(&mut input).map_err(invalid)?;
            let got = match event {
                Event::Data(data) => {
                    into.extend_from_slice(data);
                    Some(true)
                }
                Event::Done => Some(false),
                Event::Starved => None,
            };
            let taken = streamed.ahead.len() - input.len();
            streamed.ahead.drain(..taken);
            streamed.ended = got == Some(false);
            if let Some(more) = got {
                return Ok(more);
            }
            let patience = streamed.patience;
            let until = Instant::now() + patience;
            if std::mem::take(&mut streamed.expects_continue) && self.facts.status == 0 {
                self.buffer.extend_from_slice(crate::http::response::CONTINUE);
                self.flush_waiting(patience)?;
            }
            let mut block = [0; 32 << 10];
            let n = loop {
                match self.transport.receive(&mut block) {
                    Err(error) if is_passing(&error) => wait_for(self.transport, libc::POLLIN, until)?,
                    got => break got?,
                }
            };
            if n == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            if let Some(streamed) = self.streamed.as_deref_mut() {
                streamed.ahead.extend_from_slice(&block[..n]);
            }
        }
    }
}

pub fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Sends what is in the outbox and then the buffer, which is empty afterwards.
#[inline]
pub fn flush(buffer: &mut Vec<u8>, after: After, outbox: &mut Outbox, transport: &mut Transport) -> io::Result<Flow> {
    let mut sent = 0;
    if outbox.is_empty() && !buffer.is_empty() {
        match transport.send(&[IoSlice::new(buffer)], after) {
            Ok(n) => {
                sent = n;
                outbox.record(n);
            }
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    if sent == buffer.len() && outbox.is_empty() && !transport.holds_output() {
        buffer.clear();
    } else {
        outbox.push(Piece::Owned { bytes: buffer.clone(), from: sent });
        buffer.clear();
        match outbox.send(transport) {
            Err(error) if !is_passing(&error) => return Err(error),
            _ => {}
        }
    }
    Ok(if outbox.is_empty() && !transport.holds_output() { Flow::Clear } else { Flow::Blocked })
}

fn wait_for(transport: &Transport, events: i16, until: Instant) -> io::Result<()> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(ErrorKind::TimedOut.into());
    }
    let mut poll = libc::pollfd { fd: transport.fd(), events, revents: 0 };
    let milliseconds = i32::try_from(left.as_millis() + 1).unwrap_or(i32::MAX);
    // SAFETY: one pollfd, as said.
    match unsafe { libc::poll(&raw mut poll, 1, milliseconds) } {
        0 => Err(ErrorKind::TimedOut.into()),
        _ => Ok(()), // or interrupted, which is as good a reason to look again
    }
}
