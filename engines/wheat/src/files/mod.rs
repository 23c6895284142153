// SPDX-License-Identifier: Apache-2.0
//! Static files: pure of Python and of the event loop.
//!
//! `path` makes a name of a target, `root` opens it below a directory and nowhere else, `resource` is what was read then,
//! `cache` keeps it for the next request; `conditional` and `range` read what a client would rather have. `manner` is how the
//! files of a folder are answered with, `pages` what is sent in the place of the server's own words.

pub mod cache;
pub mod conditional;
pub mod manner;
pub mod pages;
pub mod path;
pub mod range;
pub mod resource;
pub mod root;

use std::borrow::Cow;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::ops::{Deref, Range};
use std::sync::Arc;

use httparse::Header;
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_encode};

use crate::compress::encoder::Compressor;
use crate::compress::{Compression, accept};
use crate::config::Config;
use crate::error::Error;
use crate::options::{Coding, Missing, Of, StaticHeader, StaticRoute, TryFiles};
use cache::Cache;
use conditional::Precondition;
use pages::Pages;
use path::{Name, Refusal};
use range::Ranges;
use resource::{Content, Failure, Representation, Resource};
use root::Root;

/// Open files and the routes that lead to them.
#[derive(Debug)]
pub struct Files {
    /// The longest prefix first.
    routes: Vec<Route>,
    /// The file that stands for a directory. None: a directory is not found.
    index: Option<String>,
    missing: Missing,
    cache: Cache,
    desk: Desk,
}

#[derive(Debug)]
struct Route {
    /// It has no slash at its end.
    prefix: String,
    root: Root,
    /// What is put behind a name that is not there.
    suffixes: Vec<String>,
    /// Goes before that of all routes.
    missing: Option<Missing>,
}

/// What answers are made with.
#[derive(Debug, Default)]
struct Desk {
    boundaries: Boundaries,
    compressor: Option<Compressor>,
    pages: Arc<Pages>,
}

/// What is to be sent.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub head: Head,
    /// Empty for HEAD and 304.
    pub body: Body,
}

/// Whole header lines, each with its CRLF: no status line, Date or Connection, and no empty line at the end. Content-Length
/// is among them wherever there may be one.
#[derive(Debug)]
pub enum Head {
    /// Out of a kept block.
    Kept(Arc<[u8]>, Range<usize>),
    Made(Vec<u8>),
}

impl Deref for Head {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Kept(bytes, range) => &bytes[range.clone()],
            Self::Made(bytes) => bytes,
        }
    }
}

#[derive(Debug)]
pub enum Body {
    Empty,
    One(Piece),
    /// To be sent one after the other.
    Several(Vec<Piece>),
}

#[derive(Clone, Debug)]
pub enum Piece {
    Bytes(Arc<[u8]>, Range<usize>),
    /// To be sent by sendfile. A file that ends before `range` does was cut short meanwhile: then nothing is right but to
    /// close the connection.
    File(Arc<File>, Range<u64>),
}

