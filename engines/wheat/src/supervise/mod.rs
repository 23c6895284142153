// SPDX-License-Identifier: Apache-2.0
//! The master: it opens the sockets, starts and replaces workers, obeys signals, and serves the counters.

pub mod handover;
pub mod identity;
pub mod listen;
pub mod master;
pub mod metrics;
pub mod notify;
pub mod resident;
pub mod signals;
pub mod takeover;
pub mod template;
pub mod watch;
