// SPDX-License-Identifier: Apache-2.0
//! What connections and threads know of a protocol, and of the application that it is for. `requests::Reader` is what the event loop
//! knows of it; `protocols` has a file for each.

use super::reply::{Out, Peer, Streamed};
use crate::http::Rejection;

/// What the bytes of a connection mean. Sockets, TLS, deadlines, limits of memory, threads, counters, the access log and reloads are
/// the same for all protocols.
pub trait Protocol: Sized + 'static {
    /// Its registered name within TLS (RFC 7301), if it has one.
    const ALPN: Option<&'static [u8]>;
    /// What an application is called with.
    type Request<'a>;
    /// A request that waits for a thread, with all that `call` needs.
    type Work: Send;
    /// What a connection keeps of a request that is not whole, beside its bytes.
    type Pending: Default + Send;

    /// Calls the application, in a thread.
    fn call<A: Application<Protocol = Self>>(
        application: &mut A,
        work: Self::Work,
        place: Place,
        out: &mut Out,
    ) -> Outcome<A::Held>;

    /// Writes an answer of the server's own, after which the connection ends, and notes the length of its body.
    fn refuse(rejection: Rejection, out: &mut Out);
}

/// Where a request came from.
#[derive(Clone, Copy)]
pub struct Place {
    pub peer: Peer,
    /// Which of the worker's listeners accepted it.
    pub listener: usize,
}

/// A request for a thread.
pub struct Work<A: Application> {
    pub request: <A::Protocol as Protocol>::Work,
    /// The body, where the application reads it as it comes.
    pub streamed: Option<Streamed>,
}

/// A request of a protocol whose applications get bytes and give bytes.
pub struct Message<'a> {
    pub bytes: &'a [u8],
    pub frame: Frame,
}

/// Writes what stands before an answer, and gives what stands behind it.
pub type Frame = fn(answer: &[u8], before: &mut Vec<u8>) -> &'static [u8];

/// How far a response has come.
pub enum Outcome<R> {
    /// The application is done, and all of it is in the buffer, sent, or in the outbox.
    Done,
    /// As `Done`, and what the outbox points into is given back when that is empty.
    Held(R),
    /// It cannot be completed: the connection ends so that the client can tell.
    Broken,
}

/// What calls an application. Each thread that calls has its own.
pub trait Application: 'static {
    type Protocol: Protocol;
    /// What keeps bytes of a response alive that wait for their client.
    type Held: Send + 'static;

    /// Lets others run (the interpreter's other threads) while this thread waits.
    fn wait<T>(&mut self, wait: impl FnOnce() -> T) -> T;

    /// Whether there are others: then the event loop looks for work before it lets them run, since it may have to wait for
    /// its turn to come back.
    fn others_wait(&mut self) -> bool;

    /// To the end of the response, however slow its client is: what that does not take is kept, or waited for.
    fn call(&mut self, request: <Self::Protocol as Protocol>::Request<'_>, out: &mut Out) -> Outcome<Self::Held>;

    fn release(&mut self, held: Self::Held);

    /// Does what is due between two turns of the event loop. False: the worker is to end.
    fn turn(&mut self) -> bool;
}