impl Piece {
    pub fn length(&self) -> u64 {
        match self {
            Self::Bytes(_, range) => range.len() as u64,
            Self::File(_, range) => range.end - range.start,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    Get,
    Head,
}

impl Files {
    pub fn new(routes: &[StaticRoute], index: Option<String>) -> Result<Self, Error> {
        let mut routes = routes.iter().map(Route::open).collect::<Result<Vec<_>, _>>()?;
        routes.sort_by_key(|route| std::cmp::Reverse(route.prefix.len()));
        let cache = Cache::new(cache::BOUNDS);
        Ok(Self { routes, index, missing: Missing::NotFound, cache, desk: Desk::default() })
    }

    /// What clients may ask for (`--static`). None: nothing.
    pub fn public(config: &Config, pages: &Arc<Pages>) -> Result<Option<Self>, Error> {
        let files = Self::configured(config, &config.statics, config.index.clone(), pages)?;
        Ok(files
            .map(|files| files.with(&config.static_headers, config.static_missing.clone()).trying(&config.try_files)))
    }

    /// What only the application may send (`--internal`). None: nothing.
    pub fn internal(config: &Config, pages: &Arc<Pages>) -> Result<Option<Self>, Error> {
        // Without an index: where a folder is one would have to be told to the client.
        let files = Self::configured(config, &config.internals, None, pages)?;
        Ok(files.map(|files| files.with(&config.static_headers, Missing::NotFound)))
    }

    fn configured(
        config: &Config,
        routes: &[StaticRoute],
        index: Option<String>,
        pages: &Arc<Pages>,
    ) -> Result<Option<Self>, Error> {
        if routes.is_empty() {
            return Ok(None);
        }
        let mut files = Self::new(routes, index)?.compressing(Compression::of(config)?);
        files.desk.pages = pages.clone();
        Ok(Some(files))
    }

    fn with(mut self, headers: &[StaticHeader], missing: Missing) -> Self {
        for route in &mut self.routes {
            let is_own = |header: &&StaticHeader| match &header.of {
                Of::Prefix(prefix) => *prefix == route.prefix,
                Of::Type(_) => true,
            };
            route.root.manner.headers = headers.iter().filter(is_own).cloned().collect();
        }
        Self { missing, ..self }
    }

    fn trying(mut self, tried: &[TryFiles]) -> Self {
        for route in &mut self.routes {
            for tried in tried.iter().filter(|tried| tried.prefix == route.prefix) {
                route.suffixes.extend_from_slice(&tried.suffixes);
                route.missing = tried.last.clone().or(route.missing.take());
            }
        }
        self
    }

    fn compressing(mut self, compression: Option<Arc<Compression>>) -> Self {
        for route in &mut self.routes {
            route.root.manner.compression = compression.clone();
        }
        self.desk.compressor = compression.map(Compressor::new);
        self
    }

    /// None: no route has this prefix, or no file its name: the application may answer. `target`: origin-form, its query still on it.
    /// `now`: monotonic seconds, for the age of cached entries.
    pub fn respond(&mut self, method: &[u8], target: &[u8], headers: &[Header], now: u64) -> Option<Reply> {
        let Self { routes, index, missing: usual, cache, desk } = self;
        let (path, query) = path::split(target);
        let path = if path.is_empty() { b"/" } else { path }; // http://host?query
        let (decoded, malformed) = match path::decode(path) {
            Ok(decoded) => (decoded, None),
            Err(refusal) => (Cow::Borrowed(path), Some(refusal)),
        };
        let (route, rest) = routes.iter().find_map(|route| Some((route, path::below(&decoded, &route.prefix)?)))?;
        let missing = route.missing.as_ref().unwrap_or(usual);
        let method = match method {
            b"GET" => Method::Get,
            b"HEAD" => Method::Head,
            _ if *missing == Missing::Application => return None,
            _ => return Some(desk.plain(405, Method::Get, "Allow: GET, HEAD\r\n")),
        };
        match malformed {
            Some(Refusal::NoName) if *missing == Missing::Application => return None,
            Some(refusal) => return Some(desk.refused(refusal, method)),
            None => {}
        }
        let ask = Ask { method, headers, now };
        if let Some(resource) = cache.fresh(&decoded, now) {
            return Some(desk.answer(&resource, &ask, cache, &decoded));
        }
        let found = match path::name(rest) {
            Ok(name) => match file_name(name, index.as_deref()) {
                Some(file) => cache.current(&decoded, &route.root, &file, now),
                None if name == Name::Root => Err(Failure::Directory),
                None => Err(Failure::NotFound),
            },
            Err(Refusal::Malformed) => return Some(desk.refused(Refusal::Malformed, method)),
            Err(_) => Err(Failure::NotFound),
        };
        let failure = match found {
            Ok(resource) => return Some(desk.answer(&resource, &ask, cache, &decoded)),
            Err(failure) => failure,
        };
        if matches!(failure, Failure::NotFound | Failure::Directory) {
            for name in route.candidates(rest) {
                if let Some(reply) = desk.named(&name, &ask, cache, route) {
                    return Some(reply);
                }
            }
        }
        Some(match failure {
            Failure::Directory if index.is_some() && !decoded.ends_with(b"/") => {
                let (path, query) = (percent_encode(&decoded, ESCAPED), percent_encode(query, CONTROLS));
                desk.plain(301, method, &format!("Location: {path}/{query}\r\n"))
            }
            Failure::NotFound | Failure::Directory => match missing {
                Missing::NotFound => desk.plain(404, method, ""),
                Missing::Application => return None,
                Missing::File(name) => {
                    desk.named(name, &ask, cache, route).unwrap_or_else(|| desk.plain(404, method, ""))
                }
            },
            Failure::Forbidden => desk.plain(403, method, ""),
            Failure::Exhausted => desk.plain(503, method, "Retry-After: 1\r\n"),
            Failure::Broken => desk.plain(500, method, ""),
        })
    }
}

/// What a client asks about a file.
struct Ask<'a> {
    method: Method,
    headers: &'a [Header<'a>],
    /// Monotonic seconds.
    now: u64,
}

/// What is escaped in a path: all but what may stand in it as it is.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

