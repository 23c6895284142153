// SPDX-License-Identifier: Apache-2.0
//! From bytes received to bytes owed: finds the requests in a connection's input and has each answered, in their order.

use std::hash::{BuildHasher, RandomState};
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
#[cfg(feature = "tls")]
use std::sync::Arc;

use crate::clock::monotonic_ns;
use crate::config::{Config, Input};
use crate::error::Error;
use crate::files::{self, Files};
use crate::http::date::DateLine;
use crate::http::head::{self, Framing, Head, HeadLimits, Target};
use crate::http::{Rejection, reject, response};
use crate::observe::counters::Slot;
use crate::observe::log::{AccessLog, Entry};
use crate::serve::connection::{Connection, Receiving, State, Story};
use crate::serve::incoming::{Collected, Delimiter, Incoming, MemoryBudget};
use crate::serve::outbox::Piece;
use crate::serve::pool::{OwnedBody, Pool, Work};
use crate::serve::reply::{self, Application, Body, COPIED, Facts, Flow, Out, Outcome, Request, Streamed};
use crate::serve::socket::After;
use crate::serve::transport::Transport;

/// Who calls the application.
pub enum Caller<A: Application> {
    /// There is none.
    None,
    /// The event loop itself.
    Inline(A),
    Pool(Pool<A::Response>),
}

impl<A: Application> Caller<A> {
    pub fn wait<T>(&mut self, wait: impl FnOnce() -> T) -> T {
        match self {
            Self::Inline(application) => application.wait(wait),
            Self::None | Self::Pool(_) => wait(),
        }
    }

    /// Whether there is anybody to let run while the event loop waits for nothing.
    pub fn others_wait(&mut self) -> bool {
        match self {
            Self::Inline(application) => application.others_wait(),
            Self::None | Self::Pool(_) => false,
        }
    }
}

/// What is next for a connection.
pub enum Next<R> {
    /// For what its state says.
    Wait,
    Linger,
    Close,
    Dispatch(Work<R>),
}

/// What one answer leads to.
enum Step<R> {
    /// The next request of the connection's input may be looked at.
    Answered,
    Stop(Next<R>),
}

/// Responses of pipelined requests are sent together up to so many bytes.
const BATCH_BYTES: usize = 64 << 10;
/// Memory of all request bodies together that are not yet whole.
const BODIES_BYTES: usize = 16 << 20;
/// Kept of the shared output buffer when it has been larger.
const BUFFER_BYTES: usize = 128 << 10;

pub struct Core<'c, A: Application> {
    pub caller: Caller<A>,
    pub slot: &'static Slot,
    /// Of this turn.
    pub now_ns: u64,
    /// The server ends: each connection has its last answer.
    pub ending: bool,
    config: &'c Config,
    files: Option<Files>,
    #[cfg(feature = "tls")]
    tls: Option<Arc<rustls::ServerConfig>>,
    limits: HeadLimits,
    bodies: MemoryBudget,
    date: DateLine,
    buffer: Vec<u8>,
    log: Option<AccessLog>,
    /// Less up to a tenth, so that workers that began together do not end together.
    most_requests: Option<u64>,
}

impl<'c, A: Application> Core<'c, A> {
    pub fn new(config: &'c Config, caller: Caller<A>, slot: &'static Slot) -> Result<Self, Error> {
        let files = if config.statics.is_empty() { None } else { Some(Files::new(&config.statics)?) };
        #[cfg(feature = "tls")]
        let tls = config.tls.as_ref().map(crate::serve::tls::server_config).transpose().map_err(Error::config)?;
        Ok(Self {
            caller,
            slot,
            now_ns: monotonic_ns(),
            ending: false,
            config,
            files,
            #[cfg(feature = "tls")]
            tls,
            limits: HeadLimits::of(&config.limits),
            bodies: MemoryBudget::new(BODIES_BYTES),
            date: DateLine::default(),
            buffer: Vec::with_capacity(BUFFER_BYTES),
            log: AccessLog::open(config, slot)?,
            most_requests: config.max_requests.map(|most| most - RandomState::new().hash_one(0) % (most / 10 + 1)),
        })
    }

