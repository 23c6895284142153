// SPDX-License-Identifier: Apache-2.0
//! One request's `start_response` and `write`, and the response that they and the application's iterable make.

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::io;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use pyo3_ffi::*;

use super::object::{
    Object, Raised, Result, bytes_of, callback, detached, latin1_of, raise, runtime_error, thread_mark, type_error,
    value_error,
};
use crate::compress::encoder::Compressor;
use crate::compress::{Compression, headers};
use crate::http::{head, is_token, is_token_byte, response};
use crate::options::Coding;
use crate::serve::reply::{COPIED, Out};

/// What is between an application and its client for one request.
pub struct Exchange {
    /// The way out, while the application is called.
    out: *mut Out<'static>,
    /// The one that answers the request: no other may.
    thread: usize,
    /// Status line and fields as the application gave them; empty before it did.
    head: Vec<u8>,
    status: u16,
    declared_length: Option<u64>,
    has_date: bool,
    /// The head is on its way and can no longer be replaced.
    pub begun: bool,
    framing: Framing,
    /// Bytes of the body so far.
    sent: u64,
    /// The application gave more than it had declared.
    is_over: bool,
    /// The connection is lost.
    pub lost: bool,
    /// Whether `--compress` or `--internal` is said: without them a request costs no more for that there are such things.
    is_special: bool,
    /// Where `--compress` is said.
    packer: Option<Box<Packer>>,
    /// What the application gives is compressed.
    pub is_packing: bool,
    /// Where `--internal` is said.
    may_redirect: bool,
    /// What `X-Accel-Redirect` names: a file is the answer, and the body is none.
    pub redirect: Option<Vec<u8>>,
}

/// What bodies are compressed with.
struct Packer {
    compressor: Compressor,
    /// What the client of this request likes best.
    accepts: Coding,
    /// Compressed and not yet on its way.
    packed: Vec<u8>,
}

/// Bodies up to this length that are there as a whole are compressed before their head is written, which then has their length.
const WHOLE_BYTES: u64 = 1 << 20;
/// What is compressed in one go.
const PIECE_BYTES: usize = 64 << 10;
/// Compressed bytes that are sent together.
const PACKED_BYTES: usize = 16 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    /// What the application gives is thrown away: HEAD, 204, 304.
    Nothing,
    Length(u64),
    Chunked,
    /// The body goes on until the connection ends.
    Close,
    /// Compressed as a whole: its head is written when its length is known.
    Packed,
}

/// The Python object that `start_response` and `write` are bound to.
#[repr(C)]
struct ExchangeObject {
    /// Python's own part.
    base: PyObject,
    /// Set while `start_response` or `write` are under way: another thread's call is refused.
    entered: AtomicBool,
    /// Borrowed from the `Functions`; null once they are gone.
    write: AtomicPtr<PyObject>,
    exchange: UnsafeCell<Exchange>,
}

/// An exchange with its two functions; made anew only when an application keeps one of them.
pub struct Functions {
    exchange: Object,
    pub start_response: Object,
    write: Object,
}

impl Drop for Functions {
    fn drop(&mut self) {
        self.object().write.store(null_mut(), Ordering::Relaxed);
    }
}

impl Functions {
    pub fn new(compression: Option<&Arc<Compression>>, may_redirect: bool) -> Result<Self> {
        // SAFETY: the type is made once, attached; the object is initialised before anybody sees it.
        unsafe {
            let kind = exchange_type()?;
            let allocate = (*kind).tp_alloc.ok_or(Raised)?;
            let object = Object::owned(allocate(kind, 0))?;
            let fields = object.as_ptr().cast::<ExchangeObject>();
            (&raw mut (*fields).entered).write(AtomicBool::new(false));
            (&raw mut (*fields).write).write(AtomicPtr::new(null_mut()));
            (&raw mut (*fields).exchange).write(UnsafeCell::new(Exchange::new(compression, may_redirect)));
            let start_response = function(&raw mut START_RESPONSE, object.as_ptr())?;
            let write = function(&raw mut WRITE, object.as_ptr())?;
            (*fields).write.store(write.as_ptr(), Ordering::Relaxed);
            Ok(Self { exchange: object, start_response, write })
        }
    }

