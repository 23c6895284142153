// SPDX-License-Identifier: Apache-2.0
//! tokio_task - resident memory of a suspended tokio task.
//!
//! Each batch spawns the tasks, lets all of them run until they wait, reads the resident memory, and ends them. The
//! growth is always against what was resident before the first task of the run: later batches find the pages of earlier
//! ones in the allocator, and a difference within the batch would be nothing. The table of handles is not part of it:
//! its pages are touched before.
//!
//! Known answer: every task has been polled once and has not ended when memory is read; it ends by being aborted.
//! Overhead: none that scales with the tasks.  Limits: the future holds a counter's address and nothing else; a real
//! one holds all that lives across its awaits. The runtime is current_thread.
//! Source: tokio's tutorial, "Spawning": a task takes a single allocation and 64 bytes.
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::Poll;

use probe::{Batch, Memory, Metric, Parameter, Placement, Probe, Run};
use tokio::task::JoinHandle;

#[path = "../support/rust/tokio_runtime.rs"]
mod tokio_runtime;

static WAITING: AtomicU64 = AtomicU64::new(0);

async fn wait_for_ever() {
    let mut counted = false;
    poll_fn(|_| {
        WAITING.fetch_add(u64::from(!counted), Relaxed);
        counted = true;
        Poll::<()>::Pending
    })
    .await;
}

fn setup(run: &Run) -> Batch<'_> {
    let contexts = run.integer("contexts") as u64;
    let runtime = tokio_runtime::of(run);
    let mut handles: Vec<Option<JoinHandle<()>>> = Vec::new();
    handles.resize_with(contexts as usize, || None);
    let before = Memory::now();
    Box::new(move |_, value| {
        WAITING.store(0, Relaxed);
        value.start();
        runtime.block_on(async {
            handles.fill_with(|| Some(tokio::spawn(wait_for_ever())));
            while WAITING.load(Relaxed) < contexts {
                tokio::task::yield_now().await;
            }
        });
        value.stop();
        let now = Memory::now();
        let suspended = handles.iter().flatten().filter(|handle| !handle.is_finished()).count() as u64;
        let aborted = runtime.block_on(async {
            let mut aborted = 0;
            for handle in handles.iter_mut().filter_map(Option::take) {
                handle.abort();
                aborted += u64::from(handle.await.is_err_and(|error| error.is_cancelled()));
            }
            aborted
        });
        value.operations = contexts;
        value.count("checked", suspended.min(aborted));
        value.reading("resident_bytes", now.resident as f64 - before.resident as f64);
        value.reading("page_table_bytes", now.page_tables as f64 - before.page_tables as f64);
    })
}

static PROBE: Probe = Probe {
    title: "tokio task",
    question: "How much memory does a suspended tokio task take?",
    operation: "one task spawned and suspended, among as many others",
    source: "tokio.rs, tutorial, Spawning",
    statistic: "median",
    placements: &[Placement::Same],
    uses: &["cpu"],
    baseline: None,
    family: None,
    value_ms: 0,
    metrics: &[
        Metric {
            name: "resident",
            unit: "B",
            better: "lower",
            over: "resident_bytes",
            per: "operations",
            doc: "resident bytes of user space a suspended context",
        },
        Metric {
            name: "page_tables",
            unit: "B",
            better: "lower",
            over: "page_table_bytes",
            per: "operations",
            doc: "page tables a suspended context",
        },
    ],
    parameters: &[Parameter::Integer {
        name: "contexts",
        doc: "suspended tasks",
        unit: "1",
        sweep: &[10000, 100000],
        brief: &[10000],
        curves: &[],
        minimum: 100,
        maximum: 1000000,
    }],
};

probe::main!(PROBE, setup);
