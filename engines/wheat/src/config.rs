// SPDX-License-Identifier: Apache-2.0
//! The command line: every option is declared once, with its default and its help. `options` reads the values.

use std::error::Error as _;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::error::{ContextKind, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

use crate::error::Error;
use crate::layout::Layout;
use crate::options::{
    Affinity, Bind, Codings, ErrorPage, Fields, MediaTypes, Missing, Networks, Of, Protocol, StaticHeader, StaticRoute,
    TryFiles, affinity, application, bind, codings, count, duration, error_page, file_name, header, media_types,
    missing, mode, name, networks, or_off, os, path, size, static_header, static_route, try_files, workers,
};
use crate::settings;

const LISTEN: &str = "Where it listens";
const PROXIES: &str = "Proxies in front";
const PROCESSES: &str = "Processes";
const APPLICATION: &str = "Application";
const FILES: &str = "Static files";
const ANSWERS: &str = "Answers";
const COMPRESSION: &str = "Compression";
const LOGS: &str = "Logs and counters";

pub const DEFAULT_BIND: &str = "127.0.0.1:8000";
/// Text, and what is like it.
const COMPRESSED_TYPES: &str = "text/*,*json,*xml,*javascript,*wasm";
/// Room for header fields on the stack: `--limit-headers` cannot go beyond it.
pub const MOST_HEADERS: usize = 256;

#[derive(Clone, Debug, Args)]
pub struct Config {
    /// What it was made from, for the workers to do the same.
    #[arg(skip)]
    pub arguments: Vec<OsString>,
    /// The application; with () at its end, what CALLABLE returns is the application
    #[arg(value_name = "MODULE:CALLABLE", value_parser = application)]
    pub application: Option<String>,
    /// HOST:PORT, [IPV6]:PORT or unix:PATH; may be given several times. Port 0: a free one [default: 127.0.0.1:8000]
    // Empty: the sockets of a service manager or, without any, `DEFAULT_BIND`.
    #[arg(long = "bind", short, value_name = "ADDRESS", help_heading = LISTEN, value_parser = os(bind))]
    pub binds: Vec<Bind>,
    /// Connections that wait to be accepted, for each address
    #[arg(long, value_name = "N", default_value = "2048", help_heading = LISTEN, value_parser = count(1..=65535))]
    pub backlog: usize,
    /// Let another server that says so too share the port (SO_REUSEPORT)
    #[arg(long, help_heading = LISTEN)]
    pub reuse_port: bool,
    /// Permissions of UNIX sockets, such as 660 [default: by the umask]
    #[arg(long, value_name = "OCTAL", help_heading = LISTEN, value_parser = mode)]
    pub socket_mode: Option<u32>,
    /// What is spoken there. http; line: a request is a line of UTF-8, and the application a function from its bytes to
    /// those of the answer
    #[arg(
        long, value_name = "PROTOCOL", default_value = "http", help_heading = LISTEN, hide_possible_values = true,
    )]
    pub protocol: Protocol,
    #[command(flatten)]
    pub tls: Option<Tls>,
    /// Believe what proxies in these networks say of a request's client, scheme and host; such as 10.0.0.0/8,::1,unix
    /// [default: nobody]
    #[arg(long, value_name = "NETWORKS", help_heading = PROXIES, value_parser = networks)]
    pub trust: Option<Networks>,
    /// The fields that they say it in. x-forwarded: X-Forwarded-For, -Proto and -Host; forwarded: Forwarded (RFC 7239)
    #[arg(
        long, value_name = "FIELDS", default_value = "x-forwarded", help_heading = PROXIES, hide_possible_values = true,
    )]
    pub forwarded: Fields,
    /// Connections from these networks begin with a header of the PROXY protocol, version 1 or 2 [default: none]
    #[arg(long, value_name = "NETWORKS", help_heading = PROXIES, value_parser = networks)]
    pub proxy_protocol: Option<Networks>,
    /// Worker processes; auto: one for each CPU
    #[arg(long, short, value_name = "N", default_value = "1", help_heading = PROCESSES, value_parser = workers)]
    pub workers: usize,
    /// Threads of a worker that call the application; 1: its event loop calls it
    #[arg(long, short, value_name = "N", default_value = "1", help_heading = PROCESSES, value_parser = count(1..=512))]
    pub threads: usize,
    /// buffered: the application is called when the whole body is there; streamed: it is called after the head, and reads
    /// a body of known length as it comes (needs --threads 2 or more)
    #[arg(long, value_name = "HOW", default_value = "buffered", help_heading = PROCESSES, hide_possible_values = true)]
    pub input: Input,
    /// auto: each worker on a CPU of its own; or a list such as 0,2-3
    #[arg(long, value_name = "CPUS", default_value = "none", help_heading = PROCESSES, value_parser = affinity)]
    pub affinity: Affinity,
    /// Replace a worker after N requests, less a random tenth
    #[arg(
        long, value_name = "N", default_value = "off", help_heading = PROCESSES,
        value_parser = or_off(count(1..=usize::MAX)),
    )]
    pub max_requests: std::option::Option<usize>,
    /// Replace a worker whose calls have not got on for this long while it could take no new one; off: never
    #[arg(long, value_name = "TIME", default_value = "60s", help_heading = PROCESSES, value_parser = or_off(duration))]
    pub hang_after: std::option::Option<Duration>,
    /// Whom workers run as, by name or number; the master is root then, and opens the ports
    #[arg(long, value_name = "USER", help_heading = PROCESSES, value_parser = name)]
    pub user: Option<String>,
    /// Their group [default: the user's own, with the user's others]
    #[arg(long, value_name = "GROUP", help_heading = PROCESSES, value_parser = name)]
    pub group: Option<String>,
    /// Write the master's process id there; removed at the end
    #[arg(long, value_name = "FILE", help_heading = PROCESSES, value_parser = os(path))]
    pub pid_file: Option<PathBuf>,
    /// What `wheat stat` calls this server [default: the application]
    #[arg(long, value_name = "NAME", help_heading = PROCESSES, value_parser = name)]
    pub name: Option<String>,
    /// Go there before importing the application
    #[arg(long, value_name = "DIR", help_heading = APPLICATION, value_parser = os(path))]
    pub chdir: Option<PathBuf>,
    /// Import the application once, in a process that forks the workers: they share the memory that they don't write to
    #[arg(long, help_heading = APPLICATION)]
    pub preload: bool,
    /// Reload when a file of the imported modules changes, for development; while it can't be imported the old code answers
    #[arg(long, help_heading = APPLICATION)]
    pub reload: bool,
    /// Call functions of this Python file: post_fork(worker), post_worker_init(worker), on_request(environ),
    /// on_response(environ, status), worker_exit(worker)
    #[arg(long, value_name = "FILE", help_heading = APPLICATION, value_parser = os(path))]
    pub hooks: Option<PathBuf>,
    /// The interpreter [default: python3 beside this program, else the first on PATH]
    #[arg(long, value_name = "FILE", help_heading = APPLICATION, value_parser = os(path))]
    pub python: Option<PathBuf>,
    /// Serve the files of DIR under /PREFIX; may be given several times
    #[arg(long = "static", value_name = "/PREFIX=DIR", help_heading = FILES, value_parser = os(static_route))]
    pub statics: Vec<StaticRoute>,
    /// The file that answers for a directory, such as index.html [default: none, a directory is not found]
    #[arg(long, value_name = "NAME", requires = "statics", help_heading = FILES, value_parser = file_name)]
    pub index: Option<String>,
    /// Add a header to what files answer, of a --static or of a type, which goes before; such as /static=Cache-Control:
    /// max-age=3600 or image/*=Cache-Control: max-age=86400; may be given several times
    #[arg(
        long = "static-header", value_name = "/PREFIX=NAME: VALUE", help_heading = FILES, value_parser = static_header,
    )]
    pub static_headers: Vec<StaticHeader>,
    /// What answers where a folder has no such file: 404, application, or a file of it such as index.html
    #[arg(long, value_name = "WHAT", default_value = "404", help_heading = FILES, value_parser = missing)]
    pub static_missing: Missing,
    /// What is tried under /PREFIX where there is no such file, such as /docs=$uri.html,$uri/index.html,404; its last goes
    /// before --static-missing; may be given several times
    #[arg(long = "try-files", value_name = "/PREFIX=LIST", help_heading = FILES, value_parser = try_files)]
    pub try_files: Vec<TryFiles>,
    /// Send a file of DIR where the application answers X-Accel-Redirect: /PREFIX/FILE; clients can't ask for it; may be
    /// given several times
    #[arg(long = "internal", value_name = "/PREFIX=DIR", help_heading = FILES, value_parser = os(static_route))]
    pub internals: Vec<StaticRoute>,
    /// Add a header to every answer, such as X-Content-Type-Options: nosniff; may be given several times
    #[arg(long = "header", value_name = "NAME: VALUE", help_heading = ANSWERS, value_parser = header)]
    pub own_headers: Vec<String>,
    /// Send FILE in the place of the server's own words: with one status or, by 4xx and 5xx, with all; may be given several
    /// times
    #[arg(long = "error-page", value_name = "STATUS=FILE", help_heading = ANSWERS, value_parser = os(error_page))]
    pub error_pages: Vec<ErrorPage>,
    /// Compress answers for clients that accept it, by the first of these codings that the client likes best: gzip, br, zstd,
    /// each perhaps with a level, such as gzip:4,br:4,zstd:3
    #[arg(
        long, value_name = "CODINGS", default_value = "off", help_heading = COMPRESSION, value_parser = or_off(codings),
    )]
    pub compress: std::option::Option<Codings>,
    /// Answers of these types; one * stands for anything
    #[arg(
        long = "compress-types", value_name = "TYPES", default_value = COMPRESSED_TYPES, help_heading = COMPRESSION,
        value_parser = media_types,
    )]
    pub compress_types: MediaTypes,
    /// Answers from this size on
    #[arg(
        long = "compress-least", value_name = "SIZE", default_value = "1KiB", help_heading = COMPRESSION,
        value_parser = size(0..=1 << 30),
    )]
    pub compress_least: usize,
    #[command(flatten)]
    pub limits: Limits,
    #[command(flatten)]
    pub deadlines: Deadlines,
    /// off, or a line for each request: combined or json
    #[arg(long, value_name = "FORMAT", default_value = "off", help_heading = LOGS, hide_possible_values = true)]
    pub access_log: AccessLog,
    /// Write lines of this format, in gunicorn's fields, such as '%(h)s "%(r)s" %(s)s %({X-Request-Id}i)s'
    #[arg(long, value_name = "FORMAT", help_heading = LOGS, value_parser = Layout::parse)]
    pub access_log_format: Option<Layout>,
    /// Append the access log to it; SIGUSR1 opens the file again [default: standard output]
    #[arg(long, value_name = "FILE", help_heading = LOGS, value_parser = os(path))]
    pub access_log_file: Option<PathBuf>,
    /// Send the access log to the syslog at unix:PATH, such as unix:/dev/log, or at HOST:PORT (UDP)
    #[arg(long, value_name = "ADDRESS", help_heading = LOGS, value_parser = os(bind))]
    pub access_log_syslog: Option<Bind>,
    /// Serve the counters as OpenMetrics under /metrics of this address
    #[arg(long, value_name = "ADDRESS", help_heading = LOGS, value_parser = os(bind))]
    pub metrics: Option<Bind>,
}

