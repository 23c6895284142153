// SPDX-License-Identifier: Apache-2.0
//! The clocks that are read. The coarse ones are a few milliseconds late and cost less.

pub fn monotonic_ns() -> u64 {
    ns(libc::CLOCK_MONOTONIC)
}

pub fn coarse_ns() -> u64 {
    ns(libc::CLOCK_MONOTONIC_COARSE)
}

/// Seconds since 1970.
pub fn coarse_unix_seconds() -> u64 {
    ns(libc::CLOCK_REALTIME_COARSE) / 1_000_000_000
}

fn ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable; these clocks exist.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
