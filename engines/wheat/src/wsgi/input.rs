// SPDX-License-Identifier: Apache-2.0
//! `wsgi.input`: the request's body as a stream, from memory, from a file, or from the client as it comes.

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::os::unix::fs::FileExt;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3_ffi::*;

use super::object::{Object, Result, bytes_of, callback, detached, raise, runtime_error, thread_mark, type_error};
use super::types::{self, Once};
use crate::serve::incoming::Collected;
use crate::serve::keep::Spool;
use crate::serve::reply::{Body, Out};

/// How much is read from a file at once.
const BLOCK: usize = 64 << 10;

/// The body, as far as it is not read yet.
struct Stream {
    /// Received, or read from the file, and not given out yet: `ahead[at..]`.
    ahead: Vec<u8>,
    at: usize,
    source: Source,
}

enum Source {
    /// All there is stands in `ahead`.
    Ended,
    File {
        spool: Spool,
        offset: u64,
    },
    /// The connection of the request, until that ends, for the thread that answers it.
    Client {
        out: *mut Out<'static>,
        thread: usize,
    },
}

#[repr(C)]
struct InputObject {
    base: PyObject,
    /// Set while a method is under way: another thread's is refused.
    entered: AtomicBool,
    stream: UnsafeCell<Stream>,
}

/// `wsgi.input` of one request.
pub struct Input(pub Object);

impl Input {
    /// `out`: where a streamed body comes from.
    pub fn new(body: Body, out: &mut Out) -> Result<Self> {
        let (ahead, source) = match body {
            Body::None => (Vec::new(), Source::Ended),
            Body::Whole(bytes) => (bytes.to_vec(), Source::Ended),
            Body::Collected(Collected::Memory(bytes)) => (bytes, Source::Ended),
            Body::Collected(Collected::File(spool)) => (Vec::new(), Source::File { spool, offset: 0 }),
            Body::Streamed => {
                (Vec::new(), Source::Client { out: std::ptr::from_mut(out).cast(), thread: thread_mark() })
            }
        };
        Self::make(Stream { ahead, at: 0, source })
    }

    pub fn empty() -> Result<Self> {
        Self::make(Stream { ahead: Vec::new(), at: 0, source: Source::Ended })
    }

    fn make(stream: Stream) -> Result<Self> {
        // SAFETY: the object is initialised before anybody sees it.
        unsafe {
            let kind = input_type()?;
            let allocate = (*kind).tp_alloc.ok_or_else(|| runtime_error("no allocator"))?;
            let object = Object::owned(allocate(kind, 0))?;
            let fields = object.as_ptr().cast::<InputObject>();
            (&raw mut (*fields).entered).write(AtomicBool::new(false));
            (&raw mut (*fields).stream).write(UnsafeCell::new(stream));
            Ok(Self(object))
        }
    }

    /// The way to the client for the next call into the application, or none once the request is over.
    pub fn attach(&self, out: Option<&mut Out>) {
        // SAFETY: an object of our type. A method that another thread still runs has the stream: it is waited for, which
        // is possible because it waits for the client no longer than its deadline.
        unsafe {
            let object = &*self.0.as_ptr().cast::<InputObject>();
            while object.entered.swap(true, Ordering::Acquire) {
                detached(std::thread::yield_now);
            }
            let stream = &mut *object.stream.get();
            if let Source::Client { out: known, .. } = &mut stream.source {
                match out {
                    Some(out) => *known = std::ptr::from_mut(out).cast(),
                    None => stream.source = Source::Ended,
                }
            }
            object.entered.store(false, Ordering::Release);
        }
    }
}

