// SPDX-License-Identifier: Apache-2.0
//! tokio_task - a binary tree of forks by tokio tasks, on 1 to 1024 workers.
//!
//! Known answer: the leaves' numbers add up to n(n+1)/2, and n forks were counted.
//! Overhead: adding two pairs of numbers, under 1 ns.
//! Limits: one half is a task, the other one an await of a boxed future, which recursion needs.
//! Source: the fork-join of parallel/coro in tokio's own way.
use std::future::Future;
use std::pin::Pin;

use probe::{Batch, Metric, Parameter, Placement, Probe, Run};
use tokio::runtime::Builder;

struct Harvest {
    sum: u64,
    forks: u64,
}

fn split(first: u64, count: u64) -> Pin<Box<dyn Future<Output = Harvest> + Send>> {
    Box::pin(async move {
        if count == 1 {
            return Harvest { sum: first, forks: 0 };
        }
        let lower = tokio::spawn(split(first, count / 2));
        let upper = split(first + count / 2, count - count / 2).await;
        let lower = lower.await.unwrap_or_else(|error| probe::fail(&format!("a task did not end: {error}")));
        Harvest { sum: lower.sum + upper.sum, forks: lower.forks + upper.forks + 1 }
    })
}

fn setup(run: &Run) -> Batch<'_> {
    let threads = run.integer("threads") as usize;
    if threads > run.cpus.len() {
        probe::skip(&format!("threads={threads} needs as many CPUs, and this process may use {}", run.cpus.len()));
    }
    let made = Builder::new_multi_thread().worker_threads(threads).build();
    let runtime = made.unwrap_or_else(|error| probe::skip(&format!("tokio cannot start its runtime here: {error}")));
    Box::new(move |operations, value| {
        let all = runtime.block_on(async {
            value.start();
            let ended = tokio::spawn(split(0, operations + 1)).await;
            value.stop();
            ended.unwrap_or_else(|error| probe::fail(&format!("the root did not end: {error}")))
        });
        let right = all.sum == operations * (operations + 1) / 2;
        value.count("checked", if right { all.forks } else { 0 });
    })
}

static PROBE: Probe = Probe {
    title: "tokio tasks",
    question: "What does a fork cost whose halves may run at the same time?",
    operation: "one fork of a binary tree and the join of its halves, by tokio::spawn()",
    source: "the fork-join of Cilk (Frigo et al. 1998) in tokio's own way",
    statistic: "lower_quartile",
    placements: &[Placement::Free],
    uses: &["cpu", "sched"],
    baseline: None,
    family: Some("fork"),
    value_ms: 0,
    metrics: &[
        Metric {
            name: "fork",
            unit: "s",
            better: "lower",
            over: "wall",
            per: "operations",
            doc: "time of one fork and its join, all threads together",
        },
        Metric {
            name: "fork_cpu",
            unit: "s",
            better: "lower",
            over: "cpu",
            per: "operations",
            doc: "CPU time of the process for it",
        },
    ],
    parameters: &[Parameter::Integer {
        name: "threads",
        doc: "threads that share the tree",
        unit: "1",
        sweep: &[1, 2],
        brief: &[1, 2],
        curves: &[],
        minimum: 1,
        maximum: 1024,
    }],
};

probe::main!(PROBE, setup);
