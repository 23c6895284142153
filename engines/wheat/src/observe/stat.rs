// SPDX-License-Identifier: Apache-2.0
//! `wheat stat`: finds a running server and shows its counters. A server is found by the memory that its master holds, through
//! /proc: there is no file that could be left behind, and who may look at the process may look at its counters.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use crate::config::StatRequest;
use crate::error::Error;
use crate::observe::counters::{MEMFD_NAME, Memory, Snapshot, State, Totals};
use crate::observe::openmetrics;

pub fn run(request: &StatRequest) -> Result<ExitCode, Error> {
    let server = find(request.which.as_deref())?;
    let mut before: Option<(Instant, Snapshot)> = None;
    let mut out = io::stdout();
    loop {
        let (now, snapshot) = (Instant::now(), server.snapshot());
        let rates = before.as_ref().map(|(then, old)| Rates { seconds: (now - *then).as_secs_f64(), before: old });
        let text = if request.openmetrics { openmetrics::render(&snapshot) } else { table(&snapshot, rates.as_ref()) };
        let clear = if request.every.is_some() && out.is_terminal() { "\x1b[H\x1b[J" } else { "" };
        if out.write_all(format!("{clear}{text}").as_bytes()).and_then(|()| out.flush()).is_err() {
            return Ok(ExitCode::SUCCESS); // whoever reads has read enough
        }
        let Some(every) = request.every else { return Ok(ExitCode::SUCCESS) };
        std::thread::sleep(every);
        if !Path::new(&format!("/proc/{}", snapshot.pid)).exists() {
            return Err(Error::unavailable(format!("{} (process {}) has ended", snapshot.name, snapshot.pid)));
        }
        before = Some((now, snapshot));
    }
}

/// The server that was asked for; without a word the only one.
fn find(which: Option<&OsStr>) -> Result<Memory, Error> {
    let pid = which.and_then(pid_of);
    let mut found: Vec<(Snapshot, Memory)> = Vec::new();
    let mut closed = 0;
    for process in processes() {
        if pid.is_some_and(|pid| pid != process) {
            continue;
        }
        match memory_of(process) {
            Ok(Some(memory)) => {
                let snapshot = memory.snapshot();
                if snapshot.pid == u64::from(process)
                    && (pid.is_some() || which.is_none_or(|w| w == snapshot.name.as_str()))
                {
                    found.push((snapshot, memory));
                }
            }
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => closed += 1,
            Err(error) => return Err(Error::unavailable(format!("process {process}: {error}"))),
        }
    }
    if found.len() > 1 {
        let mut text = "several servers are running: say which one".to_owned();
        for (snapshot, _) in &found {
            let _ = write!(text, "\n  {}  {}  {}", snapshot.pid, snapshot.name, snapshot.addresses);
        }
        return Err(Error::usage(text));
    }
    found.pop().map(|(_, memory)| memory).ok_or_else(|| {
        let hidden = match closed {
            0 => "",
            _ => " that this user may look at (there is one of another user)",
        };
        match which {
            Some(which) => Error::unavailable(format!("no server \"{}\" is running{hidden}", which.to_string_lossy())),
            None => Error::unavailable(format!("no server is running{hidden}")),
        }
    })
}

/// A process id, or the one in a --pid-file.
fn pid_of(which: &OsStr) -> Option<u32> {
    let text = which.to_str()?;
    text.parse().ok().or_else(|| std::fs::read_to_string(which).ok()?.trim().parse().ok())
}

/// Everything that is called as this program is.
fn processes() -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|pid| std::fs::read(format!("/proc/{pid}/comm")).is_ok_and(|name| name == b"wheat\n")).collect()
}

fn memory_of(pid: u32) -> io::Result<Option<Memory>> {
    for entry in std::fs::read_dir(format!("/proc/{pid}/fd"))?.flatten() {
        let target = std::fs::read_link(entry.path()).unwrap_or_default();
        if target.to_str().is_some_and(|target| target.starts_with(&format!("/memfd:{MEMFD_NAME}"))) {
            return Memory::look(File::open(entry.path())?).map(Some);
        }
    }
    Ok(None)
}

/// What changed since an earlier look.
struct Rates<'a> {
    seconds: f64,
    before: &'a Snapshot,
}