    /// Whether the application has kept none of them.
    pub fn are_unshared(&self) -> bool {
        // SAFETY: a valid object; the two functions hold the other two references.
        let of_exchange = unsafe { Py_REFCNT(self.exchange.as_ptr()) };
        of_exchange == 3 && self.start_response.is_unshared() && self.write.is_unshared()
    }

    /// # Safety
    /// No other reference to the exchange is in use: none is held over a call into Python.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn get(&self) -> &mut Exchange {
        // SAFETY: an object of our type, and the caller's promise.
        unsafe { &mut *self.object().exchange.get() }
    }

    fn object(&self) -> &ExchangeObject {
        // SAFETY: an object of our type, which nobody but its deallocation takes apart.
        unsafe { &*self.exchange.as_ptr().cast() }
    }
}

impl Exchange {
    fn new(compression: Option<&Arc<Compression>>, may_redirect: bool) -> Self {
        let packer = |compression: &Arc<Compression>| {
            let compressor = Compressor::new(compression.clone());
            Box::new(Packer { compressor, accepts: Coding::Identity, packed: Vec::new() })
        };
        Self {
            out: null_mut(),
            thread: 0,
            head: Vec::new(),
            status: 0,
            declared_length: None,
            has_date: false,
            begun: false,
            framing: Framing::Nothing,
            sent: 0,
            is_over: false,
            lost: false,
            is_special: compression.is_some() || may_redirect,
            packer: compression.map(packer),
            is_packing: false,
            may_redirect,
            redirect: None,
        }
    }

    /// Makes it ready for the next request, which has these headers.
    pub fn reset(&mut self, headers: &[httparse::Header]) {
        if self.is_special {
            self.reset_special(headers);
        }
        self.head.clear();
        self.head.shrink_to(4 << 10);
        self.status = 0;
        self.declared_length = None;
        self.has_date = false;
        self.begun = false;
        self.sent = 0;
        self.is_over = false;
        self.lost = false;
    }

    #[cold]
    fn reset_special(&mut self, headers: &[httparse::Header]) {
        if let Some(packer) = &mut self.packer {
            packer.accepts = packer.compressor.compression.choose(headers);
            packer.packed.clear();
            packer.packed.shrink_to(PIECE_BYTES);
        }
        self.is_packing = false;
        self.redirect = None;
    }

    pub fn is_started(&self) -> bool {
        self.status != 0
    }

    /// Where `write` writes to, until `detach`.
    pub fn attach(&mut self, out: &mut Out) {
        self.out = std::ptr::from_mut(out).cast();
        self.thread = thread_mark();
    }

    pub fn detach(&mut self) {
        self.out = null_mut();
    }

    /// Whether nothing that the application may still give goes to the client.
    pub fn is_satisfied(&self) -> bool {
        self.begun && self.framing == Framing::Nothing
    }

    /// The head goes to the buffer. `length`: of the body, where the server knows it and the application did not say.
    pub fn begin(&mut self, out: &mut Out, length: Option<u64>) {
        out.decide_keep_alive();
        self.begun = true;
        if self.is_special && self.begin_special(out, length) {
            return;
        }
        let facts = &mut *out.facts;
        facts.status = self.status;
        let bodiless = matches!(self.status, 204 | 304);
        let mut known = None;
        self.framing = match (self.declared_length, length) {
            _ if facts.head_only || bodiless => {
                known = length.filter(|_| self.declared_length.is_none() && !bodiless);
                Framing::Nothing
            }
            (Some(declared), _) => Framing::Length(declared),
            (None, Some(length)) => {
                known = Some(length);
                Framing::Length(length)
            }
            (None, None) if facts.minor >= 1 => Framing::Chunked,
            (None, None) => {
                facts.keep_alive = false;
                Framing::Close
            }
        };
        self.write_head(out, known);
    }

    #[inline(always)]
    fn write_head(&self, out: &mut Out, length: Option<u64>) {
        let buffer = &mut *out.buffer;
        let from = buffer.len();
        buffer.extend_from_slice(&self.head);
        if !self.has_date {
            buffer.extend_from_slice(out.date_line);
        }
        if !out.means.lines.is_empty() {
            buffer.extend_from_slice(out.means.lines.as_bytes());
        }
        if let Some(length) = length {
            buffer.extend_from_slice(b"Content-Length: ");
            buffer.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
            buffer.extend_from_slice(b"\r\n");
        } else if self.framing == Framing::Chunked {
            buffer.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
        }
        response::write_connection(out.facts.keep_alive, out.facts.minor, buffer);
        if let Some(named) = &mut out.named {
            named.look_up_response(&buffer[from..]);
        }
        buffer.extend_from_slice(b"\r\n");
    }

