// SPDX-License-Identifier: Apache-2.0
//! The command line. One table (`GROUPS`) makes the parser, the defaults and the help.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use crate::config::*;
use crate::error::Error;

type Set = fn(&mut Config, &OsStr) -> Result<(), String>;

enum Take {
    Nothing(fn(&mut Config)),
    Value { shown: &'static str, default: Option<&'static str>, set: Set },
}

struct Choice {
    name: &'static str,
    short: Option<char>,
    take: Take,
    /// Follows the name in the help; the default is added.
    help: &'static str,
}

const fn value(name: &'static str, shown: &'static str, default: &'static str, help: &'static str, set: Set) -> Choice {
    Choice { name, short: None, take: Take::Value { shown, default: Some(default), set }, help }
}

const fn optional(name: &'static str, shown: &'static str, help: &'static str, set: Set) -> Choice {
    Choice { name, short: None, take: Take::Value { shown, default: None, set }, help }
}

impl Choice {
    const fn short(mut self, letter: char) -> Self {
        self.short = Some(letter);
        self
    }
}

const GROUPS: &[(&str, &[Choice])] = &[
    (
        "Where it listens",
        &[
            optional(
                "bind",
                "ADDRESS",
                "HOST:PORT, [IPV6]:PORT or unix:PATH; may be given several times. Port 0: a free one [127.0.0.1:8000]",
                |c, v| bind(v).map(|it| c.binds.push(it)),
            )
            .short('b'),
            value("backlog", "N", "2048", "connections that wait to be accepted, for each address", |c, v| {
                store(&mut c.backlog, count(v, 1..=65535))
            }),
            Choice {
                name: "reuse-port",
                short: None,
                take: Take::Nothing(|c| c.reuse_port = true),
                help: "let another server that says so too share the port (SO_REUSEPORT)",
            },
            optional("socket-mode", "OCTAL", "permissions of UNIX sockets, such as 660", |c, v| {
                store(&mut c.socket_mode, mode(v).map(Some))
            }),
            optional("tls-certificate", "FILE", "serve HTTPS: certificate chain, PEM", |c, v| {
                store(&mut c.tls_certificate, path(v).map(Some))
            }),
            optional("tls-key", "FILE", "its private key, PEM", |c, v| store(&mut c.tls_key, path(v).map(Some))),
        ],
    ),
    (
        "Processes",
        &[
            value("workers", "N", "1", "worker processes; auto: one for each CPU", |c, v| {
                c.workers = if v == "auto" { allowed_cpus().len().max(1) } else { count(v, 1..=MOST_WORKERS)? };
                Ok(())
            })
            .short('w'),
            value("threads", "N", "1", "threads of a worker that call the application", |c, v| {
                store(&mut c.threads, count(v, 1..=512))
            })
            .short('t'),
            value(
                "input",
                "HOW",
                "buffered",
                "buffered: the application is called when the whole body is there; streamed: after the head, and reads \
                 it as it comes (with --threads 2 or more)",
                |c, v| store(&mut c.input, one_of(v, &[("buffered", Input::Buffered), ("streamed", Input::Streamed)])),
            ),
            value(
                "affinity",
                "CPUS",
                "none",
                "auto: each worker on a CPU of its own; or a list such as 0,2-3",
                |c, v| store(&mut c.affinity, affinity(v)),
            ),
            value("max-requests", "N", "off", "replace a worker after N requests, less a random tenth", |c, v| {
                c.max_requests = if v == "off" { None } else { Some(count(v, 1..=usize::MAX)? as u64) };
                Ok(())
            }),
            value(
                "hang-after",
                "TIME",
                "60s",
                "replace a worker that could take on nothing for so long; off: never",
                |c, v| {
                    c.hang_after = if v == "off" { None } else { Some(duration(v)?) };
                    Ok(())
                },
            ),
            optional("pid-file", "FILE", "write the master's process id there, removed at the end", |c, v| {
                store(&mut c.pid_file, path(v).map(Some))
            }),
            optional("name", "NAME", "what `wheat stat` calls this server [the application]", |c, v| {
                store(&mut c.name, text(v).map(Some))
            }),
        ],
    ),
    (
        "Application",
        &[
            optional("chdir", "DIR", "go there before importing the application", |c, v| {
                store(&mut c.chdir, path(v).map(Some))
            }),
            optional(
                "python",
                "FILE",
                "the interpreter [python3 beside this program, else the first on PATH]",
                |c, v| store(&mut c.python, path(v).map(Some)),
            ),
        ],
    ),
    (
        "Static files",
        &[
            optional(
                "static",
                "/PREFIX=DIR",
                "serve the files of DIR under /PREFIX; may be given several times",
                |c, v| static_route(v).map(|it| c.statics.push(it)),
            ),
            optional("index", "NAME", "the file that answers for a directory, such as index.html", |c, v| {
                let name = text(v)?;
                if name.is_empty() || name.contains('/') {
                    return Err("the name of a file, such as index.html".into());
                }
                c.index = Some(name);
                Ok(())
            }),
        ],
    ),
    (
        "Limits (sizes in bytes, or with KiB, MiB, GiB)",
        &[
            value("limit-line", "SIZE", "8KiB", "longest request line (414)", |c, v| {
                store(&mut c.limits.line, size(v, 64..=1 << 20))
            }),
            value("limit-head", "SIZE", "32KiB", "longest request head (431)", |c, v| {
                store(&mut c.limits.head, size(v, 256..=16 << 20))
            }),
            value("limit-headers", "N", "100", "most header fields (431)", |c, v| {
                store(&mut c.limits.headers, count(v, 1..=MOST_HEADERS))
            }),
            value("limit-body", "SIZE", "64MiB", "longest request body, decoded (413)", |c, v| {
                c.limits.body = size(v, 0..=usize::MAX)? as u64;
                Ok(())
            }),
            value("spool", "SIZE", "256KiB", "keep longer request bodies in a temporary file", |c, v| {
                store(&mut c.limits.spool, size(v, 0..=1 << 30))
            }),
            value("limit-connections", "N", "16384", "most connections of a worker (503)", |c, v| {
                store(&mut c.limits.connections, count(v, 1..=1 << 20))
            }),
        ],
    ),
    (
        "Deadlines (such as 500ms, 30s, 2m; a bare number is seconds)",
        &[
            value("deadline-head", "TIME", "30s", "for a whole request head (408)", |c, v| {
                store(&mut c.deadlines.head, duration(v))
            }),
            value("deadline-body", "TIME", "30s", "for the next piece of a request body (408)", |c, v| {
                store(&mut c.deadlines.body, duration(v))
            }),
            value("deadline-idle", "TIME", "60s", "of a connection between two requests", |c, v| {
                store(&mut c.deadlines.idle, duration(v))
            }),
            value("deadline-send", "TIME", "30s", "for a client to take the next piece of a response", |c, v| {
                store(&mut c.deadlines.send, duration(v))
            }),
            value("deadline-graceful", "TIME", "30s", "for requests in flight when a worker shall end", |c, v| {
                store(&mut c.deadlines.graceful, duration(v))
            }),
        ],
    ),
    (
        "Logs and counters",
        &[
            value("access-log", "FORMAT", "off", "combined or json: a line for each request", |c, v| {
                let formats = [("off", AccessLog::Off), ("combined", AccessLog::Combined), ("json", AccessLog::Json)];
                c.access_log = one_of(v, &formats)?;
                Ok(())
            }),
            optional(
                "access-log-file",
                "FILE",
                "append it there; SIGUSR1 opens the file again [standard output]",
                |c, v| store(&mut c.access_log_file, path(v).map(Some)),
            ),
            optional(
                "metrics",
                "ADDRESS",
                "serve the counters as OpenMetrics under /metrics of this address",
                |c, v| store(&mut c.metrics, bind(v).map(Some)),
            ),
        ],
    ),
];

