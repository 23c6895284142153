// SPDX-License-Identifier: Apache-2.0
//! A worker: an event loop over connections, which reads requests, has them answered and sends the answers.

pub mod caller;
pub mod connection;
pub mod courier;
pub mod incoming;
pub mod keep;
pub mod outbox;
pub mod output;
pub mod pace;
pub mod patience;
pub mod pool;
pub mod protocol;
pub mod protocols;
pub mod reply;
pub mod requests;
pub mod socket;
pub mod timers;
#[cfg(feature = "tls")]
pub mod tls;
pub mod transport;
pub mod worker;
