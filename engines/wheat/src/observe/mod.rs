// SPDX-License-Identifier: Apache-2.0
//! What can be seen of a running server: its counters, their formats, `wheat stat` and the access log.

pub mod counters;
pub mod format;
pub mod log;
pub mod notice;
pub mod openmetrics;
pub mod stat;
pub mod syslog;
