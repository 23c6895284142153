// SPDX-License-Identifier: Apache-2.0
//! What the programs in Rust share. See programs.hpp for what is printed.
use std::time::Instant;

pub type Board = [i8; 16];

pub fn queen_fits(placed: &Board, row: usize, column: usize) -> bool {
    (0..row).all(|i| {
        let apart = i32::from(placed[i]) - column as i32;
        let rows = (row - i) as i32;
        apart != 0 && apart != rows && apart != -rows
    })
}

fn cpu_seconds() -> f64 {
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut used) };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(used.ru_utime) + seconds(used.ru_stime)
}

fn peak_kib() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1)).unwrap_or("0").to_owned()
}

pub fn time_and_print(mut run: impl FnMut() -> u64) {
    let first = run();
    let (cpu, start) = (cpu_seconds(), Instant::now());
    let result = run();
    let (took, used) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    println!("{took:.6} {used:.6} {} {}", peak_kib(), if first == result { result } else { 0 });
}

/// The name of the program, the threads and the size; prints the names when that is asked for.
pub fn arguments(names: &str) -> Option<(String, usize, u64)> {
    let words: Vec<String> = std::env::args().collect();
    if words.len() != 4 {
        println!("{names}");
        return None;
    }
    Some((words[1].clone(), words[2].parse().expect("threads"), words[3].parse().expect("size")))
}
