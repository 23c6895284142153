// SPDX-License-Identifier: Apache-2.0
//! The environ of a request: a copy of a template, and what this request brings.

use std::collections::HashMap;
use std::net::IpAddr;

use pyo3_ffi::*;

use super::object::{Object, Raised, Result};
use crate::http::head::Target;
use crate::serve::reply::Request;

/// Most spellings of header names that are remembered: a client cannot fill the memory with new ones.
const MOST_SPELLINGS: usize = 512;
const LONGEST_SPELLING: usize = 64;
/// Places of the table: more than twice the spellings.
const PLACES: usize = 2048;
/// Up to this many fields the small template does: a dictionary that has to grow costs as much as its copy.
const FEW_FIELDS: usize = 3;
/// Entries that make the large template grow beyond the small one's size.
const SPARES: usize = 6;
/// Values as long as this are not kept for the next request that has the same.
const LONGEST_KEPT: usize = 256;

pub struct Environ {
    /// By listener.
    templates: Vec<Templates>,
    names: Names,
    constants: Constants,
    addresses: Vec<Option<(IpAddr, Object)>>,
}

struct Templates {
    few: Object,
    many: Object,
}

struct Constants {
    request_method: Object,
    server_protocol: Object,
    path_info: Object,
    query_string: Object,
    remote_addr: Object,
    content_length: Object,
    http_host: Object,
    input: Object,
    http_1_0: Object,
    url_scheme: Object,
    http: Object,
    https: Object,
    empty: Object,
    methods: Vec<(&'static str, Object)>,
}

/// What is the same for every request of a listener.
pub struct Listener {
    pub server_name: String,
    pub server_port: String,
}

pub struct Setting<'a> {
    pub listeners: &'a [Listener],
    pub secure: bool,
    pub threads: bool,
    pub processes: bool,
    pub errors: &'a Object,
    pub file_wrapper: &'a Object,
    /// Of a request without a body.
    pub empty_input: &'a Object,
}

impl Environ {
    pub fn new(setting: &Setting) -> Result<Self> {
        let method = |name: &'static str| Ok((name, Object::interned(name)?));
        let constants = Constants {
            request_method: Object::interned("REQUEST_METHOD")?,
            server_protocol: Object::interned("SERVER_PROTOCOL")?,
            path_info: Object::interned("PATH_INFO")?,
            query_string: Object::interned("QUERY_STRING")?,
            remote_addr: Object::interned("REMOTE_ADDR")?,
            content_length: Object::interned("CONTENT_LENGTH")?,
            http_host: Object::interned("HTTP_HOST")?,
            input: Object::interned("wsgi.input")?,
            http_1_0: Object::interned("HTTP/1.0")?,
            url_scheme: Object::interned("wsgi.url_scheme")?,
            http: Object::interned("http")?,
            https: Object::interned("https")?,
            empty: Object::interned("")?,
            methods: ["HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"]
                .into_iter()
                .map(method)
                .collect::<Result<_>>()?,
        };
        let templates = setting.listeners.iter().map(|listener| {
            Ok(Templates { few: template(listener, setting, 0)?, many: template(listener, setting, SPARES)? })
        });
        Ok(Self {
            templates: templates.collect::<Result<_>>()?,
            names: Names::new(),
            constants,
            addresses: (0..64).map(|_| None).collect(),
        })
    }

