// SPDX-License-Identifier: Apache-2.0
//! Applications that are called with the bytes of a request and give the bytes of its answer.

use std::marker::PhantomData;

use super::object::{Object, Raised, Result, Thread, bytes_of, detached, type_error};
use super::{Program, has_other_threads, obeys_signals, report};
use crate::http::reject;
use crate::serve::protocol::{Application, Frame, Message, Outcome, Protocol};
use crate::serve::reply::{COPIED, Out};

/// What a thread calls the application of the protocol `P` with.
pub struct Plain<P> {
    application: Object,
    errors: Object,
    protocol: PhantomData<P>,
    /// Detached last.
    _thread: Option<Thread>,
}

impl<P> Plain<P> {
    /// `thread`: attached for the calls, where the caller is not attached anyway.
    pub fn new(program: &Program, thread: Option<Thread>) -> Result<Self> {
        let (application, errors) = (program.application.clone(), program.errors.clone());
        Ok(Self { application, errors, protocol: PhantomData, _thread: thread })
    }

    fn answer(&self, request: &[u8]) -> Result<Object> {
        let answer = self.application.call_with(&Object::bytes(request)?)?;
        match bytes_of(&answer) {
            Some(_) => Ok(answer),
            None => Err(type_error("the application gave something that is not bytes")),
        }
    }
}

impl<P: for<'a> Protocol<Request<'a> = Message<'a>>> Application for Plain<P> {
    type Protocol = P;
    type Held = Object;

    fn wait<T>(&mut self, wait: impl FnOnce() -> T) -> T {
        detached(wait)
    }

    fn others_wait(&mut self) -> bool {
        has_other_threads()
    }

    fn call(&mut self, message: Message<'_>, out: &mut Out) -> Outcome<Self::Held> {
        match self.answer(message.bytes) {
            Ok(answer) => send(answer, message.frame, out),
            Err(Raised) => {
                report(&self.errors, &format!("{:?}", String::from_utf8_lossy(message.bytes)));
                let failed = reject(500, "the application failed");
                out.facts.failed = true;
                out.facts.keep_alive = false;
                out.facts.status = failed.status;
                P::refuse(failed, out);
                Outcome::Done
            }
        }
    }

    fn release(&mut self, held: Self::Held) {
        drop(held);
    }

    fn turn(&mut self) -> bool {
        obeys_signals(&self.errors)
    }
}

fn send(answer: Object, frame: Frame, out: &mut Out) -> Outcome<Object> {
    let bytes = bytes_of(&answer).unwrap_or_default();
    let tail = frame(bytes, out.buffer);
    out.facts.status = 200;
    out.facts.body_bytes = (bytes.len() + tail.len()) as u64;
    if bytes.len() <= COPIED {
        out.buffer.extend_from_slice(bytes);
        out.buffer.extend_from_slice(tail);
        return Outcome::Done;
    }
    let is_held = match out.offer(bytes, tail) {
        Ok(None) => Ok(false),
        // SAFETY: the answer is held, if this says so.
        Ok(Some(taken)) => detached(|| unsafe { out.hold(taken, bytes, tail) }),
        Err(error) => Err(error),
    };
    match is_held {
        Ok(true) => Outcome::Held(answer),
        Ok(false) => Outcome::Done,
        Err(_) => Outcome::Broken,
    }
}
