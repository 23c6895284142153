// SPDX-License-Identifier: Apache-2.0
//! How the value of an option is written: one function for each kind. An error says what is wanted.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser};
use rustix::thread::CpuSet;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bind {
    Tcp(SocketAddr),
    /// Looked up when it is bound: one socket for each of its addresses.
    Name(String, u16),
    Unix(PathBuf),
}

impl Bind {
    /// Whether it is another one each time.
    pub fn is_any_port(&self) -> bool {
        match self {
            Self::Tcp(address) => address.port() == 0,
            Self::Name(_, port) => *port == 0,
            Self::Unix(_) => false,
        }
    }
}

impl std::fmt::Display for Bind {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Name(host, port) => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// What the bytes of a connection mean; `serve::protocols` has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Protocol {
    Http,
    Line,
}

/// Addresses of proxies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networks {
    /// An address and how many of its bits count.
    list: Vec<(IpAddr, u32)>,
    unix: bool,
}

impl Networks {
    /// `peer`: none for a UNIX socket.
    pub fn contains(&self, peer: Option<IpAddr>) -> bool {
        let Some(peer) = peer else { return self.unix };
        self.list.iter().any(|(network, bits)| match (network, peer) {
            (IpAddr::V4(network), IpAddr::V4(peer)) => (network.to_bits() ^ peer.to_bits()).leading_zeros() >= *bits,
            (IpAddr::V6(network), IpAddr::V6(peer)) => (network.to_bits() ^ peer.to_bits()).leading_zeros() >= *bits,
            _ => false,
        })
    }
}

/// Which fields proxies write. One that writes one kind passes on the other as its client wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Fields {
    XForwarded,
    Forwarded,
}

#[derive(Clone, Debug)]
pub struct StaticRoute {
    /// Begins with a slash.
    pub prefix: String,
    pub root: PathBuf,
}

/// Which files a header is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Of {
    /// All of a route, without a slash at its end.
    Prefix(String),
    Type(MediaTypes),
}

/// A header line of what is answered from files.
#[derive(Clone, Debug)]
pub struct StaticHeader {
    pub of: Of,
    pub name: String,
    pub value: String,
}

/// Content codings (RFC 9110, section 8.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    Identity,
    Gzip,
    Brotli,
    Zstd,
}

impl Coding {
    pub const ALL: [Self; 4] = [Self::Identity, Self::Gzip, Self::Brotli, Self::Zstd];
    /// Those that a file may lie beside in, the one that is usually smaller first.
    pub const PRECOMPRESSED: [Self; 3] = [Self::Brotli, Self::Zstd, Self::Gzip];

    pub fn token(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Gzip => "gzip",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }

    /// Follows the name of the file that holds it.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Identity => "",
            Self::Gzip => ".gz",
            Self::Brotli => ".br",
            Self::Zstd => ".zst",
        }
    }

    /// Levels, and the one that is meant where none is said: those that a server takes while a client waits.
    fn levels(self) -> (RangeInclusive<u32>, u32) {
        match self {
            Self::Identity => (0..=0, 0),
            Self::Gzip => (1..=9, 4),
            Self::Brotli => (0..=11, 4),
            Self::Zstd => (1..=19, 3),
        }
    }
}

/// Codings with their levels, the one that is meant first where a client doesn't mind.
pub type Codings = Vec<(Coding, u32)>;

/// Media types by their names, in small letters, each with one `*` at most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MediaTypes(Vec<String>);

impl MediaTypes {
    /// `media_type` may have parameters.
    pub fn contain(&self, media_type: &[u8]) -> bool {
        let name = media_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        self.0.iter().any(|wanted| match wanted.split_once('*') {
            None => name.eq_ignore_ascii_case(wanted.as_bytes()),
            Some((start, end)) => {
                name.len() >= start.len() + end.len()
                    && name[..start.len()].eq_ignore_ascii_case(start.as_bytes())
                    && name[name.len() - end.len()..].eq_ignore_ascii_case(end.as_bytes())
            }
        })
    }
}

/// Statuses and the file that is sent with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorPage {
    pub statuses: RangeInclusive<u16>,
    pub path: PathBuf,
}

/// What is tried under a prefix where there is no file of the name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TryFiles {
    /// Of the route, without a slash at its end.
    pub prefix: String,
    /// Each is put behind the name.
    pub suffixes: Vec<String>,
    /// None: as for all routes.
    pub last: Option<Missing>,
}