    /// Whether that was all: a file is the answer, or the body is compressed.
    #[cold]
    fn begin_special(&mut self, out: &mut Out, length: Option<u64>) -> bool {
        if self.redirect.is_some() {
            self.framing = Framing::Nothing;
            return true;
        }
        if !self.is_coded(out.facts.head_only, length) {
            return false;
        }
        let facts = &mut *out.facts;
        facts.status = self.status;
        self.is_packing = !facts.head_only;
        self.framing = match length {
            _ if facts.head_only => Framing::Nothing,
            Some(length) if length <= WHOLE_BYTES => Framing::Packed,
            _ if facts.minor >= 1 => Framing::Chunked,
            _ => {
                facts.keep_alive = false;
                Framing::Close
            }
        };
        if self.framing != Framing::Packed {
            self.write_head(out, None);
        }
        true
    }

    /// Whether the body is compressed, which the head then says. `length`: of the body, where the server knows it.
    fn is_coded(&mut self, head_only: bool, length: Option<u64>) -> bool {
        let Some(packer) = &mut self.packer else { return false };
        let accepts = packer.accepts;
        if self.status == 304 && accepts != Coding::Identity {
            // It may be about a compressed body; a tag that is weak is as good for one that was not.
            self.head = headers::rewrite(&self.head, Coding::Identity);
        }
        // One that is not what was declared is for the server to complain of.
        let is_clear =
            self.declared_length.is_none() || length.is_none() || self.declared_length == length || head_only;
        let length = self.declared_length.or(length);
        if matches!(self.status, 204 | 206 | 304)
            || !is_clear
            || !headers::allow(&self.head, length, &packer.compressor.compression)
        {
            return false;
        }
        if accepts == Coding::Identity || (!head_only && packer.compressor.begin(accepts, length).is_err()) {
            headers::vary(&mut self.head);
            return false;
        }
        self.head = headers::rewrite(&self.head, accepts);
        true
    }

    /// How much of `length` more bytes may still be sent: none beyond the declared length.
    pub fn allowed(&self, length: u64) -> u64 {
        match self.framing {
            Framing::Nothing => 0,
            Framing::Length(declared) => length.min(declared - self.sent),
            Framing::Chunked | Framing::Close | Framing::Packed => {
                self.declared_length.map_or(length, |declared| length.min(declared - self.sent))
            }
        }
    }

    /// A piece of the body goes to the buffer or, if it is long, straight to the client. True: what that does not take stays where
    /// it is.
    ///
    /// # Safety
    /// When the answer is true the caller keeps `chunk` until the outbox is empty.
    pub unsafe fn send(&mut self, out: &mut Out, chunk: &[u8], may_hold: bool) -> io::Result<bool> {
        let whole = chunk.len();
        let chunk = &chunk[..self.allowed(whole as u64) as usize];
        self.is_over |= chunk.len() < whole && self.framing != Framing::Nothing;
        if chunk.is_empty() {
            return Ok(false);
        }
        self.sent += chunk.len() as u64;
        if self.is_packing {
            return self.pack(out, chunk).map(|()| false);
        }
        // SAFETY: the caller's promise.
        unsafe { self.put(out, chunk, may_hold) }
    }

    /// As `send`, of bytes as the client gets them.
    ///
    /// # Safety
    /// As for `send`.
    #[inline(always)]
    unsafe fn put(&self, out: &mut Out, chunk: &[u8], may_hold: bool) -> io::Result<bool> {
        out.facts.body_bytes += chunk.len() as u64;
        let chunked = self.framing == Framing::Chunked;
        if chunked {
            write_chunk_size(chunk.len(), out.buffer);
        }
        let tail: &[u8] = if chunked { b"\r\n" } else { b"" };
        if chunk.len() <= COPIED {
            out.buffer.extend_from_slice(chunk);
            out.buffer.extend_from_slice(tail);
            return Ok(false);
        }
        let Some(taken) = out.offer(chunk, tail)? else { return Ok(false) };
        if may_hold {
            // SAFETY: the caller's promise.
            return detached(|| unsafe { out.hold(taken, chunk, tail) });
        }
        detached(|| out.keep(taken, chunk, tail)).map(|()| false)
    }