/// Every option that has a default.
pub fn set_defaults(config: &mut Config) {
    for choice in choices() {
        if let Take::Value { default: Some(default), set, .. } = &choice.take {
            set(config, OsStr::new(default)).expect("a default is valid");
        }
    }
}

impl Default for Config {
    /// Every option as the table has its default.
    fn default() -> Self {
        let zero = Duration::ZERO;
        let mut config = Self {
            application: None,
            binds: Vec::new(),
            backlog: 0,
            reuse_port: false,
            socket_mode: None,
            tls: None,
            workers: 0,
            threads: 0,
            input: Input::Buffered,
            affinity: Affinity::Free,
            max_requests: None,
            hang_after: None,
            python: None,
            chdir: None,
            statics: Vec::new(),
            limits: Limits { line: 0, head: 0, headers: 0, body: 0, spool: 0, connections: 0 },
            deadlines: Deadlines { head: zero, body: zero, idle: zero, send: zero, graceful: zero },
            access_log: AccessLog::Off,
            access_log_file: None,
            metrics: None,
            pid_file: None,
            name: None,
            tls_certificate: None,
            tls_key: None,
            index: None,
        };
        set_defaults(&mut config);
        config
    }
}

fn choices() -> impl Iterator<Item = &'static Choice> {
    GROUPS.iter().flat_map(|(_, choices)| choices.iter())
}