/// What answers where a folder has no such file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    NotFound,
    Application,
    /// A file of the folder, by its path there.
    File(String),
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

impl Affinity {
    /// For a worker by its index. None: wherever the kernel likes.
    pub fn cpus(&self, index: usize) -> Option<CpuSet> {
        let cpus = match self {
            Self::Free => return None,
            Self::Auto => allowed_cpus(),
            Self::Cpus(cpus) => cpus.clone(),
        };
        let mut set = CpuSet::new();
        set.set(*cpus.get(index % cpus.len().max(1))?);
        Some(set)
    }
}

/// A parser of what need not be text in UTF-8, such as a path.
pub fn os<T: Clone + Send + Sync + 'static>(
    parse: impl Fn(&OsStr) -> Result<T, String> + Clone + Send + Sync + 'static,
) -> impl TypedValueParser<Value = T> {
    OsStringValueParser::new().try_map(move |value: OsString| parse(&value))
}

/// A parser of something that `off` stands for the lack of.
pub fn or_off<T>(
    parse: impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static,
) -> impl Fn(&str) -> Result<Option<T>, String> + Clone + Send + Sync + 'static {
    move |value| if value == "off" { Ok(None) } else { parse(value).map(Some) }
}

/// `module`, `module:name`, `module:name.of.attribute`, `module:factory()`.
pub fn application(text: &str) -> Result<String, String> {
    let (module, callable) = text.split_once(':').unwrap_or((text, "application"));
    let dotted = |name: &str| {
        name.split('.').all(|part| {
            !part.is_empty()
                && !part.starts_with(|c: char| c.is_ascii_digit())
                && part.chars().all(|c| c.is_alphanumeric() || c == '_')
        })
    };
    let right = dotted(module) && dotted(callable.strip_suffix("()").unwrap_or(callable));
    right.then(|| text.into()).ok_or_else(|| "MODULE:CALLABLE, such as app:application".into())
}

pub fn name(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("a name, which has a character or more".into()) } else { Ok(text.into()) }
}

pub fn file_name(text: &str) -> Result<String, String> {
    let right = !text.is_empty() && !text.contains('/');
    right.then(|| text.into()).ok_or_else(|| "the name of a file, such as index.html".into())
}

pub fn path(value: &OsStr) -> Result<PathBuf, String> {
    // Absolute, so that it means the same after --chdir.
    std::path::absolute(value).map_err(|_| "a path, not nothing".into())
}

pub fn count(range: RangeInclusive<usize>) -> impl Fn(&str) -> Result<usize, String> + Clone + Send + Sync + 'static {
    move |value| {
        digits(value).filter(|n| range.contains(n)).ok_or_else(|| match *range.end() {
            usize::MAX => format!("a number from {}", range.start()),
            end => format!("a number from {} to {end}", range.start()),
        })
    }
}

/// `auto` is a worker for each CPU.
pub fn workers(value: &str) -> Result<usize, String> {
    if value == "auto" { Ok(allowed_cpus().len().max(1)) } else { count(1..=MOST_WORKERS)(value) }
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

pub fn size(range: RangeInclusive<usize>) -> impl Fn(&str) -> Result<usize, String> + Clone + Send + Sync + 'static {
    move |value| {
        let wanted = || {
            let most =
                if *range.end() == usize::MAX { String::new() } else { format!(" to {}", shown_size(*range.end())) };
            format!("a size from {}{most}, such as 64KiB", shown_size(*range.start()))
        };
        let (n, unit) = number_of(value).ok_or_else(wanted)?;
        let bytes = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kib" => 1usize << 10,
            "m" | "mib" => 1 << 20,
            "g" | "gib" => 1 << 30,
            _ => return Err(wanted()),
        };
        n.checked_mul(bytes).filter(|n| range.contains(n)).ok_or_else(wanted)
    }
}

fn shown_size(bytes: usize) -> String {
    match bytes {
        n if n >= 1 << 20 && n % (1 << 20) == 0 => format!("{} MiB", n >> 20),
        n if n >= 1 << 10 && n % (1 << 10) == 0 => format!("{} KiB", n >> 10),
        n => n.to_string(),
    }
}