    /// Compresses a piece of the body; what comes of it is sent when it is much.
    #[cold]
    fn pack(&mut self, out: &mut Out, chunk: &[u8]) -> io::Result<()> {
        for piece in chunk.chunks(PIECE_BYTES) {
            let Some(packer) = &mut self.packer else { return Ok(()) };
            let Packer { compressor, packed, .. } = &mut **packer;
            if piece.len() > COPIED {
                detached(|| compressor.write(piece, packed))?;
            } else {
                compressor.write(piece, packed)?;
            }
            if packed.len() >= PACKED_BYTES && self.framing != Framing::Packed {
                self.put_packed(out)?;
            }
        }
        Ok(())
    }

    fn put_packed(&mut self, out: &mut Out) -> io::Result<()> {
        let Some(packer) = &mut self.packer else { return Ok(()) };
        let mut packed = std::mem::take(&mut packer.packed);
        if !packed.is_empty() {
            // SAFETY: nothing is held.
            unsafe { self.put(out, &packed, false)? };
            packed.clear();
        }
        if let Some(packer) = &mut self.packer {
            packer.packed = packed; // to be filled again
        }
        Ok(())
    }

    /// A piece goes to the client before the application makes another; nobody waits for a client that is slow.
    pub fn push(&mut self, out: &mut Out, chunk: &[u8]) -> io::Result<()> {
        out.pace.piece();
        // SAFETY: nothing is held.
        unsafe { self.send(out, chunk, false)? };
        if self.is_packing {
            if let Some(packer) = &mut self.packer {
                packer.compressor.flush(&mut packer.packed)?;
            }
            self.put_packed(out)?;
        }
        let taken = if out.buffer.is_empty() { None } else { out.offer(b"", b"")? };
        if let Some(taken) = taken {
            detached(|| out.keep(taken, b"", b""))?;
        }
        out.lend();
        Ok(())
    }

    /// Counts bytes of the body that went past `send`.
    pub fn count(&mut self, out: &mut Out, length: u64) {
        self.sent += length;
        out.facts.body_bytes += length;
    }

    /// Whether a body of unknown length is made of chunks, which a file cannot be sent in.
    pub fn is_chunked(&self) -> bool {
        self.framing == Framing::Chunked
    }

    /// Ends the body after its last piece. False: the body is shorter than was declared, and only the connection's end can say so.
    pub fn finish(&mut self, out: &mut Out) -> io::Result<bool> {
        if self.is_packing {
            return self.finish_packed(out);
        }
        Ok(match self.framing {
            Framing::Length(declared) => self.sent == declared,
            Framing::Chunked => {
                out.buffer.extend_from_slice(b"0\r\n\r\n");
                true
            }
            Framing::Nothing | Framing::Close | Framing::Packed => true,
        })
    }

    #[cold]
    fn finish_packed(&mut self, out: &mut Out) -> io::Result<bool> {
        if self.declared_length.is_some_and(|declared| self.sent < declared) {
            return Ok(false);
        }
        if let Some(packer) = &mut self.packer {
            packer.compressor.finish(&mut packer.packed)?;
            let length = packer.packed.len() as u64;
            if self.framing == Framing::Packed {
                self.write_head(out, Some(length));
            }
        }
        self.put_packed(out)?;
        if self.framing == Framing::Chunked {
            out.buffer.extend_from_slice(b"0\r\n\r\n");
        }
        Ok(true)
    }

    /// What the application gave of what it declared, where that differs.
    pub fn breach(&self) -> Option<String> {
        let declared = match self.framing {
            Framing::Length(declared) => declared,
            Framing::Nothing => return None,
            _ => self.declared_length?,
        };
        match self.sent {
            _ if !self.begun => None,
            _ if self.is_over => Some(format!("more than the {declared} bytes")),
            sent if sent < declared => Some(format!("{sent} of the {declared} bytes")),
            _ => None,
        }
    }

    /// Whether an early end of the connection would pass for a regular one.
    pub fn ends_with_connection(&self) -> bool {
        self.begun && self.framing == Framing::Close
    }

