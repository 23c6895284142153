// SPDX-License-Identifier: Apache-2.0
//! The event loop of a worker: three system calls a request, `epoll_wait`, `recv`, `send`, and four a connection that has
//! one request, `accept4`, `recv`, `send`, `close`.
//!
//! Connections are watched edge-triggered: with level-triggered epoll the kernel polls each socket a second time only to find
//! that nothing is left. What an edge is reported for is therefore read to its end, or the watch is set anew, which reports
//! again what is there. Room to send is watched for only once the kernel took less than was offered.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use slab::Slab;

use super::caller::Caller;
use super::connection::{Connection, State};
use super::pool::Finished;
use super::protocol::{Application, Protocol, Work};
use super::protocols::http::NoApplication;
use super::reply::{Means, Peer};
use super::requests::{Next, Reader, Requests};
use super::socket::{self, is_passing};
use super::timers::{Kind, Tick, Wheel};
use super::transport::Opener;
use crate::clock::{self, monotonic_ns};
use crate::config::Config;
use crate::error::Error;
use crate::http::proxy;
use crate::observe::notice::Notice;
use crate::supervise::handover::{Context, Control, Order, Report};
use crate::supervise::resident;

/// Events taken from the kernel in one turn.
const EVENTS: usize = 512;
/// How much is received in one go; all connections share the buffer.
const INPUT_BYTES: usize = 64 << 10;
/// How often one connection receives before others get their turn.
const MOST_RECEIVES: usize = 16;
/// Connections taken from one listener in one turn, each of which may have a large answer.
const MOST_ACCEPTS: usize = 16;
/// Given in one turn to those whose answers are under way: all others are asked for next.
const SENDING: Duration = Duration::from_millis(2);
/// Connections beyond the limit that may stay until they have read that they are refused.
const REFUSED_ROOM: usize = 64;
/// For how long accepting rests when no descriptor is left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// While calls wait for a thread, it is looked this often whether one can be had.
const RELIEF: Duration = Duration::from_millis(100);
/// While the server ends, a connection is idle for no longer than this: its client may be sending this moment.
const LAST_CHANCE: Duration = Duration::from_millis(500);

// Tokens of epoll; connections have their index.
const CONTROL: u64 = 1 << 62;
const POOL: u64 = (1 << 62) + 1;
const LISTENER: u64 = 1 << 63;

enum Entry<A: Application> {
    Here(Box<Connection<A>>),
    /// A thread of the pool has it.
    Away,
}

struct Worker<'c, A: Application> {
    requests: Requests<'c, A>,
    config: &'c Config,
    epoll: OwnedFd,
    connections: Slab<Entry<A>>,
    listeners: Vec<OwnedFd>,
    opener: Opener,
    /// Calls wait for a thread: whether one can be had is looked at soon.
    calls_wait: bool,
    control: Option<Control>,
    wheel: Wheel,
    /// How long a connection may be idle: shorter once the server ends.
    pause: Duration,
    input: Box<[u8]>,
    accept_again_ns: Option<u64>,
    /// Connections with a response under way whose clients take more in this turn, and the one that is first in the next turn.
    sending: Vec<(usize, u32)>,
    first_to_send: usize,
    /// When the worker began to end.
    ending: Option<u64>,
    asked_for_replacement: bool,
    failed: bool,
}

/// Serves files until the master says otherwise; the exit code.
pub fn run(config: &Config, context: Context) -> i32 {
    match Means::of(config) {
        Ok(means) => run_with(config, context, Caller::<NoApplication>::None, means),
        Err(error) => {
            eprintln!("wheat: {error}");
            error.exit as i32
        }
    }
}

pub fn run_with<A: Application<Protocol: Reader>>(
    config: &Config,
    context: Context,
    caller: Caller<A>,
    means: Means,
) -> i32 {
    match Worker::new(config, context, caller, means) {
        Ok(mut worker) => {
            worker.serve();
            i32::from(worker.failed)
        }
        Err(error) => {
            eprintln!("wheat: {error}");
            error.exit as i32
        }
    }
}