    pub fn is_secure(&self) -> bool {
        self.config.tls.is_some()
    }

    pub fn begin_turn(&mut self, now_ns: u64, unix_seconds: u64) {
        self.now_ns = now_ns;
        self.date.update(unix_seconds);
        if let Caller::Inline(_) = self.caller {
            self.slot.busy_since.set(now_ns);
        }
    }

    /// Before waiting for events.
    pub fn rest(&mut self) {
        if !matches!(self.caller, Caller::Pool(_)) {
            self.slot.busy_since.set(0);
        }
    }

    /// A thread got a call. With all of them in calls the worker takes on nothing new.
    pub fn count_call(&mut self) {
        let calls = self.slot.in_flight.get() + 1;
        self.slot.in_flight.set(calls);
        if calls >= self.config.threads as u64 && self.slot.busy_since.get() == 0 {
            self.slot.busy_since.set(self.now_ns);
        }
    }

    /// So many calls came to an end: even if all threads are in calls, they are no longer the same.
    pub fn count_finished(&mut self, finished: u64) {
        let calls = self.slot.in_flight.get().saturating_sub(finished);
        self.slot.in_flight.set(calls);
        self.slot.busy_since.set(if calls >= self.config.threads as u64 { self.now_ns } else { 0 });
    }

    /// False: the application wants the worker to end.
    pub fn end_turn(&mut self) -> bool {
        match &mut self.caller {
            Caller::Inline(application) => application.turn(),
            Caller::None | Caller::Pool(_) => true,
        }
    }

    pub fn transport(&self, socket: OwnedFd, secure: bool) -> Option<Transport> {
        #[cfg(feature = "tls")]
        if secure {
            let session = crate::serve::tls::Session::new(socket, self.tls.clone()?).ok()?;
            return Some(Transport::Tls(Box::new(session)));
        }
        if secure { None } else { Some(Transport::Plain(socket)) }
    }

    /// Takes what was received after what was left from before.
    pub fn feed(&mut self, connection: &mut Connection<A::Response>, fresh: &[u8]) -> Next<A::Response> {
        if connection.partial.is_empty() {
            let mut input = fresh;
            let next = self.take_requests(connection, &mut input, 0);
            if !input.is_empty() {
                connection.partial = input.to_vec();
            }
            return next;
        }
        let mut held = std::mem::take(&mut connection.partial);
        let seen = held.len();
        held.extend_from_slice(fresh);
        let mut input = &held[..];
        let next = self.take_requests(connection, &mut input, seen);
        let left = input.len();
        if left > 0 {
            held.drain(..held.len() - left);
            connection.partial = held;
        }
        next
    }

    /// After a panic: what was being written for this connection is for no other.
    pub fn broken(&mut self) -> Next<A::Response> {
        self.buffer.clear();
        Next::Close
    }

    /// `seen`: bytes of the input that an incomplete head was looked for in before.
    fn take_requests(
        &mut self,
        connection: &mut Connection<A::Response>,
        input: &mut &[u8],
        mut seen: usize,
    ) -> Next<A::Response> {
        loop {
            let step = if connection.receiving.is_some() {
                match self.take_body(connection, input) {
                    Ok(None) => break,
                    Ok(Some(step)) => step,
                    Err(rejection) => return self.refuse_with(connection, rejection),
                }
            } else {
                if input.is_empty() || (input.len() < connection.parse_again_at && !ends_head(input, seen)) {
                    break;
                }
                let bytes = *input;
                let mut storage = head::storage();
                match head::parse(bytes, &mut storage, &self.limits) {
                    Ok(None) => {
                        connection.parse_again_at = (input.len() * 2).min(self.limits.head + 1);
                        break;
                    }
                    Err(rejection) => return self.refuse_with(connection, rejection),
                    Ok(Some(head)) => {
                        *input = &bytes[head.length..];
                        connection.parse_again_at = 0;
                        connection.head_ended();
                        seen = 0;
                        match self.take_head(connection, &head, &bytes[..head.length], input) {
                            Ok(step) => step,
                            Err(rejection) => return self.refuse_with(connection, rejection),
                        }
                    }
                }
            };
            match step {
                Step::Stop(next) => return next,
                Step::Answered if self.buffer.len() < BATCH_BYTES => {}
                Step::Answered => match self.flush(connection) {
                    Ok(Flow::Clear) => {}
                    Ok(Flow::Blocked) => return Next::Wait,
                    Err(_) => return Next::Close,
                },
            }
        }
        match self.flush(connection) {
            Ok(_) => Next::Wait,
            Err(_) => Next::Close,
        }
    }