// Both are there: clap refuses one without the other.
#[derive(Clone, Debug, Args)]
pub struct Tls {
    /// Serve HTTPS: certificate chain, PEM
    #[arg(
        long = "tls-certificate", value_name = "FILE", required = false, requires = "key", help_heading = LISTEN,
        value_parser = os(path),
    )]
    pub certificate: PathBuf,
    /// Its private key, PEM
    #[arg(
        long = "tls-key", value_name = "FILE", required = false, requires = "certificate", help_heading = LISTEN,
        value_parser = os(path),
    )]
    pub key: PathBuf,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Limits (sizes in bytes, or with KiB, MiB, GiB)")]
pub struct Limits {
    /// Longest request line (414)
    #[arg(long = "limit-line", value_name = "SIZE", default_value = "8KiB", value_parser = size(64..=1 << 20))]
    pub line: usize,
    /// Longest request head, request line included (431)
    #[arg(long = "limit-head", value_name = "SIZE", default_value = "32KiB", value_parser = size(256..=16 << 20))]
    pub head: usize,
    /// Most header fields (431)
    #[arg(long = "limit-headers", value_name = "N", default_value = "100", value_parser = count(1..=MOST_HEADERS))]
    pub headers: usize,
    /// Longest request body, decoded (413)
    #[arg(long = "limit-body", value_name = "SIZE", default_value = "64MiB", value_parser = size(0..=usize::MAX))]
    pub body: usize,
    /// Keep longer bodies, and what slow clients have not taken of responses, in a temporary file
    #[arg(long, value_name = "SIZE", default_value = "256KiB", value_parser = size(0..=1 << 30))]
    pub spool: usize,
    /// Most of a response that is kept for a slow client: the application waits for the rest [default: 64MiB; with one
    /// thread, which others wait for, --limit-disk]
    #[arg(long = "limit-response", value_name = "SIZE", value_parser = size(0..=usize::MAX))]
    pub response: Option<usize>,
    /// Most of the disk that a worker takes for bodies: beyond it requests get 503, responses wait for their clients
    #[arg(long = "limit-disk", value_name = "SIZE", default_value = "1GiB", value_parser = size(0..=usize::MAX))]
    pub disk: usize,
    /// Most calls beside those of --threads that stream for over a second or wait for their clients
    #[arg(long = "limit-streams", value_name = "N", default_value = "64", value_parser = count(0..=4096))]
    pub streams: usize,
    /// Most connections of a worker (503)
    #[arg(long = "limit-connections", value_name = "N", default_value = "16384", value_parser = count(1..=1 << 20))]
    pub connections: usize,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Deadlines (such as 500ms, 30s, 2m; a bare number is seconds)")]
pub struct Deadlines {
    /// For a whole request head (408)
    #[arg(id = "deadline-head", long = "deadline-head", value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub head: Duration,
    /// For the next piece of a request body (408)
    #[arg(id = "deadline-body", long = "deadline-body", value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub body: Duration,
    /// Of a connection between two requests
    #[arg(long = "deadline-idle", value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub idle: Duration,
    /// For a client to take something of a response
    #[arg(long = "deadline-send", value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub send: Duration,
    /// For requests in flight when a worker is to end
    #[arg(long = "deadline-graceful", value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub graceful: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AccessLog {
    Off,
    Combined,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Input {
    // No slow client occupies the application.
    Buffered,
    // The application waits for its input: needs threads.
    Streamed,
}

#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct StatRequest {
    /// Its name (--name, or else the application), process id or --pid-file; not needed where only one is running
    #[arg(value_name = "SERVER")]
    pub which: Option<OsString>,
    /// Again every TIME, until Ctrl-C; 1s without TIME
    #[arg(
        long = "watch", short = 'w', value_name = "TIME", num_args = 0..=1, require_equals = true,
        default_missing_value = "1s", value_parser = duration,
    )]
    pub every: Option<Duration>,
    /// As OpenMetrics, for Prometheus and its like
    #[arg(long)]
    pub openmetrics: bool,
}