fn store<T>(place: &mut T, value: Result<T, String>) -> Result<(), String> {
    *place = value?;
    Ok(())
}

fn text(value: &OsStr) -> Result<String, String> {
    value.to_str().map(str::to_owned).ok_or_else(|| "text in UTF-8".to_owned())
}

fn path(value: &OsStr) -> Result<PathBuf, String> {
    // Absolute, so that it means the same after --chdir.
    std::path::absolute(value).map_err(|_| "a path, not nothing".into())
}

fn count(value: &OsStr, range: std::ops::RangeInclusive<usize>) -> Result<usize, String> {
    let wanted = || {
        if *range.end() == usize::MAX {
            format!("a number from {}", range.start())
        } else {
            format!("a number from {} to {}", range.start(), range.end())
        }
    };
    let n = digits(value.to_str().unwrap_or("")).ok_or_else(wanted)?;
    if range.contains(&n) { Ok(n) } else { Err(wanted()) }
}

/// `str::parse` would take a plus sign too.
fn digits(text: &str) -> Option<usize> {
    if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// The number in front and what follows it.
fn number_of(text: &str) -> Option<(usize, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((digits(&text[..end]).filter(|_| end > 0)?, &text[end..]))
}

fn size(value: &OsStr, range: std::ops::RangeInclusive<usize>) -> Result<usize, String> {
    let wanted = || {
        let most = if *range.end() == usize::MAX { String::new() } else { format!(" to {}", shown_size(*range.end())) };
        format!("a size from {}{most}, such as 64KiB", shown_size(*range.start()))
    };
    let (n, unit) = number_of(value.to_str().unwrap_or("")).ok_or_else(wanted)?;
    let bytes = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1usize << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        _ => return Err(wanted()),
    };
    n.checked_mul(bytes).filter(|n| range.contains(n)).ok_or_else(wanted)
}

fn shown_size(bytes: usize) -> String {
    match bytes {
        n if n >= 1 << 20 && n % (1 << 20) == 0 => format!("{} MiB", n >> 20),
        n if n >= 1 << 10 && n % (1 << 10) == 0 => format!("{} KiB", n >> 10),
        n => n.to_string(),
    }
}

fn duration(value: &OsStr) -> Result<Duration, String> {
    let wanted = || "a time from 1ms to 24h, such as 500ms, 30s or 2m".to_owned();
    let (n, unit) = number_of(value.to_str().unwrap_or("")).ok_or_else(wanted)?;
    let milliseconds = match unit {
        "ms" => 1,
        "" | "s" => 1000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        _ => return Err(wanted()),
    };
    let total = n.checked_mul(milliseconds).filter(|n| (1..=86_400_000).contains(n)).ok_or_else(wanted)?;
    Ok(Duration::from_millis(total as u64))
}

fn mode(value: &OsStr) -> Result<u32, String> {
    let wanted = || "an octal number from 0 to 777, such as 660".to_owned();
    let text = value.to_str().filter(|text| text.bytes().all(|b| b.is_ascii_digit())).ok_or_else(wanted)?;
    u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777).ok_or_else(wanted)
}

fn one_of<T: Copy>(value: &OsStr, known: &[(&str, T)]) -> Result<T, String> {
    known.iter().find(|(name, _)| value == *name).map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        names.join(" or ")
    })
}

