// SPDX-License-Identifier: Apache-2.0
//! Functions that are called beside the application, from the Python file that `--hooks` names.

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

    /// For one thread.
    pub fn of_requests(&self) -> Result<Option<OfRequests>> {
        let Some(hooks) = &self.0 else { return Ok(None) };
        let named = |name| hooks.attribute(name).map(|hook| Some(hook).filter(|hook| !hook.is_none()));
        Ok(Some(OfRequests {
            on_request: named(c"on_request")?,
            on_response: named(c"on_response")?,
            environ: Object::none(),
        }))
    }
}

/// Those that are called for each request, as far as the file has them.
pub struct OfRequests {
    on_request: Option<Object>,
    on_response: Option<Object>,
    /// Of the request under way, for `on_response`.
    environ: Object,
}

impl OfRequests {
    pub fn are_any(&self) -> bool {
        self.on_request.is_some() || self.on_response.is_some()
    }

    pub fn before(&mut self, environ: &Object) -> Result<()> {
        if self.on_response.is_some() {
            self.environ = environ.clone();
        }
        self.on_request.as_ref().map_or(Ok(()), |hook| hook.call_with(environ).map(drop))
    }

    pub fn after(&mut self, status: u16) -> Result<()> {
        let environ = std::mem::replace(&mut self.environ, Object::none());
        let Some(hook) = &self.on_response else { return Ok(()) };
        hook.call_with_both(&environ, &Object::integer(i64::from(status))?).map(drop)
    }
}
