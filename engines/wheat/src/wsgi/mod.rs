// SPDX-License-Identifier: Apache-2.0
//! Python applications, by CPython's own interface: those of WSGI (PEP 3333) and, in `plain`, of protocols that know bytes alone.
//!
//! `serving` is what Python calls to become a worker; `environ`, `input`, `exchange` are what an application gets; here is
//! what becomes of what it gives back.

pub mod environ;
pub mod exchange;
pub mod file;
pub mod hooks;
pub mod input;
pub mod modules;
pub mod object;
pub mod plain;
pub mod serving;
pub mod types;

use std::os::unix::fs::FileExt;
use std::sync::{Arc, PoisonError};

use pyo3_ffi::*;

use crate::clock::coarse_ns;
use crate::compress::Compression;
use crate::files;
use crate::http::head::Head;
use crate::http::reject;
use crate::layout::Of;
use crate::observe::notice::Notice;
use crate::serve::protocol::{Application, Outcome};
use crate::serve::protocols::http::Http;
use crate::serve::reply::{Body, Out, Request};
use environ::Environ;
use exchange::{Exchange, Functions};
use hooks::{Hooks, OfRequests};
use input::Input;
use modules::Modules;
use object::{
    Object, Raised, Result, Thread, bytes_of, detached, print_exception, runtime_error, take_raised, type_error,
};

/// What is the same for all threads that call the application.
pub struct Program {
    pub application: Object,
    pub file_wrapper: Object,
    pub hooks: Hooks,
    /// `wsgi.errors`
    pub errors: Object,
    pub empty_input: Object,
    pub listeners: Vec<environ::Listener>,
    pub compression: Option<Arc<Compression>>,
    /// `--internal`
    pub may_redirect: bool,
    /// `--reload`
    pub modules: Option<Arc<Modules>>,
    pub secure: bool,
    pub threads: bool,
    pub processes: bool,
}

/// What a thread calls the application with.
pub struct Wsgi {
    application: Object,
    file_wrapper: Object,
    hooks: Option<Box<OfRequests>>,
    errors: Object,
    environ: Environ,
    compression: Option<Arc<Compression>>,
    may_redirect: bool,
    modules: Option<Arc<Modules>>,
    /// Of the last request, for the next.
    functions: Option<Functions>,
    /// Detached last.
    _thread: Option<Thread>,
}

/// A response under way.
struct Response {
    functions: Functions,
    input: Option<Input>,
    iterable: Object,
    /// What the connection's outbox points into.
    held: Vec<Object>,
}

/// Method and target, for reports of what failed.
#[derive(Clone, Copy)]
struct Asked<'a> {
    method: &'a str,
    target: &'a str,
}

impl std::fmt::Display for Asked<'_> {
    fn fmt(&self, into: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(into, "{} {}", self.method, self.target)
    }
}

