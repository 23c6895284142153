// SPDX-License-Identifier: Apache-2.0
//! Ranges lie within the length, are bounded, don't overlap, and hold exactly the bytes that were asked for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wheat::files::range::{MOST, Ranges, parse};

/// First and last of each, read without limits; None: the field is malformed or of another unit.
fn asked(field: &[u8], length: u64) -> Option<Vec<(u128, u128)>> {
    let text = std::str::from_utf8(field).ok()?;
    let (unit, specs) = text.split_once('=')?;
    if !unit.eq_ignore_ascii_case("bytes") {
        return None;
    }
    let number = |text: &str| {
        // longer than any length is the same as just beyond every length, but order counts: the fuzzer's fields are short
        (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| {
            text.trim_start_matches('0').parse::<u128>().unwrap_or(if text.trim_start_matches('0').is_empty() {
                0
            } else {
                u128::MAX
            })
        })
    };
    let mut ranges = Vec::new();
    for spec in specs
        .split(',')
        .map(|spec| spec.trim_matches(|c: char| c.is_ascii_whitespace()))
        .filter(|spec| !spec.is_empty())
    {
        let (first, last) = spec.split_once('-')?;
        let length = u128::from(length);
        ranges.push(match (first, last) {
            ("", suffix) => (length.saturating_sub(number(suffix)?), length.checked_sub(1).unwrap_or(0)),
            (first, "") => (number(first)?, u128::MAX),
            (first, last) => {
                let (first, last) = (number(first)?, number(last)?);
                if last < first {
                    return None;
                }
                (first, last)
            }
        });
    }
    (!ranges.is_empty()).then_some(ranges)
}

fuzz_target!(|input: &[u8]| {
    let Some((head, field)) = input.split_first_chunk::<8>() else { return };
    let field = &field[..field.len().min(400)];
    if field.split(|byte| !byte.is_ascii_digit()).any(|digits| digits.len() > 38) {
        // beyond what the plain reading can order: only the bounds are checked
        if let Ranges::Parts(parts) = parse(field, 1000) {
            assert!(parts.iter().all(|part| part.start < part.end && part.end <= 1000));
        }
        return;
    }
    let wide = u64::from_le_bytes(*head);
    for length in [wide, wide % 64, u64::MAX - wide % 64] {
        let got = parse(field, length);
        let wanted = asked(field, length);
        match (&got, &wanted) {
            (Ranges::Whole, None) => {}
            (Ranges::Whole, Some(wanted)) => assert!(wanted.len() > MOST, "ignored though it is well formed"),
            (_, None) => panic!("{got:?} of a malformed field"),
            (Ranges::Unsatisfiable, Some(wanted)) => {
                assert!(wanted.iter().all(|(first, last)| *first >= u128::from(length) || first > last));
            }
            (Ranges::Parts(parts), Some(wanted)) => {
                assert!(!parts.is_empty() && parts.len() <= wanted.len() && wanted.len() <= MOST);
                assert!(parts.iter().all(|part| part.start < part.end && part.end <= length));
                let mut sorted = parts.clone();
                sorted.sort_by_key(|part| part.start);
                assert!(sorted.windows(2).all(|pair| pair[0].end < pair[1].start), "two overlap or touch");
                // a byte is in the one exactly if it is in the other; it can only change at an end
                let ends = wanted.iter().flat_map(|(first, last)| [*first, last.saturating_add(1)]);
                let ends = ends.chain(parts.iter().flat_map(|part| [u128::from(part.start), u128::from(part.end)]));
                for place in
                    ends.flat_map(|end| [end.saturating_sub(1), end]).filter(|place| *place < u128::from(length))
                {
                    let is_wanted = wanted.iter().any(|(first, last)| (*first..=*last).contains(&place));
                    let is_sent = parts.iter().any(|part| part.contains(&(place as u64)));
                    assert_eq!(is_wanted, is_sent, "byte {place}");
                }
            }
        }
    }
});