#[derive(Subcommand)]
enum Other {
    /// Show the counters of a running server
    Stat(StatRequest),
}

/// Serve a WSGI application, static files or both.
#[derive(Parser)]
#[command(
    name = "wheat", version, term_width = 104, args_override_self = true, args_conflicts_with_subcommands = true,
    disable_help_subcommand = true, after_help = AFTER_HELP,
    override_usage = "wheat [OPTIONS] MODULE:CALLABLE\n       wheat [OPTIONS] --static /PREFIX=DIR\n       wheat stat [SERVER]",
)]
struct CommandLine {
    /// Read options from FILE (TOML), by their names without dashes in front: workers = 4
    // WHEAT_WORKERS=4 in the environment goes before it, the command line before both.
    #[arg(long, value_name = "FILE", value_parser = os(path))]
    config: Option<PathBuf>,
    /// Test the configuration, import the application, and end
    #[arg(long)]
    check: bool,
    /// Print all options as they are, as such a file
    #[arg(long)]
    print_config: bool,
    #[command(flatten)]
    options: Config,
    #[command(subcommand)]
    other: Option<Other>,
}

const AFTER_HELP: &str = "\
Signals to the master: TERM and INT end it after the requests in flight, QUIT at once; HUP reloads the
application without losing a request; TTIN and TTOU add and remove a worker; USR1 opens logs again; USR2
starts the program that is in this one's place by now, which takes over without losing a request.
Exit codes: 64 the command line, 69 something is not available, 78 the application or a file is wrong.";

