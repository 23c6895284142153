// SPDX-License-Identifier: Apache-2.0
//! A WSGI and static-file server for Linux.
//!
//! `options` reads the command line into a `config`; `master` keeps workers alive; each `worker` is an event loop over `connection`s that
//! parses (`http`), answers from `files` or from an application (`wsgi`), and counts into a `counters::Slot`.

pub mod answer;
pub mod config;
pub mod connection;
pub mod counters;
pub mod files;
pub mod handover;
pub mod http;
pub mod incoming;
pub mod listen;
pub mod log;
pub mod master;
pub mod metrics;
pub mod openmetrics;
pub mod options;
pub mod outbox;
pub mod pool;
pub mod reply;
pub mod resident;
pub mod sentence;
pub mod signals;
pub mod stat;
pub mod timers;
#[cfg(feature = "tls")]
pub mod tls;
pub mod transport;
pub mod worker;
#[cfg(feature = "python")]
pub mod wsgi;