    /// What the application said besides of an answer that is a file: all that is not about bytes that it did not send. First
    /// the media type, if it named one.
    pub fn lines_beside_file(&self) -> (Option<Vec<u8>>, Vec<u8>) {
        const OF_THE_FILE: [&str; 7] = [
            "content-length",
            "content-type",
            "content-encoding",
            "content-range",
            "accept-ranges",
            "etag",
            "last-modified",
        ];
        let (mut media_type, mut lines) = (None, Vec::new());
        for (name, value, line) in headers::fields(&self.head) {
            if headers::is(name, "content-type") && !value.is_empty() {
                media_type = Some(line.to_vec());
            }
            if !headers::is(name, "date") && !OF_THE_FILE.iter().any(|known| headers::is(name, known)) {
                lines.extend_from_slice(line);
            }
        }
        (media_type, lines)
    }

    fn start(&mut self, status: *mut PyObject, headers: *mut PyObject, exc_info: Option<*mut PyObject>) -> Result<()> {
        if let Some(exc_info) = exc_info {
            if self.begun {
                return Err(reraise(exc_info));
            }
        } else if self.is_started() {
            return Err(raise(
                // SAFETY: the exception types are always there.
                unsafe { PyExc_AssertionError },
                "start_response was called a second time without exc_info",
            ));
        }
        self.head.clear();
        self.status = 0;
        self.declared_length = None;
        self.has_date = false;
        if self.may_redirect {
            self.redirect = None;
        }
        // SAFETY: the caller's arguments live through the call.
        let line =
            unsafe { latin1_of(status) }.ok_or_else(|| type_error("the status is not a str of latin-1 characters"))?;
        let code = status_code(line)?;
        self.head.extend_from_slice(b"HTTP/1.1 ");
        self.head.extend_from_slice(line);
        self.head.extend_from_slice(b"\r\n");
        // SAFETY: as above.
        if unsafe { PyList_Check(headers) } == 0 {
            return Err(type_error("the headers are not a list"));
        }
        // SAFETY: a list; nothing in this loop runs Python code that could change it. In a free-threaded build another
        // thread could: a tuple of it cannot change.
        unsafe {
            #[cfg(Py_GIL_DISABLED)]
            let (items, item): (_, unsafe fn(*mut PyObject, Py_ssize_t) -> *mut PyObject) =
                (Object::owned(PyList_AsTuple(headers))?, PyTuple_GET_ITEM);
            #[cfg(not(Py_GIL_DISABLED))]
            let (items, item): (_, unsafe fn(*mut PyObject, Py_ssize_t) -> *mut PyObject) =
                (Object::borrowed(headers), PyList_GET_ITEM);
            for index in 0..Py_SIZE(items.as_ptr()) {
                self.add_header(item(items.as_ptr(), index), code)?;
            }
        }
        self.status = code;
        Ok(())
    }

    /// # Safety
    /// A valid object.
    unsafe fn add_header(&mut self, field: *mut PyObject, status: u16) -> Result<()> {
        // SAFETY: checked step by step; the parts live as long as the tuple, which the list holds.
        let (name, value) = unsafe {
            if PyTuple_Check(field) == 0 || PyTuple_GET_SIZE(field) != 2 {
                return Err(type_error("a header is not a tuple of two str"));
            }
            (latin1_of(PyTuple_GET_ITEM(field, 0)), latin1_of(PyTuple_GET_ITEM(field, 1)))
        };
        let (Some(name), Some(value)) = (name, value) else {
            return Err(type_error("a header is not a tuple of two str of latin-1 characters"));
        };
        if !is_token(name) {
            return Err(value_error(&format!("the header name {:?} is malformed", String::from_utf8_lossy(name))));
        }
        if has_control(value) {
            let name = String::from_utf8_lossy(name);
            return Err(value_error(&format!("the value of the header {name} holds a control character")));
        }
        let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
        match name.len() {
            4 if is("date") => self.has_date = true,
            14 if is("content-length") => {
                if matches!(status, 204) || (100..200).contains(&status) {
                    return Ok(()); // RFC 9110, 8.6: there is none
                }
                let length = head::decimal(value);
                if self.declared_length.is_some() || length.is_none() {
                    return Err(value_error("Content-Length is not one decimal number"));
                }
                self.declared_length = length;
            }
            16 if self.may_redirect && is("x-accel-redirect") => {
                self.redirect = Some(value.to_vec());
                return Ok(());
            }
            2 | 7 | 8 | 10 | 17 | 18 | 19 if is_hop_by_hop(name) => {
                static DROPPED: AtomicBool = AtomicBool::new(false);
                if !DROPPED.swap(true, Ordering::Relaxed) {
                    let name = String::from_utf8_lossy(name);
                    eprintln!(
                        "wheat: the application gave the header {name}, which is for the server to set (hop-by-hop, PEP \
                         3333): it and its like are left out"
                    );
                }
                return Ok(());
            }
            _ => {}
        }
        self.head.reserve(name.len() + value.len() + 4);
        self.head.extend_from_slice(name);
        self.head.extend_from_slice(b": ");
        self.head.extend_from_slice(value);
        self.head.extend_from_slice(b"\r\n");
        Ok(())
    }

