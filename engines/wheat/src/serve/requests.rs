// SPDX-License-Identifier: Apache-2.0
//! From bytes received to bytes owed: finds the requests in a connection's input and has each answered, in their order.

use std::hash::{BuildHasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::caller::Caller;
use super::connection::{Connection, Receiving, State};
use super::incoming::{Collected, Delimiter, Incoming};
use super::output::Output;
use super::pace::Pace;
use super::pool::{OwnedBody, Work};
use super::reply::{Application, Body, Facts, Flow, Means, Outcome, Request, Streamed};
use super::socket::{After, is_passing};
use crate::clock::monotonic_ns;
use crate::config::{Config, Input};
use crate::error::Error;
use crate::files::Files;
use crate::http::head::{self, Framing, Head, HeadLimits, Target};
use crate::http::{Rejection, reject, response};
use crate::observe::counters::Slot;
use crate::observe::log::{AccessLog, Entry};

/// What is next for a connection.
pub enum Next {
    /// The connection waits for what its state says.
    Wait,
    Linger,
    Close,
    Dispatch(Work),
}

/// What one answer leads to.
enum Step {
    /// The next request of the connection's input may be looked at.
    Answered,
    Stop(Next),
}

/// Responses of pipelined requests are sent together, this many bytes at most.
const BATCH_BYTES: usize = 64 << 10;

/// Finds the requests, has them answered and says what is next for the connection.
pub struct Requests<'c, A: Application> {
    pub caller: Caller<A>,
    pub slot: &'static Slot,
    /// When this turn of the event loop began.
    pub now_ns: u64,
    /// The server ends: each connection has its last answer.
    pub ending: bool,
    config: &'c Config,
    files: Option<Files>,
    limits: HeadLimits,
    means: Means,
    /// Of calls by the event loop.
    pace: Pace,
    is_secure: bool,
    output: Output,
    log: Option<AccessLog>,
    /// `--max-requests` less a random part of up to a tenth: workers that began together do not end together.
    most_requests: Option<u64>,
}

impl<'c, A: Application> Requests<'c, A> {
    pub fn new(config: &'c Config, caller: Caller<A>, means: Means, slot: &'static Slot) -> Result<Self, Error> {
        let files = match &config.statics[..] {
            [] => None,
            routes => Some(
                Files::new(routes, config.index.clone())?.with(&config.static_headers, config.static_missing.clone()),
            ),
        };
        Ok(Self {
            caller,
            slot,
            now_ns: monotonic_ns(),
            ending: false,
            config,
            files,
            limits: HeadLimits::of(&config.limits),
            means,
            pace: Pace::new(slot),
            is_secure: config.tls.is_some(),
            output: Output::default(),
            log: AccessLog::open(config, slot)?,
            most_requests: config
                .max_requests
                .map(|most| most as u64)
                // Workers that were forked from one process (--preload) have the same state in all else.
                .map(|most| most - RandomState::new().hash_one(std::process::id()) % (most / 10 + 1)),
        })
    }

    pub fn begin_turn(&mut self, now_ns: u64, unix_seconds: u64) {
        self.now_ns = now_ns;
        self.output.date.update(unix_seconds);
    }