/// What became of a response.
enum Step {
    Complete,
    /// It is shorter than was declared.
    Short,
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
        Ok(Self {
            application: program.application.clone(),
            file_wrapper: program.file_wrapper.clone(),
            hooks: program.hooks.of_requests()?.map(Box::new),
            errors: program.errors.clone(),
            environ: Environ::new(&setting)?,
            compression: program.compression.clone(),
            may_redirect: program.may_redirect,
            modules: program.modules.clone(),
            functions: None,
            _thread: thread,
        })
    }

    fn start(&mut self, request: Request, out: &mut Out) -> Result<(Response, Result<Object>)> {
        let functions = match self.functions.take() {
            Some(functions) => functions,
            None => Functions::new(self.compression.as_ref(), self.may_redirect)?,
        };
        // SAFETY: no Python code runs while this reference is in use.
        let exchange = unsafe { functions.get() };
        let Request { head, body, origin, listener } = request;
        exchange.reset(head.headers);
        exchange.attach(out);
        let length = match &body {
            Body::Whole(bytes) => Some(bytes.len() as u64),
            Body::Collected(collected) => Some(collected.length()).filter(|_| head.has_body()),
            Body::None | Body::Streamed => None,
        };
        let length = length.filter(|_| head.framing == crate::http::head::Framing::Chunked);
        let empty =
            matches!(&body, Body::None) || matches!(&body, Body::Collected(collected) if collected.length() == 0);
        let input = if empty { None } else { Some(Input::new(body, out)?) };
        let request = Request { head, body: Body::None, origin, listener };
        let environ = self.environ.build(&request, input.as_ref().map(|input| &input.0), length)?;
        let hooked = self.hooks.as_mut().map_or(Ok(()), |hooks| hooks.before(&environ));
        let answer = hooked.and_then(|()| self.application.call_with_both(&environ, &functions.start_response));
        if let Some(named) = &mut out.named {
            named.look_up(Of::Environ, |name| variable(&environ, name));
        }
        drop(environ);
        Ok((Response { functions, input, iterable: Object::none(), held: Vec::new() }, answer))
    }

    fn answer(&mut self, response: &mut Response, out: &mut Out) -> Result<Step> {
        if is_sequence(&response.iterable) {
            return send_sequence(response, out);
        }
        if response.iterable.type_is(self.file_wrapper.as_ptr().cast()) {
            if let Some(step) = send_file(response, out)? {
                return Ok(step);
            }
        }
        iterate(response, out)
    }

    /// An exception is set: it is reported and, while nothing of the response is sent, answered.
    fn fail(&mut self, response: &Response, asked: Asked, out: &mut Out) -> Step {
        if out.facts.fault.is_some() {
            take_raised(); // a client that sent less than it said is no failure of the application
        } else {
            self.report(&asked.to_string());
            out.facts.failed = true;
        }
        // SAFETY: no Python code runs while this reference is in use.
        let exchange = unsafe { response.functions.get() };
        // With a redirect nothing has been written.
        if exchange.begun && exchange.redirect.take().is_none() {
            return Step::Break;
        }
        exchange.redirect = None;
        out.decide_keep_alive();
        out.refuse(out.facts.fault.unwrap_or(reject(500, "the application failed")));
        Step::Complete
    }

    /// The answer is the file that the application named in `X-Accel-Redirect`.
    #[cold]
    fn redirect(head: &Head, exchange: &mut Exchange, out: &mut Out) {
        let Some(target) = exchange.redirect.take() else { return };
        let (media_type, lines) = exchange.lines_beside_file();
        out.decide_keep_alive();
        let method: &[u8] = if out.facts.head_only { b"HEAD" } else { b"GET" };
        // What a client of another method asks is not about the file.
        let asked = if matches!(head.method, "GET" | "HEAD") { head.headers } else { &[] };
        let seconds = coarse_ns() / 1_000_000_000;
        let internal = out.means.internal.as_ref();
        let reply = internal.and_then(|files| {
            detached(|| files.lock().unwrap_or_else(PoisonError::into_inner).respond(method, &target, asked, seconds))
        });
        let Some(mut reply) = reply else {
            static NO_ROUTE: Notice = Notice::unsaid();
            let target = String::from_utf8_lossy(&target);
            NO_ROUTE
                .say(|| format!("the application answers X-Accel-Redirect: {target:?}, which is below no --internal"));
            return out.refuse(reject(404, "there is no such file"));
        };
        if reply.status < 400 {
            let own = reply.head.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            let is_replaced = reply.head.starts_with(b"Content-Type: ")
                && !reply.head.starts_with(b"Content-Type: multipart/byteranges");
            let media_type = media_type.filter(|_| is_replaced);
            let rest = if media_type.is_some() { &reply.head[own..] } else { &reply.head[..] };
            reply.head = files::Head::Made([media_type.as_deref().unwrap_or_default(), rest, &lines[..]].concat());
        }
        out.file(reply);
    }

    fn report(&self, what: &str) {
        report(&self.errors, what);
    }

    /// `close()`, whatever happened before; then everything is given back.
    fn end(&mut self, response: Response, asked: Asked) -> Vec<Object> {
        if !is_sequence(&response.iterable) {
            let close = response.iterable.optional_attribute(c"close");
            let closed = close.and_then(|close| close.map_or(Ok(()), |close| close.call().map(drop)));
            if closed.is_err() {
                self.report(&format!("close() of {asked}"));
            }
        }
        let Response { functions, input, iterable, held } = response;
        drop(iterable);
        // SAFETY: no Python code runs while this reference is in use.
        unsafe { functions.get() }.detach();
        if let Some(input) = input {
            input.attach(None);
        }
        if functions.are_unshared() {
            self.functions = Some(functions);
        }
        held
    }
}

