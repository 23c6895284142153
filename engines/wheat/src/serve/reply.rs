// SPDX-License-Identifier: Apache-2.0
//! The way out for a response, and what is known of its request.

use std::io::{self, ErrorKind, IoSlice};
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::config::Config;
use crate::error::Error;
use crate::files::pages::Pages;
use crate::files::{self, Files};
use crate::http::chunked::Event;
use crate::http::forwarded::{Origin, Trust};
use crate::http::head::Head;
use crate::http::{Rejection, date, reject, response};
use crate::observe::format::Named;
use crate::observe::notice::Notice;
use crate::serve::courier::Courier;
use crate::serve::incoming::{Collected, Delimiter};
use crate::serve::keep::Room;
use crate::serve::outbox::{Kept, Outbox, Piece};
use crate::serve::pace::Pace;
use crate::serve::patience::{LEAST_PROGRESS, Watch};
use crate::serve::socket::{After, is_passing};
use crate::serve::transport::Transport;

/// Where a connection comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// None: a UNIX socket.
    pub address: Option<IpAddr>,
    /// A proxy said that the client spoke TLS.
    pub is_secure: bool,
}

pub struct Request<'a> {
    pub head: &'a Head<'a, 'a>,
    pub body: Body<'a>,
    pub origin: Origin<'a>,
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
    /// The client's, in a body that the application takes as it comes.
    pub fault: Option<Rejection>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    Clear,
    /// The client does not take more for now; the rest is in the outbox.
    Blocked,
}

/// What a worker has for all of its responses.
#[derive(Clone)]
pub struct Means {
    pub room: Room,
    pub pages: Arc<Pages>,
    /// What the application may send by their names (`--internal`).
    pub internal: Option<Arc<Mutex<Files>>>,
    /// Header lines of every answer (`--header`).
    pub lines: Arc<str>,
    trust: Option<Trust>,
    courier: Courier,
    /// For a client to take or to send something.
    send: Duration,
    /// Of all waits for the client of one response together. With one thread, because all others wait then, too.
    most_waiting: Option<Duration>,
}

impl Means {
    pub fn of(config: &Config) -> Result<Self, Error> {
        let send = config.deadlines.send;
        let pages = Arc::new(Pages::load(&config.error_pages)?);
        let internal = Files::internal(config, &pages)?.map(|files| Arc::new(Mutex::new(files)));
        let trust = config.trust.clone().map(|networks| Trust { networks, fields: config.forwarded });
        let most_waiting = (config.threads == 1).then_some(send);
        let room = Room::of(&config.limits, config.threads);
        let courier =
            Courier::new(send).map_err(|error| Error::unavailable(format!("no descriptors for a worker: {error}")))?;
        let lines = config.own_headers.concat().into();
        Ok(Self { room, pages, internal, lines, trust, courier, send, most_waiting })
    }

    /// Where a request comes from.
    pub fn origin<'b>(&self, head: &Head<'_, 'b>, peer: Peer) -> Origin<'b> {
        let origin = match &self.trust {
            Some(trust) => trust.origin(head.headers, peer.address),
            None => Origin { address: peer.address, is_secure: None, host: None },
        };
        Origin { is_secure: origin.is_secure.or(peer.is_secure.then_some(true)), ..origin }
    }
}

/// A body that the application takes while it comes in.
pub struct Streamed {
    pub delimiter: Delimiter,
    /// Bytes of the connection that were received and not yet looked at.
    pub ahead: Vec<u8>,
    pub expects_continue: bool,
    pub ended: bool,
    pub patience: Duration,
    /// Waited since enough was received, and received since.
    waited: Duration,
    received: u64,
}

impl Streamed {
    pub fn new(delimiter: Delimiter, ahead: Vec<u8>, expects_continue: bool, patience: Duration) -> Self {
        let (waited, received) = (Duration::ZERO, 0);
        Self { delimiter, ahead, expects_continue, ended: false, patience, waited, received }
    }

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
    /// What the access log asks for by name.
    pub named: Option<&'a mut Named>,
    pub streamed: Option<&'a mut Streamed>,
    pub transport: &'a mut Transport,
    pub outbox: &'a mut Outbox,
    pub means: &'a Means,
    pub pace: &'a Pace,
    /// Of the transport and the outbox to the courier: neither is touched before `take_back`.
    pub loan: Option<u64>,
    /// For how long the client was waited for.
    pub waited: Duration,
}

