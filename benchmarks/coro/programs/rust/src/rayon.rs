// SPDX-License-Identifier: Apache-2.0
//! The fork-join programs by rayon: join() and parallel iterators.
use rayon::prelude::*;

mod programs;
use programs::{queen_fits, Board};

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = rayon::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn skynet(number: u64, size: u64) -> u64 {
    if size == 1 {
        return number;
    }
    (0..10usize).into_par_iter().with_max_len(1).map(|i| skynet(number + i as u64 * (size / 10), size / 10)).sum()
}

fn queens(placed: Board, row: usize, n: usize) -> u64 {
    if row == n {
        return 1;
    }
    let fitting: Vec<usize> = (0..n).filter(|&column| queen_fits(&placed, row, column)).collect();
    fitting
        .into_par_iter()
        .with_max_len(1)
        .map(|column| {
            let mut next = placed;
            next[row] = column as i8;
            queens(next, row + 1, n)
        })
        .sum()
}

fn main() {
    let Some((name, threads, size)) = programs::arguments("fib skynet nqueens") else { return };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    programs::time_and_print(|| {
        pool.install(|| match name.as_str() {
            "fib" => fib(size),
            "skynet" => skynet(0, size),
            _ => queens([0; 16], 0, size as usize),
        })
    });
}