    fn write(&mut self, chunk: &[u8]) -> Result<()> {
        if !self.is_started() {
            return Err(runtime_error("write was called before start_response"));
        }
        // SAFETY: `attach` was called with an `Out` that lives until `detach`.
        let Some(out) = (unsafe { self.out.as_mut() }) else {
            return Err(runtime_error("write was called after the end of the request"));
        };
        if chunk.is_empty() || self.lost {
            return Ok(());
        }
        if !self.begun {
            self.begin(out, None);
        }
        if self.push(out, chunk).is_err() {
            // The application finds out as little as it would from a client that is slow to go away.
            self.lost = true;
        }
        Ok(())
    }
}

fn write_chunk_size(length: usize, into: &mut Vec<u8>) {
    let mut digits = [0; 16];
    let mut at = digits.len();
    let mut rest = length;
    while rest > 0 {
        at -= 1;
        digits[at] = b"0123456789abcdef"[rest & 15];
        rest >>= 4;
    }
    into.extend_from_slice(&digits[at..]);
    into.extend_from_slice(b"\r\n");
}

/// Three digits, a space, a reason: none of the 1xx, which only the server sends.
fn status_code(line: &[u8]) -> Result<u16> {
    match line {
        [a @ b'2'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', rest @ ..]
            if (rest.is_empty() || rest[0] == b' ') && !has_control(rest) =>
        {
            Ok(u16::from(a - b'0') * 100 + u16::from(b - b'0') * 10 + u16::from(c - b'0'))
        }
        _ => Err(value_error(&format!("the status {:?} is malformed", String::from_utf8_lossy(line)))),
    }
}

/// Anything that could end a header, or be taken for its end by somebody.
fn has_control(value: &[u8]) -> bool {
    value.iter().fold(false, |found, &b| found | ((b < b' ' && b != b'\t') | (b == 0x7f)))
}

fn is_hop_by_hop(name: &[u8]) -> bool {
    debug_assert!(name.iter().all(|&b| is_token_byte(b)));
    [
        "te",
        "trailer",
        "upgrade",
        "connection",
        "keep-alive",
        "transfer-encoding",
        "proxy-authenticate",
        "proxy-authorization",
        "trailers",
    ]
    .iter()
    .any(|other| name.eq_ignore_ascii_case(other.as_bytes()))
}

/// Raises what `sys.exc_info()` gave.
fn reraise(exc_info: *mut PyObject) -> Raised {
    // SAFETY: checked step by step; PyErr_Restore takes references.
    unsafe {
        if PyTuple_Check(exc_info) == 0 || PyTuple_GET_SIZE(exc_info) != 3 {
            return type_error("exc_info is not a tuple of three");
        }
        let [kind, value, trace] = [0, 1, 2].map(|index| PyTuple_GET_ITEM(exc_info, index));
        if PyExceptionInstance_Check(value) == 0 {
            return type_error("exc_info holds no exception");
        }
        let trace = if trace == Py_None() { null_mut() } else { Py_NewRef(trace) };
        PyErr_Restore(Py_NewRef(kind), Py_NewRef(value), trace);
        Raised
    }
}

// What Python calls

static mut START_RESPONSE: PyMethodDef = PyMethodDef {
    ml_name: c"start_response".as_ptr(),
    ml_meth: PyMethodDefPointer { PyCFunctionFastWithKeywords: start_response },
    ml_flags: METH_FASTCALL | METH_KEYWORDS,
    ml_doc: c"start_response(status, headers, exc_info=None)".as_ptr(),
};

static mut WRITE: PyMethodDef = PyMethodDef {
    ml_name: c"write".as_ptr(),
    ml_meth: PyMethodDefPointer { PyCFunction: write },
    ml_flags: METH_O,
    ml_doc: c"write(data)".as_ptr(),
};

/// # Safety
/// An object of our type.
unsafe fn function(definition: *mut PyMethodDef, exchange: *mut PyObject) -> Result<Object> {
    // SAFETY: the definition is static; a new reference or null.
    unsafe { Object::owned(PyCFunction_NewEx(definition, exchange, null_mut())) }
}

/// Calls with the exchange of this object, one at a time.
///
/// # Safety
/// An object of our type.
unsafe fn enter<T>(object: *mut PyObject, call: impl FnOnce(&mut Exchange) -> Result<T>) -> Result<T> {
    // SAFETY: the caller's promise; `entered` keeps a second reference from being made.
    let object = unsafe { &*object.cast::<ExchangeObject>() };
    if object.entered.swap(true, Ordering::Acquire) {
        return Err(runtime_error("two threads answer one request"));
    }
    struct Leave<'a>(&'a AtomicBool);
    impl Drop for Leave<'_> {
        fn drop(&mut self) {
            self.0.store(false, Ordering::Release);
        }
    }
    let _leave = Leave(&object.entered);
    // SAFETY: as above. The thread that answers the request holds no reference over a call into Python, and is here: this
    // field it alone writes.
    unsafe {
        if (*object.exchange.get()).thread != thread_mark() {
            return Err(runtime_error("a request is answered in the thread that the application was called in"));
        }
        call(&mut *object.exchange.get())
    }
}

