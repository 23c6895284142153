// SPDX-License-Identifier: Apache-2.0
//! Threads that call the application while the event loop goes on. A connection belongs to one side at a time: it goes to a
//! thread with its request, and comes back with the outcome.

use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::background::Bell;
use crate::config::Config;
use crate::http::date::DateLine;
use crate::observe::counters::Slot;
use crate::serve::connection::Connection;
use crate::serve::pace::Pace;
use crate::serve::protocol::{Application, Outcome, Place, Protocol, Work};
use crate::serve::reply::Means;

/// A connection on its way back.
pub struct Finished<A: Application> {
    pub token: usize,
    pub connection: Box<Connection<A>>,
    /// None: the thread panicked.
    pub outcome: Option<Outcome<A::Held>>,
}

enum Job<A: Application> {
    Call { token: usize, connection: Box<Connection<A>>, work: Box<Work<A>>, since_ns: u64 },
    Release(A::Held),
}

struct Queues<A: Application> {
    jobs: VecDeque<Job<A>>,
    finished: Vec<Finished<A>>,
    /// One for each thread.
    paces: Vec<Arc<Pace>>,
    /// Threads whose calls do not count.
    aside: usize,
    closed: bool,
}

struct Shared<A: Application> {
    queues: Mutex<Queues<A>>,
    jobs_waiting: Condvar,
    /// Rings when something has finished.
    bell: Bell,
    means: Means,
    /// Threads that count.
    threads: usize,
}

impl<A: Application> Shared<A> {
    fn queues(&self) -> MutexGuard<'_, Queues<A>> {
        // Nothing panics while it holds the lock.
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Start = dyn Fn(Arc<Pace>) -> io::Result<JoinHandle<()>>;

pub struct Pool<A: Application> {
    shared: Arc<Shared<A>>,
    start: Box<Start>,
    handles: Vec<JoinHandle<()>>,
    /// Most threads whose calls do not count.
    most_aside: usize,
    slot: &'static Slot,
}

impl<A: Application> Pool<A> {
    /// `enter` makes a thread able to call the application; it runs in that thread.
    pub fn start(
        config: &Config,
        means: Means,
        slot: &'static Slot,
        enter: impl Fn() -> A + Clone + Send + 'static,
    ) -> io::Result<Self> {
        let queues = Queues { jobs: VecDeque::new(), finished: Vec::new(), paces: Vec::new(), aside: 0, closed: false };
        let shared = Arc::new(Shared {
            queues: Mutex::new(queues),
            jobs_waiting: Condvar::new(),
            bell: Bell::new()?,
            means,
            threads: config.threads,
        });
        let theirs = shared.clone();
        let start = move |pace: Arc<Pace>| {
            let (shared, enter) = (theirs.clone(), enter.clone());
            let run = move || run_jobs(&shared, &mut enter(), &pace);
            std::thread::Builder::new().name("wheat call".into()).spawn(run)
        };
        let (start, most_aside) = (Box::new(start), config.limits.streams);
        let mut pool = Self { shared, start, handles: Vec::new(), most_aside, slot };
        for _ in 0..config.threads {
            pool.add_thread()?;
        }
        Ok(pool)
    }

    fn add_thread(&mut self) -> io::Result<()> {
        let pace = Arc::new(Pace::new(self.slot));
        // Under the lock, so that the thread finds itself in the list.
        let mut queues = self.shared.queues();
        let handle = (self.start)(pace.clone())?;
        queues.paces.push(pace);
        drop(queues);
        self.handles.retain(|handle| !handle.is_finished());
        self.handles.push(handle);
        Ok(())
    }

    /// A descriptor that is readable once something has finished.
    pub fn wake_fd(&self) -> RawFd {
        self.shared.bell.fd()
    }

    pub fn push(&mut self, token: usize, connection: Box<Connection<A>>, work: Box<Work<A>>, now_ns: u64) {
        self.shared.queues().jobs.push_back(Job::Call { token, connection, work, since_ns: now_ns });
        self.shared.jobs_waiting.notify_one();
    }

