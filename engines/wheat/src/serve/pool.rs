// SPDX-License-Identifier: Apache-2.0
//! Threads that call the application while the event loop goes on. A connection belongs to one side at a time: it goes to a
//! thread with its request, and comes back with the outcome.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::http::date::DateLine;
use crate::http::head::{self, HeadLimits};
use crate::serve::connection::Connection;
use crate::serve::incoming::Collected;
use crate::serve::reply::{Application, Body, Outcome, Request, Streamed};

pub enum Work<R> {
    Call { head: Vec<u8>, body: OwnedBody },
    Resume(R),
}

pub enum OwnedBody {
    Memory(Vec<u8>),
    File(File, u64),
    Streamed(Streamed),
}

/// A connection on its way back.
pub struct Finished<R> {
    pub token: usize,
    pub connection: Box<Connection<R>>,
    /// None: the thread panicked.
    pub outcome: Option<Outcome<R>>,
}

enum Job<R> {
    Work { token: usize, connection: Box<Connection<R>>, work: Work<R> },
    Abandon(R),
}

struct Queues<R> {
    jobs: VecDeque<Job<R>>,
    finished: Vec<Finished<R>>,
    closed: bool,
}

struct Shared<R> {
    queues: Mutex<Queues<R>>,
    jobs_waiting: Condvar,
    wake: OwnedFd,
    limits: HeadLimits,
    /// How long a client may take for a piece of a response.
    patience: Duration,
}

impl<R> Shared<R> {
    fn queues(&self) -> MutexGuard<'_, Queues<R>> {
        // Nothing panics while it holds the lock.
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub struct Pool<R> {
    shared: Arc<Shared<R>>,
    threads: Vec<JoinHandle<()>>,
}

impl<R: Send + 'static> Pool<R> {
    /// `enter` makes a thread able to call the application; it runs in that thread.
    pub fn start<A: Application<Response = R>>(
        threads: usize,
        limits: HeadLimits,
        patience: Duration,
        enter: impl Fn() -> A + Clone + Send + 'static,
    ) -> io::Result<Self> {
        // SAFETY: a system call; the descriptor is new.
        let wake = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if wake < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: owned from here on.
        let wake = unsafe { OwnedFd::from_raw_fd(wake) };
        let queues = Mutex::new(Queues { jobs: VecDeque::new(), finished: Vec::new(), closed: false });
        let shared = Arc::new(Shared { queues, jobs_waiting: Condvar::new(), wake, limits, patience });
        let mut pool = Self { shared, threads: Vec::new() };
        for index in 0..threads {
            let (shared, enter) = (pool.shared.clone(), enter.clone());
            let thread = std::thread::Builder::new()
                .name(format!("wheat call {index}"))
                .spawn(move || run_jobs(&shared, &mut enter()))?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    /// A descriptor that is readable once something has finished.
    pub fn wake_fd(&self) -> RawFd {
        self.shared.wake.as_raw_fd()
    }

    pub fn push(&mut self, token: usize, connection: Box<Connection<R>>, work: Work<R>) {
        self.shared.queues().jobs.push_back(Job::Work { token, connection, work });
        self.shared.jobs_waiting.notify_one();
    }

    pub fn abandon(&mut self, response: R) {
        self.shared.queues().jobs.push_back(Job::Abandon(response));
        self.shared.jobs_waiting.notify_one();
    }

    pub fn take_finished(&mut self) -> Vec<Finished<R>> {
        let mut count = 0u64;
        // SAFETY: an eventfd gives eight bytes.
        unsafe { libc::read(self.wake_fd(), (&raw mut count).cast(), size_of::<u64>()) };
        std::mem::take(&mut self.shared.queues().finished)
    }
}

impl<R> Drop for Pool<R> {
    /// Threads that do nothing end; one that is still in the application is left to the end of the process.
    fn drop(&mut self) {
        self.shared.queues().closed = true;
        self.shared.jobs_waiting.notify_all();
        for thread in self.threads.drain(..) {
            if thread.is_finished() {
                let _ = thread.join();
            }
        }
    }
}

fn run_jobs<A: Application>(shared: &Shared<A::Response>, application: &mut A) {
    let mut buffer = Vec::new();
    let mut date = DateLine::default();
    loop {
        let ready = shared.queues().jobs.pop_front();
        let job = ready.or_else(|| application.wait(|| next_job(shared)));
        match job {
            None => return,
            Some(Job::Abandon(response)) => application.abandon(response),
            Some(Job::Work { token, mut connection, work }) => {
                date.update(unix_seconds());
                let run = || do_work(application, shared, &mut connection, work, &mut buffer, &date);
                let outcome = catch_unwind(AssertUnwindSafe(run)).ok();
                buffer.clear();
                buffer.shrink_to(64 << 10);
                let mut queues = shared.queues();
                queues.finished.push(Finished { token, connection, outcome });
                let first = queues.finished.len() == 1;
                drop(queues);
                if first {
                    let one = 1u64;
                    // SAFETY: an eventfd takes eight bytes.
                    unsafe { libc::write(shared.wake.as_raw_fd(), (&raw const one).cast(), size_of::<u64>()) };
                }
            }
        }
    }
}

fn next_job<R>(shared: &Shared<R>) -> Option<Job<R>> {
    let mut queues = shared.queues();
    loop {
        if let Some(job) = queues.jobs.pop_front() {
            return Some(job);
        }
        if queues.closed {
            return None;
        }
        queues = shared.jobs_waiting.wait(queues).unwrap_or_else(PoisonError::into_inner);
    }
}

fn do_work<A: Application>(
    application: &mut A,
    shared: &Shared<A::Response>,
    connection: &mut Connection<A::Response>,
    work: Work<A::Response>,
    buffer: &mut Vec<u8>,
    date: &DateLine,
) -> Outcome<A::Response> {
    let (peer, listener) = (connection.peer, connection.listener);
    let mut streamed = None;
    let (call, body) = match work {
        Work::Resume(response) => (Err(response), Body::None),
        Work::Call { head, body } => {
            let body = match body {
                OwnedBody::Memory(bytes) => Body::Collected(Collected::Memory(bytes)),
                OwnedBody::File(file, length) => Body::Collected(Collected::File(file, length)),
                OwnedBody::Streamed(body) => {
                    streamed = Some(body);
                    Body::Streamed
                }
            };
            (Ok(head), body)
        }
    };
    let mut out = connection.out(buffer, date.line(), Some(shared.patience), streamed.as_mut());
    let mut outcome = match call {
        Err(response) => application.resume(response, &mut out),
        Ok(head_bytes) => {
            let mut storage = head::storage();
            match head::parse(&head_bytes, &mut storage, &shared.limits) {
                Ok(Some(head)) => application.call(Request { head: &head, body, peer, listener }, &mut out),
                _ => Outcome::Broken, // it was parsed before
            }
        }
    };
    // What is whole is sent from here, without another turn of the event loop.
    if out.flush().is_err() && !matches!(outcome, Outcome::Suspended(_)) {
        outcome = Outcome::Broken;
    }
    if let Some(streamed) = streamed {
        match streamed.end() {
            Some(end) => connection.partial = streamed.ahead[end..].to_vec(),
            None => {
                connection.facts.keep_alive = false;
                connection.linger = true;
            }
        }
    }
    outcome
}

fn unix_seconds() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
