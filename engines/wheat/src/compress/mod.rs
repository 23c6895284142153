// SPDX-License-Identifier: Apache-2.0
//! Compression of answers while a client waits, as `--compress` has it.
//!
//! `accept` reads what a client takes, `headers` what a response says of itself, and `encoder` calls the libraries.

pub mod accept;
pub mod encoder;
pub mod headers;

use std::sync::Arc;

use httparse::Header;

use crate::config::Config;
use crate::error::Error;
use crate::options::{Coding, Codings, MediaTypes};

/// What is compressed, and how.
#[derive(Debug)]
pub struct Compression {
    codings: Codings,
    /// Bytes.
    least: u64,
    types: MediaTypes,
}

impl Compression {
    /// None: nothing is.
    pub fn of(config: &Config) -> Result<Option<Arc<Self>>, Error> {
        let Some(codings) = config.compress.clone() else { return Ok(None) };
        if !cfg!(feature = "compress") {
            return Err(Error::config("--compress: this wheat was built without compression"));
        }
        let (least, types) = (config.compress_least as u64, config.compress_types.clone());
        Ok(Some(Arc::new(Self { codings, least, types })))
    }

    /// `length`: None where it is not known before its end, which may be far.
    pub fn suits(&self, media_type: &[u8], length: Option<u64>) -> bool {
        length.is_none_or(|length| length >= self.least) && self.types.contain(media_type)
    }

    pub fn codings(&self) -> impl Iterator<Item = Coding> {
        self.codings.iter().map(|(coding, _)| *coding)
    }

    /// What a client likes best; `Identity` where it takes none of ours.
    pub fn choose(&self, headers: &[Header]) -> Coding {
        let codings: Vec<Coding> = self.codings().collect();
        accept::choose(headers, &codings).unwrap_or(Coding::Identity)
    }

    #[cfg(feature = "compress")]
    fn level(&self, coding: Coding) -> u32 {
        self.codings.iter().find(|(known, _)| *known == coding).map_or(0, |(_, level)| *level)
    }
}
