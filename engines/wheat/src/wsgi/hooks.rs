// SPDX-License-Identifier: Apache-2.0
//! Functions that are called beside the application, from the Python file that `--hooks` names.

use std::ffi::CStr;
use std::path::Path;

use super::object::{Object, Result};

/// A `wheat.hooks.Hooks`; None without `--hooks`.
pub struct Hooks(Option<Object>);

impl Hooks {
    pub fn load(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path else { return Ok(Self(None)) };
        let make = Object::import(c"wheat.hooks")?.attribute(c"Hooks")?;
        Ok(Self(Some(make.call_with(&Object::path(path)?)?)))
    }

    /// Calls one that is given the worker.
    pub fn call(&self, name: &str, index: usize) -> Result<()> {
        let Some(hooks) = &self.0 else { return Ok(()) };
        let call = hooks.attribute(c"call")?;
        call.call_with_both(&Object::latin1(name.as_bytes())?, &Object::integer(index as i64)?).map(drop)
    }

    /// One that is called for each request, if the file has it.
    pub fn of_requests(&self, name: &CStr) -> Result<Option<Object>> {
        let Some(hooks) = &self.0 else { return Ok(None) };
        hooks.attribute(name).map(|hook| Some(hook).filter(|hook| !hook.is_none()))
    }
}
