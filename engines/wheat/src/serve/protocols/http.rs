// SPDX-License-Identifier: Apache-2.0
//! HTTP/1.0 and 1.1: requests with a head and perhaps a body, answered from files or by a WSGI application.

use crate::clock::monotonic_ns;
use crate::config::{Config, Input};
use crate::error::Error;
use crate::files::Files;
use crate::http::head::{self, Framing, Head, HeadLimits, Target};
use crate::http::{Rejection, reject, response};
use crate::serve::caller::Caller;
use crate::serve::connection::{Connection, State};
use crate::serve::incoming::{Collected, Delimiter, Incoming};
use crate::serve::protocol::{Application, Outcome, Place, Protocol, Work};
use crate::serve::reply::{Body, Facts, Means, Out, Request, Streamed};
use crate::serve::requests::{Next, Reader, Requests, Step};

pub struct Http {
    files: Option<Files>,
    limits: HeadLimits,
    is_secure: bool,
}

/// A head for a thread, and its body, unless that is read as it comes.
pub struct Asked {
    head: Vec<u8>,
    body: Option<Collected>,
    limits: HeadLimits,
}

#[derive(Default)]
pub struct Pending {
    /// A head that is incomplete is parsed again when it is this long, or when it has an end.
    parse_again_at: usize,
    receiving: Option<Box<Receiving>>,
}

/// A request whose head is complete and whose body is not.
struct Receiving {
    head: Vec<u8>,
    incoming: Incoming,
}

impl Protocol for Http {
    const ALPN: Option<&'static [u8]> = Some(b"http/1.1");
    type Request<'a> = Request<'a>;
    type Work = Asked;
    type Pending = Pending;

    fn call<A: Application<Protocol = Self>>(
        application: &mut A,
        work: Asked,
        place: Place,
        out: &mut Out,
    ) -> Outcome<A::Held> {
        let mut storage = head::storage();
        let Ok(Some(head)) = head::parse(&work.head, &mut storage, &work.limits) else {
            return Outcome::Broken; // it was parsed before
        };
        let body = work.body.map_or(Body::Streamed, Body::Collected);
        let origin = out.means.origin(&head, place.peer);
        application.call(Request { head: &head, body, origin, listener: place.listener }, out)
    }

    fn refuse(rejection: Rejection, out: &mut Out) {
        // What is known may be of the request before this one, which was not read.
        let facts = *out.facts;
        *out.facts = Facts { minor: 1, head_only: false, ..facts };
        out.refuse(rejection);
        let Facts { status, body_bytes, .. } = *out.facts;
        *out.facts = Facts { status, body_bytes, ..facts };
    }
}

impl Reader for Http {
    fn new(config: &Config, means: &Means) -> Result<Self, Error> {
        let files = Files::public(config, &means.pages)?;
        Ok(Self { files, limits: HeadLimits::of(&config.limits), is_secure: config.tls.is_some() })
    }

    fn take<A: Application<Protocol = Self>>(
        requests: &mut Requests<A>,
        connection: &mut Connection<A>,
        input: &mut &[u8],
        seen: usize,
    ) -> Next<A> {
        requests.take_requests(connection, input, seen)
    }
}

