// SPDX-License-Identifier: Apache-2.0
//! WSGI applications (PEP 3333) by CPython's own interface.
//!
//! `serving` is what Python calls to become a worker; `environ`, `input`, `exchange` are what an application gets; here is
//! what becomes of what it gives back.

pub mod environ;
pub mod exchange;
pub mod file;
pub mod input;
pub mod object;
pub mod serving;
pub mod types;

use std::ptr::null_mut;

use pyo3_ffi::*;

use crate::http::{reject, response};
use crate::serve::reply::{Application, Body, Flow, Out, Outcome, Request};
use environ::Environ;
use exchange::Functions;
use input::Input;
use object::{
    Object, Raised, Result, Thread, bytes_of, detached, print_exception, runtime_error, take_raised, type_error,
};

/// What is the same for all threads that call the application.
pub struct Program {
    pub application: Object,
    pub file_wrapper: Object,
    /// `wsgi.errors`
    pub errors: Object,
    pub empty_input: Object,
    pub listeners: Vec<environ::Listener>,
    pub secure: bool,
    pub threads: bool,
    pub processes: bool,
}

/// What a thread calls the application with.
pub struct Wsgi {
    application: Object,
    file_wrapper: Object,
    errors: Object,
    environ: Environ,
    /// Of the last request, for the next.
    functions: Option<Functions>,
    /// The context that requests run in. One that is suspended keeps its own, so that what it set in context variables is
    /// not seen, and not reset, by another.
    context: Object,
    first_context: Object,
    /// Detached last.
    _thread: Option<Thread>,
}

/// A response that is not yet complete.
pub struct Response {
    functions: Functions,
    input: Option<Input>,
    iterable: Object,
    iterator: Option<Object>,
    /// What the connection's outbox points into.
    kept: Vec<Object>,
    context: Option<Object>,
    rest: Rest,
    /// While it is suspended.
    asked: (String, String),
}

/// Method and target, for reports of what failed.
#[derive(Clone, Copy)]
struct Asked<'a> {
    method: &'a str,
    target: &'a str,
}

impl<'a> Asked<'a> {
    fn kept((method, target): &'a (String, String)) -> Self {
        Self { method, target }
    }

    fn keep(self) -> (String, String) {
        (self.method.to_owned(), self.target.to_owned())
    }
}

impl std::fmt::Display for Asked<'_> {
    fn fmt(&self, into: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(into, "{} {}", self.method, self.target)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    Iterate,
    /// All of the body is on its way. `whole`: as long as was declared.
    Close {
        whole: bool,
    },
}

/// What a step towards a complete response leads to.
enum Step {
    Suspend,
    Complete,
    /// It cannot be completed.
    Break,
}

impl Wsgi {
    /// `thread`: attached for the calls, where the caller is not attached anyway.
    pub fn new(program: &Program, thread: Option<Thread>) -> Result<Self> {
        let setting = environ::Setting {
            listeners: &program.listeners,
            secure: program.secure,
            threads: program.threads,
            processes: program.processes,
            errors: &program.errors,
            file_wrapper: &program.file_wrapper,
            empty_input: &program.empty_input,
        };
        // SAFETY: the thread is attached; new references or null.
        let (first_context, context) = unsafe {
            let first = Object::owned(PyContext_CopyCurrent())?;
            let context = Object::owned(PyContext_Copy(first.as_ptr()))?;
            PyContext_Enter(context.as_ptr());
            (first, context)
        };
        Ok(Self {
            application: program.application.clone(),
            file_wrapper: program.file_wrapper.clone(),
            errors: program.errors.clone(),
            environ: Environ::new(&setting)?,
            functions: None,
            context,
            first_context,
            _thread: thread,
        })
    }

    fn start(&mut self, request: Request, out: &mut Out) -> Result<(Response, Result<Object>)> {
        let functions = match self.functions.take() {
            Some(functions) => functions,
            None => Functions::new()?,
        };
        // SAFETY: no Python code runs while this reference is in use.
        let exchange = unsafe { functions.get() };
        exchange.reset();
        exchange.attach(out);
        let Request { head, body, peer, listener } = request;
        let length = match &body {
            Body::Whole(bytes) => Some(bytes.len() as u64),
            Body::Collected(collected) => Some(collected.length()).filter(|_| head.has_body()),
            Body::None | Body::Streamed => None,
        };
        let length = length.filter(|_| head.framing == crate::http::head::Framing::Chunked);
        let empty =
            matches!(&body, Body::None) || matches!(&body, Body::Collected(collected) if collected.length() == 0);
        let input = if empty { None } else { Some(Input::new(body, out)?) };
        let request = Request { head, body: Body::None, peer, listener };
        let environ = self.environ.build(&request, input.as_ref().map(|input| &input.0), length)?;
        let arguments = [environ.as_ptr(), functions.start_response.as_ptr()];
        // SAFETY: two arguments; a new reference or null.
        let answer = unsafe {
            Object::owned(PyObject_Vectorcall(
                self.application.as_ptr(),
                arguments.as_ptr(),
                arguments.len(),
                null_mut(),
            ))
        };
        drop(environ);
        let response = Response {
            functions,
            input,
            iterable: Object::none(),
            iterator: None,
            kept: Vec::new(),
            context: None,
            rest: Rest::Iterate,
            asked: Default::default(),
        };
        Ok((response, answer))
    }

