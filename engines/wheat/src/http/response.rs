// SPDX-License-Identifier: Apache-2.0
//! Status lines and the server's own answers.

use std::sync::Arc;

use super::Rejection;

/// Reason phrases of what this server itself answers; an application brings its own.
pub const fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        206 => "Partial Content",
        301 => "Moved Permanently",
        304 => "Not Modified",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        416 => "Range Not Satisfiable",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "",
    }
}

pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// `HTTP/1.1 404 Not Found` and CR LF.
pub fn write_status_line(status: u16, into: &mut Vec<u8>) {
    into.extend_from_slice(b"HTTP/1.1 ");
    into.extend_from_slice(itoa::Buffer::new().format(status).as_bytes());
    into.push(b' ');
    into.extend_from_slice(reason(status).as_bytes());
    into.extend_from_slice(b"\r\n");
}

/// Whether the connection stays, said where the version's default is the other.
pub fn write_connection(keep_alive: bool, minor: u8, into: &mut Vec<u8>) {
    match (keep_alive, minor) {
        (false, 1..) => into.extend_from_slice(b"Connection: close\r\n"),
        (true, 0) => into.extend_from_slice(b"Connection: keep-alive\r\n"),
        _ => {}
    }
}

/// A page that is sent in the place of the server's own words.
#[derive(Debug)]
pub struct Page {
    /// Content-Type and Content-Length.
    pub lines: String,
    pub body: Arc<[u8]>,
}

/// What answers of the server itself are made of.
pub struct Own<'a> {
    pub date_line: &'a [u8],
    /// Further header lines.
    pub lines: &'a str,
    pub page: Option<&'a Page>,
}

impl Own<'_> {
    /// Writes a whole answer, without its body after HEAD; gives the length of the body.
    pub fn write(&self, rejection: Rejection, keep_alive: bool, minor: u8, head_only: bool, into: &mut Vec<u8>) -> u64 {
        let Rejection { status, reason: why } = rejection;
        write_status_line(status, into);
        into.extend_from_slice(self.date_line);
        into.extend_from_slice(self.lines.as_bytes());
        write_connection(keep_alive, minor, into);
        let words = [reason(status), ": ", why, "\n"].concat();
        let body = self.page.map_or(words.as_bytes(), |page| &page.body);
        match self.page {
            Some(page) => into.extend_from_slice(page.lines.as_bytes()),
            None => {
                into.extend_from_slice(b"Content-Type: text/plain\r\nContent-Length: ");
                into.extend_from_slice(itoa::Buffer::new().format(body.len()).as_bytes());
                into.extend_from_slice(b"\r\n");
            }
        }
        into.extend_from_slice(b"\r\n");
        if head_only {
            return 0;
        }
        into.extend_from_slice(body);
        body.len() as u64
    }
}
