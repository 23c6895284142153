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

/// Writes a whole answer of the server itself, without its body after HEAD; gives the length of the body.
pub fn write_answer(
    rejection: Rejection,
    date_line: &[u8],
    keep_alive: bool,
    minor: u8,
    head_only: bool,
    into: &mut Vec<u8>,
) -> u64 {
    let Rejection { status, reason: why } = rejection;
    let body = [reason(status), ": ", why, "\n"];
    let length: usize = body.iter().map(|part| part.len()).sum();
    write_status_line(status, into);
    into.extend_from_slice(date_line);
    write_connection(keep_alive, minor, into);
    into.extend_from_slice(b"Content-Type: text/plain\r\nContent-Length: ");
    into.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
    into.extend_from_slice(b"\r\n\r\n");
    if head_only {
        return 0;
    }
    for part in body {
        into.extend_from_slice(part.as_bytes());
    }
    length as u64
}

/// Writes a whole response that ends the connection.
pub fn write_rejection(rejection: Rejection, date_line: &[u8], into: &mut Vec<u8>) -> u64 {
    write_answer(rejection, date_line, false, 1, false, into)
}