unsafe extern "C" fn start_response(
    object: *mut PyObject,
    arguments: *const *mut PyObject,
    positional: Py_ssize_t,
    names: *mut PyObject,
) -> *mut PyObject {
    callback(|| {
        const NAMES: [&str; 3] = ["status", "headers", "exc_info"];
        let mut given = [null_mut(); 3];
        let wrong = || type_error("start_response takes status, headers and perhaps exc_info");
        // SAFETY: the arguments are as many as is said, those with names after those without.
        unsafe {
            let positional = positional as usize;
            let named = if names.is_null() { 0 } else { PyTuple_GET_SIZE(names) as usize };
            if positional > NAMES.len() {
                return Err(wrong());
            }
            let arguments = std::slice::from_raw_parts(arguments, positional + named);
            given[..positional].copy_from_slice(&arguments[..positional]);
            for index in 0..named {
                let name = latin1_of(PyTuple_GET_ITEM(names, index as Py_ssize_t)).unwrap_or_default();
                match NAMES.iter().position(|known| known.as_bytes() == name) {
                    Some(at) if given[at].is_null() => given[at] = arguments[positional + index],
                    _ => return Err(wrong()),
                }
            }
            let [status, headers, exc_info] = given;
            if status.is_null() || headers.is_null() {
                return Err(wrong());
            }
            let exc_info = (!exc_info.is_null() && exc_info != Py_None()).then_some(exc_info);
            enter(object, |exchange| exchange.start(status, headers, exc_info))?;
            match (*object.cast::<ExchangeObject>()).write.load(Ordering::Relaxed) {
                write if write.is_null() => function(&raw mut WRITE, object),
                write => Ok(Object::borrowed(write)),
            }
        }
    })
}

unsafe extern "C" fn write(object: *mut PyObject, data: *mut PyObject) -> *mut PyObject {
    callback(|| {
        // SAFETY: Python's arguments are valid through the call.
        unsafe {
            let data = Object::borrowed(data);
            let chunk = bytes_of(&data).ok_or_else(|| type_error("write takes bytes"))?;
            enter(object, |exchange| exchange.write(chunk))?;
        }
        Ok(Object::none())
    })
}

fn exchange_type() -> Result<*mut PyTypeObject> {
    static TYPE: super::types::Once = super::types::Once::new();
    let slots = [
        PyType_Slot { slot: Py_tp_dealloc as c_int, pfunc: super::types::deallocate::<ExchangeObject> as *mut _ },
        PyType_Slot { slot: 0, pfunc: null_mut() },
    ];
    TYPE.get(c"wheat._wheat.Exchange", size_of::<ExchangeObject>(), slots)
}
