// SPDX-License-Identifier: Apache-2.0
//! Heads of requests: `httparse` finds the parts, and what it lets pass that RFC 9112 does not is refused here.

use std::mem::MaybeUninit;

use httparse::Header;

use super::{Rejection, alphanumeric_and, is_token, reject, trim};
use crate::config::{Limits, MOST_HEADERS};

/// Room for header fields, reused from one head to the next.
pub type Storage<'b> = [MaybeUninit<Header<'b>>; MOST_HEADERS];

pub const fn storage<'b>() -> Storage<'b> {
    [const { MaybeUninit::uninit() }; MOST_HEADERS]
}

/// In bytes, but for `headers`.
#[derive(Clone, Copy, Debug)]
pub struct HeadLimits {
    pub line: usize,
    pub head: usize,
    pub headers: usize,
}

impl HeadLimits {
    pub fn of(limits: &Limits) -> Self {
        Self { line: limits.line, head: limits.head, headers: limits.headers }
    }
}

/// How the body is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    Length(u64),
    Chunked,
}

impl Framing {
    pub const NO_BODY: Self = Self::Length(0);
}

/// What the request is for (RFC 9112, 3.2), without a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'b> {
    /// Path and query of origin-form and absolute-form. It begins with a slash, or with the question mark of
    /// `http://host?query`.
    Path(&'b str),
    /// `OPTIONS *`
    Server,
}

#[derive(Debug)]
pub struct Head<'h, 'b> {
    pub method: &'b str,
    pub target: Target<'b>,
    /// As it came, for the access log.
    pub raw_target: &'b str,
    /// The authority of an absolute-form target, which takes the place of Host (RFC 9112, 3.2.2).
    pub authority: Option<&'b str>,
    /// 0 or 1, of HTTP/1.x.
    pub minor: u8,
    pub headers: &'h [Header<'b>],
    pub framing: Framing,
    pub keep_alive: bool,
    /// `Expect: 100-continue`
    pub expects_continue: bool,
    /// The target is an `https` URI.
    pub is_https: bool,
    /// Bytes of the head, empty lines before it and the one at its end included.
    pub length: usize,
}

impl Head<'_, '_> {
    pub fn has_body(&self) -> bool {
        self.framing != Framing::NO_BODY
    }
}

/// The head at the start of `bytes`; none while it is incomplete.
pub fn parse<'h, 'b>(
    bytes: &'b [u8],
    storage: &'h mut Storage<'b>,
    limits: &HeadLimits,
) -> Result<Option<Head<'h, 'b>>, Rejection> {
    let mut request = httparse::Request::new(&mut []);
    let room = &mut storage[..limits.headers.min(MOST_HEADERS)];
    let length = match request.parse_with_uninit_headers(bytes, room) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => {
            let rest = bytes.trim_ascii_start();
            let line = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            return if line > limits.line + 1 {
                Err(reject(414, "the request line is too long"))
            } else if bytes.len() > limits.head {
                Err(reject(431, "the head is too long"))
            } else {
                Ok(None)
            };
        }
        // whether another version or none stands there is seen at the end of the line
        Err(httparse::Error::Version) if is_within_line(bytes, limits) => return Ok(None),
        Err(error) => return Err(rejection(error, bytes, limits)),
    };
    let (Some(method), Some(raw_target), Some(minor)) = (request.method, request.path, request.version) else {
        return Err(reject(400, "the request line is malformed")); // httparse sets all three
    };
    let headers = &*request.headers;

    check_line_ends(bytes, method, headers, length)?;
    if raw_target.len() + method.len() + " HTTP/1.1".len() + 1 > limits.line {
        return Err(reject(414, "the request line is too long"));
    }
    if length > limits.head {
        return Err(reject(431, "the head is too long"));
    }

    let mut fields = Fields::default();
    for header in headers {
        fields.take(header)?;
    }
    if !raw_target.is_ascii() {
        return Err(reject(400, "the request target is malformed")); // RFC 3986, 2: others are percent-encoded
    }
    let (target, authority) = split_target(method, raw_target)?;
    let is_https = authority.is_some() && raw_target.as_bytes()[4].eq_ignore_ascii_case(&b's');
    match fields.hosts {
        0 if minor >= 1 => return Err(reject(400, "Host is missing")),
        0 | 1 => {}
        _ => return Err(reject(400, "Host is there more than once")),
    }
    Ok(Some(Head {
        method,
        target,
        raw_target,
        authority,
        minor,
        headers,
        framing: fields.framing(minor)?,
        keep_alive: !fields.close && (minor >= 1 || fields.keep_alive),
        expects_continue: fields.expects_continue && minor >= 1,
        is_https,
        length,
    }))
}

