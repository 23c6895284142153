// SPDX-License-Identifier: Apache-2.0
//! tokio_yield - tokio::task::yield_now() among 1 to 65536 tasks that all do nothing else.
//!
//! All tasks live from the first batch to the last. Task 0 is started anew for each batch and is its timekeeper: it
//! yields like the others, and between two of its yields reads the clock and everybody's tally. With placement `same`
//! the runtime is current_thread on one CPU, with `cross` multi_thread with a worker pinned to each CPU.
//!
//! Known answer: on one thread a lone task never switches, and of two every other yield does: the runtime wakes those
//! that yielded in reverse order, so that the last of a round is the first of the next. Of many nearly all switch.
//! Overhead: noting who ran last takes about 2 ns a yield.
//! Limits: a yielding task is queued again only after the runtime has looked at its driver, so what one yield among few
//! tasks costs is mostly a turn of the runtime's main loop, which many tasks share. With `cross` the workers go on
//! between two batches, and a worker steals tasks from the other.
//! Source: tokio, tokio/src/task/yield_now.rs; the crowd is that of switch/yield.
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::time::Instant;

use probe::{Batch, Metric, Parameter, Placement, Probe, Run};

#[path = "../support/rust/tokio_runtime.rs"]
mod tokio_runtime;

const NOBODY: usize = usize::MAX;

thread_local! {
    /// Which task ran last on this worker.
    static LAST_RAN: Cell<usize> = const { Cell::new(NOBODY) };
}

/// What one task has counted so far, written by that task alone, in a line of its own.
#[repr(align(64))]
#[derive(Default)]
struct Tally {
    yields: AtomicU64,
    switches: AtomicU64,
}

struct Crowd {
    tallies: Vec<Tally>,
    stop: AtomicBool,
}

#[derive(Clone, Copy)]
struct Reading {
    at: Instant,
    yields: u64,
    switches: u64,
}

impl Crowd {
    /// The clock comes first: then both ends of a batch are the clock followed by the same walk over the tallies.
    fn read(&self) -> Reading {
        let at = Instant::now();
        let sum = |of: fn(&Tally) -> &AtomicU64| self.tallies.iter().map(|tally| of(tally).load(Relaxed)).sum();
        Reading { at, yields: sum(|tally| &tally.yields), switches: sum(|tally| &tally.switches) }
    }

    fn yields_of_each(&self) -> Vec<u64> {
        self.tallies.iter().map(|tally| tally.yields.load(Relaxed)).collect()
    }

    fn everyone_since(&self, before: &[u64]) -> bool {
        self.tallies.iter().zip(before).all(|(tally, yields)| tally.yields.load(Relaxed) != *yields)
    }
}

/// Counted after the await: the task was queued and polled again.
async fn yields(crowd: &Crowd, index: usize, times: u64) {
    let mine = &crowd.tallies[index];
    for _ in 0..times {
        if crowd.stop.load(Relaxed) {
            break;
        }
        tokio::task::yield_now().await;
        let switched = LAST_RAN.replace(index) != index;
        mine.switches.store(mine.switches.load(Relaxed) + u64::from(switched), Relaxed);
        mine.yields.store(mine.yields.load(Relaxed) + 1, Relaxed);
    }
}

/// Yields as often as falls to one task of what is missing, until it is done and everyone took part. Returns the
/// readings at both ends, and how often the timekeeper itself yielded.
async fn keep_time(crowd: Arc<Crowd>, wanted: u64) -> (Reading, Reading, u64) {
    yields(&crowd, 0, 1).await; // a batch begins inside the crowd, not where the runtime starts this task
    let before = crowd.yields_of_each();
    let begin = crowd.read();
    let (mut now, mut own) = (begin, 0);
    while now.yields - begin.yields < wanted || !crowd.everyone_since(&before) {
        let missing = wanted.saturating_sub(now.yields - begin.yields);
        let share = (missing / crowd.tallies.len() as u64).max(1);
        yields(&crowd, 0, share).await;
        own += share;
        now = crowd.read();
    }
    let counted = crowd.tallies[0].yields.load(Relaxed) - before[0];
    (begin, now, if counted == own { own } else { 0 })
}

fn setup(run: &Run) -> Batch<'_> {
    let contexts = run.integer("contexts") as usize;
    let runtime = tokio_runtime::of(run);
    let crowd =
        Arc::new(Crowd { tallies: (0..contexts).map(|_| Tally::default()).collect(), stop: AtomicBool::new(false) });
    for index in 1..contexts {
        let crowd = Arc::clone(&crowd);
        runtime.spawn(async move { yields(&crowd, index, u64::MAX).await });
    }
    let lanes = contexts.min(run.cpus.len()) as u64;
    Box::new(move |operations, value| {
        let keeper = runtime.spawn(keep_time(Arc::clone(&crowd), operations));
        value.start();
        let ended = runtime.block_on(keeper);
        value.stop();
        let (begin, end, own) = ended.unwrap_or_else(|error| probe::fail(&format!("the timekeeper: {error}")));
        value.lanes = lanes;
        value.wall_ns = (end.at - begin.at).as_nanos() as u64;
        value.operations = end.yields - begin.yields;
        value.count("checked", if own > 0 { value.operations } else { 0 });
        value.count("switches", end.switches - begin.switches);
    })
}

static PROBE: Probe = Probe {
    title: "tokio task",
    question: "What does a yield cost among many tokio tasks, and how often does it switch?",
    operation: "one tokio::task::yield_now().await of one task, whether it switched or not; CPU time",
    source: "tokio (tokio-rs/tokio, tokio/src/task/yield_now.rs); after switch/yield",
    statistic: "lower_quartile",
    placements: &[Placement::Same, Placement::Cross],
    uses: &["cpu", "sched"],
    baseline: None,
    family: Some("turn"),
    value_ms: 0,
    metrics: &[
        Metric {
            name: "yield",
            unit: "s",
            better: "lower",
            over: "wall",
            per: "operations",
            doc: "time of one yield on a CPU",
        },
        Metric {
            name: "real_switch",
            unit: "s",
            better: "lower",
            over: "wall",
            per: "switches",
            doc: "time a switch between two of the tasks that happened",
        },
        Metric {
            name: "switched_fraction",
            unit: "1",
            better: "neither",
            over: "switches",
            per: "operations",
            doc: "share of the yields that switched",
        },
    ],
    parameters: &[Parameter::Integer {
        name: "contexts",
        doc: "tasks that yield",
        unit: "1",
        sweep: &[2, 1, 64, 4096],
        brief: &[2, 4096],
        curves: &[],
        minimum: 1,
        maximum: 65536,
    }],
};

probe::main!(PROBE, setup);