impl<'c, A: Application<Protocol: Reader>> Worker<'c, A> {
    fn new(config: &'c Config, context: Context, caller: Caller<A>, means: Means) -> Result<Self, Error> {
        let Context { listeners, control, slot, .. } = context;
        let failed = |what: &str, error: io::Error| Error::unavailable(format!("{what}: {error}"));
        // SAFETY: a system call; the descriptor is new and owned from here on.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if epoll < 0 {
            return Err(failed("epoll", io::Error::last_os_error()));
        }
        // SAFETY: as said.
        let epoll = unsafe { OwnedFd::from_raw_fd(epoll) };
        let worker = Self {
            requests: Requests::new(config, caller, means, slot)?,
            config,
            epoll,
            connections: Slab::new(),
            listeners,
            opener: Opener::new(config, A::Protocol::ALPN)?,
            calls_wait: false,
            control,
            wheel: Wheel::new(clock::coarse_ns()),
            pause: config.deadlines.idle,
            input: vec![0; INPUT_BYTES].into_boxed_slice(),
            accept_again_ns: None,
            sending: Vec::new(),
            first_to_send: 0,
            ending: None,
            asked_for_replacement: false,
            failed: false,
        };
        let readable = libc::EPOLLIN as u32;
        if let Some(control) = &worker.control {
            worker.watch(libc::EPOLL_CTL_ADD, control.as_raw_fd(), readable, CONTROL);
        }
        if let Caller::Pool(pool) = &worker.requests.caller {
            worker.watch(libc::EPOLL_CTL_ADD, pool.wake_fd(), readable, POOL);
        }
        for listener in &worker.listeners {
            defer_accept(listener);
        }
        worker.watch_listeners();
        Ok(worker)
    }

    fn watch(&self, operation: i32, fd: RawFd, interest: u32, token: u64) {
        let mut event = libc::epoll_event { events: interest, u64: token };
        // SAFETY: `event` is valid; a descriptor that is not is answered with an error, which cannot happen here.
        unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), operation, fd, &raw mut event) };
    }

    fn watch_listeners(&self) {
        for (index, listener) in self.listeners.iter().enumerate() {
            // A connection wakes one of the workers that share the listener.
            let interest = (libc::EPOLLIN | libc::EPOLLEXCLUSIVE) as u32;
            self.watch(libc::EPOLL_CTL_ADD, listener.as_raw_fd(), interest, LISTENER | index as u64);
        }
    }

    fn forget_listeners(&self) {
        for listener in &self.listeners {
            self.watch(libc::EPOLL_CTL_DEL, listener.as_raw_fd(), 0, 0);
        }
    }

    fn serve(&mut self) {
        let mut events = vec![libc::epoll_event { events: 0, u64: 0 }; EVENTS];
        let mut due = Vec::new();
        resident::give_back_code();
        self.report(Report::Ready);
        loop {
            self.note_whether_it_can_take_on_more();
            let count = self.wait(&mut events);
            let now_ns = clock::coarse_ns();
            if let Caller::Inline(_) = self.requests.caller {
                self.requests.slot.busy_since.set(now_ns);
            }
            self.requests.begin_turn(now_ns, clock::coarse_unix_seconds());
            for event in &events[..count] {
                let token = event.u64;
                match token {
                    CONTROL => self.take_orders(),
                    POOL => self.take_finished(),
                    _ if token & LISTENER != 0 => self.accept((token & !LISTENER) as usize, MOST_ACCEPTS),
                    _ if self.is_sending(token as usize) => self.sending.push((token as usize, event.events)),
                    _ => self.connection_event(token as usize, event.events),
                }
            }
            self.go_on_sending();
            self.wheel.advance(now_ns, &mut due);
            for (token, tick) in due.drain(..) {
                self.examine(token, tick);
            }
            self.resume_accepting();
            if !self.requests.caller.turn() && self.ending.is_none() {
                self.failed = true;
                self.end(self.pause.min(LAST_CHANCE));
            }
            self.ask_for_replacement();
            if let Some(since_ns) = self.ending {
                let over = now_ns.saturating_sub(since_ns) >= self.config.deadlines.graceful.as_nanos() as u64;
                if self.connections.is_empty() || over {
                    break;
                }
            }
        }
    }

    /// By `Slot::busy_since`, which the master looks at.
    fn note_whether_it_can_take_on_more(&mut self) {
        let slot = self.requests.slot;
        let waits_since_ns = match &mut self.requests.caller {
            Caller::Pool(pool) if slot.in_flight.get() > self.config.threads as u64 => {
                pool.relieve(self.requests.now_ns)
            }
            _ => None,
        };
        self.calls_wait = waits_since_ns.is_some();
        slot.busy_since.set(waits_since_ns.unwrap_or(0));
    }

    /// Events taken, after waiting for one or for the next deadline.
    fn wait(&mut self, events: &mut [libc::epoll_event]) -> usize {
        let now_ns = self.requests.now_ns;
        let mut wait_ns = self.wheel.wait_ns(now_ns);
        let mut until = |at_ns: u64| {
            let left = at_ns.saturating_sub(now_ns);
            wait_ns = Some(wait_ns.map_or(left, |known| known.min(left)));
        };
        if let Some(at_ns) = self.accept_again_ns {
            until(at_ns);
        }
        if self.calls_wait {
            until(now_ns + RELIEF.as_nanos() as u64);
        }
        if let Some(since_ns) = self.ending {
            until(since_ns + self.config.deadlines.graceful.as_nanos() as u64);
        }
        let milliseconds = wait_ns.map_or(-1, |ns| i32::try_from(ns / 1_000_000 + 1).unwrap_or(i32::MAX));
        self.requests.hand_over_log();
        let epoll = self.epoll.as_raw_fd();
        let mut take = |milliseconds| {
            // SAFETY: `events` has room for as many events as is said.
            let count = unsafe { libc::epoll_wait(epoll, events.as_mut_ptr(), events.len() as i32, milliseconds) };
            usize::try_from(count).unwrap_or(0) // interrupted: nothing happened
        };
        if self.requests.caller.others_wait() {
            let count = take(0);
            if count > 0 {
                return count;
            }
        }
        self.requests.caller.wait(|| take(milliseconds))
    }

    // Listeners

    fn accept(&mut self, index: usize, most: usize) {
        for _ in 0..most {
            let Some(listener) = self.listeners.get(index) else { return };
            match accept(listener) {
                Ok((socket, peer)) => self.welcome(socket, peer, index),
                Err(error) => match error.raw_os_error() {
                    Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM) => {
                        static EXHAUSTED: Notice = Notice::unsaid();
                        EXHAUSTED.say(|| {
                            format!("connections wait to be accepted: {error} (ulimit -n, --limit-connections)")
                        });
                        self.forget_listeners();
                        self.accept_again_ns = Some(self.requests.now_ns + ACCEPT_PAUSE.as_nanos() as u64);
                        return;
                    }
                    // The client went away before it was accepted.
                    Some(libc::ECONNABORTED | libc::EINTR | libc::EPROTO | libc::EPERM) => {}
                    _ => return,
                },
            }
        }
    }

    /// Leaves the listeners. A connection that came meanwhile may have woken this worker alone (EPOLLEXCLUSIVE) and would wait
    /// for ever if it did not take it now.
    fn take_what_waits(&mut self) {
        self.forget_listeners();
        for index in 0..self.listeners.len() {
            self.accept(index, self.config.backlog);
        }
    }

    fn resume_accepting(&mut self) {
        if self.accept_again_ns.is_some_and(|at_ns| at_ns <= self.requests.now_ns) {
            self.accept_again_ns = None;
            self.watch_listeners();
        }
    }

    fn welcome(&mut self, socket: OwnedFd, peer: Peer, listener: usize) {
        let slot = self.requests.slot;
        slot.connections_accepted.add(1);
        let open = self.connections.len();
        let refused = open >= self.config.limits.connections;
        if refused {
            slot.connections_refused.add(1);
            if self.opener.is_secure() || open >= self.config.limits.connections + REFUSED_ROOM {
                return;
            }
        }
        let Some(transport) = self.opener.open(socket) else { return };
        let mut connection = Box::new(Connection::new(transport, peer, listener));
        connection.awaits_proxy =
            self.config.proxy_protocol.as_ref().is_some_and(|networks| networks.contains(peer.address));
        let token = self.connections.insert(Entry::Here(connection));
        slot.connections_open.set(self.connections.len() as u64);
        if refused {
            let Some(Entry::Here(connection)) = self.connections.get_mut(token) else { return };
            let next = self.requests.refuse(connection);
            self.then(token, next);
        } else {
            // The listener waited for the first bytes (`defer_accept`): they are there.
            self.advance(token, false);
        }
    }

    // Connections

    fn connection_event(&mut self, token: usize, events: u32) {
        // A connection that is with a thread is watched again when it is back; one that an earlier event closed is gone.
        if let Some(Entry::Here(_)) = self.connections.get(token) {
            self.advance(token, events & (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32 != 0);
        }
    }

    fn is_sending(&self, token: usize) -> bool {
        matches!(self.connections.get(token), Some(Entry::Here(connection)) if connection.state == State::Sending)
    }

    /// Sends for those whose answers are under way. One without a turn now is reported again, because this watch is not
    /// edge-triggered; which is the first one changes.
    fn go_on_sending(&mut self) {
        let mut sending = std::mem::take(&mut self.sending);
        let count = sending.len();
        let until_ns = if count > 1 { monotonic_ns() + SENDING.as_nanos() as u64 } else { 0 };
        for turn in 0..count {
            if turn > 0 && monotonic_ns() >= until_ns {
                self.first_to_send += turn;
                break;
            }
            let (token, events) = sending[(self.first_to_send + turn) % count];
            self.connection_event(token, events);
        }
        sending.clear();
        self.sending = sending;
    }

    fn advance(&mut self, token: usize, ended: bool) {
        let next = catch_unwind(AssertUnwindSafe(|| self.progress(token, ended)));
        // A panic has been reported by the panic hook; this connection alone suffers from it.
        let next = next.unwrap_or_else(|_| self.requests.broken());
        self.then(token, next);
    }

    /// `ended`: the client has ended its side, which is not reported again.
    fn progress(&mut self, token: usize, ended: bool) -> Next<A> {
        let Some(Entry::Here(connection)) = self.connections.get_mut(token) else { return Next::Wait };
        if connection.state == State::Sending {
            return self.requests.go_on_sending(connection);
        }
        if !connection.outbox.is_empty() || connection.transport.holds_output() {
            match connection.outbox.send(&mut connection.transport) {
                Ok(()) => {}
                // It may be the turn that was over and not the room: watched anew, room that there is is reported again.
                Err(error) if is_passing(&error) => connection.interest = 0,
                Err(_) => return Next::Close,
            }
        }
        if connection.awaits_proxy {
            match take_proxy_header(connection.transport.fd(), &mut self.input) {
                Ok(Some(source)) => {
                    connection.awaits_proxy = false;
                    connection.peer = source.unwrap_or(connection.peer);
                }
                Ok(None) => return Next::Wait,
                Err(_) => {
                    self.requests.slot.rejected[0].add(1);
                    return Next::Close;
                }
            }
        }
        for _ in 0..MOST_RECEIVES {
            let received = match connection.transport.receive(&mut self.input) {
                Ok(0) => return Next::Close,
                Ok(received) => received,
                Err(error) if is_passing(&error) => return Next::Wait,
                Err(_) => return Next::Close,
            };
            self.requests.slot.bytes_in.add(received as u64);
            if connection.state == State::Lingering {
                continue;
            }
            connection.received += received as u64;
            match self.requests.feed(connection, &self.input[..received]) {
                Next::Wait if connection.state == State::Sending => return Next::Wait,
                // The kernel has no more, and will tell of what comes.
                Next::Wait if received < self.input.len() && !ended && connection.transport.is_plain() => {
                    return Next::Wait;
                }
                Next::Wait => {}
                next => return next,
            }
        }
        connection.interest = 0; // there may be more: watched anew, this is reported again
        Next::Wait
    }

    /// Does what an event leads to.
    fn then(&mut self, token: usize, next: Next<A>) {
        let Some(Entry::Here(connection)) = self.connections.get_mut(token) else { return };
        self.requests.count_sent(connection);
        match next {
            Next::Wait => {}
            Next::Linger => {
                connection.transport.finish();
                connection.state = State::Lingering;
            }
            Next::Close => return self.close(token),
            Next::Dispatch(work) => return self.dispatch(token, work),
        }
        connection.set_deadline(token, &mut self.wheel, self.requests.now_ns, &self.config.deadlines, self.pause);
        let wanted = connection.wanted_interest();
        if wanted != connection.interest {
            let operation = if connection.is_watched { libc::EPOLL_CTL_MOD } else { libc::EPOLL_CTL_ADD };
            connection.interest = wanted;
            connection.is_watched = true;
            let fd = connection.transport.fd();
            self.watch(operation, fd, wanted, token as u64);
        }
    }

    fn close(&mut self, token: usize) {
        if let Some(Entry::Here(mut connection)) = self.connections.try_remove(token) {
            self.requests.settle(&mut connection);
        }
        self.requests.slot.connections_open.set(self.connections.len() as u64);
    }

    fn examine(&mut self, token: usize, tick: Tick) {
        let Some(Entry::Here(connection)) = self.connections.get_mut(token) else { return };
        if !self.wheel.examine(token, &mut connection.timer, tick) {
            return;
        }
        let kind = connection.timer.kind;
        if kind == Kind::Send && connection.goes_on_taking() {
            let half = self.config.deadlines.send / 2;
            return self.wheel.set(token, &mut connection.timer, kind, self.requests.now_ns, half);
        }
        self.requests.slot.timeouts[kind as usize].add(1);
        let next = match kind {
            Kind::Head if !connection.partial.is_empty() => self.requests.time_out(connection),
            Kind::Body => self.requests.time_out(connection),
            Kind::Send => {
                connection.transport.reset_on_close();
                Next::Close
            }
            Kind::Head | Kind::Idle | Kind::Linger => Next::Close,
        };
        self.then(token, next);
    }

    // Threads

    fn dispatch(&mut self, token: usize, work: Box<Work<A>>) {
        let Caller::Pool(pool) = &mut self.requests.caller else { return };
        let Some(entry) = self.connections.get_mut(token) else { return };
        if !matches!(entry, Entry::Here(_)) {
            return;
        }
        let Entry::Here(mut connection) = std::mem::replace(entry, Entry::Away) else { return };
        connection.timer.stop();
        pool.push(token, connection, work, self.requests.now_ns);
        let in_flight = &self.requests.slot.in_flight;
        in_flight.set(in_flight.get() + 1);
    }

    fn take_finished(&mut self) {
        let Caller::Pool(pool) = &mut self.requests.caller else { return };
        let finished = pool.take_finished();
        let in_flight = &self.requests.slot.in_flight;
        in_flight.set(in_flight.get().saturating_sub(finished.len() as u64));
        for Finished { token, connection, outcome } in finished {
            let Some(entry) = self.connections.get_mut(token) else { continue };
            *entry = Entry::Here(connection);
            let Entry::Here(connection) = entry else { continue };
            connection.interest = 0; // what came meanwhile is reported once it is watched anew
            let next = match outcome {
                Some(outcome) => catch_unwind(AssertUnwindSafe(|| self.requests.finished(connection, outcome))),
                None => Ok(Next::Close), // the thread panicked
            };
            let next = match next.unwrap_or_else(|_| self.requests.broken()) {
                Next::Wait if connection.state == State::Reading && connection.transport.holds_input() => {
                    let next = catch_unwind(AssertUnwindSafe(|| self.progress(token, false)));
                    next.unwrap_or_else(|_| self.requests.broken())
                }
                next => next,
            };
            self.then(token, next);
        }
    }

    // The master

    fn take_orders(&mut self) {
        while let Some(order) = self.control.as_ref().and_then(Control::order) {
            match order {
                Order::ReopenLogs => self.requests.reopen_log(),
                Order::Retire => self.end(self.pause),
                Order::Finish => {
                    self.end(self.pause.min(LAST_CHANCE));
                    self.control = None; // its end would stay readable
                    return;
                }
            }
        }
    }

    fn report(&self, report: Report) {
        if let Some(control) = &self.control {
            control.report(report);
        }
    }

    /// Takes no new connections; those that are there get one more answer each, and `pause` to ask for it.
    fn end(&mut self, pause: Duration) {
        if self.ending.is_none() {
            self.ending = Some(self.requests.now_ns);
            self.take_what_waits();
            self.listeners.clear(); // closes them
            self.accept_again_ns = None;
            self.requests.ending = true;
        }
        self.pause = pause;
        let tokens: Vec<usize> = self.connections.iter().map(|(token, _)| token).collect();
        for token in tokens {
            if let Some(Entry::Here(connection)) = self.connections.get_mut(token) {
                connection.set_deadline(token, &mut self.wheel, self.requests.now_ns, &self.config.deadlines, pause);
            }
        }
    }

    fn ask_for_replacement(&mut self) {
        if !self.asked_for_replacement && self.requests.is_worn_out() {
            self.asked_for_replacement = true;
            self.report(Report::ReplaceMe);
        }
    }
}

