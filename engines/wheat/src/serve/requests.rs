// SPDX-License-Identifier: Apache-2.0
//! From bytes received to bytes owed: has the requests in a connection's input answered, in their order, and accounts for them.
//! Which requests there are its protocol says.

use std::hash::{BuildHasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::caller::Caller;
use super::connection::{Connection, State};
use super::output::Output;
use super::pace::Pace;
use super::protocol::{Application, Outcome, Protocol, Work};
use super::reply::{Facts, Flow, Means, Out};
use super::socket::{After, is_passing};
use crate::clock::monotonic_ns;
use crate::config::Config;
use crate::error::Error;
use crate::http::{Rejection, reject};
use crate::observe::counters::Slot;
use crate::observe::format::Entry;
use crate::observe::log::AccessLog;

/// What the event loop knows of a protocol.
pub trait Reader: Protocol {
    fn new(config: &Config, means: &Means) -> Result<Self, Error>;

    /// Takes requests from the front of `input` and has them answered: by `Requests::call`, or by `Requests::dispatch` in a thread. What
    /// it leaves comes again when there is more; of a request that is not whole it leaves no more than its limits allow, beyond which
    /// it refuses. It calls `Connection::head_ended` where the deadline of the next request begins. `seen`: bytes that it has seen
    /// before.
    fn take<A: Application<Protocol = Self>>(
        requests: &mut Requests<A>,
        connection: &mut Connection<A>,
        input: &mut &[u8],
        seen: usize,
    ) -> Next<A>;
}

/// What is next for a connection.
pub enum Next<A: Application> {
    /// The connection waits for what its state says.
    Wait,
    Linger,
    Close,
    /// Boxed: what most answers lead to is small.
    Dispatch(Box<Work<A>>),
}

/// What one answer leads to.
pub enum Step<A: Application> {
    /// The next request of the connection's input may be looked at.
    Answered,
    Stop(Next<A>),
}

/// Responses of pipelined requests are sent together, this many bytes at most.
const BATCH_BYTES: usize = 64 << 10;

/// Finds the requests, has them answered and says what is next for the connection.
pub struct Requests<'c, A: Application> {
    pub protocol: A::Protocol,
    pub caller: Caller<A>,
    pub slot: &'static Slot,
    /// When this turn of the event loop began.
    pub now_ns: u64,
    /// The server ends: each connection has its last answer.
    pub ending: bool,
    pub config: &'c Config,
    pub means: Means,
    pub output: Output,
    pub log: Option<AccessLog>,
    /// Of calls by the event loop.
    pace: Pace,
    /// `--max-requests` less a random part of up to a tenth: workers that began together do not end together.
    most_requests: Option<u64>,
}