impl Route {
    fn open(route: &StaticRoute) -> Result<Self, Error> {
        let root = Root::open(&route.root).map_err(|error| {
            let (prefix, root) = (&route.prefix, route.root.display());
            Error::config(format!("--static {prefix}={root}: the folder can't be served: {error}"))
        })?;
        let prefix = route.prefix.trim_end_matches('/').into();
        Ok(Self { prefix, root, suffixes: Vec::new(), missing: None })
    }

    /// Names that are tried in the place of one that is not there.
    fn candidates(&self, rest: &[u8]) -> Vec<String> {
        if self.suffixes.is_empty() {
            return Vec::new();
        }
        let (name, is_directory) = match path::name(rest) {
            Ok(Name::File(name)) => (name, false),
            Ok(Name::Directory(name)) => (name, true),
            Ok(Name::Root) => ("", true),
            Err(_) => return Vec::new(),
        };
        // Of a folder its files are tried, and nothing beside it.
        let suffixes = self.suffixes.iter().filter(|suffix| !is_directory || suffix.starts_with('/'));
        suffixes.map(|suffix| format!("{name}{suffix}").trim_start_matches('/').to_owned()).collect()
    }
}

/// None: a directory, and nothing stands for it.
fn file_name<'a>(name: Name<'a>, index: Option<&'a str>) -> Option<Cow<'a, str>> {
    match (name, index) {
        (Name::File(name), _) => Some(name.into()),
        (Name::Directory(""), Some(index)) => Some(index.into()),
        (Name::Directory(name), Some(index)) => Some(format!("{name}/{index}").into()),
        (Name::Directory(_), None) | (Name::Root, _) => None,
    }
}

/// Whether any field is there that could change the answer: one look at each name's length and first letters, because most
/// requests have none.
fn asks_for_more(headers: &[Header]) -> bool {
    headers.iter().any(|header| match header.name.as_bytes() {
        [b'i' | b'I', b'f' | b'F', b'-', ..] => true,
        name => name.eq_ignore_ascii_case(b"range"),
    })
}

impl Desk {
    fn refused(&self, refusal: Refusal, method: Method) -> Reply {
        self.plain(if refusal == Refusal::Malformed { 400 } else { 404 }, method, "")
    }

    /// An answer without a file: `lines` are header lines of its own.
    fn plain(&self, status: u16, method: Method, lines: &str) -> Reply {
        let text = match status {
            301 => "Moved Permanently\n",
            400 => "Bad Request\n",
            403 => "Forbidden\n",
            404 => "Not Found\n",
            405 => "Method Not Allowed\n",
            406 => "Not Acceptable\n",
            412 => "Precondition Failed\n",
            416 => "Range Not Satisfiable\n",
            503 => "Service Unavailable\n",
            _ => "Internal Server Error\n",
        };
        let (head, body) = match self.pages.of(status) {
            Some(page) => (format!("{lines}{}", page.lines), Arc::clone(&page.body)),
            None => (
                format!("{lines}Content-Type: text/plain\r\nContent-Length: {}\r\n", text.len()),
                text.as_bytes().into(),
            ),
        };
        let length = body.len();
        let body = match method {
            Method::Get if length > 0 => Body::One(Piece::Bytes(body, 0..length)),
            _ => Body::Empty,
        };
        Reply { status, head: Head::Made(head.into_bytes()), body }
    }

    /// What answers in the place of a name that is not there; None: it is not there either.
    fn named(&mut self, name: &str, ask: &Ask, cache: &mut Cache, route: &Route) -> Option<Reply> {
        let path = format!("{}/{name}", route.prefix).into_bytes();
        let kept = cache.fresh(&path, ask.now);
        let resource = kept.map_or_else(|| cache.current(&path, &route.root, name, ask.now), Ok).ok()?;
        Some(self.answer(&resource, ask, cache, &path))
    }

    /// `path`: by which the cache knows the resource.
    fn answer(&mut self, resource: &Resource, ask: &Ask, cache: &mut Cache, path: &[u8]) -> Reply {
        let Ask { method, headers, .. } = *ask;
        let more = asks_for_more(headers);
        let range = if more && method == Method::Get { conditional::only(headers, "range") } else { None };
        let Some(coding) = self.choose(resource, headers, range.is_some()) else {
            return self.plain(406, method, "Vary: Accept-Encoding\r\n");
        };
        let mut representation = &resource.representations[0];
        if let Some(place) = resource.codings.iter().position(|one| *one == coding) {
            representation = &resource.representations[place + 1];
        } else if let (true, Some(compressor)) = (coding != Coding::Identity, &mut self.compressor) {
            let (made, is_new) = resource.compressed(coding, compressor);
            representation = made.unwrap_or(representation);
            if is_new {
                cache.weigh_again(path);
            }
        }
        if !more {
            return whole(representation, method);
        }
        let head = &representation.head;
        let current = head.validators();
        match conditional::judge(headers, &current) {
            Precondition::NotModified => {
                let head = Head::Kept(Arc::clone(&head.bytes), head.validator_lines());
                return Reply { status: 304, head, body: Body::Empty };
            }
            Precondition::Failed => return self.plain(412, method, ""),
            Precondition::Send => {}
        }
        match range.filter(|_| conditional::ranges_hold(headers, &current)) {
            None => whole(representation, method),
            Some(range) => match range::parse(range, representation.version.length) {
                Ranges::Whole => whole(representation, method),
                Ranges::Unsatisfiable => {
                    self.plain(416, method, &format!("Content-Range: bytes */{}\r\n", representation.version.length))
                }
                Ranges::Parts(parts) => partial(representation, &parts, &mut self.boundaries),
            },
        }
    }

