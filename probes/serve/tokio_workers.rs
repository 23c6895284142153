// SPDX-License-Identifier: Apache-2.0
//! tokio_workers - a task for each connection on tokio's threads, which steal from each other.
//!
//! Known answer: checksum and result of each request.  Limits: a wait is rounded up to a millisecond, tokio's clock.
//! Source: the documentation of tokio.
#[path = "../support/rust/serve.rs"]
mod serve;

fn main() {
    serve::main("tokio task, many threads", || tokio::runtime::Builder::new_multi_thread().enable_all().build());
}