    fn go_on(&mut self, mut response: Response, asked: Asked, out: &mut Out) -> Outcome<Response> {
        let step = match response.rest {
            Rest::Iterate => self.answer(&mut response, out).unwrap_or_else(|Raised| self.fail(&response, asked, out)),
            Rest::Close { whole: true } => Step::Complete,
            Rest::Close { whole: false } => Step::Break,
        };
        match step {
            Step::Suspend => {
                // SAFETY: no Python code runs while this reference is in use.
                unsafe { response.functions.get() }.detach();
                Outcome::Suspended(response)
            }
            Step::Complete => {
                self.end(response, asked);
                Outcome::Done
            }
            Step::Break => {
                // SAFETY: as above.
                if unsafe { response.functions.get() }.ends_with_connection() {
                    out.reset_on_close();
                }
                self.end(response, asked);
                Outcome::Broken
            }
        }
    }

    fn answer(&mut self, response: &mut Response, out: &mut Out) -> Result<Step> {
        if response.iterator.is_none() {
            if is_sequence(&response.iterable) {
                return send_sequence(response, out);
            }
            if response.iterable.type_is(self.file_wrapper.as_ptr().cast()) {
                if let Some(step) = send_file(response, out)? {
                    return Ok(step);
                }
            }
            // SAFETY: a valid object; a new reference or null.
            response.iterator = Some(unsafe { Object::owned(PyObject_GetIter(response.iterable.as_ptr())) }?);
        }
        iterate(response, out)
    }

    /// An exception is set: it is reported and, while nothing of the response is sent, answered.
    fn fail(&mut self, response: &Response, asked: Asked, out: &mut Out) -> Step {
        self.report(&asked.to_string());
        out.facts.failed = true;
        // SAFETY: no Python code runs while this reference is in use.
        let exchange = unsafe { response.functions.get() };
        if exchange.begun {
            return Step::Break;
        }
        out.decide_keep_alive();
        let facts = &mut *out.facts;
        facts.status = 500;
        facts.body_bytes = response::write_answer(
            reject(500, "the application failed"),
            out.date_line,
            facts.keep_alive,
            facts.minor,
            facts.head_only,
            out.buffer,
        );
        Step::Complete
    }

    /// Writes the exception that is set to `wsgi.errors`.
    fn report(&self, what: &str) {
        let Some(exception) = take_raised() else { return };
        print_exception(&exception, &self.errors, &format!("wheat: the application failed at {what}\n"));
    }

    /// `close()`, whatever happened before; then everything is given back.
    fn end(&mut self, response: Response, asked: Asked) {
        if !is_sequence(&response.iterable) {
            let close = response.iterable.optional_attribute(c"close");
            let closed = close.and_then(|close| close.map_or(Ok(()), |close| close.call().map(drop)));
            if closed.is_err() {
                self.report(&format!("close() of {asked}"));
            }
        }
        let Response { functions, input, iterable, iterator, kept, .. } = response;
        drop((iterator, iterable, kept));
        // SAFETY: no Python code runs while this reference is in use.
        unsafe { functions.get() }.detach();
        if let Some(input) = input {
            input.attach(None);
        }
        if functions.are_unshared() {
            self.functions = Some(functions);
        }
    }

    /// Does something in the context of a response that was suspended.
    fn within<T>(&mut self, context: &Object, act: impl FnOnce(&mut Self) -> T) -> T {
        // SAFETY: a context; it is left in the thread that entered it.
        unsafe { PyContext_Enter(context.as_ptr()) };
        let done = act(self);
        // SAFETY: as above.
        unsafe { PyContext_Exit(context.as_ptr()) };
        done
    }

    /// The present context goes with a response that is suspended, and others get one of their own.
    fn split_context(&mut self) -> Option<Object> {
        // SAFETY: contexts; the present one is left where it was entered.
        unsafe {
            let fresh = Object::owned(PyContext_Copy(self.first_context.as_ptr())).ok()?;
            PyContext_Exit(self.context.as_ptr());
            PyContext_Enter(fresh.as_ptr());
            Some(std::mem::replace(&mut self.context, fresh))
        }
    }
}

