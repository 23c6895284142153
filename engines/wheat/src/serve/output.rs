// SPDX-License-Identifier: Apache-2.0
//! The buffer in which the event loop writes responses, shared by all connections: what a client does not take at once goes to
//! its outbox.

use std::io;

use super::connection::{Connection, State};
use super::pace::Pace;
use super::protocol::Application;
use super::reply::{self, Flow, Means, Out};
use super::socket::After;
use crate::http::date::DateLine;

/// How much of the buffer is kept once it has been larger.
const KEPT_BYTES: usize = 128 << 10;

pub struct Output {
    pub buffer: Vec<u8>,
    pub date: DateLine,
}

impl Default for Output {
    fn default() -> Self {
        Self { buffer: Vec::with_capacity(KEPT_BYTES), date: DateLine::default() }
    }
}

impl Output {
    /// What a response is written to.
    pub fn for_call<'a, A: Application>(
        &'a mut self,
        connection: &'a mut Connection<A>,
        means: &'a Means,
        pace: &'a Pace,
    ) -> Out<'a> {
        connection.out(&mut self.buffer, self.date.line(), means, pace, None)
    }

    /// Sends the buffer. An error: the connection is lost.
    pub fn flush<A: Application>(&mut self, connection: &mut Connection<A>, after: After) -> io::Result<Flow> {
        let flow = reply::flush(&mut self.buffer, after, &mut connection.outbox, &mut connection.transport);
        if self.buffer.capacity() > KEPT_BYTES {
            self.buffer.shrink_to(KEPT_BYTES);
        }
        if matches!(flow, Ok(Flow::Blocked)) && connection.state != State::Receiving {
            connection.state = State::Sending;
        }
        flow
    }
}
