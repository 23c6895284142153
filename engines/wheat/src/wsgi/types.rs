// SPDX-License-Identifier: Apache-2.0
//! The Python types of this module, each made when it is first needed and kept for ever.

use std::ffi::{CStr, c_int, c_uint};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use pyo3_ffi::*;

use super::object::{Object, Result};

pub struct Once(AtomicPtr<PyTypeObject>);

impl Once {
    pub(super) const fn new() -> Self {
        Self(AtomicPtr::new(null_mut()))
    }

    /// `slots` ends with an empty one; what they point to is static. Only this module makes objects of the type.
    pub fn get<const N: usize>(
        &self,
        name: &'static CStr,
        size: usize,
        mut slots: [PyType_Slot; N],
    ) -> Result<*mut PyTypeObject> {
        let known = self.0.load(Ordering::Acquire);
        if !known.is_null() {
            return Ok(known);
        }
        let flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
        let mut spec = PyType_Spec {
            name: name.as_ptr(),
            basicsize: size as c_int,
            itemsize: 0,
            flags: flags as c_uint,
            slots: slots.as_mut_ptr(),
        };
        // SAFETY: a complete specification, which is copied.
        let made = unsafe { Object::owned(PyType_FromSpec(&raw mut spec)) }?.into_ptr().cast();
        match self.0.compare_exchange(null_mut(), made, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Ok(made),
            Err(first) => Ok(first), // another thread was faster; its type is used, and this one is never seen
        }
    }
}

/// The deallocation of an object that holds `T` and no other Python object.
///
/// # Safety
/// An instance of a type of this module whose fields `T` begin with its `PyObject`.
pub unsafe extern "C" fn deallocate<T>(object: *mut PyObject) {
    // SAFETY: the last reference is gone; that to the type is given back after the memory.
    unsafe {
        let kind = Py_TYPE(object);
        object.cast::<T>().drop_in_place();
        let free = (*kind).tp_free.unwrap_or(PyObject_Free);
        free(object.cast());
        Py_DECREF(kind.cast());
    }
}
