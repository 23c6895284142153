// SPDX-License-Identifier: Apache-2.0
//! References to Python objects that are given back by themselves.
//!
//! Everything in `wsgi` runs attached: the thread holds the interpreter lock or, in a free-threaded build, an attached
//! thread state. `Thread` is what a thread attaches with, and `detached` the only place where it is given up.

use std::ffi::CStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;

use pyo3_ffi::*;

/// A reference that is owned.
pub struct Object(NonNull<PyObject>);

// SAFETY: a reference is only followed, and only dropped, by a thread that is attached: responses that wait for their client
// go back to the application for that (`Application::abandon`).
unsafe impl Send for Object {}
// SAFETY: as above: what several threads do with one object the interpreter keeps in order.
unsafe impl Sync for Object {}

/// Says that a Python exception is set.
#[derive(Debug)]
pub struct Raised;

pub type Result<T> = std::result::Result<T, Raised>;

impl Object {
    /// # Safety
    /// A new reference, or null with an exception set.
    #[inline]
    pub unsafe fn owned(pointer: *mut PyObject) -> Result<Self> {
        NonNull::new(pointer).map(Self).ok_or(Raised)
    }

    /// # Safety
    /// A valid object.
    #[inline]
    pub unsafe fn borrowed(pointer: *mut PyObject) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self(NonNull::new_unchecked(Py_NewRef(pointer))) }
    }

    #[inline]
    pub fn as_ptr(&self) -> *mut PyObject {
        self.0.as_ptr()
    }

    #[inline]
    pub fn into_ptr(self) -> *mut PyObject {
        std::mem::ManuallyDrop::new(self).0.as_ptr()
    }

    #[inline]
    pub fn type_is(&self, of: *mut PyTypeObject) -> bool {
        // SAFETY: a valid object.
        unsafe { Py_TYPE(self.as_ptr()) == of }
    }

    /// Whether nobody else has a reference.
    #[inline]
    pub fn is_unshared(&self) -> bool {
        // SAFETY: a valid object.
        unsafe { Py_REFCNT(self.as_ptr()) == 1 }
    }

    pub fn attribute(&self, name: &CStr) -> Result<Self> {
        // SAFETY: valid arguments; a new reference or null.
        unsafe { Self::owned(PyObject_GetAttrString(self.as_ptr(), name.as_ptr())) }
    }

    /// None where there is no such attribute.
    pub fn optional_attribute(&self, name: &CStr) -> Result<Option<Self>> {
        match self.attribute(name) {
            Ok(found) => Ok(Some(found)),
            // SAFETY: an exception is set, which is what the two look at.
            Err(Raised) => unsafe {
                if PyErr_ExceptionMatches(PyExc_AttributeError) == 0 {
                    return Err(Raised);
                }
                PyErr_Clear();
                Ok(None)
            },
        }
    }

    pub fn call(&self) -> Result<Self> {
        // SAFETY: a valid object; a new reference or null.
        unsafe { Self::owned(PyObject_CallNoArgs(self.as_ptr())) }
    }

    pub fn call_with(&self, argument: &Self) -> Result<Self> {
        // SAFETY: valid objects; a new reference or null.
        unsafe { Self::owned(PyObject_CallOneArg(self.as_ptr(), argument.as_ptr())) }
    }

    #[inline]
    pub fn call_with_both(&self, first: &Self, second: &Self) -> Result<Self> {
        let arguments = [first.as_ptr(), second.as_ptr()];
        // SAFETY: two arguments; a new reference or null.
        unsafe {
            Self::owned(PyObject_Vectorcall(self.as_ptr(), arguments.as_ptr(), arguments.len(), std::ptr::null_mut()))
        }
    }

    pub fn is_none(&self) -> bool {
        // SAFETY: None is always there.
        self.as_ptr() == unsafe { Py_None() }
    }

    pub fn none() -> Self {
        // SAFETY: None is always there.
        unsafe { Self::borrowed(Py_None()) }
    }

    /// `str` of latin-1 bytes, which is how WSGI has what is bytes on the wire.
    #[inline]
    pub fn latin1(bytes: &[u8]) -> Result<Self> {
        // SAFETY: the bytes are readable; a new reference or null.
        unsafe {
            Self::owned(PyUnicode_DecodeLatin1(bytes.as_ptr().cast(), bytes.len() as Py_ssize_t, std::ptr::null()))
        }
    }

    /// A key of dictionaries: equal ones are the same object.
    pub fn interned(text: &str) -> Result<Self> {
        let mut pointer = Self::latin1(text.as_bytes())?.into_ptr();
        // SAFETY: the reference is exchanged for one to the interned string.
        unsafe {
            PyUnicode_InternInPlace(&raw mut pointer);
            Self::owned(pointer)
        }
    }

    pub fn bytes(content: &[u8]) -> Result<Self> {
        // SAFETY: the bytes are readable; a new reference or null.
        unsafe { Self::owned(PyBytes_FromStringAndSize(content.as_ptr().cast(), content.len() as Py_ssize_t)) }
    }

    /// `str` of a file's name, as the interpreter decodes those.
    pub fn path(path: &Path) -> Result<Self> {
        let bytes = path.as_os_str().as_bytes();
        // SAFETY: the bytes are readable; a new reference or null.
        unsafe { Self::owned(PyUnicode_DecodeFSDefaultAndSize(bytes.as_ptr().cast(), bytes.len() as Py_ssize_t)) }
    }

    pub fn integer(value: i64) -> Result<Self> {
        // SAFETY: a new reference or null.
        unsafe { Self::owned(PyLong_FromLongLong(value)) }
    }

    pub fn import(module: &CStr) -> Result<Self> {
        // SAFETY: a C string; a new reference or null.
        unsafe { Self::owned(PyImport_ImportModule(module.as_ptr())) }
    }

    pub fn set_item(&self, key: &Self, value: &Self) -> Result<()> {
        // SAFETY: a dictionary and two objects, whose references it takes itself.
        if unsafe { PyDict_SetItem(self.as_ptr(), key.as_ptr(), value.as_ptr()) } < 0 { Err(Raised) } else { Ok(()) }
    }
}