/// The kernel wakes the worker for a connection's first bytes rather than for the connection: one wake less, and no watch for
/// one that has a single request. A connection that stays silent comes after a second. What cannot do so (UNIX sockets) does not.
fn defer_accept(listener: &OwnedFd) {
    let seconds: libc::c_int = 1;
    // SAFETY: the option's value is an int.
    unsafe {
        libc::setsockopt(
            listener.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_DEFER_ACCEPT,
            (&raw const seconds).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
}

/// Who is at the other side of the proxy; Some(None): the proxy itself. None: the header is not whole. It is taken from the
/// socket byte by byte, for what follows may be TLS.
fn take_proxy_header(fd: RawFd, room: &mut [u8]) -> io::Result<Option<Option<Peer>>> {
    let room = &mut room[..proxy::MOST_BYTES];
    let mut take = |length: usize, flags| {
        // SAFETY: the buffer is writable for so many bytes.
        socket::result(unsafe { libc::recv(fd, room.as_mut_ptr().cast(), length, flags) })
            .map(|received| (received, proxy::parse(&room[..received])))
    };
    match take(proxy::MOST_BYTES, libc::MSG_PEEK) {
        Err(error) if is_passing(&error) => Ok(None),
        Err(error) => Err(error),
        Ok((0, _) | (_, Err(proxy::Malformed))) => Err(io::ErrorKind::InvalidData.into()),
        Ok((_, Ok(None))) => Ok(None),
        Ok((_, Ok(Some(header)))) => {
            let _parsed_again = take(header.length, 0)?;
            Ok(Some(header.source.map(|source| Peer { address: Some(source.address), is_secure: source.is_secure })))
        }
    }
}

fn accept(listener: &OwnedFd) -> io::Result<(OwnedFd, Peer)> {
    // SAFETY: all zeros are a valid sockaddr_storage.
    let mut address: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    // SAFETY: `address` has room for `length` bytes.
    let fd = unsafe {
        libc::accept4(
            listener.as_raw_fd(),
            (&raw mut address).cast(),
            &raw mut length,
            libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC,
        )
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a new descriptor, owned from here on.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    let peer = match i32::from(address.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says which kind of address it is.
            let address = unsafe { &*(&raw const address).cast::<libc::sockaddr_in>() };
            let octets = address.sin_addr.s_addr.to_ne_bytes();
            Some(IpAddr::V4(Ipv4Addr::from(octets)))
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let address = unsafe { &*(&raw const address).cast::<libc::sockaddr_in6>() };
            Some(Ipv6Addr::from(address.sin6_addr.s6_addr).to_canonical())
        }
        _ => None,
    };
    Ok((socket, Peer { address: peer, is_secure: false }))
}