impl Stream {
    /// Gets more into `ahead`. False: no more comes.
    fn fill(&mut self) -> Result<bool> {
        if self.at == self.ahead.len() {
            self.ahead.clear();
            self.at = 0;
        } else if self.at > BLOCK {
            self.ahead.drain(..self.at);
            self.at = 0;
        }
        // SAFETY: the exception types are always there.
        let os_error = unsafe { PyExc_OSError };
        match &mut self.source {
            Source::Ended => Ok(false),
            Source::File { spool, offset } => {
                let wanted = usize::try_from(spool.length() - *offset).unwrap_or(BLOCK).min(BLOCK);
                let start = self.ahead.len();
                self.ahead.resize(start + wanted, 0);
                let into = &mut self.ahead[start..];
                let got = detached(|| spool.file().read_at(into, *offset));
                let got = got.map_err(|error| raise(os_error, &format!("the request's body: {error}")))?;
                self.ahead.truncate(start + got);
                *offset += got as u64;
                if got == 0 {
                    self.source = Source::Ended;
                }
                Ok(got > 0)
            }
            Source::Client { thread, .. } if *thread != thread_mark() => {
                Err(runtime_error("a streamed input is read in the thread that the application was called in"))
            }
            Source::Client { out, .. } => {
                // SAFETY: the request is still under way: `attach(None)` ends this source. Its thread is here, not elsewhere.
                let out = unsafe { &mut **out };
                let ahead = &mut self.ahead;
                let got = detached(|| out.receive_body(ahead));
                let got = got.map_err(|error| {
                    raise(os_error, &format!("the client did not send the request's body: {error}"))
                })?;
                if !got {
                    self.source = Source::Ended;
                }
                Ok(got)
            }
        }
    }

    fn left(&self) -> usize {
        self.ahead.len() - self.at
    }

    fn give(&mut self, length: usize) -> Result<Object> {
        let given = Object::bytes(&self.ahead[self.at..self.at + length]);
        self.at += length;
        given
    }

    /// `most`: none for all there is.
    fn read(&mut self, most: Option<usize>) -> Result<Object> {
        while most.is_none_or(|most| self.left() < most) && self.fill()? {}
        self.give(most.unwrap_or(usize::MAX).min(self.left()))
    }

    fn read_line(&mut self, most: Option<usize>) -> Result<Object> {
        let most = most.unwrap_or(usize::MAX);
        let mut searched = 0;
        loop {
            let fresh = &self.ahead[self.at + searched..];
            let end = memchr::memchr(b'\n', fresh).map(|at| searched + at + 1);
            if let Some(length) = end.or((self.left() >= most).then_some(most)) {
                return self.give(length.min(most));
            }
            searched = self.left();
            if !self.fill()? {
                return self.give(self.left());
            }
        }
    }
}

/// # Safety
/// An object of our type.
unsafe fn enter<T>(object: *mut PyObject, call: impl FnOnce(&mut Stream) -> Result<T>) -> Result<T> {
    // SAFETY: the caller's promise; `entered` keeps a second reference from being made.
    let object = unsafe { &*object.cast::<InputObject>() };
    if object.entered.swap(true, Ordering::Acquire) {
        return Err(runtime_error("two threads read one request's input"));
    }
    struct Leave<'a>(&'a AtomicBool);
    impl Drop for Leave<'_> {
        fn drop(&mut self) {
            self.0.store(false, Ordering::Release);
        }
    }
    let _leave = Leave(&object.entered);
    // SAFETY: as above.
    call(unsafe { &mut *object.stream.get() })
}

/// The size that a method was called with; none: no limit, which is what None and negative numbers say too.
///
/// # Safety
/// As many arguments as is said.
unsafe fn size(arguments: *mut *mut PyObject, count: Py_ssize_t) -> Result<Option<usize>> {
    // SAFETY: the caller's promise.
    unsafe {
        match count {
            0 => Ok(None),
            1 if *arguments == Py_None() => Ok(None),
            1 => {
                let number = PyNumber_AsSsize_t(*arguments, PyExc_OverflowError);
                if number == -1 && !PyErr_Occurred().is_null() {
                    return Err(super::object::Raised);
                }
                Ok(usize::try_from(number).ok())
            }
            _ => Err(type_error("a size is the only argument")),
        }
    }
}

