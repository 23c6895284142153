// SPDX-License-Identifier: Apache-2.0
//! Deadlines of connections.

/// What a connection is waiting for; the index into `Slot::timeouts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Head,
    Body,
    Idle,
    Send,
    Linger,
}
