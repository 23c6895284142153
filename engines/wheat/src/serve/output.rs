// SPDX-License-Identifier: Apache-2.0
//! The buffer in which the event loop writes responses, shared by all connections: what a client does not take at once goes to
//! its outbox.

use std::io;

use super::connection::{Connection, State};
use super::outbox::Piece;
use super::pace::Pace;
use super::protocol::Application;
use super::reply::{self, COPIED, Flow, Means, Out};
use super::socket::After;
use crate::files;
use crate::http::date::DateLine;
use crate::http::{Rejection, response};

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
    /// What the application writes its response to.
    pub fn for_call<'a, A: Application>(
        &'a mut self,
        connection: &'a mut Connection<A>,
        means: &'a Means,
        pace: &'a Pace,
    ) -> Out<'a> {
        connection.out(&mut self.buffer, self.date.line(), means, pace, None)
    }

    /// Writes a response of the server's own, after which the connection may go on.
    pub fn answer<A: Application>(&mut self, connection: &mut Connection<A>, rejection: Rejection) {
        let facts = &mut connection.facts;
        facts.status = rejection.status;
        let (keep_alive, minor, head_only) = (facts.keep_alive, facts.minor, facts.head_only);
        facts.body_bytes =
            response::write_answer(rejection, self.date.line(), keep_alive, minor, head_only, &mut self.buffer);
    }

    pub fn file<A: Application>(&mut self, connection: &mut Connection<A>, reply: files::Reply) {
        connection.facts.status = reply.status;
        let from = self.buffer.len();
        response::write_status_line(reply.status, &mut self.buffer);
        self.buffer.extend_from_slice(self.date.line());
        response::write_connection(connection.facts.keep_alive, connection.facts.minor, &mut self.buffer);
        self.buffer.extend_from_slice(&reply.head);
        if let Some(named) = connection.entry.as_deref_mut().and_then(|entry| entry.named.as_mut()) {
            named.look_up_response(&self.buffer[from..]);
        }
        self.buffer.extend_from_slice(b"\r\n");
        match reply.body {
            files::Body::Empty => {}
            files::Body::One(piece) => self.file_piece(connection, piece),
            files::Body::Several(pieces) => pieces.into_iter().for_each(|piece| self.file_piece(connection, piece)),
        }
    }

    fn file_piece<A: Application>(&mut self, connection: &mut Connection<A>, piece: files::Piece) {
        connection.facts.body_bytes += piece.length();
        let piece = match piece {
            files::Piece::Bytes(bytes, range) if range.len() <= COPIED && connection.outbox.is_empty() => {
                return self.buffer.extend_from_slice(&bytes[range]);
            }
            files::Piece::Bytes(bytes, range) => Piece::Shared { bytes, from: range.start, to: range.end },
            files::Piece::File(file, range) => Piece::File { file, offset: range.start, left: range.end - range.start },
        };
        // The buffer goes before what is pushed to the outbox next.
        if !self.buffer.is_empty() {
            connection.outbox.push(Piece::Owned { bytes: self.buffer.clone(), from: 0 });
            self.buffer.clear();
        }
        connection.outbox.push(piece);
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