unsafe extern "C" fn read(object: *mut PyObject, arguments: *mut *mut PyObject, count: Py_ssize_t) -> *mut PyObject {
    // SAFETY: Python's arguments.
    callback(|| unsafe {
        let most = size(arguments, count)?;
        enter(object, |stream| stream.read(most))
    })
}

unsafe extern "C" fn readline(
    object: *mut PyObject,
    arguments: *mut *mut PyObject,
    count: Py_ssize_t,
) -> *mut PyObject {
    // SAFETY: Python's arguments.
    callback(|| unsafe {
        let most = size(arguments, count)?;
        enter(object, |stream| stream.read_line(most))
    })
}

unsafe extern "C" fn readlines(
    object: *mut PyObject,
    arguments: *mut *mut PyObject,
    count: Py_ssize_t,
) -> *mut PyObject {
    // SAFETY: Python's arguments; a list takes references of its own.
    callback(|| unsafe {
        let hint = size(arguments, count)?.filter(|&hint| hint > 0);
        let lines = Object::owned(PyList_New(0))?;
        let mut length = 0;
        while hint.is_none_or(|hint| length < hint) {
            let line = enter(object, |stream| stream.read_line(None))?;
            let of_line = bytes_of(&line).map_or(0, <[u8]>::len);
            if of_line == 0 {
                break;
            }
            length += of_line;
            if PyList_Append(lines.as_ptr(), line.as_ptr()) < 0 {
                return Err(super::object::Raised);
            }
        }
        Ok(lines)
    })
}

unsafe extern "C" fn iterate(object: *mut PyObject) -> *mut PyObject {
    // SAFETY: a valid object.
    unsafe { Py_NewRef(object) }
}

unsafe extern "C" fn next(object: *mut PyObject) -> *mut PyObject {
    // SAFETY: an object of our type.
    let line = callback(|| unsafe { enter(object, |stream| stream.read_line(None)) });
    // SAFETY: an owned reference, which at the end of the stream is given back: null without an exception ends a loop.
    unsafe {
        if !line.is_null() && Py_SIZE(line) == 0 {
            Py_DECREF(line);
            return null_mut();
        }
    }
    line
}

struct Methods([PyMethodDef; 4]);
// SAFETY: never changed.
unsafe impl Sync for Methods {}

static METHODS: Methods = Methods([
    PyMethodDef {
        ml_name: c"read".as_ptr(),
        ml_meth: PyMethodDefPointer { PyCFunctionFast: read },
        ml_flags: METH_FASTCALL,
        ml_doc: c"read(size=-1)".as_ptr(),
    },
    PyMethodDef {
        ml_name: c"readline".as_ptr(),
        ml_meth: PyMethodDefPointer { PyCFunctionFast: readline },
        ml_flags: METH_FASTCALL,
        ml_doc: c"readline(size=-1)".as_ptr(),
    },
    PyMethodDef {
        ml_name: c"readlines".as_ptr(),
        ml_meth: PyMethodDefPointer { PyCFunctionFast: readlines },
        ml_flags: METH_FASTCALL,
        ml_doc: c"readlines(hint=-1)".as_ptr(),
    },
    PyMethodDef::zeroed(),
]);

fn input_type() -> Result<*mut PyTypeObject> {
    static TYPE: Once = Once::new();
    let slots = [
        PyType_Slot { slot: Py_tp_dealloc as c_int, pfunc: types::deallocate::<InputObject> as *mut _ },
        PyType_Slot { slot: Py_tp_methods as c_int, pfunc: METHODS.0.as_ptr().cast_mut().cast() },
        PyType_Slot { slot: Py_tp_iter as c_int, pfunc: iterate as *mut _ },
        PyType_Slot { slot: Py_tp_iternext as c_int, pfunc: next as *mut _ },
        PyType_Slot { slot: 0, pfunc: null_mut() },
    ];
    TYPE.get(c"wheat._wheat.Input", size_of::<InputObject>(), slots)
}