impl Drop for Wsgi {
    fn drop(&mut self) {
        // SAFETY: entered by this thread, in `new` or `split_context`.
        unsafe { PyContext_Exit(self.context.as_ptr()) };
    }
}

impl Application for Wsgi {
    type Response = Response;

    fn wait<T>(&mut self, wait: impl FnOnce() -> T) -> T {
        detached(wait)
    }

    fn call(&mut self, request: Request, out: &mut Out) -> Outcome<Response> {
        let asked = Asked { method: request.head.method, target: request.head.raw_target };
        match self.start(request, out) {
            Err(Raised) => {
                // Not even the environ could be made: there is no memory.
                self.report("the beginning of a request");
                Outcome::Broken
            }
            Ok((mut response, answer)) => {
                let outcome = match answer {
                    Ok(iterable) => {
                        response.iterable = iterable;
                        self.go_on(response, asked, out)
                    }
                    Err(Raised) => {
                        let step = self.fail(&response, asked, out);
                        response.rest = Rest::Close { whole: matches!(step, Step::Complete) };
                        self.go_on(response, asked, out)
                    }
                };
                match outcome {
                    Outcome::Suspended(mut response) => {
                        response.asked = asked.keep();
                        if response.iterator.is_some() {
                            response.context = self.split_context();
                        }
                        Outcome::Suspended(response)
                    }
                    outcome => outcome,
                }
            }
        }
    }

    fn resume(&mut self, mut response: Response, out: &mut Out) -> Outcome<Response> {
        response.kept.clear();
        // SAFETY: no Python code runs while this reference is in use.
        unsafe { response.functions.get() }.attach(out);
        if let Some(input) = &response.input {
            input.attach(Some(out));
        }
        let names = std::mem::take(&mut response.asked);
        let asked = Asked::kept(&names);
        let context = response.context.take();
        let outcome = match &context {
            Some(context) => self.within(context, |this| this.go_on(response, asked, out)),
            None => self.go_on(response, asked, out),
        };
        match outcome {
            Outcome::Suspended(mut response) => {
                response.context = context;
                response.asked = names;
                Outcome::Suspended(response)
            }
            outcome => outcome,
        }
    }

    fn abandon(&mut self, mut response: Response) {
        let names = std::mem::take(&mut response.asked);
        let asked = Asked::kept(&names);
        match response.context.take() {
            Some(context) => self.within(&context, |this| this.end(response, asked)),
            None => self.end(response, asked),
        }
    }

    fn others_wait(&mut self) -> bool {
        // SAFETY: attached: the list of threads has at least this one.
        unsafe {
            let own = PyThreadState_Get();
            PyInterpreterState_ThreadHead(PyThreadState_GetInterpreter(own)) != own
                || !PyThreadState_Next(own).is_null()
        }
    }

    fn turn(&mut self) -> bool {
        // SAFETY: attached.
        if unsafe { PyErr_CheckSignals() } == 0 {
            return true;
        }
        self.report("a signal");
        false
    }
}

/// `list` or `tuple` themselves: their length is known, nothing of them is Python code, and they have no `close`.
fn is_sequence(object: &Object) -> bool {
    object.type_is(&raw mut PyList_Type) || object.type_is(&raw mut PyTuple_Type)
}

fn started(response: &Response) -> Result<()> {
    // SAFETY: no Python code runs while this reference is in use.
    if unsafe { response.functions.get() }.is_started() {
        return Ok(());
    }
    Err(runtime_error("the application did not call start_response"))
}

fn chunk_of(item: &Object) -> Result<&[u8]> {
    bytes_of(item).ok_or_else(|| {
        // SAFETY: a type's name is a C string as long as the type lives.
        let kind = unsafe { std::ffi::CStr::from_ptr((*Py_TYPE(item.as_ptr())).tp_name) };
        type_error(&format!("the application's iterable gave {}, not bytes", kind.to_string_lossy()))
    })
}

