// SPDX-License-Identifier: Apache-2.0
//! What stays in memory of a process that waits most of the time.

use rustix::mm::{Advice, madvise};

/// Unmaps the pages of machine code that are mapped now. A start takes a lot of code, waiting for signals or requests takes
/// little; what is needed again comes from the page cache, within microseconds. Nothing is lost: it is never written to.
pub fn give_back_code() {
    let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return };
    for line in maps.lines() {
        // range, permissions, offset, device, inode, path
        let mut words = line.split_ascii_whitespace();
        let (Some(range), Some("r-xp"), Some(path)) = (words.next(), words.next(), words.nth(3)) else { continue };
        let Some((from, to)) = range.split_once('-') else { continue };
        let (Ok(from), Ok(to)) = (usize::from_str_radix(from, 16), usize::from_str_radix(to, 16)) else { continue };
        if !path.starts_with('/') {
            continue; // the kernel's own
        }
        // SAFETY: a private mapping of a file that nobody can write through; without its pages it reads the same from the file.
        let _ = unsafe { madvise(from as *mut _, to - from, Advice::LinuxDontNeed) };
    }
}

#[cfg(test)]
#[path = "../../tests/units/supervise/resident.rs"]
mod tests;