fn bind(value: &OsStr) -> Result<Bind, String> {
    use std::os::unix::ffi::OsStrExt;
    let wanted = || "HOST:PORT, [IPV6]:PORT or unix:PATH, such as 127.0.0.1:8000".to_owned();
    if let Some(path) = value.as_bytes().strip_prefix(b"unix:") {
        // sun_path has 108 bytes, the last of them the NUL.
        return match path.len() {
            0 => Err(wanted()),
            1..108 => Ok(Bind::Unix(OsStr::from_bytes(path).into())),
            _ => Err("a path of at most 107 bytes after unix: (a limit of the kernel)".into()),
        };
    }
    let text = value.to_str().ok_or_else(wanted)?;
    if let Ok(address) = text.parse() {
        return Ok(Bind::Tcp(address));
    }
    let (host, port) = text.rsplit_once(':').ok_or_else(wanted)?;
    let port = digits(port).and_then(|port| u16::try_from(port).ok()).ok_or_else(wanted)?;
    match host {
        "" => Err("an address before the colon: 0.0.0.0 for all of IPv4, [::] for all of IPv6, 127.0.0.1 for this \
                   machine alone"
            .into()),
        _ if host.contains([':', '/', '[', ']', ' ']) => Err(wanted()),
        _ => Ok(Bind::Name(host.into(), port)),
    }
}

fn affinity(value: &OsStr) -> Result<Affinity, String> {
    match value.to_str() {
        Some("none") => return Ok(Affinity::Free),
        Some("auto") => return Ok(Affinity::Auto),
        _ => {}
    }
    let wanted = || "none, auto or a list of CPUs such as 0,2-3".to_owned();
    let allowed = allowed_cpus();
    let mut cpus = Vec::new();
    for part in value.to_str().ok_or_else(wanted)?.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let read = |text: &str| number_of(text).filter(|(_, rest)| rest.is_empty()).map(|(n, _)| n).ok_or_else(wanted);
        let (first, last) = (read(first)?, read(last)?);
        if first > last {
            return Err(wanted());
        }
        if let Some(cpu) = (first..=last).find(|cpu| !allowed.contains(cpu)) {
            return Err(format!("a list of CPUs that this process may use ({}): {cpu} is none", shown_cpus(&allowed)));
        }
        cpus.extend(first..=last);
    }
    Ok(Affinity::Cpus(cpus))
}

fn shown_cpus(cpus: &[usize]) -> String {
    let mut out = String::new();
    for run in cpus.chunk_by(|a, b| a + 1 == *b) {
        let comma = if out.is_empty() { "" } else { "," };
        let _ = match run {
            [one] => write!(out, "{comma}{one}"),
            run => write!(out, "{comma}{}-{}", run[0], run[run.len() - 1]),
        };
    }
    out
}

fn static_route(value: &OsStr) -> Result<StaticRoute, String> {
    use std::os::unix::ffi::OsStrExt;
    let wanted = || "/PREFIX=DIR, such as /static=assets".to_owned();
    let bytes = value.as_bytes();
    let equals = bytes.iter().position(|b| *b == b'=').ok_or_else(wanted)?;
    let prefix = std::str::from_utf8(&bytes[..equals]).map_err(|_| wanted())?;
    let root = &bytes[equals + 1..];
    if !prefix.starts_with('/') || root.is_empty() || prefix.contains(['?', '#', '%']) || prefix.contains("//") {
        return Err(wanted());
    }
    Ok(StaticRoute { prefix: prefix.into(), root: path(OsStr::from_bytes(root))?, index: None })
}

