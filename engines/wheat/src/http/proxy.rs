// SPDX-License-Identifier: Apache-2.0
//! The PROXY protocol, versions 1 and 2: what a proxy says of a connection before its first byte. Pure.
//!
//! Source: W. Tarreau, The PROXY protocol, versions 1 & 2, 2020 (haproxy, doc/proxy-protocol.txt).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Longest header that is read. Version 1 needs 107 bytes, version 2 as many as there are extensions.
pub const MOST_BYTES: usize = 4096;

const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// The extension that tells of TLS, and the bit of its first byte for a client that spoke it.
const SSL: u8 = 0x20;
const CLIENT_SSL: u8 = 0x01;

#[derive(Debug, PartialEq, Eq)]
pub struct Malformed;

#[derive(Debug, PartialEq, Eq)]
pub struct Header {
    /// Bytes of it.
    pub length: usize,
    /// Where the connection comes from. None: from the proxy itself, or nobody knows.
    pub source: Option<Source>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    pub address: IpAddr,
    pub port: u16,
    /// The client spoke TLS to the proxy.
    pub is_secure: bool,
}

/// The header at the start of `bytes`; None while it is incomplete.
pub fn parse(bytes: &[u8]) -> Result<Option<Header>, Malformed> {
    if bytes.starts_with(SIGNATURE) {
        return version_2(bytes);
    }
    if bytes.len() < SIGNATURE.len() && SIGNATURE.starts_with(bytes) {
        return Ok(None);
    }
    version_1(bytes)
}

/// `PROXY TCP4 192.0.2.1 192.0.2.2 56324 443` and CR LF.
fn version_1(bytes: &[u8]) -> Result<Option<Header>, Malformed> {
    const LONGEST: usize = 107;
    const START: &[u8] = b"PROXY ";
    let shorter = bytes.len().min(START.len());
    if bytes[..shorter] != START[..shorter] {
        return Err(Malformed);
    }
    let Some(end) = memchr::memchr(b'\n', &bytes[..bytes.len().min(LONGEST)]) else {
        return if bytes.len() < LONGEST { Ok(None) } else { Err(Malformed) };
    };
    let line = bytes[..end].strip_suffix(b"\r").and_then(|line| std::str::from_utf8(line).ok()).ok_or(Malformed)?;
    let length = end + 1;
    let words: Vec<&str> = line.split(' ').collect();
    let port = |text: &str| match super::head::decimal(text.as_bytes()) {
        Some(port) if text == "0" || !text.starts_with('0') => u16::try_from(port).map_err(|_| Malformed),
        _ => Err(Malformed),
    };
    match words[..] {
        ["PROXY", "UNKNOWN", ..] => Ok(Some(Header { length, source: None })),
        ["PROXY", family, source, destination, from, to] => {
            let address: IpAddr = source.parse().map_err(|_| Malformed)?;
            let other: IpAddr = destination.parse().map_err(|_| Malformed)?;
            let fits = |address: &IpAddr| matches!((family, address.is_ipv4()), ("TCP4", true) | ("TCP6", false));
            if !fits(&address) || !fits(&other) {
                return Err(Malformed);
            }
            port(to)?;
            let source = Source { address: address.to_canonical(), port: port(from)?, is_secure: false };
            Ok(Some(Header { length, source: Some(source) }))
        }
        _ => Err(Malformed),
    }
}

fn version_2(bytes: &[u8]) -> Result<Option<Header>, Malformed> {
    let [command, family, high, low] = match bytes.get(12..16) {
        Some(fixed) => [fixed[0], fixed[1], fixed[2], fixed[3]],
        None => return Ok(None),
    };
    let length = 16 + usize::from(u16::from_be_bytes([high, low]));
    if length > MOST_BYTES || command >> 4 != 2 {
        return Err(Malformed);
    }
    let Some(rest) = bytes.get(16..length) else { return Ok(None) };
    match command & 15 {
        0 => return Ok(Some(Header { length, source: None })),
        1 => {}
        _ => return Err(Malformed),
    }
    // Two addresses of this size, two ports, extensions.
    let size = match family {
        0x11 => 4,
        0x21 => 16,
        _ => return Ok(Some(Header { length, source: None })),
    };
    let (addresses, extensions) = rest.split_at_checked(2 * size + 4).ok_or(Malformed)?;
    let address = match <[u8; 4]>::try_from(&addresses[..size]) {
        Ok(octets) => IpAddr::V4(Ipv4Addr::from(octets)),
        Err(_) => {
            let octets = <[u8; 16]>::try_from(&addresses[..size]).map_err(|_| Malformed)?;
            IpAddr::V6(Ipv6Addr::from(octets)).to_canonical()
        }
    };
    let port = u16::from_be_bytes([addresses[2 * size], addresses[2 * size + 1]]);
    let source = Source { address, port, is_secure: says_tls(extensions)? };
    Ok(Some(Header { length, source: Some(source) }))
}

fn says_tls(mut extensions: &[u8]) -> Result<bool, Malformed> {
    let mut found = false;
    while !extensions.is_empty() {
        let [kind, high, low, rest @ ..] = extensions else { return Err(Malformed) };
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let (value, after) = rest.split_at_checked(length).ok_or(Malformed)?;
        found |= *kind == SSL && value.first().is_some_and(|bits| bits & CLIENT_SSL != 0);
        extensions = after;
    }
    Ok(found)
}

#[cfg(test)]
#[path = "../../tests/units/http/proxy.rs"]
mod tests;
