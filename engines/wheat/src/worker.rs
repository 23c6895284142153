// SPDX-License-Identifier: Apache-2.0
//! The event loop of a worker.

use std::os::fd::OwnedFd;

use crate::counters::Slot;

/// What the master gives a worker.
pub struct Context {
    pub index: usize,
    pub listeners: Vec<OwnedFd>,
    /// Becomes readable, or ends, when the worker shall finish what it has and end. None without a master.
    pub control: Option<OwnedFd>,
    pub slot: &'static Slot,
}
