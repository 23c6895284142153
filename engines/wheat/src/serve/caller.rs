// SPDX-License-Identifier: Apache-2.0
//! Who calls the application, and since when no new request could be taken on.

use super::pool::Pool;
use super::reply::{Application, Out, Outcome, Request};
use crate::observe::counters::Slot;

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

    /// At the end of a turn of the event loop. False: the application wants the worker to end.
    pub fn turn(&mut self) -> bool {
        match self {
            Self::Inline(application) => application.turn(),
            Self::None | Self::Pool(_) => true,
        }
    }

    pub fn abandon(&mut self, response: A::Response) {
        match self {
            Self::Inline(application) => application.abandon(response),
            Self::Pool(pool) => pool.abandon(response),
            Self::None => {}
        }
    }

    pub fn busy(&self, threads: usize, slot: &'static Slot) -> Busy {
        let by = match self {
            Self::None => By::Nobody,
            Self::Inline(_) => By::Loop,
            Self::Pool(_) => By::Threads(threads as u64),
        };
        Busy { by, slot }
    }
}

/// Keeps `Slot::busy_since`, by which the master finds a worker that hangs.
pub struct Busy {
    by: By,
    slot: &'static Slot,
}

enum By {
    Nobody,
    Loop,
    Threads(u64),
}

impl Busy {
    pub fn begin_turn(&self, now_ns: u64) {
        if let By::Loop = self.by {
            self.slot.busy_since.set(now_ns);
        }
    }

    /// Takes note that the event loop is about to wait.
    pub fn end_turn(&self) {
        if !matches!(self.by, By::Threads(_)) {
            self.slot.busy_since.set(0);
        }
    }

    /// Takes note that a thread got a call. With all of them in calls the worker takes on nothing new.
    pub fn begin_call(&self, now_ns: u64) {
        let calls = self.slot.in_flight.get() + 1;
        self.slot.in_flight.set(calls);
        if self.all_threads_in(calls) && self.slot.busy_since.get() == 0 {
            self.slot.busy_since.set(now_ns);
        }
    }

    /// Some calls have ended: even if all threads are in calls, they are no longer the same calls.
    pub fn end_calls(&self, ended: u64, now_ns: u64) {
        let calls = self.slot.in_flight.get().saturating_sub(ended);
        self.slot.in_flight.set(calls);
        self.slot.busy_since.set(if self.all_threads_in(calls) { now_ns } else { 0 });
    }

    fn all_threads_in(&self, calls: u64) -> bool {
        matches!(self.by, By::Threads(threads) if calls >= threads)
    }
}

/// Stands for the application in workers that serve files alone.
pub enum NoApplication {}

impl Application for NoApplication {
    type Response = std::convert::Infallible;
    fn wait<T>(&mut self, _: impl FnOnce() -> T) -> T {
        match *self {}
    }
    fn call(&mut self, _: Request, _: &mut Out) -> Outcome<Self::Response> {
        match *self {}
    }
    fn resume(&mut self, response: Self::Response, _: &mut Out) -> Outcome<Self::Response> {
        match response {}
    }
    fn abandon(&mut self, response: Self::Response) {
        match response {}
    }
    fn others_wait(&mut self) -> bool {
        match *self {}
    }
    fn turn(&mut self) -> bool {
        match *self {}
    }
}