impl<'c, A: Application<Protocol: Reader>> Requests<'c, A> {
    pub fn new(config: &'c Config, caller: Caller<A>, means: Means, slot: &'static Slot) -> Result<Self, Error> {
        Ok(Self {
            protocol: A::Protocol::new(config, &means)?,
            caller,
            slot,
            now_ns: monotonic_ns(),
            ending: false,
            config,
            means,
            output: Output::default(),
            log: AccessLog::open(config, slot)?,
            pace: Pace::new(slot),
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
    pub fn feed(&mut self, connection: &mut Connection<A>, fresh: &[u8]) -> Next<A> {
        if connection.partial.is_empty() {
            let mut input = fresh;
            let next = A::Protocol::take(self, connection, &mut input, 0);
            if !input.is_empty() {
                connection.partial = input.to_vec();
            }
            return next;
        }
        let mut held = std::mem::take(&mut connection.partial);
        let seen = held.len();
        held.extend_from_slice(fresh);
        let mut input = &held[..];
        let next = A::Protocol::take(self, connection, &mut input, seen);
        let left = input.len();
        if left > 0 {
            held.drain(..held.len() - left);
            connection.partial = held;
        }
        next
    }

    /// A call has panicked: forgets what was being written for its connection, which is for no other.
    pub fn broken(&mut self) -> Next<A> {
        self.output.buffer.clear();
        Next::Close
    }

    /// After an answer. None: the next request of the input may be looked at.
    #[inline]
    pub fn stops(&mut self, connection: &mut Connection<A>, step: Step<A>) -> Option<Next<A>> {
        match step {
            Step::Stop(next) => Some(next),
            Step::Answered if self.output.buffer.len() < BATCH_BYTES => None,
            Step::Answered => match self.output.flush(connection, After::Nothing) {
                Ok(Flow::Clear) => None,
                Ok(Flow::Blocked) => Some(Next::Wait),
                Err(_) => Some(Next::Close),
            },
        }
    }

    /// There is no whole request in the input any more.
    #[inline]
    pub fn end_of_input(&mut self, connection: &mut Connection<A>) -> Next<A> {
        match self.output.flush(connection, After::Nothing) {
            Ok(_) => Next::Wait,
            Err(_) => Next::Close,
        }
    }

    /// Answers a request. Where that panics it is refused, if nothing of its answer is sent.
    #[inline]
    pub fn guarded(
        &mut self,
        connection: &mut Connection<A>,
        answer: impl FnOnce(&mut Self, &mut Connection<A>) -> Step<A>,
    ) -> Step<A> {
        let begun = self.output.buffer.len();
        catch_unwind(AssertUnwindSafe(|| answer(self, connection))).unwrap_or_else(|_panic| {
            if let Caller::Inline(_) = self.caller {
                self.slot.in_flight.set(0);
            }
            if connection.facts.status == 0 && connection.outbox.is_empty() && self.output.buffer.len() >= begun {
                self.output.buffer.truncate(begun);
                return Step::Stop(self.refuse_with(connection, reject(500, "the server failed")));
            }
            Step::Stop(Next::Close)
        })
    }

    /// The way out for an answer of the server's own.
    pub fn way_out<'a>(&'a mut self, connection: &'a mut Connection<A>) -> Out<'a> {
        self.output.for_call(connection, &self.means, &self.pace)
    }

    /// Calls the application here and now.
    #[inline]
    pub fn call(&mut self, connection: &mut Connection<A>, request: <A::Protocol as Protocol>::Request<'_>) -> Step<A> {
        let Caller::Inline(application) = &mut self.caller else { return Step::Stop(Next::Close) };
        self.slot.in_flight.set(1);
        let mut out = self.output.for_call(connection, &self.means, &self.pace);
        let outcome = application.call(request, &mut out);
        drop(out);
        self.slot.in_flight.set(0);
        self.slot.progress.add(1);
        self.step(connection, outcome)
    }

    /// Has a thread call the application.
    pub fn dispatch(&mut self, connection: &mut Connection<A>, work: Work<A>) -> Step<A> {
        // What is owed for the requests before this one goes first; a thread that finds it blocked waits.
        match self.output.flush(connection, After::Nothing) {
            Err(_) => Step::Stop(Next::Close),
            Ok(_) => {
                connection.state = State::Reading;
                Step::Stop(Next::Dispatch(Box::new(work)))
            }
        }
    }

    pub fn step(&mut self, connection: &mut Connection<A>, outcome: Outcome<A::Held>) -> Step<A> {
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

    fn last_word(&self, connection: &Connection<A>) -> Next<A> {
        if connection.linger { Next::Linger } else { Next::Close }
    }

    /// The last answer of a connection: the packet that it ends with says as well that it was the last, which saves a packet
    /// and the client's answer to that.
    fn flush_last(&mut self, connection: &mut Connection<A>) -> Next<A> {
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
    pub fn go_on_sending(&mut self, connection: &mut Connection<A>) -> Next<A> {
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
    pub fn finished(&mut self, connection: &mut Connection<A>, outcome: Outcome<A::Held>) -> Next<A> {
        match self.step(connection, outcome) {
            Step::Stop(next) => next,
            Step::Answered => self.feed(connection, &[]),
        }
    }

    /// Writes a response of the server's own that ends the connection.
    pub fn refuse_with(&mut self, connection: &mut Connection<A>, rejection: Rejection) -> Next<A> {
        let kind = match rejection.status {
            413 | 414 | 431 | 503 => 1,
            417 | 501 | 505 => 2,
            _ => 0,
        };
        self.slot.rejected[kind].add(1);
        connection.pending = Default::default();
        connection.state = State::Reading;
        connection.facts.keep_alive = false;
        connection.facts.status = rejection.status;
        connection.linger = true;
        A::Protocol::refuse(rejection, &mut self.way_out(connection));
        connection.is_owed = true;
        if self.log.is_some() {
            let peer = connection.peer.address;
            let entry = connection.entry.get_or_insert_with(|| Box::new(Entry { peer, ..Entry::default() }));
            entry.reason = Some(rejection.reason);
        }
        self.flush_last(connection)
    }

    /// Refuses a connection because there are too many.
    pub fn refuse(&mut self, connection: &mut Connection<A>) -> Next<A> {
        self.refuse_with(connection, reject(503, "there are too many connections"))
    }

    /// The client did not send its request in time.
    pub fn time_out(&mut self, connection: &mut Connection<A>) -> Next<A> {
        self.refuse_with(connection, reject(408, "the request did not come in time"))
    }

    /// The outbox is empty, or the connection is lost: the response is over.
    pub fn settle(&mut self, connection: &mut Connection<A>) {
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

    fn count_response(&mut self, connection: &mut Connection<A>) {
        self.count(&connection.facts);
        if let Some(log) = &mut self.log {
            let mut entry = connection.entry.take().unwrap_or_default();
            entry.status = connection.facts.status;
            entry.bytes = connection.facts.body_bytes.saturating_sub(connection.outbox.left());
            log.record(&entry, monotonic_ns());
        }
    }

    pub fn count_sent(&mut self, connection: &mut Connection<A>) {
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