    /// A new environ. `input`: none without a body; `length`: of the body, where it is known.
    pub fn build(&mut self, request: &Request, input: Option<&Object>, length: Option<u64>) -> Result<Object> {
        let head = request.head;
        let templates = &self.templates[request.listener];
        let template = if head.headers.len() <= FEW_FIELDS { &templates.few } else { &templates.many };
        // SAFETY: a dictionary; a new reference or null.
        let environ = unsafe { Object::owned(PyDict_Copy(template.as_ptr())) }?;
        let constants = &self.constants;

        if head.method != "GET" {
            let known = constants.methods.iter().find(|(name, _)| *name == head.method);
            match known {
                Some((_, method)) => environ.set_item(&constants.request_method, method)?,
                None => environ.set_item(&constants.request_method, &Object::latin1(head.method.as_bytes())?)?,
            }
        }
        if head.minor == 0 {
            environ.set_item(&constants.server_protocol, &constants.http_1_0)?;
        }
        match head.target {
            Target::Path("/") => {}
            Target::Path(target) => {
                let target = target.as_bytes();
                let end = memchr::memchr(b'?', target).unwrap_or(target.len());
                if end > 1 {
                    environ.set_item(&constants.path_info, &decoded_path(&target[..end])?)?;
                }
                if end + 1 < target.len() {
                    environ.set_item(&constants.query_string, &Object::latin1(&target[end + 1..])?)?;
                }
            }
            Target::Server => environ.set_item(&constants.path_info, &constants.empty)?,
        }
        match request.origin.address {
            Some(address) => {
                let place = &mut self.addresses[place_of(address)];
                let text = match place {
                    Some((known, text)) if *known == address => text,
                    _ => &mut place.insert((address, Object::latin1(address.to_string().as_bytes())?)).1,
                };
                environ.set_item(&constants.remote_addr, text)?;
            }
            None => environ.set_item(&constants.remote_addr, &constants.empty)?,
        }
        self.names.begin();
        for header in head.headers {
            self.names.add(&environ, header.name, header.value)?;
        }
        if let Some(is_secure) = request.origin.is_secure {
            let scheme = if is_secure { &constants.https } else { &constants.http };
            environ.set_item(&constants.url_scheme, scheme)?;
        }
        if let Some(authority) = request.origin.host.or(head.authority) {
            environ.set_item(&constants.http_host, &Object::latin1(authority.as_bytes())?)?;
        }
        if let Some(input) = input {
            environ.set_item(&constants.input, input)?;
        }
        if let Some(length) = length {
            let text = Object::latin1(itoa::Buffer::new().format(length).as_bytes())?;
            environ.set_item(&constants.content_length, &text)?;
        }
        Ok(environ)
    }
}

fn place_of(address: IpAddr) -> usize {
    let last = match address {
        IpAddr::V4(address) => address.octets()[3] ^ address.octets()[2],
        IpAddr::V6(address) => address.octets().iter().fold(0, |a, b| a ^ b),
    };
    usize::from(last) % 64
}

/// Every request's defaults stand in it too, so that the most common one sets little.
fn template(listener: &Listener, setting: &Setting, spares: usize) -> Result<Object> {
    // SAFETY: a new reference or null.
    let template = unsafe { Object::owned(PyDict_New()) }?;
    let set = |key: &str, value: &Object| template.set_item(&Object::interned(key)?, value);
    let yes_or_no = |value: bool| Object::borrowed_bool(value);
    let text = |value: &str| Object::interned(value);
    set("REQUEST_METHOD", &text("GET")?)?;
    set("SCRIPT_NAME", &text("")?)?;
    set("PATH_INFO", &text("/")?)?;
    set("QUERY_STRING", &text("")?)?;
    set("SERVER_NAME", &text(&listener.server_name)?)?;
    set("SERVER_PORT", &text(&listener.server_port)?)?;
    set("SERVER_PROTOCOL", &text("HTTP/1.1")?)?;
    set("SERVER_SOFTWARE", &text(concat!("wheat/", env!("CARGO_PKG_VERSION")))?)?;
    set("REMOTE_ADDR", &text("")?)?;
    // SAFETY: a tuple of two numbers whose references it takes.
    let version = unsafe {
        let version = Object::owned(PyTuple_New(2))?;
        PyTuple_SetItem(version.as_ptr(), 0, Object::integer(1)?.into_ptr());
        PyTuple_SetItem(version.as_ptr(), 1, Object::integer(0)?.into_ptr());
        version
    };
    set("wsgi.version", &version)?;
    set("wsgi.url_scheme", &text(if setting.secure { "https" } else { "http" })?)?;
    set("wsgi.input", setting.empty_input)?;
    set("wsgi.input_terminated", &yes_or_no(true))?;
    set("wsgi.errors", setting.errors)?;
    set("wsgi.multithread", &yes_or_no(setting.threads))?;
    set("wsgi.multiprocess", &yes_or_no(setting.processes))?;
    set("wsgi.run_once", &yes_or_no(false))?;
    set("wsgi.file_wrapper", setting.file_wrapper)?;
    // A dictionary grows when it is full and keeps its size when entries go; its copies have that size too. More than a
    // third of the entries gone, and the copy would be made entry by entry.
    let spares = (0..spares).map(|index| Object::interned(&format!("spare{index}"))).collect::<Result<Vec<_>>>()?;
    for spare in &spares {
        template.set_item(spare, &Object::none())?;
    }
    for spare in &spares {
        // SAFETY: a dictionary and one of its keys.
        unsafe { PyDict_DelItem(template.as_ptr(), spare.as_ptr()) };
    }
    Ok(template)
}