fn send_sequence(response: &mut Response, out: &mut Out) -> Result<Step> {
    started(response)?;
    // A list that another thread changes meanwhile is not what is sent.
    #[cfg(Py_GIL_DISABLED)]
    if response.iterable.type_is(&raw mut PyList_Type) {
        // SAFETY: a list; a new reference or null.
        response.iterable = unsafe { Object::owned(PyList_AsTuple(response.iterable.as_ptr())) }?;
    }
    let items = response.iterable.as_ptr();
    // SAFETY: a list or a tuple, which nobody changes: no Python code runs here.
    let (count, item) = unsafe {
        let is_list = PyList_CheckExact(items) != 0;
        let item = move |index| {
            Object::borrowed(if is_list { PyList_GET_ITEM(items, index) } else { PyTuple_GET_ITEM(items, index) })
        };
        (Py_SIZE(items), item)
    };
    let mut length = 0;
    for index in 0..count {
        length += chunk_of(&item(index))?.len() as u64;
    }
    // SAFETY: no Python code runs while this reference is in use.
    let exchange = unsafe { response.functions.get() };
    if !exchange.begun {
        exchange.begin(out, Some(length));
    }
    let mut flow = Flow::Clear;
    for index in 0..count {
        let chunk = item(index);
        // SAFETY: what is not sent is kept, below.
        match unsafe { exchange.send(out, bytes_of(&chunk).unwrap_or_default()) } {
            Err(_) => return Ok(Step::Break),
            Ok(Flow::Clear) => {}
            Ok(Flow::Blocked) => {
                response.kept.push(chunk);
                flow = Flow::Blocked;
            }
        }
    }
    Ok(finish(response, out, flow))
}

/// After the last piece. `flow`: whether something of the response is still in the outbox.
fn finish(response: &mut Response, out: &mut Out, flow: Flow) -> Step {
    // SAFETY: no Python code runs while this reference is in use.
    let whole = unsafe { response.functions.get() }.finish(out);
    match (flow, whole) {
        (Flow::Blocked, whole) => {
            // What is in the buffer goes behind it.
            if out.flush().is_err() {
                return Step::Break;
            }
            response.rest = Rest::Close { whole };
            Step::Suspend
        }
        (Flow::Clear, true) => Step::Complete,
        (Flow::Clear, false) => Step::Break,
    }
}

/// None: it is not a file that the kernel can send, and is iterated over.
fn send_file(response: &mut Response, out: &mut Out) -> Result<Option<Step>> {
    let filelike = response.iterable.attribute(c"filelike")?;
    let Some(file::Span { fd, offset, length }) = file::span(&filelike)? else { return Ok(None) };
    started(response)?;
    // SAFETY: no Python code runs while this reference is in use.
    let exchange = unsafe { response.functions.get() };
    if !exchange.begun {
        exchange.begin(out, Some(length));
    }
    if exchange.is_chunked() {
        return Ok(None); // `write` was called before, without a length
    }
    let length = exchange.allowed(length);
    exchange.count(out, length);
    response.kept.push(filelike);
    // SAFETY: the file is kept, and `close` is called when all of it is sent.
    Ok(Some(match unsafe { out.send_kept_file(fd, offset, length) } {
        Err(_) => Step::Break,
        Ok(flow) => finish(response, out, flow),
    }))
}

fn iterate(response: &mut Response, out: &mut Out) -> Result<Step> {
    let Some(iterator) = response.iterator.clone() else { return Ok(Step::Break) };
    loop {
        // SAFETY: no Python code runs while this reference is in use; it is taken anew after some did.
        let exchange = unsafe { response.functions.get() };
        if exchange.lost {
            return Ok(Step::Break);
        }
        if exchange.is_satisfied() {
            return Ok(Step::Complete);
        }
        // SAFETY: an iterator; a new reference, or null at the end or with an exception.
        let item = match unsafe { Object::owned(PyIter_Next(iterator.as_ptr())) } {
            Ok(item) => item,
            // SAFETY: attached.
            Err(Raised) if unsafe { PyErr_Occurred() }.is_null() => break,
            Err(Raised) => return Err(Raised),
        };
        let chunk = chunk_of(&item)?;
        started(response)?;
        if chunk.is_empty() {
            continue;
        }
        // SAFETY: as above.
        let exchange = unsafe { response.functions.get() };
        if !exchange.begun {
            exchange.begin(out, None);
        }
        // SAFETY: what is not sent is kept, below, or waited for.
        let sent = unsafe { exchange.send(out, chunk) }.and_then(|_| out.flush());
        match sent {
            Err(_) => return Ok(Step::Break),
            Ok(Flow::Clear) => {}
            Ok(Flow::Blocked) => match out.patience {
                Some(patience) => {
                    if detached(|| out.flush_waiting(patience)).is_err() {
                        return Ok(Step::Break);
                    }
                }
                None => {
                    response.kept.push(item);
                    return Ok(Step::Suspend);
                }
            },
        }
    }
    started(response)?;
    // SAFETY: as above.
    let exchange = unsafe { response.functions.get() };
    if !exchange.begun {
        exchange.begin(out, Some(0));
    }
    Ok(finish(response, out, Flow::Clear))
}
