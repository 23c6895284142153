// SPDX-License-Identifier: Apache-2.0
//! The protocols: a file for each, which implements `Protocol` and `Reader`. `--protocol` has their names (`options::Protocol`),
//! and the compiler asks for an arm in `wsgi::serving`, which says how an application is called.

pub mod http;
pub mod line;
