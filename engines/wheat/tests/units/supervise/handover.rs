// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/supervise/handover.rs`.

use super::*;

#[test]
fn numbers_come_back_as_they_went() {
    for watch in [None, Some(9)] {
        let handover = Handover { master: 7, index: 1, slot: 2, control: 3, counters: 4, watch, listeners: vec![5, 6] };
        assert_eq!(Handover::from_text(&handover.to_text()), Some(handover));
    }
    for text in ["", "check", "7 1 2 3 4 -", "7 1 2 3 4 - 5, 6", "7 1 2 3 4 5 6 7", "7 1 2 3 x - 5", "7 1 2 3 4 x 5"] {
        assert_eq!(Handover::from_text(text), None, "{text}");
    }
}

#[test]
fn orders_and_reports_arrive_in_order_and_the_end_is_finish() {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let (line, control) = (Line::new(ours.into()), Control::new(theirs.into()));
    assert_eq!(control.order(), None);
    line.order(Order::ReopenLogs);
    line.order(Order::Retire);
    assert_eq!(control.order(), Some(Order::ReopenLogs));
    assert_eq!(control.order(), Some(Order::Retire));
    assert_eq!(line.report().unwrap(), None);
    control.report(Report::Ready);
    control.report(Report::ReplaceMe);
    assert_eq!(line.report().unwrap(), Some(Report::Ready));
    assert_eq!(line.report().unwrap(), Some(Report::ReplaceMe));
    drop(line);
    assert_eq!(control.order(), Some(Order::Finish));
    assert_eq!(control.order(), Some(Order::Finish));
    control.report(Report::Ready);
}