impl Application for Wsgi {
    type Protocol = Http;
    type Held = Vec<Object>;

    fn wait<T>(&mut self, wait: impl FnOnce() -> T) -> T {
        detached(wait)
    }

    fn call(&mut self, request: Request, out: &mut Out) -> Outcome<Self::Held> {
        let head = request.head;
        let asked = Asked { method: head.method, target: head.raw_target };
        let Ok((mut response, answer)) = self.start(request, out) else {
            // Not even the environ could be made: there is no memory.
            self.report("the beginning of a request");
            return Outcome::Broken;
        };
        let answered = answer.and_then(|iterable| {
            response.iterable = iterable;
            self.answer(&mut response, out)
        });
        let step = answered.unwrap_or_else(|Raised| self.fail(&response, asked, out));
        // SAFETY: no Python code runs while this reference is in use.
        let exchange = unsafe { response.functions.get() };
        if exchange.redirect.is_some() {
            Self::redirect(head, exchange, out);
        }
        match step {
            Step::Break if exchange.ends_with_connection() => out.reset_on_close(),
            Step::Break => {}
            Step::Complete | Step::Short => {
                if let Some(breach) = exchange.breach() {
                    static BREACH: Notice = Notice::unsaid();
                    BREACH.say(|| format!("the application gave {breach} of its Content-Length at {asked}"));
                    out.facts.failed = true;
                }
            }
        }
        let held = self.end(response, asked);
        if let Some(modules) = &self.modules {
            modules.look();
        }
        if let Some(hooks) = &mut self.hooks {
            if hooks.after(out.facts.status).is_err() {
                self.report(&format!("on_response of {asked}"));
            }
        }
        match step {
            Step::Complete if held.is_empty() => Outcome::Done,
            Step::Complete => Outcome::Held(held),
            Step::Short | Step::Break if held.is_empty() => Outcome::Broken,
            Step::Short | Step::Break => {
                out.facts.keep_alive = false;
                Outcome::Held(held)
            }
        }
    }

    fn release(&mut self, held: Self::Held) {
        drop(held);
    }

    fn others_wait(&mut self) -> bool {
        has_other_threads()
    }

    fn turn(&mut self) -> bool {
        obeys_signals(&self.errors)
    }
}

/// Writes the exception that is set to `errors`, which is `wsgi.errors` to an application.
fn report(errors: &Object, what: &str) {
    let Some(exception) = take_raised() else { return };
    print_exception(&exception, errors, &format!("wheat: the application failed at {what}\n"));
}

/// Whether the interpreter has threads beside this one.
fn has_other_threads() -> bool {
    // SAFETY: attached: the list of threads has at least this one.
    unsafe {
        let own = PyThreadState_Get();
        PyInterpreterState_ThreadHead(PyThreadState_GetInterpreter(own)) != own || !PyThreadState_Next(own).is_null()
    }
}

/// Has Python handle the signals that came. False: a handler raised, and the worker is to end.
fn obeys_signals(errors: &Object) -> bool {
    // SAFETY: attached.
    if unsafe { PyErr_CheckSignals() } == 0 {
        return true;
    }
    report(errors, "a signal");
    false
}

