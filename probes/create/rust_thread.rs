// SPDX-License-Identifier: Apache-2.0
//! rust_thread - a thread of Rust's standard library spawned and joined, one at a time.
//!
//! Known answer: a thread returns the complement of what it was given.  Overhead: the loop, nanoseconds against
//! microseconds.
//! Limits: it is a POSIX thread with a stack of 2 MiB, so what create/thread says of the stacks that the C library
//! keeps holds here; the difference between the two is what the standard library adds (a handle, a packet for the
//! result, a name).
//! Source: the Rust standard library, std::thread; create/thread.
use probe::{Batch, Metric, Placement, Probe, Run};

#[inline(never)]
fn spawn_and_join(times: u64) -> u64 {
    let mut right = 0;
    for question in 0..times {
        match std::thread::Builder::new().spawn(move || !question) {
            Ok(thread) => right += u64::from(thread.join().is_ok_and(|answer| answer == !question)),
            Err(error) => probe::skip(&format!(
                "no thread can be started here: {error}; see ulimit -u and the pids limit of the cgroup"
            )),
        }
    }
    right
}

fn setup(_run: &Run) -> Batch<'_> {
    Box::new(|operations, value| {
        value.start();
        let right = spawn_and_join(operations);
        value.stop();
        value.count("checked", right);
    })
}

static PROBE: Probe = Probe {
    title: "Rust thread",
    question: "What does a thread of Rust's standard library cost?",
    operation: "one std::thread spawn and its join; stacks come from the cache of the C library",
    source: "the Rust standard library, std::thread; after create/thread",
    statistic: "median",
    placements: &[Placement::Same, Placement::Free],
    uses: &["cpu", "sched"],
    baseline: None,
    family: None,
    value_ms: 0,
    metrics: &[
        Metric {
            name: "thread",
            unit: "s",
            better: "lower",
            over: "wall",
            per: "operations",
            doc: "time from the spawn to the known end of the thread",
        },
        Metric {
            name: "thread_cpu",
            unit: "s",
            better: "lower",
            over: "cpu",
            per: "operations",
            doc: "CPU time of both threads for it",
        },
    ],
    parameters: &[],
};

probe::main!(PROBE, setup);
