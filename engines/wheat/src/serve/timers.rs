// SPDX-License-Identifier: Apache-2.0
//! Deadlines of connections: a wheel of ticks. A deadline that moves on, as it does with every request, costs a store: the
//! entry in the wheel stays where it is and is moved when its tick comes.

use std::time::Duration;

/// What a connection is waiting for; the index into `Slot::timeouts`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    #[default]
    Head,
    Body,
    Idle,
    Send,
    Linger,
}

const TICK_NS: u64 = 50_000_000;
/// Deadlines beyond this many ticks are looked at once in between.
const SLOTS: u64 = 2048;

/// A number of ticks since the wheel's origin.
pub type Tick = u64;

/// One connection's deadline.
#[derive(Debug, Default)]
pub struct Timer {
    pub kind: Kind,
    due: Tick,
    /// The tick of its valid entry in the wheel; 0: none.
    queued: Tick,
}

impl Timer {
    pub fn is_set(&self) -> bool {
        self.due != 0 && self.due != Tick::MAX
    }

    /// Never passes until it is set again.
    pub fn stop(&mut self) {
        self.due = Tick::MAX;
    }
}

pub struct Wheel {
    origin_ns: u64,
    /// The last tick whose entries were taken out.
    now: Tick,
    slots: Vec<Vec<usize>>,
    /// No entry lies before it. `Tick::MAX`: there is none.
    next: Tick,
}

impl Wheel {
    pub fn new(now_ns: u64) -> Self {
        Self { origin_ns: now_ns, now: 1, slots: (0..SLOTS).map(|_| Vec::new()).collect(), next: Tick::MAX }
    }

    /// The first tick that is certainly `after` later than now: a deadline is never early.
    fn tick_after(&self, now_ns: u64, after: Duration) -> Tick {
        let after_ns = u64::try_from(after.as_nanos()).unwrap_or(u64::MAX);
        (now_ns - self.origin_ns).saturating_add(after_ns) / TICK_NS + 2
    }

    pub fn set(&mut self, token: usize, timer: &mut Timer, kind: Kind, now_ns: u64, after: Duration) {
        timer.kind = kind;
        timer.due = self.tick_after(now_ns, after);
        if timer.queued == 0 || timer.due < timer.queued {
            self.queue(token, timer);
        }
    }

    fn queue(&mut self, token: usize, timer: &mut Timer) {
        timer.queued = timer.due.clamp(self.now + 1, self.now + SLOTS - 1);
        self.next = self.next.min(timer.queued);
        self.slots[(timer.queued % SLOTS) as usize].push(token);
    }

    /// How long it is until an entry has to be looked at.
    pub fn wait_ns(&self, now_ns: u64) -> Option<u64> {
        (self.next != Tick::MAX).then(|| (self.origin_ns + (self.next - 1) * TICK_NS).saturating_sub(now_ns))
    }

    /// Takes the entries out whose time has come: connections that are to be `examine`d.
    pub fn advance(&mut self, now_ns: u64, into: &mut Vec<(usize, Tick)>) {
        let now = (now_ns - self.origin_ns) / TICK_NS + 1;
        if now < self.next {
            self.now = self.now.max(now);
            return;
        }
        while self.now < now {
            self.now += 1;
            let slot = &mut self.slots[(self.now % SLOTS) as usize];
            into.extend(slot.drain(..).map(|token| (token, self.now)));
            if slot.capacity() > 64 {
                slot.shrink_to(64);
            }
        }
        self.next = (1..SLOTS)
            .map(|ahead| self.now + ahead)
            .find(|tick| !self.slots[(tick % SLOTS) as usize].is_empty())
            .unwrap_or(Tick::MAX);
    }

    /// Whether the deadline of a connection that `advance` gave has passed. If it has moved on it is queued again.
    pub fn examine(&mut self, token: usize, timer: &mut Timer, tick: Tick) -> bool {
        if timer.queued != tick {
            return false; // an entry that an earlier deadline has replaced, or of a connection that is gone
        }
        timer.queued = 0;
        if timer.due <= tick {
            return true;
        }
        if timer.due != Tick::MAX {
            self.queue(token, timer);
        }
        false
    }
}

#[cfg(test)]
#[path = "../../tests/units/serve/timers.rs"]
mod tests;