/// A variable of an environ as text, in UTF-8.
fn variable(environ: &Object, name: &str) -> Option<Vec<u8>> {
    let text = |name: &str| -> Result<Option<Vec<u8>>> {
        let key = Object::interned(name)?;
        // SAFETY: a dictionary and a key; what is borrowed becomes a reference of its own before anything else happens.
        unsafe {
            let found = PyDict_GetItemWithError(environ.as_ptr(), key.as_ptr());
            if found.is_null() {
                return if PyErr_Occurred().is_null() { Ok(None) } else { Err(Raised) };
            }
            let text = Object::owned(PyObject_Str(Object::borrowed(found).as_ptr()))?;
            let encoded = Object::owned(PyUnicode_AsEncodedString(
                text.as_ptr(),
                c"utf-8".as_ptr(),
                c"backslashreplace".as_ptr(),
            ))?;
            Ok(bytes_of(&encoded).map(<[u8]>::to_vec))
        }
    };
    let found = text(name).and_then(|found| match found {
        None => text(&name.to_uppercase()),
        found => Ok(found),
    });
    found.unwrap_or_else(|Raised| {
        take_raised();
        None
    })
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
    for index in 0..count {
        let chunk = item(index);
        // SAFETY: it is held, if that is the answer.
        match unsafe { exchange.send(out, bytes_of(&chunk).unwrap_or_default(), true) } {
            Err(_) => return Ok(Step::Break),
            Ok(false) => {}
            Ok(true) => response.held.push(chunk),
        }
    }
    Ok(finish(response, out))
}

/// After the last piece.
fn finish(response: &mut Response, out: &mut Out) -> Step {
    // SAFETY: no Python code runs while this reference is in use.
    let Ok(whole) = unsafe { response.functions.get() }.finish(out) else { return Step::Break };
    // What is in the buffer goes behind what is in the outbox, which needs no turn of its own otherwise.
    if !response.held.is_empty() && out.flush().is_err() {
        return Step::Break;
    }
    if whole { Step::Complete } else { Step::Short }
}

/// None: it is not a file that the kernel can send, and is iterated over.
fn send_file(response: &mut Response, out: &mut Out) -> Result<Option<Step>> {
    let filelike = response.iterable.attribute(c"filelike")?;
    let Some(file::Span { file, offset, length }) = file::span(&filelike)? else { return Ok(None) };
    started(response)?;
    // SAFETY: no Python code runs while this reference is in use.
    let exchange = unsafe { response.functions.get() };
    if !exchange.begun {
        exchange.begin(out, Some(length));
    }
    if exchange.is_satisfied() {
        return Ok(Some(Step::Complete));
    }
    if exchange.is_packing {
        return Ok(Some(match pack_file(exchange, &file, offset, length, out) {
            Err(_) => Step::Break,
            Ok(()) => finish(response, out),
        }));
    }
    if exchange.is_chunked() {
        return Ok(None); // `write` was called before, without a length
    }
    let length = exchange.allowed(length);
    exchange.count(out, length);
    Ok(Some(match out.send_file(file, offset, length) {
        Err(_) => Step::Break,
        Ok(()) => finish(response, out),
    }))
}

/// What is compressed the kernel cannot send.
fn pack_file(
    exchange: &mut Exchange,
    file: &std::fs::File,
    mut offset: u64,
    mut left: u64,
    out: &mut Out,
) -> std::io::Result<()> {
    let mut block = vec![0; FILE_BLOCK.min(left as usize)];
    while left > 0 {
        let most = block.len().min(left as usize);
        let got = detached(|| file.read_at(&mut block[..most], offset))?;
        if got == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into()); // it became shorter
        }
        // SAFETY: nothing is held.
        unsafe { exchange.send(out, &block[..got], false)? };
        offset += got as u64;
        left -= got as u64;
    }
    Ok(())
}

/// Bytes of a file that are compressed in one go.
const FILE_BLOCK: usize = 64 << 10;

fn iterate(response: &mut Response, out: &mut Out) -> Result<Step> {
    // SAFETY: a valid object; a new reference or null.
    let iterator = unsafe { Object::owned(PyObject_GetIter(response.iterable.as_ptr())) }?;
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
        if exchange.push(out, chunk).is_err() {
            return Ok(Step::Break);
        }
    }
    started(response)?;
    // SAFETY: as above.
    let exchange = unsafe { response.functions.get() };
    if !exchange.begun {
        exchange.begin(out, Some(0));
    }
    Ok(finish(response, out))
}
