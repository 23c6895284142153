// SPDX-License-Identifier: Apache-2.0
//! Status lines and the server's own answers.

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
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "",
    }
}

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

/// A whole response that ends the connection.
pub fn write_rejection(rejection: Rejection, date_line: &[u8], into: &mut Vec<u8>) {
    let Rejection { status, reason: why } = rejection;
    let body_length = reason(status).len() + ": ".len() + why.len() + 1;
    write_status_line(status, into);
    into.extend_from_slice(date_line);
    into.extend_from_slice(b"Content-Type: text/plain\r\nConnection: close\r\nContent-Length: ");
    into.extend_from_slice(itoa::Buffer::new().format(body_length).as_bytes());
    into.extend_from_slice(b"\r\n\r\n");
    for part in [reason(status), ": ", why, "\n"] {
        into.extend_from_slice(part.as_bytes());
    }
}
