// SPDX-License-Identifier: Apache-2.0
//! tokio_task - a tokio task spawned and awaited, one at a time.
//!
//! Known answer: a task returns the complement of what it was given, which proves that it ran and not only that it was
//! spawned.  Overhead: the loop, a nanosecond.
//! Limits: the spawner is a task itself. With `same` it and its task share the one thread of a current_thread runtime;
//! with `cross` the runtime is multi_thread and another worker may take the task: `elsewhere_fraction` tells how often,
//! and waking that worker is then most of the cost.
//! Source: tokio-rs/tokio, benches/spawn.rs.
use std::thread;

use probe::{Batch, Metric, Placement, Probe, Run};

#[path = "../support/rust/tokio_runtime.rs"]
mod tokio_runtime;

/// How many tasks answered right, and how many of them on another thread than the spawner's.
async fn spawn_and_await(times: u64) -> (u64, u64) {
    let (mut right, mut elsewhere) = (0, 0);
    for question in 0..times {
        let here = thread::current().id();
        match tokio::spawn(async move { (!question, thread::current().id()) }).await {
            Ok((answer, there)) => {
                right += u64::from(answer == !question);
                elsewhere += u64::from(there != here);
            }
            Err(error) => probe::fail(&format!("a task did not end: {error}")),
        }
    }
    (right, elsewhere)
}

fn setup(run: &Run) -> Batch<'_> {
    let runtime = tokio_runtime::of(run);
    Box::new(move |operations, value| {
        let (right, elsewhere) = runtime.block_on(async {
            value.start();
            let ended = tokio::spawn(spawn_and_await(operations)).await;
            value.stop();
            ended.unwrap_or_else(|error| probe::fail(&format!("the spawner did not end: {error}")))
        });
        value.count("checked", right);
        value.count("elsewhere", elsewhere);
    })
}

static PROBE: Probe = Probe {
    title: "tokio task",
    question: "What does a tokio task cost?",
    operation: "one tokio::spawn() and the await of what the task returns, one at a time",
    source: "tokio-rs/tokio, benches/spawn.rs",
    statistic: "lower_quartile",
    placements: &[Placement::Same, Placement::Cross],
    uses: &["cpu", "sched"],
    baseline: None,
    family: None,
    value_ms: 0,
    metrics: &[
        Metric {
            name: "task",
            unit: "s",
            better: "lower",
            over: "wall",
            per: "operations",
            doc: "time from the spawn to the known end of the task",
        },
        Metric {
            name: "task_cpu",
            unit: "s",
            better: "lower",
            over: "cpu",
            per: "operations",
            doc: "CPU time of all workers for it",
        },
        Metric {
            name: "elsewhere_fraction",
            unit: "1",
            better: "neither",
            over: "elsewhere",
            per: "operations",
            doc: "share of the tasks that ran on another worker than their spawner",
        },
    ],
    parameters: &[],
};

probe::main!(PROBE, setup);