    fn take_head(
        &mut self,
        connection: &mut Connection<A::Response>,
        head: &Head,
        head_bytes: &[u8],
        input: &mut &[u8],
    ) -> Result<Step<A::Response>, Rejection> {
        connection.facts = Facts {
            keep_alive: head.keep_alive && !self.ending,
            minor: head.minor,
            head_only: head.method == "HEAD",
            ..Facts::default()
        };
        self.slot.requests.add(1);
        if self.log.is_some() {
            connection.story = Some(Box::new(Story::new(head, monotonic_ns())));
        }
        if !head.has_body() {
            return Ok(self.answer(connection, head, head_bytes, Body::None, input.is_empty()));
        }
        let limit = self.config.limits.body;
        if self.config.input == Input::Streamed && matches!(self.caller, Caller::Pool(_)) {
            let delimiter = Delimiter::new(head.framing, limit)?;
            let ahead = std::mem::take(input).to_vec();
            let expects_continue = head.expects_continue && ahead.is_empty();
            let patience = self.config.deadlines.body;
            let streamed = Streamed { delimiter, ahead, expects_continue, ended: false, patience };
            return Ok(self.dispatch(connection, head_bytes, OwnedBody::Streamed(streamed)));
        }
        if let Framing::Length(length) = head.framing {
            if length > limit {
                return Err(reject(413, "the body is too large"));
            }
            if length <= input.len() as u64 {
                let (body, rest) = input.split_at(length as usize);
                *input = rest;
                return Ok(self.answer(connection, head, head_bytes, Body::Whole(body), rest.is_empty()));
            }
        }
        let incoming = Incoming::new(head.framing, limit, self.config.limits.spool, self.bodies.clone())?;
        if head.expects_continue && input.is_empty() {
            self.buffer.extend_from_slice(response::CONTINUE);
        }
        connection.receiving = Some(Box::new(Receiving { head: head_bytes.to_vec(), incoming }));
        connection.state = State::Receiving;
        connection.received = 0;
        Ok(Step::Answered)
    }

    /// None: the body is not yet whole.
    fn take_body(
        &mut self,
        connection: &mut Connection<A::Response>,
        input: &mut &[u8],
    ) -> Result<Option<Step<A::Response>>, Rejection> {
        let Some(receiving) = &mut connection.receiving else { return Ok(None) };
        if !receiving.incoming.take(input)? {
            return Ok(None);
        }
        let Some(receiving) = connection.receiving.take() else { return Ok(None) };
        connection.state = State::Reading;
        let Receiving { head: head_bytes, incoming } = *receiving;
        let mut storage = head::storage();
        let Some(head) = head::parse(&head_bytes, &mut storage, &self.limits)? else { return Ok(None) };
        let body = Body::Collected(incoming.collected());
        Ok(Some(self.answer(connection, &head, &head_bytes, body, input.is_empty())))
    }

