// SPDX-License-Identifier: Apache-2.0
//! tokio_task - a task for each connection, all on one thread.
//!
//! Known answer: checksum and result of each request.  Limits: one CPU; a wait is rounded up to a millisecond, tokio's clock.
//! Source: the documentation of tokio.
#[path = "../support/rust/serve.rs"]
mod serve;

fn main() {
    serve::main("tokio task, one thread", || tokio::runtime::Builder::new_current_thread().enable_all().build());
}