impl Object {
    fn borrowed_bool(value: bool) -> Self {
        // SAFETY: the two are always there.
        unsafe { Self::borrowed(if value { Py_True() } else { Py_False() }) }
    }
}

/// Percent-encodings decoded; one that is malformed stays as it is. A path that is empty is a slash.
fn decoded_path(path: &[u8]) -> Result<Object> {
    let Some(first) = memchr::memchr(b'%', path) else {
        return Object::latin1(if path.is_empty() { b"/" } else { path });
    };
    let mut decoded = path[..first].to_vec();
    let mut rest = &path[first..];
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        let digit = |at: usize| after.get(at).and_then(|&b| (b as char).to_digit(16));
        match (byte, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high << 4 | low) as u8);
                rest = &after[2..];
            }
            _ => decoded.push(byte),
        }
    }
    Object::latin1(&decoded)
}

/// From header names as they are spelled to keys of the environ, without making a string.
struct Names {
    /// Open addressing: index + 1 into `spellings`.
    places: Vec<u16>,
    spellings: Vec<Spelling>,
    keys: Vec<Key>,
    by_text: HashMap<Vec<u8>, u16>,
    /// Of the present request.
    stamp: u64,
}

struct Spelling {
    name: Box<[u8]>,
    /// None: such a field is dropped.
    key: Option<u16>,
}

struct Key {
    object: Object,
    /// The last request that had it: a second field of the name is joined to the first.
    stamp: u64,
    separator: &'static [u8],
    /// The value of the last request; most are the same from one to the next. None for what is private.
    value: Option<Object>,
    private: bool,
}

/// What a field's name becomes; none: it is dropped.
///
/// An underscore passes for a hyphen once both are one character of the environ, and `Proxy` would set what CGI programs
/// take for their proxy: no client decides either. A chunked body has been decoded when the application sees it.
fn key_text(name: &[u8]) -> Option<Vec<u8>> {
    let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
    if name.contains(&b'_') || is("proxy") || is("transfer-encoding") {
        return None;
    }
    let prefix: &[u8] = if is("content-type") || is("content-length") { b"" } else { b"HTTP_" };
    let upper = name.iter().map(|&b| if b == b'-' { b'_' } else { b.to_ascii_uppercase() });
    Some(prefix.iter().copied().chain(upper).collect())
}

impl Names {
    fn new() -> Self {
        let (places, by_text) = (vec![0; PLACES], HashMap::new());
        Self { places, spellings: Vec::new(), keys: Vec::new(), by_text, stamp: 0 }
    }

    fn begin(&mut self) {
        self.stamp += 1;
    }

    #[inline]
    fn add(&mut self, environ: &Object, name: &str, value: &[u8]) -> Result<()> {
        let name = name.as_bytes();
        let mut place = hash(name) % PLACES;
        loop {
            match self.places[place] {
                0 => return self.add_unknown(environ, name, value, place),
                found => {
                    let spelling = &self.spellings[usize::from(found) - 1];
                    if *spelling.name == *name {
                        let Some(key) = spelling.key else { return Ok(()) };
                        return self.set(environ, usize::from(key), value);
                    }
                }
            }
            place = (place + 1) % PLACES;
        }
    }

