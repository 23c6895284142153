// SPDX-License-Identifier: Apache-2.0
//! A coroutine of the crate corosensei is resumed and suspends: one way. Prints as ../bench.hpp does.
use corosensei::{Coroutine, CoroutineResult};
use std::time::Instant;

// Placed differently in each build, as BENCH_PLACE of ../bench.hpp does.
std::arch::global_asm!(concat!(".text\n.skip ", env!("BENCH_SKIP"), ", 0x90"));

const BATCHES: usize = 25;
const TARGET_NS: u128 = 10_000_000;

fn main() {
    let mut coroutine = Coroutine::new(|yielder, mut input: u64| -> u64 {
        loop {
            input = yielder.suspend(input + 1);
        }
    });
    let mut count = 0;
    let mut batch = |rounds: u64| {
        let before = count;
        let start = Instant::now();
        for _ in 0..rounds {
            match coroutine.resume(count) {
                CoroutineResult::Yield(next) => count = next,
                CoroutineResult::Return(_) => unreachable!(),
            }
        }
        let elapsed = start.elapsed().as_nanos();
        assert_eq!(count - before, rounds, "every round must have switched in and out");
        elapsed
    };
    let mut rounds = 1000;
    while batch(rounds) < TARGET_NS {
        rounds *= 2;
    }
    let mut each: Vec<f64> = (0..BATCHES)
        .map(|_| batch(rounds) as f64 / rounds as f64 / 2.0)
        .collect();
    each.sort_by(f64::total_cmp);
    println!("{:.4}", each[BATCHES / 4]);
    std::process::exit(0); // the coroutine never ends
}
