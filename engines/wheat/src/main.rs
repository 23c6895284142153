// SPDX-License-Identifier: Apache-2.0
//! The executable: the master, which never loads Python.

use wheat::config::Config;

fn main() {
    let _ = Config::parse(std::env::args_os().skip(1));
}
