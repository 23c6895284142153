// SPDX-License-Identifier: Apache-2.0
//! What trusted proxies say of a request: `Forwarded` (RFC 7239) or `X-Forwarded-For`, `-Proto` and `-Host`. Pure.
//!
//! Each proxy adds to the end of a list, so it is read from there: as long as who added an element is trusted, it is believed.
//! What stands before the first address that is not a proxy's is anybody's invention.

use std::net::IpAddr;

use httparse::Header;

use super::head::check_host;
use super::trim;
use crate::options::{Fields, Networks};

#[derive(Clone, Debug)]
pub struct Trust {
    pub networks: Networks,
    pub fields: Fields,
}

/// Where a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin<'b> {
    /// None: a UNIX socket.
    pub address: Option<IpAddr>,
    /// Whether the client spoke TLS. None: nobody says so.
    pub is_secure: Option<bool>,
    /// The host that the client asked for, where a proxy says so.
    pub host: Option<&'b str>,
}

impl Trust {
    /// `peer`: who sent the request.
    pub fn origin<'b>(&self, headers: &[Header<'b>], peer: Option<IpAddr>) -> Origin<'b> {
        let mut origin = Origin { address: peer, is_secure: None, host: None };
        if self.networks.contains(peer) {
            match self.fields {
                Fields::XForwarded => self.x_forwarded(headers, &mut origin),
                Fields::Forwarded => self.forwarded(headers, &mut origin),
            }
        }
        origin
    }

    fn x_forwarded<'b>(&self, headers: &[Header<'b>], origin: &mut Origin<'b>) {
        let last = |name: &str| elements(headers, name).next();
        for element in elements(headers, "x-forwarded-for") {
            let Some(address) = node(element) else { break };
            origin.address = Some(address);
            if !self.networks.contains(Some(address)) {
                break;
            }
        }
        origin.is_secure = last("x-forwarded-proto").and_then(is_secure);
        origin.host = last("x-forwarded-host").and_then(host);
    }

    fn forwarded<'b>(&self, headers: &[Header<'b>], origin: &mut Origin<'b>) {
        for element in elements(headers, "forwarded") {
            let mut address = None;
            for pair in split(element, b';') {
                let Some(equals) = memchr::memchr(b'=', pair) else { return };
                let (name, value) = (trim(&pair[..equals]), unquoted(trim(&pair[equals + 1..])));
                match name.to_ascii_lowercase().as_slice() {
                    b"for" => address = node(value),
                    b"proto" => origin.is_secure = is_secure(value),
                    b"host" => origin.host = host(value),
                    _ => {}
                }
            }
            // An obfuscated identifier (`for=_hidden`) tells nothing that could be used.
            let Some(address) = address else { return };
            origin.address = Some(address);
            if !self.networks.contains(Some(address)) {
                return;
            }
        }
    }
}

/// The elements of all fields of this name, the last one first.
fn elements<'b>(headers: &[Header<'b>], name: &str) -> impl Iterator<Item = &'b [u8]> {
    let fields = headers.iter().rev().filter(move |header| header.name.eq_ignore_ascii_case(name));
    fields.flat_map(|header| split(header.value, b',').into_iter().rev())
}

/// Split at `separator` where it is not within quotes; nothing empty.
fn split(value: &[u8], separator: u8) -> Vec<&[u8]> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let parts = value.split(|&byte| {
        let escaped = std::mem::take(&mut is_escaped);
        match byte {
            b'"' if !escaped => is_quoted = !is_quoted,
            b'\\' if is_quoted && !escaped => is_escaped = true,
            _ => return byte == separator && !is_quoted,
        }
        false
    });
    parts.map(trim).filter(|part| !part.is_empty()).collect()
}

fn unquoted(value: &[u8]) -> &[u8] {
    // With an escape in it, it is no address and no host.
    value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value)
}

/// `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80`.
fn node(value: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(value).ok()?;
    let without_port = |text: &str| -> Option<IpAddr> {
        if let Some(rest) = text.strip_prefix('[') {
            let (address, port) = rest.split_once(']')?;
            let port = port.strip_prefix(':').unwrap_or(if port.is_empty() { "0" } else { "x" });
            port.parse::<u16>().ok()?;
            return address.parse().ok();
        }
        let (address, port) = text.split_once(':')?;
        port.parse::<u16>().ok()?;
        address.parse().ok()
    };
    text.parse().ok().or_else(|| without_port(text)).map(|address: IpAddr| address.to_canonical())
}

fn is_secure(value: &[u8]) -> Option<bool> {
    match value.to_ascii_lowercase().as_slice() {
        b"https" | b"wss" => Some(true),
        b"http" | b"ws" => Some(false),
        _ => None,
    }
}

fn host(value: &[u8]) -> Option<&str> {
    check_host(value).ok()?;
    std::str::from_utf8(value).ok().filter(|host| !host.is_empty())
}

#[cfg(test)]
#[path = "../../tests/units/http/forwarded.rs"]
mod tests;
