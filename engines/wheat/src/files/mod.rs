// SPDX-License-Identifier: Apache-2.0
//! Static files: pure of Python and of the event loop.
//!
//! `path` makes a name of a target, `root` opens it below a directory and nowhere else, `resource` is what was read then,
//! `cache` keeps it for the next request; `encoding`, `conditional` and `range` read what a client would rather have.

pub mod cache;
pub mod conditional;
pub mod encoding;
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

use crate::error::Error;
use crate::options::{Missing, StaticHeader, StaticRoute};
use cache::Cache;
use conditional::Precondition;
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
    boundaries: Boundaries,
}

#[derive(Debug)]
struct Route {
    /// It has no slash at its end.
    prefix: String,
    root: Root,
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
        Ok(Self { routes, index, missing: Missing::NotFound, cache, boundaries: Boundaries::default() })
    }

    pub fn with(mut self, headers: &[StaticHeader], missing: Missing) -> Self {
        for route in &mut self.routes {
            let own = headers.iter().filter(|header| header.prefix == route.prefix);
            route.root.lines = own.map(|header| header.line.as_str()).collect();
        }
        Self { missing, ..self }
    }

    /// None: no route has this prefix, or no file its name: the application may answer. `target`: origin-form, its query still on it.
    /// `now`: monotonic seconds, for the age of cached entries.
    pub fn respond(&mut self, method: &[u8], target: &[u8], headers: &[Header], now: u64) -> Option<Reply> {
        let (path, query) = path::split(target);
        let path = if path.is_empty() { b"/" } else { path }; // http://host?query
        let (decoded, malformed) = match path::decode(path) {
            Ok(decoded) => (decoded, None),
            Err(refusal) => (Cow::Borrowed(path), Some(refusal)),
        };
        let (route, rest) =
            self.routes.iter().find_map(|route| Some((route, path::below(&decoded, &route.prefix)?)))?;
        let method = match method {
            b"GET" => Method::Get,
            b"HEAD" => Method::Head,
            _ if self.missing == Missing::Application => return None,
            _ => return Some(plain(405, Method::Get, "Allow: GET, HEAD\r\n")),
        };
        match malformed {
            Some(Refusal::NoName) if self.missing == Missing::Application => return None,
            Some(refusal) => return Some(refused(refusal, method)),
            None => {}
        }
        if let Some(resource) = self.cache.fresh(&decoded, now) {
            return Some(answer(&resource, method, headers, &mut self.boundaries));
        }
        let found = match path::name(rest) {
            Ok(name) => match file_name(name, self.index.as_deref()) {
                Some(file) => self.cache.current(&decoded, &route.root, &file, now),
                None if name == Name::Root => Err(Failure::Directory),
                None => Err(Failure::NotFound),
            },
            Err(Refusal::Malformed) => return Some(refused(Refusal::Malformed, method)),
            Err(_) => Err(Failure::NotFound),
        };
        Some(match found {
            Ok(resource) => answer(&resource, method, headers, &mut self.boundaries),
            Err(Failure::Directory) if self.index.is_some() && !decoded.ends_with(b"/") => {
                let (path, query) = (percent_encode(&decoded, ESCAPED), percent_encode(query, CONTROLS));
                plain(301, method, &format!("Location: {path}/{query}\r\n"))
            }
            Err(Failure::NotFound | Failure::Directory) => match &self.missing {
                Missing::NotFound => plain(404, method, ""),
                Missing::Application => return None,
                Missing::File(name) => {
                    let path = format!("{}/{name}", route.prefix).into_bytes();
                    let kept = self.cache.fresh(&path, now);
                    match kept.map_or_else(|| self.cache.current(&path, &route.root, name, now), Ok) {
                        Ok(resource) => answer(&resource, method, headers, &mut self.boundaries),
                        Err(_) => plain(404, method, ""),
                    }
                }
            },
            Err(Failure::Forbidden) => plain(403, method, ""),
            Err(Failure::Exhausted) => plain(503, method, "Retry-After: 1\r\n"),
            Err(Failure::Broken) => plain(500, method, ""),
        })
    }
}

/// What is escaped in a path: all but what may stand in it as it is.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

impl Route {
    fn open(route: &StaticRoute) -> Result<Self, Error> {
        let root = Root::open(&route.root).map_err(|error| {
            let (prefix, root) = (&route.prefix, route.root.display());
            Error::config(format!("--static {prefix}={root}: the folder can't be served: {error}"))
        })?;
        Ok(Self { prefix: route.prefix.trim_end_matches('/').into(), root })
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

fn refused(refusal: Refusal, method: Method) -> Reply {
    plain(if refusal == Refusal::Malformed { 400 } else { 404 }, method, "")
}

/// An answer without a file: `lines` are header lines of its own.
fn plain(status: u16, method: Method, lines: &str) -> Reply {
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
    let head = format!("{lines}Content-Type: text/plain\r\nContent-Length: {}\r\n", text.len());
    let body = match method {
        Method::Get => Body::One(Piece::Bytes(text.as_bytes().into(), 0..text.len())),
        Method::Head => Body::Empty,
    };
    Reply { status, head: Head::Made(head.into_bytes()), body }
}

/// Whether any field is there that could change the answer: one look at each name's length and first letters, because most
/// requests have none.
fn asks_for_more(headers: &[Header]) -> bool {
    headers.iter().any(|header| match header.name.as_bytes() {
        [b'i' | b'I', b'f' | b'F', b'-', ..] => true,
        name => name.eq_ignore_ascii_case(b"range"),
    })
}

fn answer(resource: &Resource, method: Method, headers: &[Header], boundaries: &mut Boundaries) -> Reply {
    let mut representation = &resource.representations[0];
    if !resource.codings.is_empty() {
        match encoding::choose(headers, &resource.codings) {
            None => return plain(406, method, "Vary: Accept-Encoding\r\n"),
            Some(coding) => {
                let place = resource.codings.iter().position(|one| *one == coding).map_or(0, |place| place + 1);
                representation = &resource.representations[place];
            }
        }
    }
    if !asks_for_more(headers) {
        return whole(representation, method);
    }
    let head = &representation.head;
    let current = head.validators();
    match conditional::judge(headers, &current) {
        Precondition::NotModified => {
            let head = Head::Kept(Arc::clone(&head.bytes), head.validator_lines());
            return Reply { status: 304, head, body: Body::Empty };
        }
        Precondition::Failed => return plain(412, method, ""),
        Precondition::Send => {}
    }
    let range = conditional::only(headers, "range").filter(|_| method == Method::Get);
    match range.filter(|_| conditional::ranges_hold(headers, &current)) {
        None => whole(representation, method),
        Some(range) => match range::parse(range, representation.version.length) {
            Ranges::Whole => whole(representation, method),
            Ranges::Unsatisfiable => {
                plain(416, method, &format!("Content-Range: bytes */{}\r\n", representation.version.length))
            }
            Ranges::Parts(parts) => partial(representation, &parts, boundaries),
        },
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