impl Clone for Object {
    #[inline]
    fn clone(&self) -> Self {
        // SAFETY: a valid object.
        unsafe { Self::borrowed(self.as_ptr()) }
    }
}

impl Drop for Object {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the reference is ours, and the thread is attached.
        unsafe { Py_DECREF(self.as_ptr()) }
    }
}

/// The bytes of a `bytes` object, while that lives.
#[inline]
pub fn bytes_of(object: &Object) -> Option<&[u8]> {
    // SAFETY: checked to be bytes, which never change.
    unsafe {
        if PyBytes_Check(object.as_ptr()) == 0 {
            return None;
        }
        let start = PyBytes_AS_STRING(object.as_ptr()).cast();
        Some(std::slice::from_raw_parts(start, Py_SIZE(object.as_ptr()) as usize))
    }
}

/// The characters of a `str`, each a byte; none if one does not fit into latin-1.
///
/// # Safety
/// The object lives as long as the slice is used.
#[inline]
pub unsafe fn latin1_of<'a>(object: *mut PyObject) -> Option<&'a [u8]> {
    // SAFETY: checked to be a str of one-byte characters, which never change.
    unsafe {
        if PyUnicode_Check(object) == 0 {
            return None;
        }
        #[cfg(not(Py_3_12))]
        if PyUnicode_READY(object) < 0 {
            PyErr_Clear();
            return None;
        }
        if PyUnicode_KIND(object) != PyUnicode_1BYTE_KIND {
            return None;
        }
        let start = PyUnicode_1BYTE_DATA(object);
        Some(std::slice::from_raw_parts(start, PyUnicode_GET_LENGTH(object) as usize))
    }
}

/// Raises `kind` with this text.
pub(super) fn raise(kind: *mut PyObject, text: &str) -> Raised {
    if let Ok(text) = text_of(text) {
        // SAFETY: an exception type and a str.
        unsafe { PyErr_SetObject(kind, text.as_ptr()) };
    }
    Raised
}

