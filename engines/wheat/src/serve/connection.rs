// SPDX-License-Identifier: Apache-2.0
//! One connection: what it has sent, what it is owed, and which of the two it waits for.

use std::time::Duration;

use super::outbox::Outbox;
use super::pace::Pace;
use super::patience::LEAST_PROGRESS;
use super::protocol::{Application, Protocol};
use super::reply::{Facts, Means, Out, Peer, Streamed};
use super::timers::{Kind, Timer, Wheel};
use super::transport::Transport;
use crate::config::Deadlines;
use crate::http::date;
use crate::observe::format::Entry;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It waits for a request, or for the rest of its head.
    Reading,
    /// It waits for the rest of a body.
    Receiving,
    /// It waits for the client to take what is in the outbox.
    Sending,
    /// Everything is sent; what the client still sends is thrown away, so that closing does not destroy what it has not read yet.
    Lingering,
}

pub struct Connection<A: Application> {
    // Dropped in this order: the outbox may point into what is held.
    pub outbox: Outbox,
    pub held: Option<A::Held>,
    pub transport: Transport,
    pub peer: Peer,
    /// A header of the PROXY protocol is to come before all else.
    pub awaits_proxy: bool,
    pub listener: usize,
    pub state: State,
    /// What `epoll` was last told to watch for.
    pub interest: u32,
    /// Whether `epoll` knows the socket.
    pub is_watched: bool,
    pub facts: Facts,
    /// The response is not yet counted and logged: not all of it is sent.
    pub is_owed: bool,
    /// What the kernel had for the client when half of the time to send was over, in bytes.
    pub queued: Option<usize>,
    /// Once the outbox is empty the connection lingers rather than closes at once.
    pub linger: bool,
    /// Bytes that were received and not yet looked at.
    pub partial: Vec<u8>,
    pub pending: <A::Protocol as Protocol>::Pending,
    /// Bytes received since the deadline was set.
    pub received: u64,
    pub timer: Timer,
    /// The entry of the access log for the request under way.
    pub entry: Option<Box<Entry>>,
}

impl<A: Application> Connection<A> {
    pub fn new(transport: Transport, peer: Peer, listener: usize) -> Self {
        Self {
            outbox: Outbox::default(),
            held: None,
            is_owed: false,
            queued: None,
            transport,
            peer,
            awaits_proxy: false,
            listener,
            state: State::Reading,
            interest: 0,
            is_watched: false,
            facts: Facts::default(),
            linger: false,
            partial: Vec::new(),
            pending: Default::default(),
            received: 0,
            timer: Timer::default(),
            entry: None,
        }
    }

    /// The way out for a response.
    pub fn out<'a>(
        &'a mut self,
        buffer: &'a mut Vec<u8>,
        date_line: &'a [u8; date::LENGTH],
        means: &'a Means,
        pace: &'a Pace,
        streamed: Option<&'a mut Streamed>,
    ) -> Out<'a> {
        let Self { facts, transport, outbox, entry, .. } = self;
        let named = entry.as_deref_mut().and_then(|entry| entry.named.as_mut());
        let (loan, waited) = (None, Duration::ZERO);
        Out { buffer, facts, date_line, named, streamed, transport, outbox, means, pace, loan, waited }
    }

    /// What to watch the socket for.
    pub fn wanted_interest(&self) -> u32 {
        let reading = libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLET;
        let owes = !self.outbox.is_empty() || self.transport.holds_output();
        (match self.state {
            State::Sending => libc::EPOLLOUT,
            _ if owes => reading | libc::EPOLLOUT,
            _ => reading,
        }) as u32
    }

    /// Sets the deadline of what the connection now waits for, after something happened.
    pub fn set_deadline(
        &mut self,
        token: usize,
        wheel: &mut Wheel,
        now_ns: u64,
        deadlines: &Deadlines,
        pause: Duration,
    ) {
        let (kind, after) = match self.state {
            State::Reading if self.partial.is_empty() && self.facts.status != 0 => (Kind::Idle, pause),
            State::Reading => (Kind::Head, deadlines.head),
            State::Receiving => (Kind::Body, deadlines.body),
            State::Sending => (Kind::Send, deadlines.send / 2), // `goes_on_taking` gives the other half
            State::Lingering => (Kind::Linger, LINGER),
        };
        let again = match kind {
            Kind::Idle => true,
            Kind::Head | Kind::Linger => false,
            Kind::Body => self.received >= LEAST_PROGRESS,
            Kind::Send => self.outbox.progress >= LEAST_PROGRESS,
        };
        if again || kind != self.timer.kind || !self.timer.is_set() {
            self.received = 0;
            self.outbox.progress = 0;
            self.queued = None;
            wheel.set(token, &mut self.timer, kind, now_ns, after);
        }
    }

    /// After half of the time to send without progress: what the kernel has sent since is progress too, for it takes more from
    /// us only when a good part of its buffer is free.
    pub fn goes_on_taking(&mut self) -> bool {
        let now = self.transport.queued();
        let before = self.queued.replace(now);
        before.is_none_or(|before| before.saturating_sub(now) as u64 >= LEAST_PROGRESS / 2)
    }

    /// Gives whatever is read after a head a deadline of its own.
    pub fn head_ended(&mut self) {
        self.timer.kind = Kind::Idle;
    }
}

const LINGER: Duration = Duration::from_secs(5);