    pub fn release(&mut self, held: A::Held) {
        self.shared.queues().jobs.push_back(Job::Release(held));
        self.shared.jobs_waiting.notify_one();
    }

    pub fn take_finished(&mut self) -> Vec<Finished<A>> {
        self.shared.bell.hush();
        std::mem::take(&mut self.shared.queues().finished)
    }

    /// Since when the first of the calls that wait for a thread does so, if any. A call that streams its response or waits for
    /// its client no longer keeps the others waiting: another thread takes its place, up to a limit.
    pub fn relieve(&mut self, now_ns: u64) -> Option<u64> {
        let mut queues = self.shared.queues();
        let since_ns = queues.jobs.iter().find_map(|job| match job {
            Job::Call { since_ns, .. } => Some(*since_ns),
            Job::Release(_) => None,
        })?;
        let Queues { paces, aside, .. } = &mut *queues;
        for pace in paces.iter() {
            if *aside < self.most_aside && pace.is_long(now_ns) && !pace.is_aside.swap(true, Relaxed) {
                *aside += 1;
            }
        }
        let missing = (self.shared.threads + queues.aside).saturating_sub(queues.paces.len());
        let missing = missing.min(queues.jobs.len());
        drop(queues);
        for _ in 0..missing {
            if self.add_thread().is_err() {
                break; // the others have to wait
            }
        }
        Some(since_ns)
    }
}

impl<A: Application> Drop for Pool<A> {
    /// Threads that do nothing end; one that is still in the application is left to the end of the process.
    fn drop(&mut self) {
        self.shared.queues().closed = true;
        self.shared.jobs_waiting.notify_all();
        for handle in self.handles.drain(..) {
            if handle.is_finished() {
                let _ = handle.join();
            }
        }
    }
}

fn run_jobs<A: Application>(shared: &Shared<A>, application: &mut A, pace: &Arc<Pace>) {
    let mut buffer = Vec::new();
    let mut date = DateLine::default();
    loop {
        let ready = shared.queues().jobs.pop_front();
        let job = ready.or_else(|| application.wait(|| next_job(shared)));
        match job {
            None => return,
            Some(Job::Release(held)) => application.release(held),
            Some(Job::Call { token, mut connection, work, .. }) => {
                date.update(unix_seconds());
                let run = || do_work(application, shared, &mut connection, *work, &mut buffer, &date, pace);
                let outcome = catch_unwind(AssertUnwindSafe(run)).ok();
                buffer.clear();
                buffer.shrink_to(64 << 10);
                let mut queues = shared.queues();
                pace.end();
                if pace.is_aside.swap(false, Relaxed) {
                    queues.aside -= 1;
                }
                let is_too_many = queues.paces.len() > shared.threads + queues.aside;
                if is_too_many {
                    queues.paces.retain(|other| !Arc::ptr_eq(other, pace));
                }
                queues.finished.push(Finished { token, connection, outcome });
                let first = queues.finished.len() == 1;
                drop(queues);
                if first {
                    shared.bell.ring();
                }
                if is_too_many {
                    return;
                }
            }
        }
    }
}

fn next_job<A: Application>(shared: &Shared<A>) -> Option<Job<A>> {
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
    shared: &Shared<A>,
    connection: &mut Connection<A>,
    work: Work<A>,
    buffer: &mut Vec<u8>,
    date: &DateLine,
    pace: &Pace,
) -> Outcome<A::Held> {
    let place = Place { peer: connection.peer, listener: connection.listener };
    let Work { request, mut streamed } = work;
    let mut out = connection.out(buffer, date.line(), &shared.means, pace, streamed.as_mut());
    let mut outcome = A::Protocol::call(application, request, place, &mut out);
    // What is whole is sent from here, without another turn of the event loop.
    if out.flush().is_err() && !matches!(outcome, Outcome::Held(_)) {
        outcome = Outcome::Broken;
    }
    drop(out);
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