impl<A: Application<Protocol = Http>> Requests<'_, A> {
    /// `seen`: bytes of the input that an incomplete head was looked for in before.
    fn take_requests(&mut self, connection: &mut Connection<A>, input: &mut &[u8], mut seen: usize) -> Next<A> {
        loop {
            let step = if connection.pending.receiving.is_some() {
                match self.take_body(connection, input) {
                    Ok(None) => break,
                    Ok(Some(step)) => step,
                    Err(rejection) => return self.refuse_with(connection, rejection),
                }
            } else {
                if input.is_empty() || (input.len() < connection.pending.parse_again_at && !ends_head(input, seen)) {
                    break;
                }
                let mut bytes = *input;
                let later;
                let (mut storage, mut again) = (head::storage(), head::storage());
                let mut parsed = head::parse(bytes, &mut storage, &self.protocol.limits);
                if matches!(&parsed, Err(rejection) if rejection.status == 505) {
                    if let Some(known) = head::as_http_1_1(bytes) {
                        later = known;
                        bytes = &later;
                        parsed = head::parse(bytes, &mut again, &self.protocol.limits);
                    }
                }
                match parsed {
                    Ok(None) => {
                        connection.pending.parse_again_at = (input.len() * 2).min(self.protocol.limits.head + 1);
                        break;
                    }
                    Err(rejection) => return self.refuse_with(connection, rejection),
                    Ok(Some(head)) => {
                        *input = &input[head.length..];
                        connection.pending.parse_again_at = 0;
                        connection.head_ended();
                        seen = 0;
                        match self.take_head(connection, &head, &bytes[..head.length], input) {
                            Ok(step) => step,
                            Err(rejection) => return self.refuse_with(connection, rejection),
                        }
                    }
                }
            };
            if let Some(next) = self.stops(connection, step) {
                return next;
            }
        }
        self.end_of_input(connection)
    }

    fn take_head(
        &mut self,
        connection: &mut Connection<A>,
        head: &Head,
        head_bytes: &[u8],
        input: &mut &[u8],
    ) -> Result<Step<A>, Rejection> {
        connection.facts = Facts {
            keep_alive: head.keep_alive && !self.ending,
            minor: head.minor,
            head_only: head.method == "HEAD",
            ..Facts::default()
        };
        self.slot.requests.add(1);
        let origin = self.means.origin(head, connection.peer);
        if let Some(log) = &self.log {
            connection.entry = Some(Box::new(log.format.entry(head, origin.address, monotonic_ns())));
        }
        if head.is_https && !origin.is_secure.unwrap_or(self.protocol.is_secure) {
            // RFC 9110, 7.4
            return Err(reject(421, "https is not spoken on this connection"));
        }
        if !head.has_body() {
            return Ok(self.answer(connection, head, head_bytes, Body::None, input.is_empty()));
        }
        let limit = self.config.limits.body as u64;
        // WSGI tells a length before the body: one in chunks is collected first.
        let is_streamed = self.config.input == Input::Streamed && matches!(head.framing, Framing::Length(_));
        if is_streamed && matches!(self.caller, Caller::Pool(_)) {
            let delimiter = Delimiter::new(head.framing, limit)?;
            let ahead = std::mem::take(input).to_vec();
            let expects_continue = head.expects_continue && ahead.is_empty();
            let streamed = Streamed::new(delimiter, ahead, expects_continue, self.config.deadlines.body);
            return Ok(self.hand_over(connection, head_bytes, None, Some(streamed)));
        }
        if let Framing::Length(length) = head.framing {
            if length > limit {
                return Err(reject(413, "the body is too large"));
            }
            if length <= input.len() as u64 {
                let (body, rest) = input.split_at(length as usize);
                *input = rest;
                return Ok(self.answer(connection, head, head_bytes, Body::Whole(body), rest.is_empty()));
            }
        }
        let incoming = Incoming::new(head.framing, limit, self.means.room.clone())?;
        if head.expects_continue && input.is_empty() {
            self.output.buffer.extend_from_slice(response::CONTINUE);
        }
        connection.pending.receiving = Some(Box::new(Receiving { head: head_bytes.to_vec(), incoming }));
        connection.state = State::Receiving;
        connection.received = 0;
        Ok(Step::Answered)
    }

    /// None: the body is not yet whole.
    fn take_body(&mut self, connection: &mut Connection<A>, input: &mut &[u8]) -> Result<Option<Step<A>>, Rejection> {
        let Some(receiving) = &mut connection.pending.receiving else { return Ok(None) };
        if !receiving.incoming.take(input)? {
            return Ok(None);
        }
        let Some(receiving) = connection.pending.receiving.take() else { return Ok(None) };
        connection.state = State::Reading;
        let Receiving { head: head_bytes, incoming } = *receiving;
        let mut storage = head::storage();
        let Some(head) = head::parse(&head_bytes, &mut storage, &self.protocol.limits)? else { return Ok(None) };
        let body = Body::Collected(incoming.collected());
        Ok(Some(self.answer(connection, &head, &head_bytes, body, input.is_empty())))
    }

    /// `last`: no further request has been received.
    fn answer(
        &mut self,
        connection: &mut Connection<A>,
        head: &Head,
        head_bytes: &[u8],
        body: Body,
        last: bool,
    ) -> Step<A> {
        if !connection.facts.keep_alive && !last {
            connection.linger = true;
        }
        self.guarded(connection, |requests, connection| {
            let reply = match (&mut requests.protocol.files, head.target) {
                (Some(files), Target::Path(path)) => {
                    let now = requests.now_ns / 1_000_000_000;
                    files.respond(head.method.as_bytes(), path.as_bytes(), head.headers, now)
                }
                _ => None,
            };
            if let Some(reply) = reply {
                requests.way_out(connection).file(reply);
                return requests.step(connection, Outcome::Done);
            }
            match requests.caller {
                Caller::None => {
                    requests.way_out(connection).refuse(reject(404, "nothing is served here"));
                    requests.step(connection, Outcome::Done)
                }
                Caller::Pool(_) => {
                    let body = match body {
                        Body::None | Body::Streamed => Collected::Memory(Vec::new()),
                        Body::Whole(bytes) => Collected::Memory(bytes.to_vec()),
                        Body::Collected(collected) => collected,
                    };
                    requests.hand_over(connection, head_bytes, Some(body), None)
                }
                Caller::Inline(_) => {
                    let origin = requests.means.origin(head, connection.peer);
                    requests.call(connection, Request { head, body, origin, listener: connection.listener })
                }
            }
        })
    }

    fn hand_over(
        &mut self,
        connection: &mut Connection<A>,
        head: &[u8],
        body: Option<Collected>,
        streamed: Option<Streamed>,
    ) -> Step<A> {
        let request = Asked { head: head.to_vec(), body, limits: self.protocol.limits };
        self.dispatch(connection, Work { request, streamed })
    }
}

/// Stands for the application in workers that serve files alone.
pub enum NoApplication {}

impl Application for NoApplication {
    type Protocol = Http;
    type Held = std::convert::Infallible;
    fn wait<T>(&mut self, _: impl FnOnce() -> T) -> T {
        match *self {}
    }
    fn others_wait(&mut self) -> bool {
        match *self {}
    }
    fn call(&mut self, _: Request, _: &mut Out) -> Outcome<Self::Held> {
        match *self {}
    }
    fn release(&mut self, held: Self::Held) {
        match held {}
    }
    fn turn(&mut self) -> bool {
        match *self {}
    }
}

/// Whether a head may end in the bytes beyond those that were `seen`: an empty line, however it is written.
fn ends_head(bytes: &[u8], seen: usize) -> bool {
    let from = seen.saturating_sub(3).min(bytes.len());
    let fresh = &bytes[from..];
    memchr::memchr_iter(b'\n', fresh).any(|at| matches!(fresh[at + 1..], [b'\n', ..] | [b'\r', b'\n', ..]))
}
