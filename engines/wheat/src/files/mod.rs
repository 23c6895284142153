// SPDX-License-Identifier: Apache-2.0
//! Static files: pure of Python and of the event loop.

use std::fs::File;
use std::sync::Arc;

use crate::config::StaticRoute;

/// Open files and the routes that lead to them.
pub struct Files {
    routes: Vec<StaticRoute>,
}

/// What is to be sent. `head` holds whole header lines, each with its CRLF: no status line, Date or Connection, and no empty
/// line at the end.
pub struct Reply {
    pub status: u16,
    pub head: Vec<u8>,
    /// Empty for HEAD.
    pub body: Body,
}

pub enum Body {
    Empty,
    Bytes(Arc<[u8]>),
    File { file: Arc<File>, offset: u64, length: u64 },
    Parts(Vec<Part>),
}

/// One part of multipart/byteranges, or its closing delimiter (then without a file).
pub struct Part {
    pub head: Vec<u8>,
    pub file: Option<(Arc<File>, u64, u64)>,
}

impl Files {
    pub fn new(routes: &[StaticRoute]) -> Self {
        Self { routes: routes.to_vec() }
    }

    /// None: no route has this prefix, the application may answer. `target`: origin-form, its query still on it.
    /// `now`: monotonic seconds, for the age of cached entries.
    pub fn respond(&mut self, method: &[u8], target: &[u8], headers: &[httparse::Header], now: u64) -> Option<Reply> {
        let _ = (method, target, headers, now, &self.routes);
        None
    }
}
