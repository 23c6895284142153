// SPDX-License-Identifier: Apache-2.0
//! dyn_poll - an async call chain of depth n, polled from its top, where every level awaits the next through a
//! `Pin<Box<dyn Future>>` as recursion and async traits make it.
//!
//! The chain is built once; its innermost future is never ready, so one poll goes down through all levels and comes
//! back Pending: what resuming a deeply suspended task costs before anything else is done.
//!
//! Known answer: the innermost future counts how often it was polled.
//! Overhead: the loop and the count, a nanosecond.  Limits: the same chain is polled again and again, so every jump
//! through a table of methods is predicted. Without the boxes the compiler melts the chain into one function.
//! Assembly: poll_times contains call.*\*
//! Source: the Rust standard library, core::future; the depth of await chains after alibaba/async_simple's
//! benchmarks.
use std::cell::Cell;
use std::future::{poll_fn, Future};
use std::hint::black_box;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use probe::{Batch, Metric, Parameter, Placement, Probe, Run};

type Level = Pin<Box<dyn Future<Output = ()>>>;

/// Nobody is ever woken: the probe polls by itself.
struct Nobody;

impl Wake for Nobody {
    fn wake(self: Arc<Self>) {}
}

async fn level(next: Level) {
    next.await;
}

fn chain(depth: i64, polls: Rc<Cell<u64>>) -> Level {
    let mut top: Level = Box::pin(poll_fn(move |_| {
        polls.set(polls.get() + 1);
        Poll::Pending
    }));
    for _ in 0..depth {
        top = Box::pin(level(top));
    }
    top
}

#[inline(never)]
fn poll_times(top: &mut Level, context: &mut Context<'_>, times: u64) {
    for _ in 0..times {
        if black_box(top.as_mut()).poll(context).is_ready() {
            probe::fail("a chain that never ends ended");
        }
    }
}

fn setup(run: &Run) -> Batch<'_> {
    let polls = Rc::new(Cell::new(0));
    let mut top = chain(run.integer("depth"), Rc::clone(&polls));
    let waker = Waker::from(Arc::new(Nobody));
    Box::new(move |operations, value| {
        let before = polls.get();
        let mut context = Context::from_waker(&waker);
        value.start();
        poll_times(&mut top, &mut context, operations);
        value.stop();
        value.count("checked", polls.get() - before);
    })
}

static PROBE: Probe = Probe {
    title: "Rust future, boxed",
    question: "What does it cost to poll a Rust future through n levels of boxed futures?",
    operation: "one poll of the outermost future, which goes down to the innermost and comes back Pending",
    source: "the Rust standard library, core::future; the depth after alibaba/async_simple, benchmarks",
    statistic: "lower_quartile",
    placements: &[Placement::Same],
    uses: &["cpu"],
    baseline: None,
    family: Some("chain"),
    value_ms: 0,
    metrics: &[Metric {
        name: "poll",
        unit: "s",
        better: "lower",
        over: "wall",
        per: "operations",
        doc: "time of one poll through all levels",
    }],
    parameters: &[Parameter::Integer {
        name: "depth",
        doc: "async functions between the poll and the innermost future",
        unit: "1",
        sweep: &[1, 2, 5, 10, 20, 50, 100],
        brief: &[1, 10, 100],
        curves: &[],
        minimum: 1,
        maximum: 10000,
    }],
};

probe::main!(PROBE, setup);
