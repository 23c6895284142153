// SPDX-License-Identifier: Apache-2.0
//! The executable: the master, which never loads Python, and its workers where only files are served.

use std::io::Write;
use std::process::ExitCode;

use wheat::config::{Command, Config};
use wheat::error::Error;
use wheat::observe::stat;
use wheat::serve::worker;
use wheat::supervise::{handover, master};

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "wheat: {error}");
            ExitCode::from(error.exit as u8)
        }
    }
}

fn run() -> Result<ExitCode, Error> {
    let arguments = std::env::args_os().skip(1);
    // A worker has all options from its master.
    let command = if handover::is_worker() { Config::parse(arguments)? } else { Config::of_all(arguments)? };
    match command {
        Command::Tell(text) => {
            // Whoever closed the pipe has read enough.
            let _ = std::io::stdout().write_all(text.as_bytes());
            Ok(ExitCode::SUCCESS)
        }
        Command::Stat(request) => stat::run(&request),
        Command::Check(config) => master::check(&config),
        Command::Serve(config) if handover::is_worker() => {
            let context = handover::inherit(&config)?.worker()?;
            Ok(ExitCode::from(worker::run(&config, context) as u8))
        }
        Command::Serve(config) => master::run(&config),
    }
}
