// SPDX-License-Identifier: Apache-2.0
//! Files that the kernel can send in place of their Python objects.

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::BorrowedFd;

use pyo3_ffi::*;

use super::object::{Object, Result};

/// What a file object still holds, as the kernel sees it.
pub struct Span {
    /// A descriptor of our own, which outlives the object's.
    pub file: File,
    pub offset: u64,
    pub length: u64,
}

/// None where reading the object gives something else than its descriptor does: a subclass, a GzipFile, a pipe.
pub fn span(filelike: &Object) -> Result<Option<Span>> {
    let io = Object::import(c"io")?;
    let is = |object: &Object, name: &CStr| Ok(object.type_is(io.attribute(name)?.as_ptr().cast()));
    if is(filelike, c"BufferedReader")? || is(filelike, c"BufferedRandom")? {
        if !is(&filelike.attribute(c"raw")?, c"FileIO")? {
            return Ok(None);
        }
        if is(filelike, c"BufferedRandom")? {
            filelike.attribute(c"flush")?.call()?;
        }
    } else if !is(filelike, c"FileIO")? {
        return Ok(None);
    }
    // SAFETY: `closed` is an attribute of all three.
    if unsafe { PyObject_IsTrue(filelike.attribute(c"closed")?.as_ptr()) } != 0 {
        return Ok(None); // reading it raises what the application should see
    }
    let number = |method: &CStr| -> Result<i64> {
        let value = filelike.attribute(method)?.call()?;
        // SAFETY: a valid object.
        Ok(unsafe { PyLong_AsLongLong(value.as_ptr()) })
    };
    let fd = number(c"fileno")? as i32;
    // SAFETY: `status` is writable.
    let status = unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        if libc::fstat(fd, &raw mut status) < 0 || status.st_mode & libc::S_IFMT != libc::S_IFREG {
            return Ok(None);
        }
        status
    };
    let offset = number(c"tell")?.max(0) as u64;
    // SAFETY: the object is open, and nobody closes it meanwhile.
    let Ok(file) = (unsafe { BorrowedFd::borrow_raw(fd) }).try_clone_to_owned() else { return Ok(None) };
    Ok(Some(Span { file: file.into(), offset, length: (status.st_size as u64).saturating_sub(offset) }))
}