    /// Takes what was received after what was left from before.
    pub fn feed(&mut self, connection: &mut Connection<A::Held>, fresh: &[u8]) -> Next {
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

    /// A call has panicked: forgets what was being written for its connection, which is for no other.
    pub fn broken(&mut self) -> Next {
        self.output.buffer.clear();
        Next::Close
    }

    /// `seen`: bytes of the input that an incomplete head was looked for in before.
    fn take_requests(&mut self, connection: &mut Connection<A::Held>, input: &mut &[u8], mut seen: usize) -> Next {
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
                let mut bytes = *input;
                let later;
                let (mut storage, mut again) = (head::storage(), head::storage());
                let mut parsed = head::parse(bytes, &mut storage, &self.limits);
                if matches!(&parsed, Err(rejection) if rejection.status == 505) {
                    if let Some(known) = head::as_http_1_1(bytes) {
                        later = known;
                        bytes = &later;
                        parsed = head::parse(bytes, &mut again, &self.limits);
                    }
                }
                match parsed {
                    Ok(None) => {
                        connection.parse_again_at = (input.len() * 2).min(self.limits.head + 1);
                        break;
                    }
                    Err(rejection) => return self.refuse_with(connection, rejection),
                    Ok(Some(head)) => {
                        *input = &input[head.length..];
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
                Step::Answered if self.output.buffer.len() < BATCH_BYTES => {}
                Step::Answered => match self.output.flush(connection, After::Nothing) {
                    Ok(Flow::Clear) => {}
                    Ok(Flow::Blocked) => return Next::Wait,
                    Err(_) => return Next::Close,
                },
            }
        }
        match self.output.flush(connection, After::Nothing) {
            Ok(_) => Next::Wait,
            Err(_) => Next::Close,
        }
    }

    fn take_head(
        &mut self,
        connection: &mut Connection<A::Held>,
        head: &Head,
        head_bytes: &[u8],
        input: &mut &[u8],
    ) -> Result<Step, Rejection> {
        connection.facts = Facts {
            keep_alive: head.keep_alive && !self.ending,
            minor: head.minor,
            head_only: head.method == "HEAD",
            ..Facts::default()
        };
        self.slot.requests.add(1);
        let origin = self.means.origin(head, connection.peer);
        if self.log.is_some() {
            connection.entry = Some(Box::new(Entry { peer: origin.address, ..Entry::of(head, monotonic_ns()) }));
        }
        if head.is_https && !origin.is_secure.unwrap_or(self.is_secure) {
            // RFC 9110, 7.4
            return Err(reject(421, "https is not spoken on this connection"));
        }
        if !head.has_body() {
            return Ok(self.answer(connection, head, head_bytes, Body::None, input.is_empty()));
        }
        let limit = self.config.limits.body as u64;
        // WSGI tells a length before the body: one in chunks is collected first.
        let is_streamed = self.config.input == Input::Streamed && matches!(head.framing, Framing::Length(_));
        if is_streamed && matches!(self.caller, Caller::Pool(_)) {
            let delimiter = Delimiter::new(head.framing, limit)?;
            let ahead = std::mem::take(input).to_vec();
            let expects_continue = head.expects_continue && ahead.is_empty();
            let streamed = Streamed::new(delimiter, ahead, expects_continue, self.config.deadlines.body);
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
        let incoming = Incoming::new(head.framing, limit, self.means.room.clone())?;
        if head.expects_continue && input.is_empty() {
            self.output.buffer.extend_from_slice(response::CONTINUE);
        }
        connection.receiving = Some(Box::new(Receiving { head: head_bytes.to_vec(), incoming }));
        connection.state = State::Receiving;
        connection.received = 0;
        Ok(Step::Answered)
    }

    /// None: the body is not yet whole.
    fn take_body(
        &mut self,
        connection: &mut Connection<A::Held>,
        input: &mut &[u8],
    ) -> Result<Option<Step>, Rejection> {
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
        connection: &mut Connection<A::Held>,
        head: &Head,
        head_bytes: &[u8],
        body: Body,
        last: bool,
    ) -> Step {
        if !connection.facts.keep_alive && !last {
            connection.linger = true;
        }
        let begun = self.output.buffer.len();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let reply = match (&mut self.files, head.target) {
                (Some(files), Target::Path(path)) => {
                    files.respond(head.method.as_bytes(), path.as_bytes(), head.headers, self.now_ns / 1_000_000_000)
                }
                _ => None,
            };
            if let Some(reply) = reply {
                self.output.file(connection, reply);
                return Answer::Outcome(Outcome::Done);
            }
            match &mut self.caller {
                Caller::None => {
                    self.output.answer(connection, reject(404, "nothing is served here"));
                    Answer::Outcome(Outcome::Done)
                }
                Caller::Pool(_) => Answer::Pool(body),
                Caller::Inline(application) => {
                    let origin = self.means.origin(head, connection.peer);
                    let request = Request { head, body, origin, listener: connection.listener };
                    self.slot.in_flight.set(1);
                    let mut out = self.output.for_call(connection, &self.means, &self.pace);
                    let outcome = application.call(request, &mut out);
                    self.slot.in_flight.set(0);
                    self.slot.progress.add(1);
                    Answer::Outcome(outcome)
                }
            }
        }));
        match outcome {
            Ok(Answer::Outcome(outcome)) => self.step(connection, outcome),
            Ok(Answer::Pool(body)) => {
                let body = match body {
                    Body::None | Body::Streamed => Collected::Memory(Vec::new()),
                    Body::Whole(bytes) => Collected::Memory(bytes.to_vec()),
                    Body::Collected(collected) => collected,
                };
                self.dispatch(connection, head_bytes, OwnedBody::Collected(body))
            }
            Err(_panic) => {
                self.slot.in_flight.set(0);
                if connection.facts.status == 0 && connection.outbox.is_empty() && self.output.buffer.len() >= begun {
                    self.output.buffer.truncate(begun);
                    return Step::Stop(self.refuse_with(connection, reject(500, "the server failed")));
                }
                Step::Stop(Next::Close)
            }
        }
    }

    fn dispatch(&mut self, connection: &mut Connection<A::Held>, head_bytes: &[u8], body: OwnedBody) -> Step {
        // What is owed for the requests before this one goes first; a thread that finds it blocked waits.
        match self.output.flush(connection, After::Nothing) {
            Err(_) => Step::Stop(Next::Close),
            Ok(_) => {
                connection.state = State::Reading;
                Step::Stop(Next::Dispatch(Work { head: head_bytes.to_vec(), body }))
            }
        }
    }

    fn step(&mut self, connection: &mut Connection<A::Held>, outcome: Outcome<A::Held>) -> Step {
        match outcome {
            // Answers to pipelined requests are sent together, unless the log is to have what was sent of each.
            Outcome::Done if connection.outbox.is_empty() && self.log.is_none() => {
                self.count(&connection.facts);
                if connection.facts.keep_alive { Step::Answered } else { Step::Stop(self.flush_last(connection)) }
            }
            Outcome::Done => {
                connection.is_owed = true;
                if !connection.facts.keep_alive {
                    return Step::Stop(self.flush_last(connection));
                }
                match self.output.flush(connection, After::Nothing) {
                    Err(_) => Step::Stop(Next::Close),
                    Ok(Flow::Blocked) => Step::Stop(Next::Wait),
                    Ok(Flow::Clear) => {
                        self.settle(connection);
                        Step::Answered
                    }
                }
            }
            Outcome::Held(held) => {
                connection.held = Some(held);
                connection.is_owed = true;
                connection.state = State::Sending;
                Step::Stop(Next::Wait)
            }
            Outcome::Broken => {
                connection.is_owed = true;
                // What is complete is sent; then the connection ends before the response does.
                let flushed = self.output.flush(connection, After::Nothing);
                connection.facts.keep_alive = false;
                Step::Stop(match flushed {
                    Ok(Flow::Blocked) => Next::Wait,
                    _ => Next::Close,
                })
            }
        }
    }

    fn last_word(&self, connection: &Connection<A::Held>) -> Next {
        if connection.linger { Next::Linger } else { Next::Close }
    }

    /// The last answer of a connection: the packet that it ends with says as well that it was the last, which saves a packet
    /// and the client's answer to that.
    fn flush_last(&mut self, connection: &mut Connection<A::Held>) -> Next {
        let together = connection.transport.is_plain() && !self.output.buffer.is_empty();
        match self.output.flush(connection, if together { After::More } else { After::Nothing }) {
            Err(_) => Next::Close,
            Ok(Flow::Blocked) => Next::Wait,
            Ok(Flow::Clear) => {
                self.settle(connection);
                // Not left to closing, which throws away what is not yet sent if the client has said more meanwhile.
                if together && !connection.linger {
                    connection.transport.finish();
                }
                self.last_word(connection)
            }
        }
    }

    /// Sends more, as there is room again.
    pub fn go_on_sending(&mut self, connection: &mut Connection<A::Held>) -> Next {
        match connection.outbox.send(&mut connection.transport) {
            Ok(()) => {}
            Err(error) if is_passing(&error) => return Next::Wait,
            Err(_) => return Next::Close,
        }
        connection.state = State::Reading;
        self.settle(connection);
        if !connection.facts.keep_alive {
            return self.last_word(connection);
        }
        self.feed(connection, &[])
    }

    /// Goes on with a request that a thread is done with.
    pub fn finished(&mut self, connection: &mut Connection<A::Held>, outcome: Outcome<A::Held>) -> Next {
        match self.step(connection, outcome) {
            Step::Stop(next) => next,
            Step::Answered => self.feed(connection, &[]),
        }
    }

    /// Writes a response of the server's own that ends the connection.
    fn refuse_with(&mut self, connection: &mut Connection<A::Held>, rejection: Rejection) -> Next {
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
        connection.facts.body_bytes = self.output.reject(rejection);
        connection.is_owed = true;
        if self.log.is_some() {
            let peer = connection.peer.address;
            let entry = connection.entry.get_or_insert_with(|| Box::new(Entry { peer, ..Entry::default() }));
            entry.reason = Some(rejection.reason);
        }
        self.flush_last(connection)
    }

    /// Refuses a connection because there are too many.
    pub fn refuse(&mut self, connection: &mut Connection<A::Held>) -> Next {
        self.refuse_with(connection, reject(503, "there are too many connections"))
    }

    /// The client did not send its request in time.
    pub fn time_out(&mut self, connection: &mut Connection<A::Held>) -> Next {
        self.refuse_with(connection, reject(408, "the request did not come in time"))
    }

    /// The outbox is empty, or the connection is lost: the response is over.
    pub fn settle(&mut self, connection: &mut Connection<A::Held>) {
        if std::mem::take(&mut connection.is_owed) {
            self.count_response(connection);
        }
        if let Some(held) = connection.held.take() {
            if !connection.outbox.is_empty() {
                connection.outbox = Default::default(); // it points into what is held
            }
            self.caller.release(held);
        }
    }

    fn count(&self, facts: &Facts) {
        let class = usize::from(facts.status / 100).clamp(1, 5) - 1;
        self.slot.responses[class].add(1);
        if facts.failed {
            self.slot.application_errors.add(1);
        }
    }

    fn count_response(&mut self, connection: &mut Connection<A::Held>) {
        self.count(&connection.facts);
        if let Some(log) = &mut self.log {
            let mut entry = connection.entry.take().unwrap_or_default();
            entry.version = connection.facts.minor;
            entry.status = connection.facts.status;
            entry.bytes = connection.facts.body_bytes.saturating_sub(connection.outbox.left());
            log.record(&entry, monotonic_ns());
        }
    }

    pub fn count_sent(&mut self, connection: &mut Connection<A::Held>) {
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

    /// Hands over the lines of the log before the loop waits.
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
