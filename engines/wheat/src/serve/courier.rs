// SPDX-License-Identifier: Apache-2.0
//! A thread that goes on sending while the application makes the next piece of a response: what a client takes meanwhile does
//! not wait for that piece, nor the piece for the client. It starts when it is first needed.
//!
//! An outbox and its transport are lent to it: the lender does not touch them until it has taken them back.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::outbox::Outbox;
use super::patience::Watch;
use super::socket::is_passing;
use super::transport::Transport;
use crate::background::{self, Bell};

#[derive(Clone)]
pub struct Courier(Arc<Shared>);

struct Shared {
    loans: Mutex<Loans>,
    /// Rings when something was lent.
    bell: Bell,
    patience: Duration,
}

#[derive(Default)]
struct Loans {
    list: Vec<Loan>,
    last: u64,
    is_running: bool,
}

struct Loan {
    number: u64,
    transport: *mut Transport,
    outbox: *mut Outbox,
    watch: Watch,
}

// SAFETY: what it points to is only touched under the lock, between `lend` and `take_back`.
unsafe impl Send for Loan {}

impl Courier {
    /// `patience`: for a client to take something.
    pub fn new(patience: Duration) -> io::Result<Self> {
        Ok(Self(Arc::new(Shared { loans: Mutex::default(), bell: Bell::new()?, patience })))
    }

    /// None: there is no thread to lend to.
    ///
    /// # Safety
    /// Both stay where they are, and nobody else touches them, until `take_back` was called with the number.
    pub unsafe fn lend(&self, transport: *mut Transport, outbox: *mut Outbox) -> Option<u64> {
        let mut loans = self.0.loans();
        if !loans.is_running {
            let shared = self.0.clone();
            let run = move || shared.run();
            background::start("wheat courier", run).ok()?;
            loans.is_running = true;
        }
        loans.last += 1;
        let number = loans.last;
        // SAFETY: the caller's promise; they are not lent yet.
        let watch = unsafe { Watch::new(self.0.patience, &*transport, &*outbox) };
        loans.list.push(Loan { number, transport, outbox, watch });
        drop(loans);
        self.0.bell.ring();
        Some(number)
    }

    /// Afterwards they are the lender's again.
    pub fn take_back(&self, number: u64) {
        self.0.loans().list.retain(|loan| loan.number != number);
    }
}

impl Shared {
    fn loans(&self) -> MutexGuard<'_, Loans> {
        self.loans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The life of the thread, which ends with the process.
    fn run(&self) {
        let mut fds: Vec<libc::pollfd> = Vec::new();
        let mut numbers = Vec::new();
        loop {
            fds.clear();
            numbers.clear();
            fds.push(libc::pollfd { fd: self.bell.fd(), events: libc::POLLIN, revents: 0 });
            let mut wait = None;
            for loan in &mut self.loans().list {
                // SAFETY: lent, and the lock is held.
                let (transport, outbox) = unsafe { (&*loan.transport, &*loan.outbox) };
                if outbox.lost || (outbox.is_empty() && !transport.holds_output()) {
                    continue; // nothing to do until it is taken back
                }
                fds.push(libc::pollfd { fd: transport.fd(), events: libc::POLLOUT, revents: 0 });
                numbers.push(loan.number);
                let left = loan.watch.left();
                wait = Some(wait.map_or(left, |wait: Duration| wait.min(left)));
            }
            let milliseconds = wait.map_or(-1, |wait| i32::try_from(wait.as_millis() + 1).unwrap_or(i32::MAX));
            // SAFETY: as many as there are. One that was taken back and closed meanwhile is at worst waited for in vain.
            unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, milliseconds) };
            self.bell.hush();
            let mut loans = self.loans();
            for (number, poll) in numbers.iter().zip(&fds[1..]) {
                if let Some(loan) = loans.list.iter_mut().find(|loan| loan.number == *number) {
                    loan.go_on(poll.revents != 0);
                }
            }
        }
    }
}

impl Loan {
    fn go_on(&mut self, is_ready: bool) {
        // SAFETY: lent, and the lock is held.
        let (transport, outbox) = unsafe { (&mut *self.transport, &mut *self.outbox) };
        let sent = if is_ready { outbox.send(transport) } else { Ok(()) };
        let failed = sent.is_err_and(|error| !is_passing(&error));
        if failed || (self.watch.left().is_zero() && !self.watch.renew(transport, outbox)) {
            outbox.lost = true;
            transport.reset_on_close();
        }
    }
}
