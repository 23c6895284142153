// SPDX-License-Identifier: Apache-2.0
//! What the processor counted in a value, as probes/support/c/counters.h has it; of every thread of this process. Opened
//! when all values have been timed, for batches that are run again for the counts alone.

use std::fs::File;
use std::io::{Error, Read};
use std::os::fd::FromRawFd;

const MOST_TASKS: usize = 128;
const HARDWARE: Events =
    Events { kind: 0, named: &[("cycles", 0), ("instructions", 1), ("branch_misses", 5), ("cache_misses", 3)] };
const SOFTWARE: Events =
    Events { kind: 1, named: &[("task_clock_ns", 1), ("page_faults", 2), ("context_switches", 3)] };
const BOTH_TIMES: u64 = 1 | 2; // PERF_FORMAT_TOTAL_TIME_ENABLED, PERF_FORMAT_TOTAL_TIME_RUNNING
const INHERIT: u64 = 1 << 1;
const USER_ONLY: u64 = 1 << 5 | 1 << 6; // without the kernel and the hypervisor
const CLOSE_ON_EXEC: i64 = 8; // PERF_FLAG_FD_CLOEXEC
const EPERM: i32 = 1;
const EACCES: i32 = 13;
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;
const ESRCH: i32 = 3;

#[cfg(target_arch = "x86_64")]
const PERF_EVENT_OPEN: i64 = 298;
#[cfg(any(target_arch = "aarch64", target_arch = "riscv64"))]
const PERF_EVENT_OPEN: i64 = 241;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
const PERF_EVENT_OPEN: i64 = -1; // answered by ENOSYS

struct Events {
    kind: u32,
    named: &'static [(&'static str, u64)],
}

/// A count, the time in which it was wanted and that in which it was had.
pub type Counter = [u64; 3];

/// Events by name, each with what was counted.
pub type Counted = Vec<(&'static str, Counter)>;

/// The open counters; none are where nothing can be counted, and `absent` says why.
#[derive(Default)]
pub struct Counters {
    files: Vec<(&'static str, Vec<File>)>,
    pub scope: String,
    pub absent: String,
}

impl Counters {
    pub fn open() -> Self {
        let wanted = std::env::var("STEELYARD_COUNTERS").unwrap_or_default();
        if wanted == "off" {
            return Self::absent("turned off by STEELYARD_COUNTERS".to_string());
        }
        let (events, what) = if wanted == "software" { (SOFTWARE, "software") } else { (HARDWARE, "hardware") };
        let tasks = threads();
        if tasks.len() > MOST_TASKS {
            return Self::absent(format!(
                "more than {MOST_TASKS} contexts are not counted: reading so many counters would take too long"
            ));
        }
        let first = Self::open_all(&events, INHERIT, &tasks);
        let (opened, who) = match first {
            // What an ordinary user may count of itself.
            Err(EACCES | EPERM) => (Self::open_all(&events, INHERIT | USER_ONLY, &tasks), "user only"),
            other => (other, "user and kernel"),
        };
        match opened {
            Ok(counters) => Counters { scope: format!("{what}, {who}"), ..counters },
            Err(code) => Self::absent(why_absent(code)),
        }
    }

    fn absent(reason: String) -> Self {
        Counters { absent: reason, ..Counters::default() }
    }

    /// Every event for every task, or the error of the first event if none could be opened.
    fn open_all(events: &Events, flags: u64, tasks: &[i64]) -> Result<Self, i32> {
        let mut counters = Counters::default();
        let mut missing: Vec<&str> = Vec::new();
        let mut errors: Vec<i32> = Vec::new();
        for (name, config) in events.named {
            match open_everywhere(events.kind, *config, flags, tasks) {
                Ok(files) => counters.files.push((name, files)),
                Err(code) => {
                    missing.push(name);
                    errors.push(code);
                    if matches!(code, EACCES | EPERM | EMFILE) {
                        break;
                    }
                }
            }
        }
        match (counters.files.is_empty(), errors.last()) {
            (true, _) => Err(errors[0]),
            (false, Some(last)) => {
                counters.absent = format!("{}: {}", missing.join(", "), Error::from_raw_os_error(*last));
                Ok(counters)
            }
            (false, None) => Ok(counters),
        }
    }

    pub fn are_open(&self) -> bool {
        !self.files.is_empty()
    }

    pub fn read(&self) -> Counted {
        self.files.iter().map(|(name, files)| (*name, sum(name, files))).collect()
    }
}

fn sum(name: &str, files: &[File]) -> Counter {
    let mut sum = Counter::default();
    for mut file in files {
        let mut bytes = [0u8; 24];
        if let Err(error) = file.read_exact(&mut bytes) {
            crate::fail(&format!("cannot read the counter {name}: {error}"));
        }
        for (total, word) in sum.iter_mut().zip(bytes.chunks_exact(8)) {
            *total += u64::from_ne_bytes(word.try_into().unwrap_or_default());
        }
    }
    sum
}

/// What was counted between two readings.
pub fn between(begin: &Counted, end: Counted) -> Counted {
    end.into_iter()
        .zip(begin)
        .map(|((name, last), (_, first))| (name, [last[0] - first[0], last[1] - first[1], last[2] - first[2]]))
        .collect()
}

fn threads() -> Vec<i64> {
    let entries = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse().ok())).collect()
}

/// One event for every task, or for none.
fn open_everywhere(kind: u32, config: u64, flags: u64, tasks: &[i64]) -> Result<Vec<File>, i32> {
    // perf_event_attr of the first size that it had; kind and size share the first word.
    let first = if cfg!(target_endian = "little") { u64::from(kind) | 64 << 32 } else { u64::from(kind) << 32 | 64 };
    let attributes: [u64; 8] = [first, config, 0, 0, BOTH_TIMES, flags, 0, 0];
    let mut files = Vec::new();
    for task in tasks {
        // SAFETY: the attributes outlive the call and have the size that they say.
        let file = unsafe { syscall(PERF_EVENT_OPEN, attributes.as_ptr(), *task, -1i64, -1i64, CLOSE_ON_EXEC) };
        if file >= 0 {
            // SAFETY: the descriptor was just made and belongs to nobody else.
            files.push(unsafe { File::from_raw_fd(file as i32) });
            continue;
        }
        match Error::last_os_error().raw_os_error().unwrap_or(0) {
            ESRCH => {} // a thread may end while we look
            code => return Err(code),
        }
    }
    Ok(files)
}

fn why_absent(code: i32) -> String {
    let said = Error::from_raw_os_error(code);
    match code {
        EACCES | EPERM => format!(
            "counting is not permitted here ({said}): sysctl kernel.perf_event_paranoid=2 or less permits it; a container \
             needs perf_event_open in its seccomp profile"
        ),
        EMFILE | ENFILE => {
            format!("too many open files to count so many contexts ({said}): a higher ulimit -n permits it")
        }
        _ => format!(
            "the machine has no such counters ({said}): virtual machines have them only where the host passes them on"
        ),
    }
}

extern "C" {
    fn syscall(number: i64, ...) -> i64;
}