    #[cold]
    fn add_unknown(&mut self, environ: &Object, name: &[u8], value: &[u8], place: usize) -> Result<()> {
        let learn = self.spellings.len() < MOST_SPELLINGS && name.len() <= LONGEST_SPELLING;
        let text = key_text(name);
        let known = text.as_ref().and_then(|text| self.by_text.get(text).copied());
        let key = match (&text, known) {
            (_, Some(key)) => Some(key),
            (Some(text), None) if learn => {
                let private = matches!(&text[..], b"HTTP_COOKIE" | b"HTTP_AUTHORIZATION" | b"CONTENT_LENGTH");
                let separator: &[u8] = if text == b"HTTP_COOKIE" { b"; " } else { b"," };
                let object = Object::interned(std::str::from_utf8(text).unwrap_or_default())?; // a token is ASCII
                self.keys.push(Key { object, stamp: 0, separator, value: None, private });
                let key = self.keys.len() as u16 - 1;
                self.by_text.insert(text.clone(), key);
                Some(key)
            }
            _ => None,
        };
        if learn {
            self.spellings.push(Spelling { name: name.into(), key });
            self.places[place] = self.spellings.len() as u16;
        }
        match (text, key) {
            (None, _) => Ok(()),
            (Some(_), Some(key)) => self.set(environ, usize::from(key), value),
            (Some(text), None) => {
                let key = Object::latin1(&text)?;
                match present(environ, &key)? {
                    true => join(environ, &key, b",", value),
                    false => environ.set_item(&key, &Object::latin1(value)?),
                }
            }
        }
    }

    #[inline]
    fn set(&mut self, environ: &Object, index: usize, value: &[u8]) -> Result<()> {
        let key = &mut self.keys[index];
        if key.stamp == self.stamp {
            return join(environ, &key.object, key.separator, value);
        }
        key.stamp = self.stamp;
        if key.private || value.len() > LONGEST_KEPT {
            return environ.set_item(&key.object, &Object::latin1(value)?);
        }
        if let Some(kept) = &key.value {
            // SAFETY: a str that lives as long as `key`.
            if unsafe { super::object::latin1_of(kept.as_ptr()) } == Some(value) {
                return environ.set_item(&key.object, kept);
            }
        }
        let fresh = Object::latin1(value)?;
        environ.set_item(&key.object, &fresh)?;
        key.value = Some(fresh);
        Ok(())
    }
}

fn present(environ: &Object, key: &Object) -> Result<bool> {
    // SAFETY: a dictionary and a key.
    match unsafe { PyDict_Contains(environ.as_ptr(), key.as_ptr()) } {
        -1 => Err(Raised),
        found => Ok(found == 1),
    }
}

/// A further field of the same name (RFC 9110, 5.3; RFC 6265, 5.4 for cookies).
fn join(environ: &Object, key: &Object, separator: &[u8], value: &[u8]) -> Result<()> {
    // SAFETY: a dictionary and a key; the reference is borrowed, and nobody else sees the environ yet.
    let first = unsafe {
        let found = PyDict_GetItemWithError(environ.as_ptr(), key.as_ptr());
        if found.is_null() {
            return environ.set_item(key, &Object::latin1(value)?);
        }
        Object::borrowed(found)
    };
    // SAFETY: `first` lives meanwhile.
    let first = unsafe { super::object::latin1_of(first.as_ptr()) }.unwrap_or_default();
    environ.set_item(key, &Object::latin1(&[first, separator, value].concat())?)
}

/// Eight bytes at a time: names are short, and whoever makes them collide has a bounded table to do it in.
#[inline]
fn hash(name: &[u8]) -> usize {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = name.len() as u64;
    let mut chunks = name.chunks_exact(8);
    for chunk in &mut chunks {
        let chunk = u64::from_le_bytes(chunk.try_into().unwrap_or_default());
        state = (state ^ chunk).wrapping_mul(FACTOR).rotate_left(29);
    }
    let mut tail = 0;
    for &byte in chunks.remainder() {
        tail = tail << 8 | u64::from(byte);
    }
    ((state ^ tail).wrapping_mul(FACTOR) >> 40) as usize
}
