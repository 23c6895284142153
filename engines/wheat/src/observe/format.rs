// SPDX-License-Identifier: Apache-2.0
//! Lines of the access log: what is known of a request, and how it is written.
//!
//! Everything that a client chose is escaped byte by byte: no request can begin a line, end a field or move a terminal's cursor.

use std::io::Write;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::http::head::Head;
use crate::http::trim;
use crate::layout::{Field, Layout, Of, Piece};

/// A request that was answered, or given up.
#[derive(Clone, Default)]
pub struct Entry {
    /// None: a UNIX socket.
    pub peer: Option<IpAddr>,
    /// Empty where no request could be read, and in protocols without methods.
    pub method: Vec<u8>,
    pub target: Vec<u8>,
    /// The minor version of HTTP/1. None: another protocol, or no request could be read.
    pub version: Option<u8>,
    pub status: u16,
    /// Bytes of the response's body that the kernel took for the client.
    pub bytes: u64,
    pub referer: Option<Vec<u8>>,
    pub user_agent: Option<Vec<u8>>,
    /// Of `Authorization: Basic`, whether or not the application believes it.
    pub user: Option<Vec<u8>>,
    /// Why it was refused.
    pub reason: Option<&'static str>,
    /// When its head was read, in monotonic nanoseconds. None: none could be read.
    pub began_ns: Option<u64>,
    /// What the format asks for by name; None if that is nothing.
    pub named: Option<Named>,
}

/// The values of `Layout::names`, as far as they are known.
#[derive(Clone)]
pub struct Named {
    layout: Arc<Layout>,
    values: Vec<Option<Vec<u8>>>,
}

impl Named {
    /// Looks up all names of one kind.
    pub fn look_up(&mut self, kind: Of, find: impl Fn(&str) -> Option<Vec<u8>>) {
        for ((of, name), value) in self.layout.names.iter().zip(&mut self.values) {
            if *of == kind {
                *value = find(name);
            }
        }
    }

    /// `head`: a status line and fields, as they are sent.
    pub fn look_up_response(&mut self, head: &[u8]) {
        self.look_up(Of::ResponseHeader, |name| {
            let mut fields = head.split(|byte| *byte == b'\n').filter_map(|line| {
                let colon = memchr::memchr(b':', line)?;
                line[..colon].eq_ignore_ascii_case(name.as_bytes()).then(|| &line[colon + 1..])
            });
            fields.next_back().map(|value| trim(value.strip_suffix(b"\r").unwrap_or(value)).to_vec())
        });
    }
}

/// How lines are written.
#[derive(Clone)]
pub enum Format {
    Json,
    Layout(Arc<Layout>),
}

impl Format {
    /// What a head says of a request.
    pub fn entry(&self, head: &Head, peer: Option<IpAddr>, began_ns: u64) -> Entry {
        let (mut referer, mut user_agent, mut user) = (None, None, None);
        for header in head.headers {
            let is = |name: &str| header.name.eq_ignore_ascii_case(name);
            match header.name.len() {
                7 if is("referer") => referer = Some(header.value.to_vec()),
                10 if is("user-agent") => user_agent = Some(header.value.to_vec()),
                13 if is("authorization") => user = user_of(header.value),
                _ => {}
            }
        }
        let named = match self {
            Self::Layout(layout) if !layout.names.is_empty() => {
                let mut named = Named { layout: layout.clone(), values: vec![None; layout.names.len()] };
                named.look_up(Of::RequestHeader, |name| {
                    let mut found = head.headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
                    found.next_back().map(|header| header.value.to_vec())
                });
                Some(named)
            }
            _ => None,
        };
        Entry {
            peer,
            method: head.method.as_bytes().to_vec(),
            target: head.raw_target.as_bytes().to_vec(),
            version: Some(head.minor),
            referer,
            user_agent,
            user,
            began_ns: Some(began_ns),
            named,
            ..Entry::default()
        }
    }

    /// `now`: since 1970; `now_ns`: by the clock of `Entry::began_ns`.
    pub fn write(&self, out: &mut Vec<u8>, clock: &mut Clock, now: Duration, entry: &Entry, now_ns: u64) {
        clock.set(now.as_secs());
        let took = Duration::from_nanos(entry.began_ns.map_or(0, |began_ns| now_ns.saturating_sub(began_ns)));
        match self {
            Self::Json => json(out, clock, now, entry, took),
            Self::Layout(layout) => {
                for piece in &layout.pieces {
                    match piece {
                        Piece::Text(text) => out.extend_from_slice(text.as_bytes()),
                        Piece::Field(field) => write_field(out, clock, *field, entry, took),
                    }
                }
            }
        }
        out.push(b'\n');
    }
}

/// The user of Basic credentials (RFC 7617).
fn user_of(authorization: &[u8]) -> Option<Vec<u8>> {
    let (scheme, credentials) = authorization.split_at_checked(6)?;
    if !scheme.eq_ignore_ascii_case(b"basic ") {
        return None;
    }
    let mut user = Vec::new();
    let (mut bits, mut count) = (0u32, 0);
    for &byte in trim(credentials) {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => break, // the padding, or nothing that is base64
        };
        (bits, count) = ((bits << 6 | u32::from(digit)) & 0xffff, count + 6);
        if count >= 8 {
            count -= 8;
            user.push((bits >> count) as u8);
        }
    }
    let end = memchr::memchr(b':', &user)?;
    user.truncate(end);
    Some(user).filter(|user| !user.is_empty())
}