impl Config {
    /// Pure but for the CPUs that are looked at: no file is opened, no name looked up.
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, Error> {
        let mut arguments = arguments.into_iter().peekable();
        if arguments.peek().is_some_and(|first| first == "stat") {
            arguments.next();
            return parse_stat(lexopt::Parser::from_args(arguments));
        }
        let mut parser = lexopt::Parser::from_args(arguments);
        let mut config = Config::default();
        let mut check = false;
        while let Some(argument) = parser.next().map_err(|e| Error::usage(e.to_string()))? {
            let choice = match argument {
                lexopt::Arg::Long("help") | lexopt::Arg::Short('h') => return Ok(Command::Tell(help())),
                lexopt::Arg::Long("version") | lexopt::Arg::Short('V') => return Ok(Command::Tell(version())),
                lexopt::Arg::Long("check") => {
                    check = true;
                    continue;
                }
                lexopt::Arg::Value(application) => {
                    let application = text(&application).ok().filter(|text| is_application(text)).ok_or_else(|| {
                        Error::usage(format!(
                            "the application is MODULE:CALLABLE, such as app:application, not {application:?}"
                        ))
                    })?;
                    if let Some(first) = &config.application {
                        return Err(Error::usage(format!(
                            "one application is served at a time: \"{first}\" or \"{application}\"?"
                        )));
                    }
                    config.application = Some(application);
                    continue;
                }
                lexopt::Arg::Long(name) => choices().find(|choice| choice.name == name).ok_or_else(|| unknown(name))?,
                lexopt::Arg::Short(letter) => choices()
                    .find(|choice| choice.short == Some(letter))
                    .ok_or_else(|| Error::usage(format!("there is no option -{letter}: see wheat --help")))?,
            };
            match choice.take {
                Take::Nothing(set) => set(&mut config),
                Take::Value { shown, set, .. } => {
                    let value = parser
                        .value()
                        .map_err(|_| Error::usage(format!("--{} needs a value: {shown}", choice.name)))?;
                    set(&mut config, &value).map_err(|wanted| {
                        Error::usage(format!("--{} is {wanted}, not \"{}\"", choice.name, value.display()))
                    })?;
                }
            }
        }
        config.agree()?;
        Ok(if check { Command::Check(Box::new(config)) } else { Command::Serve(Box::new(config)) })
    }

    /// What options say together.
    fn agree(&mut self) -> Result<(), Error> {
        let usage = |text: &str| Err(Error::usage(text));
        if self.application.is_none() && self.statics.is_empty() {
            return usage("nothing to serve: name an application (wheat app:application) or files (--static /=DIR)");
        }
        self.tls = match (self.tls_certificate.clone(), self.tls_key.clone()) {
            (None, None) => None,
            (Some(certificate), Some(key)) => Some(Tls { certificate, key }),
            _ => return usage("--tls-certificate and --tls-key come together"),
        };
        if self.input == Input::Streamed && self.threads < 2 {
            return usage("--input streamed needs --threads 2 or more: the event loop itself can't wait for a body");
        }
        if self.limits.line > self.limits.head {
            return usage("--limit-line can't be larger than --limit-head, which includes the request line");
        }
        if self.access_log_file.is_some() && self.access_log == AccessLog::Off {
            return usage("--access-log-file needs --access-log combined or --access-log json");
        }
        if self.index.is_some() && self.statics.is_empty() {
            return usage("--index needs --static");
        }
        for route in &mut self.statics {
            route.index.clone_from(&self.index);
        }
        Ok(())
    }
}

fn is_application(text: &str) -> bool {
    let (module, callable) = text.split_once(':').unwrap_or((text, "application"));
    let dotted = |name: &str| {
        name.split('.').all(|part| {
            !part.is_empty()
                && !part.starts_with(|c: char| c.is_ascii_digit())
                && part.chars().all(|c| c.is_alphanumeric() || c == '_')
        })
    };
    dotted(module) && dotted(callable.strip_suffix("()").unwrap_or(callable))
}

fn unknown(name: &str) -> Error {
    let known = choices().map(|choice| choice.name).chain(["help", "version", "check"]);
    let near = known
        .filter(|known| strsim::damerau_levenshtein(known, name) <= 2)
        .min_by_key(|known| strsim::damerau_levenshtein(known, name));
    match near {
        Some(near) => Error::usage(format!("there is no option --{name}: did you mean --{near}?")),
        None => Error::usage(format!("there is no option --{name}: see wheat --help")),
    }
}

fn parse_stat(mut parser: lexopt::Parser) -> Result<Command, Error> {
    use lexopt::Arg::{Long, Short, Value};
    let mut request = StatRequest { which: None, format: StatFormat::Table, every: None };
    while let Some(argument) = parser.next().map_err(|e| Error::usage(e.to_string()))? {
        match argument {
            Long("help") | Short('h') => return Ok(Command::Tell(STAT_HELP.into())),
            Long("openmetrics") => request.format = StatFormat::OpenMetrics,
            Long("watch") | Short('w') => {
                let every = parser.optional_value().unwrap_or_else(|| "1s".into());
                let every = duration(&every)
                    .map_err(|wanted| Error::usage(format!("--watch is {wanted}, not \"{}\"", every.display())))?;
                request.every = Some(every);
            }
            Value(which) if request.which.is_none() => request.which = Some(which),
            other => {
                return Err(Error::usage(format!("wheat stat: {}: see wheat stat --help", other.unexpected())));
            }
        }
    }
    Ok(Command::Stat(request))
}