/// How much was taken of three slices.
pub type Taken = [usize; 3];

/// Up to this many bytes are copied to the buffer; more are sent from where they are.
pub const COPIED: usize = 4 << 10;

impl Out<'_> {
    /// The client is to learn that what it got is not the whole.
    pub fn reset_on_close(&mut self) {
        self.take_back();
        self.transport.reset_on_close();
    }

    /// Writes a whole response of the server's own.
    pub fn refuse(&mut self, rejection: Rejection) {
        let Means { pages, lines, .. } = self.means;
        let Facts { keep_alive, minor, head_only, .. } = *self.facts;
        let own = response::Own { date_line: self.date_line, lines, page: pages.of(rejection.status) };
        self.facts.status = rejection.status;
        self.facts.body_bytes = own.write(rejection, keep_alive, minor, head_only, self.buffer);
    }

    /// Writes a whole response that is a file, or about one.
    pub fn file(&mut self, reply: files::Reply) {
        self.take_back();
        self.facts.status = reply.status;
        let from = self.buffer.len();
        response::write_status_line(reply.status, self.buffer);
        self.buffer.extend_from_slice(self.date_line);
        self.buffer.extend_from_slice(self.means.lines.as_bytes());
        response::write_connection(self.facts.keep_alive, self.facts.minor, self.buffer);
        self.buffer.extend_from_slice(&reply.head);
        if let Some(named) = &mut self.named {
            named.look_up_response(&self.buffer[from..]);
        }
        self.buffer.extend_from_slice(b"\r\n");
        match reply.body {
            files::Body::Empty => {}
            files::Body::One(piece) => self.file_piece(piece),
            files::Body::Several(pieces) => pieces.into_iter().for_each(|piece| self.file_piece(piece)),
        }
    }

    fn file_piece(&mut self, piece: files::Piece) {
        self.facts.body_bytes += piece.length();
        let piece = match piece {
            files::Piece::Bytes(bytes, range) if range.len() <= COPIED && self.outbox.is_empty() => {
                return self.buffer.extend_from_slice(&bytes[range]);
            }
            files::Piece::Bytes(bytes, range) => Piece::Shared { bytes, from: range.start, to: range.end },
            files::Piece::File(file, range) => Piece::File { file, offset: range.start, left: range.end - range.start },
        };
        // The buffer goes before what is pushed to the outbox next.
        if !self.buffer.is_empty() {
            self.outbox.push(Piece::Owned { bytes: self.buffer.clone(), from: 0 });
            self.buffer.clear();
        }
        self.outbox.push(piece);
    }

    /// Sends the buffer. An error: the connection is lost.
    pub fn flush(&mut self) -> io::Result<Flow> {
        self.take_back();
        flush(self.buffer, After::Nothing, self.outbox, self.transport)
    }

    /// Sends the buffer, then these bytes and then a short tail, as far as the client takes them. None: all of it was taken, and
    /// the buffer is empty.
    pub fn offer(&mut self, bytes: &[u8], tail: &[u8]) -> io::Result<Option<Taken>> {
        self.take_back();
        if !self.outbox.is_empty() || self.outbox.lost {
            match self.outbox.send_all(self.transport) {
                Ok(()) => {}
                Err(error) if is_passing(&error) => return Ok(Some([0; 3])),
                Err(error) => {
                    self.outbox.forgo(bytes.len() + tail.len());
                    return Err(error);
                }
            }
        }
        let total = self.buffer.len() + bytes.len() + tail.len();
        if total == 0 {
            return Ok(None);
        }
        let slices = [IoSlice::new(self.buffer), IoSlice::new(bytes), IoSlice::new(tail)];
        let count = if total == self.buffer.len() { 1 } else { 3 };
        let sent = match self.transport.send(&slices[..count], After::Nothing) {
            Ok(sent) => sent,
            Err(error) if is_passing(&error) => 0,
            Err(error) => {
                self.outbox.forgo(bytes.len() + tail.len()); // the buffer stays, for the next `flush`
                return Err(error);
            }
        };
        self.outbox.record(sent);
        let of_buffer = sent.min(self.buffer.len());
        let of_bytes = (sent - of_buffer).min(bytes.len());
        let of_tail = sent - of_buffer - of_bytes;
        if sent == total {
            self.buffer.clear();
            return Ok(None);
        }
        Ok(Some([of_buffer, of_bytes, of_tail]))
    }

    /// What `offer` was given and the client did not take is copied: to memory, to the disk or, when there is no room, to the
    /// client, which is then waited for.
    pub fn keep(&mut self, taken: Taken, bytes: &[u8], tail: &[u8]) -> io::Result<()> {
        let buffer = std::mem::take(self.buffer);
        let mut kept = Ok(());
        for mut part in [&buffer[taken[0]..], &bytes[taken[1]..], &tail[taken[2]..]] {
            kept = kept.and_then(|()| self.keep_or_wait(&mut part));
            if kept.is_err() {
                self.outbox.forgo(part.len());
            }
        }
        *self.buffer = buffer;
        self.buffer.clear();
        kept
    }

    /// After an error, `bytes` are those that went nowhere.
    fn keep_or_wait(&mut self, bytes: &mut &[u8]) -> io::Result<()> {
        let room = &self.means.room;
        while !bytes.is_empty() {
            let fits = self.outbox.left() + bytes.len() as u64 <= room.response;
            if fits && self.outbox.keep(bytes, room).is_ok() {
                return Ok(());
            }
            self.wait_for_room()?;
            if !self.outbox.is_empty() {
                continue;
            }
            match self.transport.send(&[IoSlice::new(bytes)], After::Nothing) {
                Ok(sent) => {
                    self.outbox.record(sent);
                    *bytes = &bytes[sent..];
                }
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits until the client takes something of what is in the outbox, or the kernel takes more for it.
    fn wait_for_room(&mut self) -> io::Result<()> {
        static CUT: Notice = Notice::unsaid();
        let mut watch = Watch::new(self.means.send, self.transport, self.outbox);
        loop {
            let began = Instant::now();
            let rest = self.means.most_waiting.map_or(Duration::MAX, |most| most.saturating_sub(self.waited));
            let came = self.pace.wait_for(self.transport.fd(), libc::POLLOUT, watch.left().min(rest))?;
            self.waited += began.elapsed();
            if came {
                break;
            }
            let others_waited = self.means.most_waiting.is_some_and(|most| self.waited >= most);
            if others_waited {
                CUT.say(|| {
                    "a response is cut: there was no room for it, and all others have waited for its client for \
                     --deadline-send (--threads 2 has nobody wait, --limit-disk gives room)"
                        .into()
                });
            }
            if others_waited || !watch.renew(self.transport, self.outbox) {
                self.outbox.lost = true;
                self.transport.reset_on_close();
                return Err(ErrorKind::TimedOut.into());
            }
        }
        match self.outbox.send_all(self.transport) {
            Err(error) if !is_passing(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// What `offer` was given and the client did not take waits where it is, if there is memory for it. False: it was copied.
    ///
    /// # Safety
    /// When the answer is true, as `Kept::new` has it.
    pub unsafe fn hold(&mut self, taken: Taken, bytes: &[u8], tail: &[u8]) -> io::Result<bool> {
        let rest = &bytes[taken[1]..];
        if !self.outbox.charge(rest.len() as u64, &self.means.room) {
            return self.keep(taken, bytes, tail).map(|()| false);
        }
        self.outbox.push(Piece::Owned { bytes: self.buffer.clone(), from: taken[0] });
        self.buffer.clear();
        // SAFETY: the caller's promise.
        self.outbox.push(Piece::Kept(unsafe { Kept::new(rest) }));
        self.outbox.push(Piece::Owned { bytes: tail.to_vec(), from: taken[2] });
        Ok(true)
    }

    /// Sends the buffer and then a file.
    pub fn send_file(&mut self, file: std::fs::File, offset: u64, length: u64) -> io::Result<()> {
        self.take_back();
        self.outbox.push(Piece::Owned { bytes: self.buffer.clone(), from: 0 });
        self.buffer.clear();
        self.outbox.push(Piece::File { file: Arc::new(file), offset, left: length });
        match self.outbox.send(self.transport) {
            Err(error) if !is_passing(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// The application goes on: what the client has not taken is sent meanwhile.
    pub fn lend(&mut self) {
        if self.loan.is_none() && !self.outbox.lost && (!self.outbox.is_empty() || self.transport.holds_output()) {
            // SAFETY: they are borrowed as long as this value lives, which takes them back before anything touches them.
            self.loan = unsafe { self.means.courier.lend(self.transport, self.outbox) };
        }
    }

    fn take_back(&mut self) {
        if let Some(number) = self.loan.take() {
            self.means.courier.take_back(number);
        }
    }

    /// The head is about to be written: a body that is not there by now need not ever come, and the connection ends.
    pub fn decide_keep_alive(&mut self) {
        if self.streamed.as_deref().is_some_and(|streamed| streamed.end().is_none()) {
            self.facts.keep_alive = false;
        }
    }

    /// Appends a piece of a streamed body, waiting for the client if there is none. False: the body has ended.
    pub fn receive_body(&mut self, into: &mut Vec<u8>) -> io::Result<bool> {
        self.take_back();
        let fault = |facts: &mut Facts, rejection: Rejection| {
            facts.fault = Some(rejection);
            io::Error::new(ErrorKind::InvalidData, rejection.reason)
        };
        loop {
            let Some(streamed) = self.streamed.as_deref_mut() else { return Ok(false) };
            if streamed.ended {
                return Ok(false);
            }
            let mut input = &streamed.ahead[..];
            let event = streamed.delimiter.next(&mut input).map_err(|rejection| fault(self.facts, rejection))?;
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
            if std::mem::take(&mut streamed.expects_continue) && self.facts.status == 0 {
                self.buffer.extend_from_slice(response::CONTINUE);
                while self.flush()? == Flow::Blocked {
                    self.wait_for_room()?;
                }
            }
            let mut block = [0; 32 << 10];
            let n = loop {
                match self.transport.receive(&mut block) {
                    Err(error) if is_passing(&error) => {}
                    got => break got?,
                }
                let Some(streamed) = self.streamed.as_deref_mut() else { return Ok(false) };
                let began = Instant::now();
                let left = streamed.patience.saturating_sub(streamed.waited);
                let came = self.pace.wait_for(self.transport.fd(), libc::POLLIN, left)?;
                streamed.waited += began.elapsed();
                if !came && streamed.waited >= streamed.patience {
                    return Err(fault(self.facts, reject(408, "the request did not come in time")));
                }
            };
            if n == 0 {
                return Err(fault(self.facts, reject(400, "the body ended before its end")));
            }
            if let Some(streamed) = self.streamed.as_deref_mut() {
                streamed.ahead.extend_from_slice(&block[..n]);
                streamed.received += n as u64;
                if streamed.received >= LEAST_PROGRESS {
                    (streamed.received, streamed.waited) = (0, Duration::ZERO);
                }
            }
        }
    }
}

impl Drop for Out<'_> {
    fn drop(&mut self) {
        self.take_back();
    }
}

/// Sends what is in the outbox and then the buffer, which is empty afterwards, whatever happened.
#[inline]
pub fn flush(buffer: &mut Vec<u8>, after: After, outbox: &mut Outbox, transport: &mut Transport) -> io::Result<Flow> {
    let flow = send(buffer, after, outbox, transport);
    buffer.clear();
    flow
}

#[inline]
fn send(buffer: &[u8], after: After, outbox: &mut Outbox, transport: &mut Transport) -> io::Result<Flow> {
    let mut sent = 0;
    if outbox.is_empty() && !outbox.lost && !buffer.is_empty() {
        match transport.send(&[IoSlice::new(buffer)], after) {
            Ok(n) => {
                sent = n;
                outbox.record(n);
            }
            Err(error) if is_passing(&error) => {}
            Err(error) => {
                outbox.forgo(buffer.len());
                return Err(error);
            }
        }
    }
    if sent < buffer.len() || !outbox.is_empty() || outbox.lost || transport.holds_output() {
        outbox.push(Piece::Owned { bytes: buffer[sent..].to_vec(), from: 0 });
        match outbox.send(transport) {
            Err(error) if !is_passing(&error) => return Err(error),
            _ => {}
        }
    }
    Ok(if outbox.is_empty() && !transport.holds_output() { Flow::Clear } else { Flow::Blocked })
}