pub fn duration(value: &str) -> Result<Duration, String> {
    let wanted = || "a time from 1ms to 24h, such as 500ms, 30s or 2m".to_owned();
    let (n, unit) = number_of(value).ok_or_else(wanted)?;
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

pub fn mode(value: &str) -> Result<u32, String> {
    let digits = value.bytes().all(|b| b.is_ascii_digit());
    let mode = u32::from_str_radix(value, 8).ok().filter(|mode| digits && *mode <= 0o777);
    mode.ok_or_else(|| "an octal number from 0 to 777, such as 660".into())
}

pub fn bind(value: &OsStr) -> Result<Bind, String> {
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

pub fn networks(value: &str) -> Result<Networks, String> {
    let wanted = || "a list of networks, such as 10.0.0.0/8,::1,unix".to_owned();
    let mut networks = Networks::default();
    for part in value.split(',') {
        if part == "unix" {
            networks.unix = true;
            continue;
        }
        let (address, bits) = part.split_once('/').map_or((part, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| wanted())?;
        let (value, most) = match address {
            IpAddr::V4(address) => (u128::from(address.to_bits()) << 96, 32),
            IpAddr::V6(address) => (address.to_bits(), 128),
        };
        let bits = match bits {
            None => most,
            Some(bits) => digits(bits)
                .filter(|_| !bits.is_empty())
                .and_then(|bits| u32::try_from(bits).ok())
                .ok_or_else(wanted)?,
        };
        if bits > most {
            return Err(wanted());
        }
        if value.checked_shl(bits).unwrap_or(0) != 0 {
            return Err(format!("a list of networks, none of which ({part}) has bits set behind its length"));
        }
        networks.list.push((address, bits));
    }
    Ok(networks)
}

pub fn affinity(value: &str) -> Result<Affinity, String> {
    match value {
        "none" => return Ok(Affinity::Free),
        "auto" => return Ok(Affinity::Auto),
        _ => {}
    }
    let wanted = || "none, auto or a list of CPUs such as 0,2-3".to_owned();
    let allowed = allowed_cpus();
    let mut cpus = Vec::new();
    for part in value.split(',') {
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

pub fn static_route(value: &OsStr) -> Result<StaticRoute, String> {
    let wanted = || "/PREFIX=DIR, such as /static=assets".to_owned();
    let bytes = value.as_bytes();
    let equals = bytes.iter().position(|b| *b == b'=').ok_or_else(wanted)?;
    let prefix = std::str::from_utf8(&bytes[..equals]).map_err(|_| wanted())?;
    let root = &bytes[equals + 1..];
    if !prefix.starts_with('/') || root.is_empty() || prefix.contains(['?', '#', '%']) || prefix.contains("//") {
        return Err(wanted());
    }
    if prefix.split('/').any(|segment| matches!(segment, "." | "..")) {
        return Err("/PREFIX=DIR with a prefix that a request can have: without . and .. between its slashes".into());
    }
    Ok(StaticRoute { prefix: prefix.into(), root: path(OsStr::from_bytes(root))? })
}

/// What only the server can say of an answer.
const SERVER_HEADERS: [&str; 14] = [
    "accept-ranges",
    "connection",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "date",
    "etag",
    "keep-alive",
    "last-modified",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// A name and its value.
fn field(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once(':')?;
    let value = value.trim_matches([' ', '\t']);
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let is_value = value.bytes().all(|b| matches!(b, b'\t' | b' '..=b'~'));
    (is_name && is_value).then(|| (name.into(), value.into()))
}

/// A field that the server does not set itself.
fn free_field(text: &str) -> Option<Result<(String, String), String>> {
    let (name, value) = field(text)?;
    Some(match SERVER_HEADERS.iter().any(|known| name.eq_ignore_ascii_case(known)) {
        true => Err(format!("a header that the server does not set itself, as it does {name}")),
        false => Ok((name, value)),
    })
}

pub fn static_header(value: &str) -> Result<StaticHeader, String> {
    let wanted = || "/PREFIX=NAME: VALUE or TYPE=NAME: VALUE, such as /static=Cache-Control: max-age=3600".to_owned();
    let (of, text) = value.split_once('=').ok_or_else(wanted)?;
    let of = match of.strip_prefix('/') {
        Some(_) => Of::Prefix(of.trim_end_matches('/').into()),
        None => Of::Type(media_types(of).map_err(|_| wanted())?),
    };
    let (name, value) = free_field(text).ok_or_else(wanted)??;
    Ok(StaticHeader { of, name, value })
}

/// A whole line, with its CRLF.
pub fn header(value: &str) -> Result<String, String> {
    let wanted = || "NAME: VALUE, such as X-Content-Type-Options: nosniff".to_owned();
    let (name, value) = free_field(value).ok_or_else(wanted)??;
    Ok(format!("{name}: {value}\r\n"))
}

pub fn missing(value: &str) -> Result<Missing, String> {
    match value {
        "404" => Ok(Missing::NotFound),
        "application" => Ok(Missing::Application),
        path if is_below(path) => Ok(Missing::File(path.into())),
        _ => Err("404, application, or a file by its path in the folder, such as index.html".into()),
    }
}

/// Whether a path leads down, and nowhere else.
fn is_below(path: &str) -> bool {
    !path.split('/').any(|segment| matches!(segment, "" | "." | ".."))
}

pub fn try_files(value: &str) -> Result<TryFiles, String> {
    let wanted = || {
        "/PREFIX=LIST, such as /docs=$uri.html,$uri/index.html,404: each begins with $uri but the last, which may also be \
         404, application or the /PATH of a file"
            .to_owned()
    };
    let (prefix, list) = value.split_once('=').filter(|(prefix, _)| prefix.starts_with('/')).ok_or_else(wanted)?;
    let mut tried = TryFiles { prefix: prefix.trim_end_matches('/').into(), suffixes: Vec::new(), last: None };
    let mut parts = list.split([',', ' ']).filter(|part| !part.is_empty()).peekable();
    parts.peek().ok_or_else(wanted)?;
    while let Some(part) = parts.next() {
        match part.strip_prefix("$uri") {
            Some("") => {} // is tried first, always
            Some(suffix) if is_below(&format!("name{suffix}")) => tried.suffixes.push(suffix.into()),
            Some(_) => return Err(wanted()),
            None if parts.peek().is_some() => return Err(wanted()),
            // nginx has them as =404 and /PATH.
            None => tried.last = Some(missing(part.trim_start_matches(['=', '/'])).map_err(|_| wanted())?),
        }
    }
    Ok(tried)
}

pub fn error_page(value: &OsStr) -> Result<ErrorPage, String> {
    let wanted = || "STATUS=FILE, such as 404=missing.html or 5xx=sorry.html".to_owned();
    let bytes = value.as_bytes();
    let (status, file) = bytes.split_at_checked(4).ok_or_else(wanted)?;
    let statuses = match status {
        [class @ (b'4' | b'5'), b'x', b'x', b'='] => {
            let first = u16::from(class - b'0') * 100;
            first..=first + 99
        }
        [b'4' | b'5', b'0'..=b'9', b'0'..=b'9', b'='] => {
            let status = status[..3].iter().fold(0, |number, digit| number * 10 + u16::from(digit - b'0'));
            status..=status
        }
        _ => return Err(wanted()),
    };
    if file.is_empty() {
        return Err(wanted());
    }
    Ok(ErrorPage { statuses, path: path(OsStr::from_bytes(file))? })
}

pub fn codings(value: &str) -> Result<Codings, String> {
    let wanted = || "a list such as gzip,br,zstd, each perhaps with a level: gzip:6".to_owned();
    let mut codings = Codings::new();
    for part in value.split(',') {
        let (token, level) = part.split_once(':').map_or((part, None), |(token, level)| (token, Some(level)));
        let coding = Coding::PRECOMPRESSED.into_iter().find(|coding| coding.token() == token).ok_or_else(wanted)?;
        let (levels, usual) = coding.levels();
        let level = match level {
            None => usual,
            Some(level) => digits(level)
                .and_then(|level| u32::try_from(level).ok())
                .filter(|level| levels.contains(level))
                .ok_or_else(|| {
                    format!("a list in which {token} has a level from {} to {}", levels.start(), levels.end())
                })?,
        };
        if codings.iter().any(|(known, _)| *known == coding) {
            return Err(format!("a list that has {token} once"));
        }
        codings.push((coding, level));
    }
    Ok(codings)
}

pub fn media_types(value: &str) -> Result<MediaTypes, String> {
    let is_type = |name: &str| {
        let is_part =
            |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"*+-._".contains(&b));
        let two = name.split_once('/').is_some_and(|(main, sub)| is_part(main) && is_part(sub));
        (two || (name.starts_with('*') && is_part(name))) && name.matches('*').count() <= 1
    };
    let names: Vec<String> = value.split(',').map(str::to_ascii_lowercase).collect();
    match names.iter().all(|name| is_type(name)) {
        true => Ok(MediaTypes(names)),
        false => Err("a list of media types such as text/*,application/json,*+xml".into()),
    }
}

/// As many workers as the counters' memory has slots for.
pub const MOST_WORKERS: usize = 512;

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

#[cfg(test)]
#[path = "../tests/units/options.rs"]
mod tests;