    /// The coding that a file is sent in: what lies beside it goes before what would have to be made, of which there are no
    /// parts. None: the client takes none.
    fn choose(&self, resource: &Resource, headers: &[Header], is_part: bool) -> Option<Coding> {
        let compressor = self.compressor.as_ref().filter(|_| resource.is_compressible() && !is_part);
        match compressor {
            None if resource.codings.is_empty() => Some(Coding::Identity),
            None => accept::choose(headers, &resource.codings),
            Some(compressor) => {
                let made = compressor.compression.codings().filter(|coding| !resource.codings.contains(coding));
                let all: Vec<Coding> = resource.codings.iter().copied().chain(made).collect();
                accept::choose(headers, &all)
            }
        }
    }
}

fn whole(representation: &Representation, method: Method) -> Reply {
    let bytes = Arc::clone(&representation.head.bytes);
    let all = 0..bytes.len();
    let body = match method {
        Method::Get if representation.version.length > 0 => {
            Body::One(representation.piece(0..representation.version.length))
        }
        _ => Body::Empty,
    };
    Reply { status: 200, head: Head::Kept(bytes, all), body }
}

/// 206: `parts` are within the length, at least one.
fn partial(representation: &Representation, parts: &[Range<u64>], boundaries: &mut Boundaries) -> Reply {
    let head = &representation.head;
    let content_range = |part: &Range<u64>| {
        format!("Content-Range: bytes {}-{}/{}\r\n", part.start, part.end - 1, representation.version.length)
    };
    if let [part] = parts {
        let length = part.end - part.start;
        let mut made = head.without_length().to_vec();
        made.extend_from_slice(format!("{}Content-Length: {length}\r\n", content_range(part)).as_bytes());
        return Reply { status: 206, head: Head::Made(made), body: Body::One(representation.piece(part.clone())) };
    }
    let boundary = boundaries.next();
    let mut pieces = Vec::with_capacity(2 * parts.len() + 1);
    let text = |bytes: Vec<u8>| {
        let all = 0..bytes.len();
        Piece::Bytes(bytes.into(), all)
    };
    for (place, part) in parts.iter().enumerate() {
        let line_end = if place == 0 { "" } else { "\r\n" };
        let mut delimiter = format!("{line_end}--{boundary}\r\n").into_bytes();
        delimiter.extend_from_slice(head.type_line());
        delimiter.extend_from_slice(content_range(part).as_bytes());
        delimiter.extend_from_slice(b"\r\n");
        pieces.push(text(delimiter));
        pieces.push(representation.piece(part.clone()));
    }
    pieces.push(text(format!("\r\n--{boundary}--\r\n").into_bytes()));
    let length: u64 = pieces.iter().map(Piece::length).sum();
    let mut made = format!("Content-Type: multipart/byteranges; boundary={boundary}\r\n").into_bytes();
    made.extend_from_slice(head.without_type_or_length());
    made.extend_from_slice(format!("Content-Length: {length}\r\n").as_bytes());
    Reply { status: 206, head: Head::Made(made), body: Body::Several(pieces) }
}

impl Representation {
    fn piece(&self, range: Range<u64>) -> Piece {
        match &self.content {
            Content::Kept(bytes) => Piece::Bytes(Arc::clone(bytes), range.start as usize..range.end as usize),
            Content::Open(file) => Piece::File(Arc::clone(file), range),
        }
    }
}

/// Delimiters that no file contains but by a chance of 2^-128: drawn after the file was written, from secret keys.
#[derive(Debug, Default)]
struct Boundaries {
    keys: (RandomState, RandomState),
    count: u64,
}

impl Boundaries {
    fn next(&mut self) -> String {
        self.count += 1;
        format!("{:016x}{:016x}", self.keys.0.hash_one(self.count), self.keys.1.hash_one(self.count))
    }
}

#[cfg(test)]
#[path = "../../tests/units/files.rs"]
mod tests;
