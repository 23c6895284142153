// SPDX-License-Identifier: Apache-2.0
//! tokio_mpsc - two tokio tasks that send a number to and fro over two mpsc channels of one place each.
//!
//! Each number is one more than the one before and both sides look at what they get; the partner's own count is half
//! the proof. With `same` both tasks share the one thread of a current_thread runtime; with `cross` the runtime is
//! multi_thread and moves them as it likes: `elsewhere_fraction` is the share of numbers that were received on another
//! worker than they were sent from.
//!
//! Known answer: on one thread none is received elsewhere.  Overhead: the comparison, a nanosecond.
//! Limits: a channel of one place, as nothing is ever waiting in it but the number on its way.
//! Source: tokio-rs/tokio, benches/sync_mpsc.rs; the ping-pong of lmbench's lat_pipe (McVoy & Staelin, USENIX 1996).
use std::thread::{self, ThreadId};

use probe::{Batch, Metric, Placement, Probe, Run};
use tokio::sync::mpsc::{channel, Receiver, Sender};

#[path = "../support/rust/tokio_runtime.rs"]
mod tokio_runtime;

/// A number on its way, and the worker that sent it.
type Message = (u64, ThreadId);

struct End {
    out: Sender<Message>,
    back: Receiver<Message>,
    right: u64,
    elsewhere: u64,
}

impl End {
    async fn send(&mut self, number: u64) {
        if self.out.send((number, thread::current().id())).await.is_err() {
            probe::fail("the other end of a channel is gone");
        }
    }

    async fn receive(&mut self, expected: u64) {
        let Some((number, sent_from)) = self.back.recv().await else { probe::fail("a channel was closed") };
        self.right += u64::from(number == expected);
        self.elsewhere += u64::from(sent_from != thread::current().id());
    }
}

async fn ask(mut end: End, times: u64) -> End {
    for number in 0..times {
        end.send(number).await;
        end.receive(number).await;
    }
    end
}

async fn answer(mut end: End, times: u64) -> End {
    for number in 0..times {
        end.receive(number).await;
        end.send(number).await;
    }
    end
}

fn setup(run: &Run) -> Batch<'_> {
    let runtime = tokio_runtime::of(run);
    Box::new(move |operations, value| {
        let ((out, there), (reply, back)) = (channel(1), channel(1));
        let asking = End { out, back, right: 0, elsewhere: 0 };
        let answering = End { out: reply, back: there, right: 0, elsewhere: 0 };
        let ended = runtime.block_on(async {
            let partner = tokio::spawn(answer(answering, operations));
            value.start();
            let asker = tokio::spawn(ask(asking, operations)).await;
            value.stop();
            (asker, partner.await)
        });
        let (Ok(asker), Ok(partner)) = ended else { probe::fail("a task did not end") };
        value.count("checked", asker.right.min(partner.right));
        value.count("elsewhere", asker.elsewhere + partner.elsewhere);
        value.count("numbers", 2 * operations);
    })
}

static PROBE: Probe = Probe {
    title: "tokio channel",
    question: "How long does a number take between two tokio tasks over mpsc channels, there and back?",
    operation: "one round trip of a number between two tasks, there and back",
    source: "tokio-rs/tokio, benches/sync_mpsc.rs; after lmbench lat_pipe (McVoy & Staelin 1996)",
    statistic: "median",
    placements: &[Placement::Same, Placement::Cross],
    uses: &["cpu", "sched", "ipc"],
    baseline: None,
    family: None,
    value_ms: 0,
    metrics: &[
        Metric {
            name: "round_trip",
            unit: "s",
            better: "lower",
            over: "wall",
            per: "operations",
            doc: "time of one round trip, there and back",
        },
        Metric {
            name: "round_trip_cpu",
            unit: "s",
            better: "lower",
            over: "cpu",
            per: "operations",
            doc: "CPU time of all workers for one round trip",
        },
        Metric {
            name: "elsewhere_fraction",
            unit: "1",
            better: "neither",
            over: "elsewhere",
            per: "numbers",
            doc: "share of the numbers that were received on another worker than they were sent from",
        },
    ],
    parameters: &[],
};

probe::main!(PROBE, setup);