fn rejection(error: httparse::Error, bytes: &[u8], limits: &HeadLimits) -> Rejection {
    match error {
        httparse::Error::TooManyHeaders => reject(431, "there are too many header fields"),
        httparse::Error::HeaderName => reject(400, "a header name is malformed"),
        httparse::Error::HeaderValue => reject(400, "a header value is malformed"),
        httparse::Error::NewLine => reject(400, "a line does not end with CR LF"),
        httparse::Error::Version if is_other_version(bytes) => {
            reject(505, "only HTTP/1.0 and HTTP/1.1 are spoken here")
        }
        _ if bytes.len() > limits.line && memchr::memchr(b'\n', &bytes[..limits.line]).is_none() => {
            reject(414, "the request line is too long")
        }
        _ => reject(400, "the request line is malformed"),
    }
}

/// The bytes with a version of HTTP/1.1 in place of a later minor one, which means the same to who does not know it (RFC 9110,
/// 2.5). None: there is no such version.
pub fn as_http_1_1(bytes: &[u8]) -> Option<Vec<u8>> {
    let end = memchr::memchr(b'\n', bytes.trim_ascii_start())? + bytes.len() - bytes.trim_ascii_start().len();
    let version = bytes[..end].strip_suffix(b"\r")?.len().checked_sub(b" HTTP/1.2".len())?;
    match &bytes[version..end - 1] {
        [b' ', b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'2'..=b'9'] => {
            let mut bytes = bytes.to_vec();
            bytes[end - 2] = b'1';
            Some(bytes)
        }
        _ => None,
    }
}

/// Whether the request line is still to come to its end, within its limit.
fn is_within_line(bytes: &[u8], limits: &HeadLimits) -> bool {
    let rest = bytes.trim_ascii_start();
    memchr::memchr(b'\n', rest).is_none() && rest.len() <= limits.line + 1
}

/// Whether the request line ends with a well-formed version (`HTTP/2.0`), which 505 answers; all else is malformed.
fn is_other_version(bytes: &[u8]) -> bool {
    let bytes = bytes.trim_ascii_start();
    let line = &bytes[..memchr::memchr(b'\n', bytes).unwrap_or(bytes.len())];
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut parts = line.split(|&b| b == b' ').skip(2);
    let version = parts.next().unwrap_or_default();
    parts.next().is_none()
        && matches!(version, [b'H', b'T', b'T', b'P', b'/', major, b'.', minor] if major.is_ascii_digit() && minor.is_ascii_digit())
}

/// `httparse` takes a bare LF for the end of a line, and another server perhaps does not: refused.
fn check_line_ends(bytes: &[u8], method: &str, headers: &[Header], length: usize) -> Result<(), Rejection> {
    const BARE: Rejection = reject(400, "a line does not end with CR LF");
    let offset_of = |part: &str| part.as_ptr() as usize - bytes.as_ptr() as usize;
    let start = offset_of(method);
    if start > 0 && !bytes[..start].chunks(2).all(|pair| pair == b"\r\n") {
        return Err(BARE);
    }
    // Each line ends where the next begins. A value holds no CR, so a CR before the LF is the line's end.
    let line_ends = headers.iter().map(|header| offset_of(header.name)).chain([length - 2, length]);
    for end in line_ends {
        if !bytes[..end].ends_with(b"\r\n") {
            return Err(BARE);
        }
    }
    Ok(())
}

/// The fields that decide where a request ends and what becomes of its connection.
#[derive(Default)]
struct Fields {
    hosts: usize,
    length: Option<u64>,
    codings: Codings,
    /// Whether there is a Transfer-Encoding, be it empty.
    has_codings: bool,
    content_types: usize,
    close: bool,
    keep_alive: bool,
    expects_continue: bool,
}

#[derive(Default, PartialEq, Eq)]
enum Codings {
    #[default]
    None,
    Chunked,
    /// Chunked last, others before it, which this server does not know.
    OthersAndChunked,
    Others,
}