/// `str`
pub fn text_of(text: &str) -> Result<Object> {
    // SAFETY: the bytes are readable; a new reference or null.
    unsafe { Object::owned(PyUnicode_FromStringAndSize(text.as_ptr().cast(), text.len() as Py_ssize_t)) }
}

pub fn value_error(text: &str) -> Raised {
    // SAFETY: the exception types are always there.
    raise(unsafe { PyExc_ValueError }, text)
}

pub fn type_error(text: &str) -> Raised {
    // SAFETY: as above.
    raise(unsafe { PyExc_TypeError }, text)
}

pub fn runtime_error(text: &str) -> Raised {
    // SAFETY: as above.
    raise(unsafe { PyExc_RuntimeError }, text)
}

/// The exception that is set, which is then no longer set.
pub fn take_raised() -> Option<Object> {
    // SAFETY: the thread is attached; references as documented for each function.
    unsafe {
        #[cfg(Py_3_12)]
        return Object::owned(PyErr_GetRaisedException()).ok();
        #[cfg(not(Py_3_12))]
        {
            let (mut kind, mut value, mut trace) = (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
            PyErr_Fetch(&raw mut kind, &raw mut value, &raw mut trace);
            if kind.is_null() {
                return None;
            }
            PyErr_NormalizeException(&raw mut kind, &raw mut value, &raw mut trace);
            let (_kind, trace) = (Object::owned(kind), Object::owned(trace));
            let value = Object::owned(value).ok()?;
            if let Ok(trace) = trace {
                PyException_SetTraceback(value.as_ptr(), trace.as_ptr());
            }
            Some(value)
        }
    }
}

/// Lets the interpreter's other threads run meanwhile.
pub fn detached<T>(wait: impl FnOnce() -> T) -> T {
    struct Attach(*mut PyThreadState);
    impl Drop for Attach {
        fn drop(&mut self) {
            // SAFETY: what `PyEval_SaveThread` gave, in the same thread.
            unsafe { PyEval_RestoreThread(self.0) }
        }
    }
    // SAFETY: the thread is attached; `Attach` attaches it again, also after a panic.
    let _attach = Attach(unsafe { PyEval_SaveThread() });
    wait()
}

/// A thread that Python did not start, attached.
pub struct Thread(PyGILState_STATE);

impl Thread {
    pub fn attach() -> Self {
        // SAFETY: the interpreter is there: serving ends before it does.
        Self(unsafe { PyGILState_Ensure() })
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        // SAFETY: in the thread that `attach` was called in.
        unsafe { PyGILState_Release(self.0) }
    }
}

/// What a function that Python calls gives back; a panic becomes a SystemError.
pub fn callback(body: impl FnOnce() -> Result<Object>) -> *mut PyObject {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)) {
        Ok(Ok(object)) => object.into_ptr(),
        Ok(Err(Raised)) => std::ptr::null_mut(),
        Err(_) => {
            // SAFETY: the exception types are always there.
            raise(unsafe { PyExc_SystemError }, "the server failed, which is an error in wheat");
            std::ptr::null_mut()
        }
    }
}

/// Tells one thread from another, while they live.
#[inline]
pub fn thread_mark() -> usize {
    thread_local!(static MARK: u8 = const { 0 });
    MARK.with(|mark| std::ptr::from_ref(mark) as usize)
}

/// Writes an exception with its traceback to a file object, after `before`.
pub fn print_exception(exception: &Object, to: &Object, before: &str) {
    let print = || -> Result<()> {
        let trace = Object::import(c"traceback")?;
        let format = trace.attribute(c"format_exception")?;
        let lines = format.call_with(exception)?;
        let text = text_of(before)?;
        // SAFETY: a str and a list of str; new references or null.
        let all = unsafe {
            let empty = text_of("")?;
            let joined = Object::owned(PyUnicode_Join(empty.as_ptr(), lines.as_ptr()))?;
            Object::owned(PyUnicode_Concat(text.as_ptr(), joined.as_ptr()))?
        };
        to.attribute(c"write")?.call_with(&all)?;
        to.attribute(c"flush")?.call()?;
        Ok(())
    };
    if print().is_err() {
        take_raised(); // the error of reporting an error is not reported
        eprint!("{before}");
    }
}
