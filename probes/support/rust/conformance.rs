// SPDX-License-Identifier: Apache-2.0
//! conformance - what tests/protocol/test_conformance.py holds every support to; in each language the same.
//!
//! Known answer: the sum of the numbers below `operations`.  `trouble` plants what a support has to find.
use probe::{Batch, Metric, Parameter, Placement, Probe, Run};

fn setup(run: &Run) -> Batch<'_> {
    // The selftest takes no parameters.
    let trouble = std::env::var("CONFORMANCE_TROUBLE").unwrap_or_else(|_| run.choice("trouble").to_string());
    let mut batches = 0;
    Box::new(move |operations, value| {
        let mut done = operations;
        match trouble.as_str() {
            "more" => done = 2 * operations,
            "fewer" => done = operations - 1,
            "idle" => done = 0,
            "slow" => std::thread::sleep(std::time::Duration::from_millis(100)),
            "breaks" => panic!("it went wrong"),
            "fails" => probe::fail("it went wrong"),
            "skips" => probe::skip("there is no such thing"),
            "caveat" => probe::caveat("a \"doubt\" of 1"),
            _ => {}
        }
        let mut sum = 0;
        if trouble != "unstarted" {
            value.start();
        }
        for i in 0..done {
            sum = std::hint::black_box(sum + i);
        }
        if trouble != "unstarted" {
            value.stop();
        }
        value.operations = done;
        value.lanes = 2;
        let checked = if sum == done * done.saturating_sub(1) / 2 { done } else { 0 };
        if trouble != "unproven" {
            value.count("checked", if trouble == "wrong" { checked - 1 } else { checked });
        }
        batches += 1;
        value.count("batches", batches);
        value.reading("half", run.integer("number") as f64 / 2.0);
    })
}

static PROBE: Probe = Probe {
    title: "conformance",
    question: "Does the support of this language keep the protocol?",
    operation: "one addition",
    source: "docs/reference/protocol.md",
    statistic: "median",
    placements: &[Placement::Same, Placement::Cross, Placement::Free],
    uses: &["cpu"],
    baseline: Some("null/null"),
    family: Some("supports"),
    value_ms: 5,
    metrics: &[
        Metric {
            name: "one",
            unit: "s",
            better: "lower",
            over: "wall",
            per: "operations",
            doc: "time of one addition",
        },
        Metric {
            name: "half",
            unit: "1",
            better: "neither",
            over: "half",
            per: "one",
            doc: "half of what was given as \"number\"",
        },
    ],
    parameters: &[
        Parameter::Integer {
            name: "number",
            doc: "a number",
            unit: "B",
            sweep: &[3, 4],
            brief: &[4],
            curves: &["half"],
            minimum: -2,
            maximum: 9,
        },
        Parameter::Choice {
            name: "trouble",
            doc: "what goes wrong",
            choices: &[
                "none",
                "more",
                "caveat",
                "wrong",
                "unproven",
                "unstarted",
                "idle",
                "fewer",
                "slow",
                "breaks",
                "fails",
                "skips",
            ],
            sweep: &["none"],
            brief: &["none"],
        },
    ],
};

probe::main!(PROBE, setup);
