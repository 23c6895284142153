// SPDX-License-Identifier: Apache-2.0
//! Which coding of an answer a client takes: RFC 9110, section 12.5.3. Pure.

use httparse::Header;

use crate::options::Coding;

/// Thousandths, as a client wrote them; None where it didn't.
#[derive(Default)]
struct Weights {
    named: [Option<u16>; Coding::ALL.len()],
    any: Option<u16>,
}

/// The best of those that are there; `available` has the better one first where the client doesn't mind, and needn't name
/// identity. None: the client takes none, not even the file as it is.
pub fn choose(headers: &[Header], available: &[Coding]) -> Option<Coding> {
    let weights = read(headers);
    let mut best = (weights.of(Coding::Identity), Coding::Identity);
    for coding in available.iter().rev() {
        // at equal weight the coded one is meant: a client that wants the file as it is doesn't name codings
        let weight = weights.of(*coding);
        if weight > 0 && weight >= best.0 {
            best = (weight, *coding);
        }
    }
    (best.0 > 0).then_some(best.1)
}

impl Weights {
    fn of(&self, coding: Coding) -> u16 {
        self.named[coding as usize].unwrap_or(match coding {
            // acceptable unless it is excluded, but the last choice
            Coding::Identity => self.any.map_or(1, |any| any.min(1)),
            _ => self.any.unwrap_or(0),
        })
    }
}

fn read(headers: &[Header]) -> Weights {
    let mut weights = Weights::default();
    let fields = headers.iter().filter(|header| header.name.eq_ignore_ascii_case("accept-encoding"));
    for element in fields.flat_map(|header| header.value.split(|byte| *byte == b',')) {
        let mut parts = element.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        let token = parts.next().unwrap_or_default();
        let weight = match (parts.next(), parts.next()) {
            (None, _) => Some(1000),
            (Some(parameter), None) => thousandths(parameter),
            _ => None,
        };
        let Some(weight) = weight else { continue };
        if token == b"*" {
            weights.any = Some(weight);
            continue;
        }
        let token = if token.eq_ignore_ascii_case(b"x-gzip") { &b"gzip"[..] } else { token };
        let known = Coding::ALL.into_iter().find(|coding| token.eq_ignore_ascii_case(coding.token().as_bytes()));
        if let Some(coding) = known {
            weights.named[coding as usize] = Some(weight);
        }
    }
    weights
}

/// `q=0.5` is 500. None: not a weight, and what it weighs is left out.
fn thousandths(parameter: &[u8]) -> Option<u16> {
    let [b'q' | b'Q', b'=', whole @ (b'0' | b'1'), rest @ ..] = parameter else { return None };
    let digits = match rest {
        [] => &[],
        [b'.', digits @ ..] if digits.len() <= 3 && digits.iter().all(u8::is_ascii_digit) => digits,
        _ => return None,
    };
    let scale = [100, 10, 1];
    let fraction: u16 = digits.iter().zip(scale).map(|(digit, scale)| u16::from(digit - b'0') * scale).sum();
    let weight = u16::from(whole - b'0') * 1000 + fraction;
    (weight <= 1000).then_some(weight)
}

#[cfg(test)]
#[path = "../../tests/units/compress/accept.rs"]
mod tests;
