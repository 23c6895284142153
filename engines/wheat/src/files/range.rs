// SPDX-License-Identifier: Apache-2.0
//! Byte ranges: RFC 9110, section 14. Pure.

use std::ops::Range;

/// Most ranges of one request. Beyond it the field is ignored, as section 14.2 allows: each part costs its own head and its
/// own system calls (CVE-2011-3192).
pub const MOST: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ranges {
    /// No range is asked for, or none that must be understood: the whole is sent.
    Whole,
    /// None lies within the length.
    Unsatisfiable,
    /// Each not empty and within the length; no two overlap or touch; in the order in which they were asked for.
    Parts(Vec<Range<u64>>),
}

pub fn parse(field: &[u8], length: u64) -> Ranges {
    let Some(specs) = specs(field) else { return Ranges::Whole };
    let mut wanted = Vec::with_capacity(2);
    let mut count = 0;
    for spec in specs.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|spec| !spec.is_empty()) {
        count += 1;
        match (count <= MOST, range(spec, length)) {
            (true, Some(range)) => wanted.extend(range),
            _ => return Ranges::Whole,
        }
    }
    match (count, wanted.len()) {
        (0, _) => Ranges::Whole,
        (_, 0) => Ranges::Unsatisfiable,
        _ => Ranges::Parts(joined(wanted)),
    }
}

/// What follows `bytes=`; another unit is not understood.
fn specs(field: &[u8]) -> Option<&[u8]> {
    let equals = memchr::memchr(b'=', field)?;
    field[..equals].eq_ignore_ascii_case(b"bytes").then(|| &field[equals + 1..])
}

/// None: malformed. Some(None): outside of the length.
fn range(spec: &[u8], length: u64) -> Option<Option<Range<u64>>> {
    let dash = memchr::memchr(b'-', spec)?;
    let (first, last) = (&spec[..dash], &spec[dash + 1..]);
    let range = match (first.is_empty(), last.is_empty()) {
        (true, true) => return None,
        (true, false) => length.saturating_sub(number(last)?)..length,
        (false, true) => number(first)?..length,
        (false, false) => {
            if significant(last) < significant(first) {
                return None;
            }
            number(first)?..number(last)?.saturating_add(1).min(length)
        }
    };
    Some((range.start < range.end).then_some(range))
}

/// Digits only. A number too large for 64 bits lies beyond every length, so its exact value doesn't matter (CVE-2017-7529).
fn number(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0u64, |number, byte| {
        byte.is_ascii_digit().then(|| number.saturating_mul(10).saturating_add(u64::from(byte - b'0')))
    })
}

/// Orders digit strings by their exact value, however long: how many digits count, then those.
fn significant(digits: &[u8]) -> (usize, &[u8]) {
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    (digits.len() - zeros, &digits[zeros..])
}

/// Joins what overlaps or touches; a joined range stands where its first member stood.
fn joined(wanted: Vec<Range<u64>>) -> Vec<Range<u64>> {
    let mut sorted: Vec<(usize, Range<u64>)> = wanted.into_iter().enumerate().collect();
    sorted.sort_by_key(|(_, range)| range.start);
    let mut parts: Vec<(usize, Range<u64>)> = Vec::with_capacity(sorted.len());
    for (place, range) in sorted {
        match parts.last_mut() {
            Some((first_place, before)) if range.start <= before.end => {
                before.end = before.end.max(range.end);
                *first_place = place.min(*first_place);
            }
            _ => parts.push((place, range)),
        }
    }
    parts.sort_by_key(|(place, _)| *place);
    parts.into_iter().map(|(_, range)| range).collect()
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)] // one range is a case, too
#[path = "../../tests/units/files/range.rs"]
mod tests;