impl Fields {
    fn take(&mut self, header: &Header) -> Result<(), Rejection> {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        match header.name.len() {
            4 if is("host") => {
                self.hosts += 1;
                check_host(header.value)?;
            }
            6 if is("expect") => {
                if !header.value.eq_ignore_ascii_case(b"100-continue") {
                    return Err(reject(417, "only 100-continue can be expected"));
                }
                self.expects_continue = true;
            }
            10 if is("connection") => {
                for option in header.value.split(|&b| b == b',') {
                    let option = trim(option);
                    self.close |= option.eq_ignore_ascii_case(b"close");
                    self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            12 if is("content-type") => {
                self.content_types += 1;
                if self.content_types > 1 {
                    return Err(reject(400, "Content-Type is there more than once"));
                }
            }
            14 if is("content-length") => {
                if self.length.is_some() {
                    return Err(reject(400, "Content-Length is there more than once"));
                }
                self.length = Some(decimal(header.value).ok_or(reject(400, "Content-Length is malformed"))?);
            }
            17 if is("transfer-encoding") => {
                self.has_codings = true;
                // Empty elements of a list are passed over (RFC 9110, 5.6.1.2).
                for coding in header.value.split(|&b| b == b',').map(trim).filter(|coding| !coding.is_empty()) {
                    self.code(coding)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn code(&mut self, coding: &[u8]) -> Result<(), Rejection> {
        if !is_token(coding) {
            return Err(reject(400, "Transfer-Encoding is malformed"));
        }
        let chunked = coding.eq_ignore_ascii_case(b"chunked");
        self.codings = match self.codings {
            Codings::None if chunked => Codings::Chunked,
            Codings::Others if chunked => Codings::OthersAndChunked,
            Codings::None | Codings::Others => Codings::Others,
            // chunked is the last one and comes once (RFC 9112, 6.1)
            Codings::Chunked | Codings::OthersAndChunked => {
                return Err(reject(400, "chunked is not the last transfer coding"));
            }
        };
        Ok(())
    }

    fn framing(&self, minor: u8) -> Result<Framing, Rejection> {
        if !self.has_codings {
            return Ok(Framing::Length(self.length.unwrap_or(0)));
        }
        if self.length.is_some() {
            return Err(reject(400, "Content-Length and Transfer-Encoding exclude each other"));
        }
        if minor == 0 {
            return Err(reject(400, "HTTP/1.0 has no Transfer-Encoding"));
        }
        match self.codings {
            Codings::Chunked => Ok(Framing::Chunked),
            Codings::OthersAndChunked => Err(reject(501, "the only transfer coding here is chunked")),
            _ => Err(reject(400, "the last transfer coding is not chunked")),
        }
    }
}

/// Digits and nothing else, below 2^63.
pub fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 19 {
        return None;
    }
    let mut value: u64 = 0;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
    }
    i64::try_from(value).is_ok().then_some(value)
}

/// uri-host [":" port] of RFC 3986, loosely: nothing that could end it early for somebody else.
pub fn check_host(value: &[u8]) -> Result<(), Rejection> {
    const MALFORMED: Rejection = reject(400, "Host is malformed");
    let name = if let [b'[', rest @ ..] = value {
        let end = memchr::memchr(b']', rest).ok_or(MALFORMED)?;
        if !rest[..end].iter().all(|&b| b.is_ascii_hexdigit() || matches!(b, b':' | b'.')) || end == 0 {
            return Err(MALFORMED);
        }
        &rest[end + 1..]
    } else {
        let end = memchr::memchr(b':', value).unwrap_or(value.len());
        if !value[..end].iter().all(|&b| is_host_byte(b)) {
            return Err(MALFORMED);
        }
        &value[end..]
    };
    match name {
        [] => Ok(()),
        [b':', port @ ..] if port.iter().all(u8::is_ascii_digit) && port.len() <= 5 => Ok(()),
        _ => Err(MALFORMED),
    }
}

#[inline]
const fn is_host_byte(byte: u8) -> bool {
    // unreserved, pct-encoded, sub-delims
    const HOST: [bool; 256] = alphanumeric_and(b"-._~%!$&'()*+,;=");
    HOST[byte as usize]
}

fn split_target<'b>(method: &str, raw: &'b str) -> Result<(Target<'b>, Option<&'b str>), Rejection> {
    const MALFORMED: Rejection = reject(400, "the request target is malformed");
    // A fragment is not sent (RFC 9112, 3.2); if one is sent, the rest is the target.
    let whole = &raw[..memchr::memchr(b'#', raw.as_bytes()).unwrap_or(raw.len())];
    if method == "CONNECT" {
        return Err(reject(501, "CONNECT is for proxies"));
    }
    if whole.starts_with('/') {
        return Ok((Target::Path(whole), None));
    }
    if whole == "*" {
        return if method == "OPTIONS" { Ok((Target::Server, None)) } else { Err(MALFORMED) };
    }
    let (scheme, rest) = whole.split_once("://").ok_or(MALFORMED)?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return Err(MALFORMED);
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if authority.is_empty() {
        return Err(MALFORMED);
    }
    check_host(authority.as_bytes())?;
    match path.as_bytes().first() {
        Some(b'/') => Ok((Target::Path(path), Some(authority))),
        None if method == "OPTIONS" => Ok((Target::Server, Some(authority))), // RFC 9112, 3.2.4
        None => Ok((Target::Path("/"), Some(authority))),
        Some(_) => Ok((Target::Path(path), Some(authority))),
    }
}

#[cfg(test)]
#[path = "../../tests/units/http/head.rs"]
mod tests;