#[derive(Debug)]
pub enum Command {
    Serve(Box<Config>),
    /// Tests the configuration and ends.
    Check(Box<Config>),
    Stat(StatRequest),
    /// The text to print.
    Tell(String),
}

impl Default for Config {
    fn default() -> Self {
        CommandLine::try_parse_from(["wheat"]).expect("every default is valid").options
    }
}

impl Config {
    /// Of the command line, the environment and the file that one of them names.
    pub fn of_all(given: impl IntoIterator<Item = OsString>) -> Result<Command, Error> {
        let given: Vec<OsString> = given.into_iter().collect();
        let command = CommandLine::command();
        let explain = |error: &clap::Error| in_a_sentence(error, "wheat --help");
        let arguments = settings::arguments(&command, given.clone(), |name| std::env::var_os(name), explain)?;
        let parsed = Self::parse(arguments.clone())?;
        let all = std::iter::once("wheat".into()).chain(arguments);
        match command.clone().try_get_matches_from(all) {
            Ok(matches) if matches.get_flag("print_config") => {
                Ok(Command::Tell(settings::shown(&command, &matches, &given)))
            }
            _ => Ok(parsed),
        }
    }

    /// Of these arguments alone. Pure but for the CPUs that are looked at: no file is opened, no name looked up.
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, Error> {
        let arguments: Vec<OsString> = std::iter::once("wheat".into()).chain(arguments).collect();
        let help =
            if arguments.get(1).is_some_and(|first| first == "stat") { "wheat stat --help" } else { "wheat --help" };
        let for_workers = arguments[1..].to_vec();
        match CommandLine::try_parse_from(arguments) {
            Ok(CommandLine { other: Some(Other::Stat(request)), .. }) => Ok(Command::Stat(request)),
            Ok(CommandLine { options: mut config, check, .. }) => {
                config.agree()?;
                config.arguments = for_workers;
                Ok(if check { Command::Check(config.into()) } else { Command::Serve(config.into()) })
            }
            Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
                Ok(Command::Tell(error.to_string()))
            }
            Err(error) => Err(Error::usage(in_a_sentence(&error, help))),
        }
    }

    /// What options say together.
    fn agree(&self) -> Result<(), Error> {
        let usage = |text: &str| Err(Error::usage(text));
        if self.application.is_none() && self.statics.is_empty() {
            return usage("nothing to serve: name an application (wheat app:application) or files (--static /=DIR)");
        }
        if self.protocol != Protocol::Http {
            let of_http = [
                (!self.statics.is_empty(), "--static"),
                (!self.internals.is_empty(), "--internal"),
                (!self.own_headers.is_empty(), "--header"),
                (!self.error_pages.is_empty(), "--error-page"),
                (self.compress.is_some(), "--compress"),
                (self.trust.is_some(), "--trust"),
                (self.input == Input::Streamed, "--input streamed"),
            ];
            if let Some((_, option)) = of_http.iter().find(|(is_given, _)| *is_given) {
                return usage(&format!("{option} is for --protocol http: leave one of the two out"));
            }
        }
        if self.application.is_none() && (self.hooks.is_some() || self.preload || self.reload) {
            return usage(
                "--hooks, --preload and --reload need an application: where only files are served there is no Python",
            );
        }
        if self.input == Input::Streamed && self.threads < 2 {
            return usage("--input streamed needs --threads 2 or more: the event loop itself can't wait for a body");
        }
        if self.limits.line > self.limits.head {
            return usage("--limit-line can't be larger than --limit-head, which includes the request line");
        }
        if self.access_log_file.is_some() && self.access_log_syslog.is_some() {
            return usage(
                "--access-log-file and --access-log-syslog are two places for one log: leave one of them out",
            );
        }
        let has_place = self.access_log_file.is_some() || self.access_log_syslog.is_some();
        if has_place && self.access_log == AccessLog::Off && self.access_log_format.is_none() {
            return usage("--access-log-file and --access-log-syslog need --access-log combined or --access-log json");
        }
        if self.access_log == AccessLog::Json && self.access_log_format.is_some() {
            return usage("--access-log-format is for lines that are not --access-log json: leave one of the two out");
        }
        for (at, bind) in self.binds.iter().enumerate() {
            if !bind.is_any_port() && self.binds[..at].contains(bind) {
                return usage(&format!("--bind {bind} is given twice: once is enough"));
            }
        }
        let prefix_of = |route: &StaticRoute| route.prefix.trim_end_matches('/').to_owned();
        let mut prefixes: Vec<String> = self.statics.iter().map(prefix_of).collect();
        let mut internals: Vec<String> = self.internals.iter().map(prefix_of).collect();
        for header in &self.static_headers {
            match &header.of {
                Of::Prefix(prefix) if !prefixes.contains(prefix) && !internals.contains(prefix) => {
                    let text = "no --static has this prefix, and a header is of one";
                    return usage(&format!("--static-header {prefix}/=…: {text}"));
                }
                _ => {}
            }
        }
        if let Some(tried) = self.try_files.iter().find(|tried| !prefixes.contains(&tried.prefix)) {
            return usage(&format!("--try-files {}/=…: no --static has this prefix", tried.prefix));
        }
        let falls_to_application = |tried: &TryFiles| tried.last == Some(Missing::Application);
        if self.application.is_none() && self.try_files.iter().any(falls_to_application) {
            return usage("--try-files …,application needs an application: wheat app:application");
        }
        if self.application.is_none() && !self.internals.is_empty() {
            return usage("--internal needs an application, which alone can send clients there");
        }
        if self.static_missing == Missing::Application && self.application.is_none() {
            return usage("--static-missing application needs an application: wheat app:application");
        }
        for (option, prefixes) in [("--static", &mut prefixes), ("--internal", &mut internals)] {
            prefixes.sort_unstable();
            if let Some(pair) = prefixes.windows(2).find(|pair| pair[0] == pair[1]) {
                return usage(&format!("{option} {}/ is given twice: one folder answers for a prefix", pair[0]));
            }
        }
        Ok(())
    }

    /// What `wheat stat` calls this server.
    pub fn shown_name(&self) -> String {
        self.name.clone().or_else(|| self.application.clone()).unwrap_or_else(|| "static".into())
    }
}

