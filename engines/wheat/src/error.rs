// SPDX-License-Identifier: Apache-2.0
//! What went wrong, for the person who started the server: one sentence that says what, where and what to do, and the exit code.

use std::fmt;

/// After sysexits.h, so that a service manager can tell a typing mistake from a port that is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Exit {
    /// The command line.
    Usage = 64,
    /// Something needed is not there: an address, a program, a running server.
    Unavailable = 69,
    /// What the command line names is there and wrong: the application, a certificate, a folder.
    Config = 78,
    /// A worker's alone, for its master: the application is wrong, and nothing else.
    Application = 79,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub exit: Exit,
    pub text: String,
}

impl Error {
    pub fn usage(text: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, text: text.into() }
    }

    pub fn unavailable(text: impl Into<String>) -> Self {
        Self { exit: Exit::Unavailable, text: text.into() }
    }

    pub fn config(text: impl Into<String>) -> Self {
        Self { exit: Exit::Config, text: text.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.text)
    }
}