pub fn version() -> String {
    format!("wheat {}\n", env!("CARGO_PKG_VERSION"))
}

const STAT_HELP: &str = "\
Show the counters of a running server.

Usage: wheat stat [OPTIONS] [SERVER]

SERVER is its name (--name, or else the application), its process id or its
--pid-file. Not needed where only one is running.

  -w, --watch[=TIME]   again every TIME, until Ctrl-C [1s]
      --openmetrics    as OpenMetrics, for Prometheus and its like
  -h, --help           this text
";

/// The column where explanations begin, and the widest line.
const HELP_COLUMN: usize = 32;
const HELP_WIDTH: usize = 104;

pub fn help() -> String {
    let mut out = String::from(
        "\
Serve a WSGI application, static files or both.

Usage: wheat [OPTIONS] MODULE:CALLABLE
       wheat [OPTIONS] --static /PREFIX=DIR
       wheat stat [SERVER]      show the counters of a running server: wheat stat --help

CALLABLE may end in (): what it returns is then the application.
",
    );
    for (group, choices) in GROUPS {
        let _ = write!(out, "\n{group}:\n");
        for choice in *choices {
            let (shown, default) = match choice.take {
                Take::Nothing(_) => ("", None),
                Take::Value { shown, default, .. } => (shown, default),
            };
            let letter = choice.short.map_or("    ".into(), |letter| format!("-{letter}, "));
            let default = default.map_or(String::new(), |default| format!(" [{default}]"));
            entry(&mut out, &format!("  {letter}--{} {shown}", choice.name), &format!("{}{default}", choice.help));
        }
    }
    out.push_str("\nOther:\n");
    entry(&mut out, "      --check", "test the configuration, import the application, and end");
    entry(&mut out, "  -h, --help", "this text");
    entry(&mut out, "  -V, --version", "the version");
    out.push_str(
        "
Signals to the master: TERM and INT end it after the requests in flight, QUIT at once; HUP reloads the
application without losing a request; TTIN and TTOU add and remove a worker; USR1 opens logs again.
Exit codes: 64 the command line, 69 something is not available, 78 the application or a file is wrong.
",
    );
    out
}

