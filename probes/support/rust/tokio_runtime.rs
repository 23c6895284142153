// SPDX-License-Identifier: Apache-2.0
//! The runtime of a tokio probe: current_thread on one CPU with `same`, else multi_thread with a worker pinned to each.
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use probe::{Placement, Run};
use tokio::runtime::{Builder, Runtime};

pub fn of(run: &Run) -> Runtime {
    let mut builder = if run.placement == Placement::Same {
        Builder::new_current_thread()
    } else {
        let cpus = run.cpus.clone();
        let started = AtomicUsize::new(0);
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(cpus.len());
        builder.on_thread_start(move || probe::place_on(cpus[started.fetch_add(1, Relaxed) % cpus.len()]));
        builder
    };
    let made = builder.build();
    made.unwrap_or_else(|error| probe::skip(&format!("tokio cannot start its runtime here: {error}")))
}
