// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/serve/timers.rs`.

use super::*;

const SECOND: u64 = 1_000_000_000;

/// When each of `timers` fires, in ns, looking every 10 ms.
fn fire(wheel: &mut Wheel, timers: &mut [Timer], until_ns: u64) -> Vec<Option<u64>> {
    let mut fired = vec![None; timers.len()];
    let mut due = Vec::new();
    for now_ns in (0..until_ns).step_by(10_000_000) {
        wheel.advance(now_ns, &mut due);
        for (token, tick) in due.drain(..) {
            if wheel.examine(token, &mut timers[token], tick) {
                assert_eq!(fired[token], None);
                fired[token] = Some(now_ns);
            }
        }
    }
    fired
}

#[test]
fn never_early_and_at_most_two_ticks_late() {
    let mut wheel = Wheel::new(0);
    let afters = [0, 1, 49, 50, 51, 999, 30_000, 60_000, 101_000, 150_000, 300_000].map(Duration::from_millis);
    let mut timers = afters.map(|_| Timer::default());
    for (token, after) in afters.iter().enumerate() {
        wheel.set(token, &mut timers[token], Kind::Idle, 0, *after);
    }
    for (after, at) in afters.iter().zip(fire(&mut wheel, &mut timers, 310 * SECOND)) {
        let (after, at) = (after.as_nanos() as u64, at.unwrap());
        assert!(at >= after && at <= after + 2 * TICK_NS + 10_000_000, "{after} fired at {at}");
    }
    assert_eq!(wheel.wait_ns(310 * SECOND), None);
}

#[test]
fn moved_on_moved_back_and_stopped() {
    let mut wheel = Wheel::new(0);
    let mut timers = [Timer::default(), Timer::default(), Timer::default()];
    for (token, timer) in timers.iter_mut().enumerate() {
        wheel.set(token, timer, Kind::Idle, 0, Duration::from_secs(2));
    }
    wheel.set(0, &mut timers[0], Kind::Idle, SECOND, Duration::from_secs(2));
    wheel.set(1, &mut timers[1], Kind::Head, 0, Duration::from_secs(1));
    timers[2].stop();
    let fired = fire(&mut wheel, &mut timers, 5 * SECOND);
    assert!((3 * SECOND..3 * SECOND + SECOND / 5).contains(&fired[0].unwrap()));
    assert!((SECOND..SECOND + SECOND / 5).contains(&fired[1].unwrap()));
    assert_eq!(fired[2], None);
}

#[test]
fn the_wait_ends_when_the_first_is_due() {
    let mut wheel = Wheel::new(7);
    assert_eq!(wheel.wait_ns(7), None);
    let mut timer = Timer::default();
    wheel.set(0, &mut timer, Kind::Head, 7, Duration::from_secs(1));
    let wait = wheel.wait_ns(7).unwrap();
    let mut due = Vec::new();
    wheel.advance(7 + wait, &mut due);
    assert!(due.len() == 1 && wheel.examine(0, &mut timer, due[0].1));
}
