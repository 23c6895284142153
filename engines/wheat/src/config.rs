// SPDX-License-Identifier: Apache-2.0
//! What the command line asks for.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bind {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

/// Bytes, but for `headers` and `connections`, which are counts.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Longest request line: 414 beyond it.
    pub line: usize,
    /// Longest head, request line included: 431 beyond it.
    pub head: usize,
    /// Most header fields: 431 beyond it. At most `http::head::MOST_HEADERS`.
    pub headers: usize,
    /// Longest request body, decoded: 413 beyond it.
    pub body: u64,
    /// A request body beyond this length is kept in a file without a name.
    pub spool: usize,
    /// Most connections of a worker: 503 beyond it.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { line: 8 << 10, head: 32 << 10, headers: 100, body: 64 << 20, spool: 256 << 10, connections: 16 << 10 }
    }
}

#[derive(Clone, Debug)]
pub struct Deadlines {
    /// From the first byte of a head (or the accept) to its last.
    pub head: Duration,
    /// Between one piece of a request body and the next.
    pub body: Duration,
    /// Of a connection between two requests.
    pub idle: Duration,
    /// For a client to take a piece of the response.
    pub send: Duration,
    /// For requests in flight once the worker has been asked to end.
    pub graceful: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { head: seconds(30), body: seconds(30), idle: seconds(60), send: seconds(30), graceful: seconds(30) }
    }
}

#[derive(Clone, Debug)]
pub struct StaticRoute {
    /// Begins with a slash.
    pub prefix: String,
    pub root: PathBuf,
    /// The file that stands for a directory. None: a directory is not found.
    pub index: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessLog {
    Off,
    Combined,
    Json,
}

#[derive(Clone, Debug)]
pub struct Tls {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// How an application gets its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// It is called when the whole body is there: no slow client occupies it.
    Buffered,
    /// It is called after the head and waits for its input: needs threads.
    Streamed,
}

#[derive(Clone, Debug)]
pub struct Config {
    /// `module:callable`
    pub application: Option<String>,
    pub binds: Vec<Bind>,
    pub workers: usize,
    /// Threads that call the application. 1: the event loop itself calls it.
    pub threads: usize,
    pub input: Input,
    pub python: Option<PathBuf>,
    pub statics: Vec<StaticRoute>,
    pub limits: Limits,
    pub deadlines: Deadlines,
    pub access_log: AccessLog,
    pub tls: Option<Tls>,
    /// Before the application is imported.
    pub chdir: Option<PathBuf>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            application: None,
            binds: Vec::new(),
            workers: 1,
            threads: 1,
            input: Input::Buffered,
            python: None,
            statics: Vec::new(),
            limits: Limits::default(),
            deadlines: Deadlines::default(),
            access_log: AccessLog::Off,
            tls: None,
            chdir: None,
        }
    }
}

/// One clear sentence for whoever typed the command line.
#[derive(Debug)]
pub struct Sentence(pub String);

#[derive(Debug)]
pub enum Command {
    Serve(Config),
    Help,
    Version,
}

impl Config {
    pub fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Command, Sentence> {
        use lexopt::prelude::*;
        let sentence = |e: lexopt::Error| Sentence(e.to_string());
        let mut config = Config::default();
        let mut parser = lexopt::Parser::from_args(arguments);
        while let Some(argument) = parser.next().map_err(sentence)? {
            match argument {
                Long("bind") => {
                    let value: String = parser.value().map_err(sentence)?.parse().map_err(sentence)?;
                    config.binds.push(match value.strip_prefix("unix:") {
                        Some(path) => Bind::Unix(path.into()),
                        None => {
                            Bind::Tcp(value.parse().map_err(|_| Sentence(format!("--bind {value}: not an address")))?)
                        }
                    });
                }
                Long("threads") => config.threads = parser.value().map_err(sentence)?.parse().map_err(sentence)?,
                Long("static") => {
                    let value: String = parser.value().map_err(sentence)?.parse().map_err(sentence)?;
                    let (prefix, root) =
                        value.split_once('=').ok_or_else(|| Sentence(format!("--static {value}: not /PREFIX=DIR")))?;
                    config.statics.push(StaticRoute { prefix: prefix.into(), root: root.into(), index: None });
                }
                Long("tls-certificate") => {
                    let path = parser.value().map_err(sentence)?.into();
                    config
                        .tls
                        .get_or_insert_with(|| Tls { certificate: PathBuf::new(), key: PathBuf::new() })
                        .certificate = path;
                }
                Long("tls-key") => {
                    let path = parser.value().map_err(sentence)?.into();
                    config.tls.get_or_insert_with(|| Tls { certificate: PathBuf::new(), key: PathBuf::new() }).key =
                        path;
                }
                Value(application) if config.application.is_none() => {
                    config.application = Some(application.parse().map_err(sentence)?);
                }
                other => return Err(sentence(other.unexpected())),
            }
        }
        Ok(Command::Serve(config))
    }
}
