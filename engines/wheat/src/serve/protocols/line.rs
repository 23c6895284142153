// SPDX-License-Identifier: Apache-2.0
//! A line for a line: a request is a line of UTF-8, and its answer is what the application gives for it.
//!
//! A line has no status. Counters and the access log have the one that HTTP would have. An answer of the server's own begins with
//! `error: `, and the connection ends after it.

use crate::clock::monotonic_ns;
use crate::config::Config;
use crate::error::Error;
use crate::http::{Rejection, reject};
use crate::observe::format::Entry;
use crate::serve::caller::Caller;
use crate::serve::connection::Connection;
use crate::serve::protocol::{Application, Message, Outcome, Place, Protocol, Work};
use crate::serve::reply::{Facts, Means, Out};
use crate::serve::requests::{Next, Reader, Requests};

pub struct Line {
    /// Longest line, without its end.
    limit: usize,
}

/// So many bytes of a connection are known to hold no line end.
#[derive(Default)]
pub struct Searched(usize);

const TOO_LONG: Rejection = reject(414, "the line is too long");
const NO_TEXT: Rejection = reject(400, "the line is not UTF-8");

impl Protocol for Line {
    const ALPN: Option<&'static [u8]> = None;
    type Request<'a> = Message<'a>;
    type Work = Vec<u8>;
    type Pending = Searched;

    fn call<A: Application<Protocol = Self>>(
        application: &mut A,
        line: Vec<u8>,
        _: Place,
        out: &mut Out,
    ) -> Outcome<A::Held> {
        application.call(Message { bytes: &line, frame }, out)
    }

    fn refuse(rejection: Rejection, out: &mut Out) {
        let line = [b"error: ", rejection.reason.as_bytes(), b"\n"].concat();
        out.buffer.extend_from_slice(&line);
        out.facts.body_bytes = line.len() as u64;
    }
}

impl Reader for Line {
    fn new(config: &Config, _: &Means) -> Result<Self, Error> {
        Ok(Self { limit: config.limits.line })
    }

    fn take<A: Application<Protocol = Self>>(
        requests: &mut Requests<A>,
        connection: &mut Connection<A>,
        input: &mut &[u8],
        _seen: usize,
    ) -> Next<A> {
        let limit = requests.protocol.limit;
        loop {
            let bytes = *input;
            let Searched(from) = connection.pending;
            let Some(end) = memchr::memchr(b'\n', &bytes[from..]).map(|at| from + at) else {
                if bytes.len() > limit + 1 {
                    return requests.refuse_with(connection, TOO_LONG);
                }
                connection.pending = Searched(bytes.len());
                break;
            };
            let line = &bytes[..end];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            *input = &bytes[end + 1..];
            connection.pending = Searched(0);
            connection.head_ended();
            // The client may be sending more, which closing would answer by a reset, and that would destroy the last answer.
            connection.linger = true;
            let refusal = if line.len() > limit { Some(TOO_LONG) } else { None };
            let refusal = refusal.or_else(|| std::str::from_utf8(line).is_err().then_some(NO_TEXT));
            if let Some(refusal) = refusal {
                return requests.refuse_with(connection, refusal);
            }
            connection.facts = Facts { keep_alive: !requests.ending, ..Facts::default() };
            requests.slot.requests.add(1);
            if requests.log.is_some() {
                let (peer, target, began_ns) = (connection.peer.address, line.to_vec(), Some(monotonic_ns()));
                connection.entry = Some(Box::new(Entry { peer, target, began_ns, ..Entry::default() }));
            }
            let step = requests.guarded(connection, |requests, connection| match requests.caller {
                Caller::Pool(_) => requests.dispatch(connection, Work { request: line.to_vec(), streamed: None }),
                _ => requests.call(connection, Message { bytes: line, frame }),
            });
            if let Some(next) = requests.stops(connection, step) {
                return next;
            }
        }
        requests.end_of_input(connection)
    }
}

/// An answer ends as a line does; one that has several lines is the application's own matter.
fn frame(answer: &[u8], _before: &mut Vec<u8>) -> &'static [u8] {
    if answer.ends_with(b"\n") { b"" } else { b"\n" }
}
