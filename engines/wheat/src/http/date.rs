// SPDX-License-Identifier: Apache-2.0
//! The Date header, written once a second.

use std::io::Write;
use std::time::{Duration, UNIX_EPOCH};

/// `Date: Sun, 06 Nov 1994 08:49:37 GMT` and CR LF.
pub const LENGTH: usize = 37;

/// The line of the second that it was last asked for.
pub struct DateLine {
    unix_seconds: u64,
    line: [u8; LENGTH],
}

impl Default for DateLine {
    fn default() -> Self {
        let mut date = Self { unix_seconds: u64::MAX, line: [0; LENGTH] };
        date.update(0);
        date
    }
}

impl DateLine {
    pub fn update(&mut self, unix_seconds: u64) {
        if unix_seconds != self.unix_seconds {
            self.unix_seconds = unix_seconds;
            let date = httpdate::HttpDate::from(UNIX_EPOCH + Duration::from_secs(unix_seconds));
            // The format has one length up to the year 9999, which is httpdate's limit too.
            let _ = write!(&mut self.line[..], "Date: {date}\r\n");
        }
    }

    pub fn line(&self) -> &[u8; LENGTH] {
        &self.line
    }
}

#[cfg(test)]
#[path = "../../tests/units/http/date.rs"]
mod tests;
