// SPDX-License-Identifier: Apache-2.0
//! Which folders are to be watched for `--reload`: those of the modules that are imported, some of them at the first request.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};

use pyo3_ffi::*;

use super::object::{Object, Raised, Result, bytes_of, take_raised};
use crate::supervise::watch;

pub struct Modules {
    watch: OwnedFd,
    /// How many there were when they were last looked at.
    count: AtomicIsize,
}

impl Modules {
    pub fn new(watch: OwnedFd) -> Self {
        let modules = Self { watch, count: AtomicIsize::new(-1) };
        modules.look();
        modules
    }

    /// Has those watched that were imported since.
    pub fn look(&self) {
        // SAFETY: attached; a borrowed reference that is always there.
        let count = || unsafe { PyDict_Size(PyImport_GetModuleDict()) };
        if self.count.load(Relaxed) == count() {
            return;
        }
        if let Err(Raised) = self.add_folders() {
            take_raised(); // a stranger among the modules; what is watched stays watched
        }
        self.count.store(count(), Relaxed);
    }

    fn add_folders(&self) -> Result<()> {
        let folders = Object::import(c"wheat.modules")?.attribute(c"folders")?.call()?;
        // SAFETY: a list that nobody else has, of bytes.
        unsafe {
            for index in 0..PyList_Size(folders.as_ptr()) {
                let folder = Object::borrowed(PyList_GetItem(folders.as_ptr(), index));
                watch::add(&self.watch, Path::new(OsStr::from_bytes(bytes_of(&folder).unwrap_or_default())));
            }
        }
        Ok(())
    }
}
