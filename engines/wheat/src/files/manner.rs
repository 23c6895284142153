// SPDX-License-Identifier: Apache-2.0
//! How the files of a folder are answered with: their headers, and whether they are compressed.

use std::sync::Arc;

use crate::compress::Compression;
use crate::options::{Of, StaticHeader};

/// Longer files are sent as they are: the event loop, which all connections wait for, compresses a file at its first request.
const MOST_COMPRESSED: u64 = 1 << 20;

#[derive(Debug, Default)]
pub struct Manner {
    /// Of this folder and of types.
    pub headers: Vec<StaticHeader>,
    pub compression: Option<Arc<Compression>>,
}

/// By the end of a name.
pub fn media_type(name: &str) -> &'static str {
    mime_guess::from_path(name).first_raw().unwrap_or("application/octet-stream")
}

impl Manner {
    /// The header lines of a file. What is said of its type goes before what is said of the folder.
    pub fn lines(&self, media_type: &str) -> String {
        let of_type: Vec<&StaticHeader> = self
            .headers
            .iter()
            .filter(|header| matches!(&header.of, Of::Type(types) if types.contain(media_type.as_bytes())))
            .collect();
        let is_there = |name: &str| of_type.iter().any(|header| header.name.eq_ignore_ascii_case(name));
        let of_folder =
            self.headers.iter().filter(|header| matches!(header.of, Of::Prefix(_)) && !is_there(&header.name));
        of_folder
            .chain(of_type.iter().copied())
            .map(|header| format!("{}: {}\r\n", header.name, header.value))
            .collect()
    }

    pub fn compresses(&self, media_type: &str, length: u64) -> bool {
        let suits = |compression: &Arc<Compression>| compression.suits(media_type.as_bytes(), Some(length));
        length <= MOST_COMPRESSED && self.compression.as_ref().is_some_and(suits)
    }
}