    /// `last`: no further request has been received.
    fn answer(
        &mut self,
        connection: &mut Connection<A::Response>,
        head: &Head,
        head_bytes: &[u8],
        body: Body,
        last: bool,
    ) -> Step<A::Response> {
        if !connection.facts.keep_alive && !last {
            connection.linger = true;
        }
        let begun = self.buffer.len();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            if let Some(files) = &mut self.files
                && let Target::Path(path) = head.target
                && let Some(reply) =
                    files.respond(head.method.as_bytes(), path.as_bytes(), head.headers, self.now_ns / 1_000_000_000)
            {
                return Answer::Outcome(self.send_file_reply(connection, reply));
            }
            match &mut self.caller {
                Caller::None => {
                    let rejection = reject(404, "nothing is served here");
                    connection.facts.status = rejection.status;
                    connection.facts.body_bytes = response::write_answer(
                        rejection,
                        self.date.line(),
                        connection.facts.keep_alive,
                        connection.facts.minor,
                        connection.facts.head_only,
                        &mut self.buffer,
                    );
                    Answer::Outcome(Outcome::Done)
                }
                Caller::Pool(_) => Answer::Pool(body),
                Caller::Inline(application) => {
                    let request = Request { head, body, peer: connection.peer, listener: connection.listener };
                    let mut out = Out {
                        buffer: &mut self.buffer,
                        facts: &mut connection.facts,
                        date_line: self.date.line(),
                        patience: None,
                        streamed: None,
                        transport: &mut connection.transport,
                        outbox: &mut connection.outbox,
                    };
                    self.slot.in_flight.set(1);
                    let outcome = application.call(request, &mut out);
                    self.slot.in_flight.set(0);
                    Answer::Outcome(outcome)
                }
            }
        }));
        match outcome {
            Ok(Answer::Outcome(outcome)) => self.step(connection, outcome),
            Ok(Answer::Pool(body)) => {
                let body = match body {
                    Body::None | Body::Streamed => OwnedBody::Memory(Vec::new()),
                    Body::Whole(bytes) => OwnedBody::Memory(bytes.to_vec()),
                    Body::Collected(Collected::Memory(bytes)) => OwnedBody::Memory(bytes),
                    Body::Collected(Collected::File(file, length)) => OwnedBody::File(file, length),
                };
                self.dispatch(connection, head_bytes, body)
            }
            Err(_panic) => {
                self.slot.in_flight.set(0);
                if connection.facts.status == 0 && connection.outbox.is_empty() && self.buffer.len() >= begun {
                    self.buffer.truncate(begun);
                    return Step::Stop(self.refuse_with(connection, reject(500, "the server failed")));
                }
                Step::Stop(Next::Close)
            }
        }
    }

    fn dispatch(
        &mut self,
        connection: &mut Connection<A::Response>,
        head_bytes: &[u8],
        body: OwnedBody,
    ) -> Step<A::Response> {
        // What is owed for the requests before this one goes first; a thread that finds it blocked waits.
        match self.flush(connection) {
            Err(_) => Step::Stop(Next::Close),
            Ok(_) => {
                connection.state = State::Reading;
                Step::Stop(Next::Dispatch(Work::Call { head: head_bytes.to_vec(), body }))
            }
        }
    }

    fn send_file_reply(
        &mut self,
        connection: &mut Connection<A::Response>,
        reply: files::Reply,
    ) -> Outcome<A::Response> {
        let Facts { keep_alive, minor, .. } = connection.facts;
        connection.facts.status = reply.status;
        response::write_status_line(reply.status, &mut self.buffer);
        self.buffer.extend_from_slice(self.date.line());
        response::write_connection(keep_alive, minor, &mut self.buffer);
        self.buffer.extend_from_slice(&reply.head);
        self.buffer.extend_from_slice(b"\r\n");
        let pieces = match reply.body {
            files::Body::Empty => return Outcome::Done,
            files::Body::One(piece) => vec![piece],
            files::Body::Several(pieces) => pieces,
        };
        for piece in pieces {
            connection.facts.body_bytes += piece.length();
            match piece {
                files::Piece::Bytes(bytes, range) if range.len() <= COPIED && connection.outbox.is_empty() => {
                    self.buffer.extend_from_slice(&bytes[range]);
                }
                files::Piece::Bytes(bytes, range) => {
                    self.keep_order(connection);
                    connection.outbox.push(Piece::Shared { bytes, from: range.start, to: range.end });
                }
                files::Piece::File(file, range) => {
                    self.keep_order(connection);
                    connection.outbox.push(Piece::File { file, offset: range.start, left: range.end - range.start });
                }
            }
        }
        Outcome::Done
    }

    /// The buffer goes before what is pushed to the outbox next.
    fn keep_order(&mut self, connection: &mut Connection<A::Response>) {
        if !self.buffer.is_empty() {
            connection.outbox.push(Piece::Owned { bytes: self.buffer.clone(), from: 0 });
            self.buffer.clear();
        }
    }

    fn step(&mut self, connection: &mut Connection<A::Response>, outcome: Outcome<A::Response>) -> Step<A::Response> {
        match outcome {
            Outcome::Done => {
                self.count_response(connection);
                if !connection.facts.keep_alive {
                    return Step::Stop(self.flush_last(connection));
                }
                if connection.outbox.is_empty() {
                    return Step::Answered;
                }
                match self.flush(connection) {
                    Err(_) => Step::Stop(Next::Close),
                    Ok(Flow::Blocked) => Step::Stop(Next::Wait),
                    Ok(Flow::Clear) => Step::Answered,
                }
            }
            Outcome::Suspended(response) => {
                connection.response = Some(response);
                connection.state = State::Sending;
                Step::Stop(Next::Wait)
            }
            Outcome::Broken => {
                self.count_response(connection);
                // What is complete is sent; then the connection ends before the response does.
                let flushed = self.flush(connection);
                connection.facts.keep_alive = false;
                Step::Stop(match flushed {
                    Ok(Flow::Blocked) => Next::Wait,
                    _ => Next::Close,
                })
            }
        }
    }

    fn last_word(&self, connection: &Connection<A::Response>) -> Next<A::Response> {
        if connection.linger { Next::Linger } else { Next::Close }
    }

    /// The last answer of a connection: the packet that it ends with says as well that it was the last, which saves a packet
    /// and the client's answer to that.
    fn flush_last(&mut self, connection: &mut Connection<A::Response>) -> Next<A::Response> {
        let together = connection.transport.is_plain() && !self.buffer.is_empty();
        match self.flush_before(connection, if together { After::More } else { After::Nothing }) {
            Err(_) => Next::Close,
            Ok(Flow::Blocked) => Next::Wait,
            Ok(Flow::Clear) => {
                // Not left to closing, which throws away what is not yet sent if the client has said more meanwhile.
                if together && !connection.linger {
                    connection.transport.finish();
                }
                self.last_word(connection)
            }
        }
    }

    fn flush(&mut self, connection: &mut Connection<A::Response>) -> std::io::Result<Flow> {
        self.flush_before(connection, After::Nothing)
    }

    fn flush_before(&mut self, connection: &mut Connection<A::Response>, after: After) -> std::io::Result<Flow> {
        let flow = reply::flush(&mut self.buffer, after, &mut connection.outbox, &mut connection.transport);
        if self.buffer.capacity() > BUFFER_BYTES {
            self.buffer.shrink_to(BUFFER_BYTES);
        }
        if let Ok(Flow::Blocked) = flow {
            connection.state = if connection.receiving.is_some() { State::Receiving } else { State::Sending };
        }
        flow
    }

    /// There is room to send again.
    pub fn go_on_sending(&mut self, connection: &mut Connection<A::Response>) -> Next<A::Response> {
        match connection.outbox.send(&mut connection.transport) {
            Ok(()) => {}
            Err(error) if reply::is_passing(&error) => return Next::Wait,
            Err(_) => return Next::Close,
        }
        connection.state = State::Reading;
        if let Some(response) = connection.response.take() {
            let outcome = match &mut self.caller {
                Caller::None => return Next::Close,
                Caller::Pool(_) => return Next::Dispatch(Work::Resume(response)),
                Caller::Inline(application) => {
                    let mut out = Out {
                        buffer: &mut self.buffer,
                        facts: &mut connection.facts,
                        date_line: self.date.line(),
                        patience: None,
                        streamed: None,
                        transport: &mut connection.transport,
                        outbox: &mut connection.outbox,
                    };
                    application.resume(response, &mut out)
                }
            };
            return self.finished(connection, outcome);
        }
        if !connection.facts.keep_alive {
            return self.last_word(connection);
        }
        self.feed(connection, &[])
    }

    /// A response that was suspended, or given to a thread, has come further.
    pub fn finished(
        &mut self,
        connection: &mut Connection<A::Response>,
        outcome: Outcome<A::Response>,
    ) -> Next<A::Response> {
        match self.step(connection, outcome) {
            Step::Stop(next) => next,
            Step::Answered => self.feed(connection, &[]),
        }
    }

    /// A response of the server's own that ends the connection.
    fn refuse_with(&mut self, connection: &mut Connection<A::Response>, rejection: Rejection) -> Next<A::Response> {
        let kind = match rejection.status {
            413 | 414 | 431 | 503 => 1,
            417 | 501 | 505 => 2,
            _ => 0,
        };
        self.slot.rejected[kind].add(1);
        connection.receiving = None;
        connection.facts.keep_alive = false;
        connection.facts.status = rejection.status;
        connection.linger = true;
        response::write_rejection(rejection, self.date.line(), &mut self.buffer);
        self.count_response(connection);
        self.flush_last(connection)
    }

    /// There are too many connections for this one.
    pub fn refuse(&mut self, connection: &mut Connection<A::Response>) -> Next<A::Response> {
        self.refuse_with(connection, reject(503, "there are too many connections"))
    }

    /// The client did not send its request in time.
    pub fn time_out(&mut self, connection: &mut Connection<A::Response>) -> Next<A::Response> {
        self.refuse_with(connection, reject(408, "the request did not come in time"))
    }

    /// The connection is lost while a response waited for it.
    pub fn drop_response(&mut self, connection: &mut Connection<A::Response>) {
        if let Some(response) = connection.response.take() {
            connection.outbox = Default::default(); // it points into the response
            match &mut self.caller {
                Caller::Inline(application) => application.abandon(response),
                Caller::Pool(pool) => pool.abandon(response),
                Caller::None => {}
            }
        }
    }

    fn count_response(&mut self, connection: &mut Connection<A::Response>) {
        let class = usize::from(connection.facts.status / 100).clamp(1, 5) - 1;
        self.slot.responses[class].add(1);
        if connection.facts.failed {
            self.slot.application_errors.add(1);
        }
        if let Some(log) = &mut self.log {
            let story = connection.story.take().unwrap_or_default();
            log.record(&Entry {
                peer: connection.peer.address,
                method: &story.method,
                target: &story.target,
                version: connection.facts.minor,
                status: connection.facts.status,
                bytes: connection.facts.body_bytes,
                duration_ns: story.began_ns.map_or(0, |began_ns| monotonic_ns() - began_ns),
                referer: story.referer.as_deref(),
                user_agent: story.user_agent.as_deref(),
            });
        }
    }

    pub fn count_sent(&mut self, connection: &mut Connection<A::Response>) {
        self.slot.bytes_out.add(std::mem::take(&mut connection.outbox.sent));
    }

    pub fn is_worn_out(&self) -> bool {
        self.most_requests.is_some_and(|most| self.slot.requests.get() >= most)
    }

    pub fn reopen_log(&mut self) {
        if let Some(log) = &mut self.log {
            log.reopen();
        }
    }

    /// Before the loop waits.
    #[inline]
    pub fn hand_over_log(&mut self) {
        if let Some(log) = &mut self.log {
            log.hand_over();
        }
    }
}

enum Answer<'a, R> {
    Outcome(Outcome<R>),
    Pool(Body<'a>),
}

/// Whether a head may end in the bytes beyond those that were `seen`: an empty line, however it is written.
fn ends_head(bytes: &[u8], seen: usize) -> bool {
    let from = seen.saturating_sub(3).min(bytes.len());
    let fresh = &bytes[from..];
    memchr::memchr_iter(b'\n', fresh).any(|at| matches!(fresh[at + 1..], [b'\n', ..] | [b'\r', b'\n', ..]))
}