/// One option: its name, and its words wrapped in their column.
fn entry(out: &mut String, name: &str, words: &str) {
    let mut line = format!("{:<HELP_COLUMN$}", name.trim_end());
    if name.trim_end().len() >= HELP_COLUMN {
        line.push(' ');
    }
    let mut begun = false;
    for word in words.split(' ') {
        if begun && line.len() + 1 + word.len() > HELP_WIDTH {
            let _ = writeln!(out, "{}", line.trim_end());
            line = " ".repeat(HELP_COLUMN);
            begun = false;
        }
        if begun {
            line.push(' ');
        }
        line.push_str(word);
        begun = true;
    }
    let _ = writeln!(out, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Config, String> {
        match Config::parse(line.split_whitespace().map(OsString::from)) {
            Ok(Command::Serve(config)) => Ok(*config),
            Ok(other) => Err(format!("{other:?}")),
            Err(error) => {
                assert_eq!(error.exit, crate::error::Exit::Usage);
                Err(error.text)
            }
        }
    }

    #[test]
    fn an_application_alone_gets_the_defaults() {
        let config = parse("shop.app:application").unwrap();
        assert_eq!(config.application.as_deref(), Some("shop.app:application"));
        assert!(config.binds.is_empty(), "the default gives way to the sockets of a service manager");
        assert_eq!((config.workers, config.threads, config.backlog), (1, 1, 2048));
        assert_eq!(config.limits.body, 64 << 20);
        assert_eq!(config.deadlines.idle, Duration::from_secs(60));
        assert_eq!(config.hang_after, Some(Duration::from_secs(60)));
        assert_eq!(config.max_requests, None);
        assert_eq!(config.access_log, AccessLog::Off);
    }

    #[test]
    fn addresses_of_every_kind() {
        let config = parse("a --bind [::1]:80 -b localhost:0 --bind=unix:/run/a:b.sock -b1.2.3.4:5").unwrap();
        let wanted = [
            Bind::Tcp("[::1]:80".parse().unwrap()),
            Bind::Name("localhost".into(), 0),
            Bind::Unix("/run/a:b.sock".into()),
            Bind::Tcp("1.2.3.4:5".parse().unwrap()),
        ];
        assert_eq!(config.binds, wanted);
    }

    #[test]
    fn units_are_read() {
        let config =
            parse("a --limit-body 2m --limit-head 65536 --spool 0 --deadline-idle 1500ms --hang-after 2").unwrap();
        assert_eq!((config.limits.body, config.limits.head, config.limits.spool), (2 << 20, 65536, 0));
        assert_eq!(config.deadlines.idle, Duration::from_millis(1500));
        assert_eq!(config.hang_after, Some(Duration::from_secs(2)));
    }

    #[test]
    fn mistakes_are_named() {
        for (line, part) in [
            ("", "nothing to serve"),
            ("a b", "one application"),
            ("a:b:c", "MODULE:CALLABLE"),
            ("../a", "MODULE:CALLABLE"),
            ("a --wokers 2", "did you mean --workers?"),
            ("a --nothing-like-it", "see wheat --help"),
            ("a -x", "no option -x"),
            ("a --workers", "--workers needs a value: N"),
            ("a --workers 0", "a number from 1 to 512, not \"0\""),
            ("a --workers +1", "a number from 1 to 512"),
            ("a --bind :80", "0.0.0.0 for all"),
            ("a --bind 80", "HOST:PORT"),
            ("a --bind 1.2.3.4:65536", "HOST:PORT"),
            ("a --bind [::1:80", "HOST:PORT"),
            ("a --bind unix:", "unix:PATH"),
            ("a --limit-body 1.5m", "a size"),
            ("a --limit-body 99999999999999999999", "a size"),
            ("a --limit-body 17179869184g", "a size"),
            ("a --limit-line 64k", "--limit-head"),
            ("a --deadline-idle 0", "1ms to 24h"),
            ("a --deadline-idle s", "1ms to 24h"),
            ("a --socket-mode 888", "octal"),
            ("a --tls-key k", "come together"),
            ("a --input streamed", "--threads 2"),
            ("a --access-log common", "off or combined or json"),
            ("a --access-log-file f", "--access-log"),
            ("a --static assets", "/PREFIX=DIR"),
            ("a --static static=assets", "/PREFIX=DIR"),
            ("a --index index.html", "--static"),
            ("a --affinity 1-", "0,2-3"),
            ("a --affinity 5000", "may use"),
            ("a --reuse-port=yes", "yes"),
        ] {
            let error = parse(line).expect_err(line);
            assert!(error.contains(part), "{line}: {error}");
            assert!(!error.contains('\n'), "{line}: {error}");
        }
    }

    #[test]
    fn help_names_every_option_once_within_its_width() {
        let help = help();
        for choice in choices() {
            let name = format!("--{}", choice.name);
            let own = |line: &&str| line.trim_start().starts_with('-') && line.split(' ').any(|word| word == name);
            assert_eq!(help.lines().filter(own).count(), 1, "{}", choice.name);
        }
        assert!(help.contains(&format!("[{DEFAULT_BIND}]")));
        for line in help.lines() {
            assert!(line.len() <= HELP_WIDTH, "{line}");
        }
    }

    #[test]
    fn cpus_read_as_ranges() {
        assert_eq!(shown_cpus(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        let first = allowed_cpus()[0];
        assert_eq!(affinity(OsStr::new(&format!("{first}"))), Ok(Affinity::Cpus(vec![first])));
    }

    #[test]
    fn stat_takes_a_server_and_a_pace() {
        let stat = |line: &str| match Config::parse(line.split(' ').map(OsString::from)) {
            Ok(Command::Stat(request)) => request,
            other => panic!("{other:?}"),
        };
        assert_eq!(stat("stat"), StatRequest { which: None, format: StatFormat::Table, every: None });
        assert_eq!(stat("stat shop --watch").every, Some(Duration::from_secs(1)));
        assert_eq!(stat("stat --watch=200ms shop").which, Some("shop".into()));
        assert_eq!(stat("stat --openmetrics").format, StatFormat::OpenMetrics);
    }
}