fn write_field(out: &mut Vec<u8>, clock: &Clock, field: Field, entry: &Entry, took: Duration) {
    let query = memchr::memchr(b'?', &entry.target);
    let _ = match field {
        Field::Peer => return peer(out, entry.peer),
        Field::Time => write!(out, "[{}]", clock.common),
        Field::RequestLine => return request_line(out, entry),
        Field::Protocol => return version(out, entry),
        Field::Status => return number(out, entry.status),
        Field::Bytes => return number(out, entry.bytes),
        Field::Seconds => return number(out, took.as_secs()),
        Field::Milliseconds => return number(out, took.as_millis()),
        Field::Microseconds => return number(out, took.as_micros()),
        Field::DecimalSeconds => write!(out, "{}.{:06}", took.as_secs(), took.subsec_micros()),
        Field::Process => write!(out, "<{}>", std::process::id()),
        Field::Query => return escape(out, query.map_or(&b""[..], |at| &entry.target[at + 1..]), b"\\x"),
        Field::Identity
        | Field::User
        | Field::Method
        | Field::Path
        | Field::Referer
        | Field::UserAgent
        | Field::Named(_) => {
            let value = match field {
                Field::User => entry.user.as_deref(),
                Field::Method => Some(&entry.method[..]).filter(|method| !method.is_empty()),
                Field::Path => {
                    Some(&entry.target[..query.unwrap_or(entry.target.len())]).filter(|path| !path.is_empty())
                }
                Field::Referer => entry.referer.as_deref(),
                Field::UserAgent => entry.user_agent.as_deref(),
                Field::Named(index) => entry.named.as_ref().and_then(|named| named.values[index].as_deref()),
                _ => None,
            };
            return escape(out, value.unwrap_or(b"-"), b"\\x");
        }
    };
}

fn version(out: &mut Vec<u8>, entry: &Entry) {
    match entry.version {
        Some(minor) => out.extend_from_slice(&[b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'0' + minor]),
        None => out.push(b'-'),
    }
}

fn request_line(out: &mut Vec<u8>, entry: &Entry) {
    if !entry.method.is_empty() {
        escape(out, &entry.method, b"\\x");
        out.push(b' ');
        escape(out, &entry.target, b"\\x");
        out.push(b' ');
        return version(out, entry);
    }
    escape(out, if entry.target.is_empty() { b"-" } else { &entry.target }, b"\\x");
    if let Some(reason) = entry.reason {
        let _ = write!(out, " ({reason})");
    }
}

fn json(out: &mut Vec<u8>, clock: &Clock, now: Duration, entry: &Entry, took: Duration) {
    let _ = write!(out, "{{\"time\":\"{}.{:03}Z\",\"peer\":\"", clock.iso, now.subsec_millis());
    peer(out, entry.peer);
    out.push(b'"');
    let given = |bytes| Some(bytes).filter(|bytes: &&[u8]| !bytes.is_empty());
    let version = entry.version.map(|minor| [b'1', b'.', b'0' + minor]);
    let fields = [
        ("method", given(&entry.method)),
        ("target", given(&entry.target)),
        ("referer", entry.referer.as_deref()),
        ("user_agent", entry.user_agent.as_deref()),
        ("reason", entry.reason.map(str::as_bytes)),
        ("version", version.as_ref().map(<[u8; 3]>::as_slice)),
    ];
    for (name, value) in fields {
        let _ = write!(out, ",\"{name}\":");
        match value {
            None => out.extend_from_slice(b"null"),
            Some(value) => {
                out.push(b'"');
                escape(out, value, b"\\u00");
                out.push(b'"');
            }
        }
    }
    let (status, bytes, seconds) = (entry.status, entry.bytes, took.as_secs_f64());
    let _ = write!(out, ",\"status\":{status},\"bytes\":{bytes},\"duration_s\":{seconds:.6}}}");
}

fn peer(out: &mut Vec<u8>, peer: Option<IpAddr>) {
    let _ = match peer {
        Some(address) => write!(out, "{address}"),
        None => write!(out, "unix:"),
    };
}

/// Printable ASCII as it is; quote, backslash and everything else as `prefix` and two hexadecimal digits.
fn escape(out: &mut Vec<u8>, bytes: &[u8], prefix: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\';
    let mut rest = bytes;
    loop {
        let (plain, other) = rest.split_at(rest.iter().position(|byte| !is_plain(*byte)).unwrap_or(rest.len()));
        out.extend_from_slice(plain);
        let Some((byte, after)) = other.split_first() else { return };
        out.extend_from_slice(prefix);
        out.extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        rest = after;
    }
}

fn number(out: &mut Vec<u8>, value: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Date and time in UTC, made anew once a second.
#[derive(Default)]
pub struct Clock {
    second: Option<u64>,
    /// 21/Nov/2026:12:00:00 +0000
    common: String,
    /// 2026-11-21T12:00:00
    pub iso: String,
}

impl Clock {
    pub fn set(&mut self, second: u64) {
        if self.second == Some(second) {
            return;
        }
        let (year, month, day) = civil(second / 86400);
        let (h, m, s) = (second / 3600 % 24, second / 60 % 60, second % 60);
        let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let name = names[month as usize - 1];
        self.common = format!("{day:02}/{name}/{year}:{h:02}:{m:02}:{s:02} +0000");
        self.iso = format!("{year}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}");
        self.second = Some(second);
    }
}

/// Year, month and day of a day since 1970-01-01. Source: H. Hinnant, chrono-Compatible Low-Level Date Algorithms, 2013.
fn civil(days: u64) -> (u64, u64, u64) {
    let z = days + 719_468;
    let (era, of_era) = (z / 146_097, z % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153; // March is 0
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, of_year - (153 * shifted + 2) / 5 + 1)
}

#[cfg(test)]
#[path = "../../tests/units/observe/format.rs"]
mod tests;
