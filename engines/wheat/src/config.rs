// SPDX-License-Identifier: Apache-2.0
//! What the command line asks for, once `options` has read it.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bind {
    Tcp(SocketAddr),
    /// Looked up when it is bound: one socket for each of its addresses.
    Name(String, u16),
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

/// Both are there: the parser refuses one without the other.
#[derive(Clone, Debug, PartialEq, Eq)]
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Affinity {
    /// Wherever the kernel likes.
    Free,
    /// Worker i on the i-th CPU that the master may use, and round again.
    Auto,
    /// Worker i on the i-th of these, and round again.
    Cpus(Vec<usize>),
}

#[derive(Clone, Debug)]
pub struct Config {
    /// `module:callable`
    pub application: Option<String>,
    /// Empty: the sockets of a service manager or, without any, `DEFAULT_BIND`.
    pub binds: Vec<Bind>,
    pub backlog: usize,
    pub reuse_port: bool,
    /// Permissions of UNIX sockets. None: as the umask has them.
    pub socket_mode: Option<u32>,
    pub tls: Option<Tls>,
    pub workers: usize,
    /// Threads that call the application. 1: the event loop itself calls it.
    pub threads: usize,
    pub input: Input,
    pub affinity: Affinity,
    /// A worker is replaced after so many requests, less up to a tenth drawn at random. None: never.
    pub max_requests: Option<u64>,
    /// How long a worker may take no new request before it counts as hung. None: for ever.
    pub hang_after: Option<Duration>,
    pub python: Option<PathBuf>,
    /// Before the application is imported.
    pub chdir: Option<PathBuf>,
    pub statics: Vec<StaticRoute>,
    pub limits: Limits,
    pub deadlines: Deadlines,
    pub access_log: AccessLog,
    /// None: standard output.
    pub access_log_file: Option<PathBuf>,
    /// Where the master serves the counters.
    pub metrics: Option<Bind>,
    pub pid_file: Option<PathBuf>,
    /// What `wheat stat` calls this server.
    pub name: Option<String>,
    pub(crate) tls_certificate: Option<PathBuf>,
    pub(crate) tls_key: Option<PathBuf>,
    pub(crate) index: Option<String>,
}

/// As many workers as the counters' memory has slots for.
pub const MOST_WORKERS: usize = 512;
/// More header fields than any parser's buffer holds here.
pub const MOST_HEADERS: usize = 1024;
pub const DEFAULT_BIND: &str = "127.0.0.1:8000";

impl Config {
    /// What `wheat stat` calls this server.
    pub fn shown_name(&self) -> String {
        self.name.clone().or_else(|| self.application.clone()).unwrap_or_else(|| "static".into())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatFormat {
    Table,
    OpenMetrics,
}

/// What `wheat stat` is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatRequest {
    /// A name, a process id or a file with a process id. None: the only one that runs.
    pub which: Option<OsString>,
    pub format: StatFormat,
    /// None: once.
    pub every: Option<Duration>,
}

#[derive(Debug)]
pub enum Command {
    Serve(Box<Config>),
    /// Tests the configuration and ends.
    Check(Box<Config>),
    Stat(StatRequest),
    /// The text to print.
    Tell(String),
}

/// The CPUs that this process may use, in order.
pub fn allowed_cpus() -> Vec<usize> {
    // SAFETY: cpu_set_t is plain data, for which all zeros are valid; the kernel writes at most the size given.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set);
        set
    };
    // SAFETY: the index is below CPU_SETSIZE.
    (0..libc::CPU_SETSIZE as usize).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).collect()
}
