// SPDX-License-Identifier: Apache-2.0
//! A WSGI and static-file server for Linux.
//!
//! The command line is a `config`, whose values `options` reads. `supervise` is the master, which keeps workers alive. `serve` is a worker: an
//! event loop that parses (`http`) and answers from `files` or from an application (`wsgi`), if need be compressed (`compress`).
//! `observe` counts, logs and shows.
//! Modules and rooms use each other in one direction, which `tests/test_modules.py` holds them to.

pub mod background;
pub mod clock;
pub mod compress;
pub mod config;
pub mod error;
pub mod files;
pub mod http;
pub mod layout;
pub mod observe;
pub mod options;
pub mod serve;
pub mod settings;
pub mod supervise;
#[cfg(feature = "python")]
pub mod wsgi;