impl Rates<'_> {
    /// Requests a second of all together, or of the worker with this process id.
    fn requests(&self, now: &Totals, pid: Option<u64>) -> String {
        let before = match pid {
            None => self.before.totals().of("requests"),
            Some(pid) => {
                let worker = self.before.workers.iter().find(|worker| worker.pid == pid);
                worker.map_or(0, |worker| worker.totals.of("requests"))
            }
        };
        grouped((now.of("requests").saturating_sub(before) as f64 / self.seconds).round() as u64)
    }
}

fn table(snapshot: &Snapshot, rates: Option<&Rates>) -> String {
    let mut out = String::new();
    let up = lasting(snapshot.up_ns);
    let _ = writeln!(out, "{}  {}  master {}, up {up}", snapshot.name, snapshot.addresses, snapshot.pid);
    let ends = [(snapshot.died, "died"), (snapshot.hung, "hung")];
    let ends = ends.iter().filter(|(count, _)| *count > 0).map(|(count, how)| format!(", {count} {how}"));
    let loads = snapshot.generation;
    let _ = writeln!(out, "{} workers wanted, load {loads}{}\n", snapshot.wanted, ends.collect::<String>());

    let mut rows = vec![
        ["worker", "process", "state", "up", "requests", "a second", "in flight", "open", "received", "sent"]
            .map(String::from)
            .to_vec(),
    ];
    rows[0].extend(["4xx", "5xx", "timeouts", "rejected", "errors"].map(String::from));
    let mut row = |first: [String; 4], totals: &Totals, rate: String, gauges: [String; 2]| {
        let mut cells = first.to_vec();
        cells.push(grouped(totals.of("requests")));
        cells.push(rate);
        cells.extend(gauges);
        cells.extend([sized(totals.of("received")), sized(totals.of("sent"))]);
        let classes = totals.parts("responses");
        cells.extend([classes[3], classes[4], totals.of("timeouts"), totals.of("rejected")].map(grouped));
        cells.push(grouped(totals.of("application_errors")));
        rows.push(cells);
    };
    let mut workers: Vec<_> = snapshot.workers.iter().collect();
    workers.sort_by_key(|worker| (worker.index, worker.pid));
    for worker in workers {
        let state = match worker.state {
            State::Starting => "starting",
            State::Ready => "ready",
            State::Finishing => "finishing",
            State::Free => "free",
        };
        row(
            [worker.index.to_string(), worker.pid.to_string(), state.into(), lasting(worker.up_ns)],
            &worker.totals,
            rates.map_or(String::new(), |rates| rates.requests(&worker.totals, Some(worker.pid))),
            [grouped(worker.in_flight), grouped(worker.connections_open)],
        );
    }
    let blank = || [String::new(), String::new(), String::new()];
    let named = |name: &str| {
        let [a, b, c] = blank();
        [name.to_owned(), a, b, c]
    };
    row(named("ended"), &snapshot.ended, String::new(), [String::new(), String::new()]);
    let totals = snapshot.totals();
    row(
        named("all"),
        &totals,
        rates.map_or(String::new(), |rates| rates.requests(&totals, None)),
        [
            grouped(snapshot.workers.iter().map(|worker| worker.in_flight).sum()),
            grouped(snapshot.workers.iter().map(|worker| worker.connections_open).sum()),
        ],
    );
    if rates.is_none() {
        rows.iter_mut().for_each(|row| drop(row.remove(5)));
    }
    let widths: Vec<usize> =
        (0..rows[0].len()).map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0)).collect();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            // Words to the left, numbers to the right.
            let _ = match column {
                0 | 2 => write!(line, "{cell:<width$}  "),
                _ => write!(line, "{cell:>width$}  "),
            };
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

/// 1234567 as 1,234,567.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn sized(bytes: u64) -> String {
    let mut size = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB", "TiB"] {
        if size < 1023.95 || unit == "TiB" {
            return if unit == "B" { format!("{bytes} B") } else { format!("{size:.1} {unit}") };
        }
        size /= 1024.0;
    }
    unreachable!("the last unit takes everything")
}

/// The two largest units that say something.
fn lasting(ns: u64) -> String {
    let s = ns / 1_000_000_000;
    match s {
        0..60 => format!("{s} s"),
        60..3600 => format!("{} min {} s", s / 60, s % 60),
        3600..86400 => format!("{} h {} min", s / 3600, s / 60 % 60),
        _ => format!("{} d {} h", s / 86400, s / 3600 % 24),
    }
}

#[cfg(test)]
#[path = "../../tests/units/observe/stat.rs"]
mod tests;