/// What clap says in several lines, in one: what is wrong, and what to do.
fn in_a_sentence(error: &clap::Error, help: &str) -> String {
    let context = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    let (argument, value) = (context(ContextKind::InvalidArg), context(ContextKind::InvalidValue));
    let name = match argument.split([' ', '[', '=']).next() {
        Some(name) if name.starts_with('-') => name,
        _ => "the application",
    };
    match error.kind() {
        ErrorKind::UnknownArgument if argument.starts_with('-') => match error.get(ContextKind::SuggestedArg) {
            Some(near) => format!("there is no option {name}: did you mean {near}?"),
            None => format!("there is no option {name}: see {help}"),
        },
        ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand | ErrorKind::ArgumentConflict => {
            let extra = if argument.is_empty() { context(ContextKind::InvalidSubcommand) } else { argument };
            format!("one application or server at a time: \"{extra}\" is too much, see {help}")
        }
        ErrorKind::InvalidValue if value.is_empty() => {
            let shown = argument.split_once('<').map_or("", |(_, shown)| shown.trim_end_matches('>'));
            format!("{name} needs a value: {shown}")
        }
        ErrorKind::InvalidValue => {
            let known = context(ContextKind::ValidValue);
            let known = known.rsplit_once(", ").map_or(known.clone(), |(first, last)| format!("{first} or {last}"));
            format!("{name} is {known}, not \"{value}\"")
        }
        ErrorKind::ValueValidation => {
            let wanted = error.source().map(ToString::to_string).unwrap_or_default();
            format!("{name} is {wanted}, not \"{value}\"")
        }
        ErrorKind::TooManyValues => format!("{name} takes no value, \"{value}\" is one"),
        ErrorKind::MissingRequiredArgument => format!("{name} is missing: some options come together, see {help}"),
        ErrorKind::InvalidUtf8 => format!("an option that is text is not UTF-8: see {help}"),
        _ => error.to_string().lines().next().unwrap_or_default().trim_start_matches("error: ").into(),
    }
}

#[cfg(test)]
#[path = "../tests/units/config.rs"]
mod tests;
