// SPDX-License-Identifier: Apache-2.0
//! `--metrics`: the master serves the counters itself, to a few clients at a time, and never waits for one of them. The
//! address is its own: what serves the world never serves this.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown};

use crate::config::Config;
use crate::error::Error;
use crate::observe::counters::Memory;
use crate::observe::openmetrics;
use crate::options::Bind;
use crate::supervise::listen::{Listening, accept};

/// A scraper comes once in a few seconds, and waits in the backlog when others have been faster.
const MOST_CLIENTS: usize = 16;
const MOST_HEAD: usize = 8 << 10;
const DEADLINE: Duration = Duration::from_secs(5);

pub struct Metrics {
    listening: Listening,
    clients: Vec<Client>,
}

struct Client {
    socket: OwnedFd,
    until: Instant,
    head: Vec<u8>,
    /// Empty while the head is read.
    answer: Vec<u8>,
    sent: usize,
}

/// Whether a client is still of interest.
#[derive(PartialEq, Eq)]
enum Goes {
    On,
    Away,
}

impl Metrics {
    pub fn open(bind: &Bind, config: &Config) -> Result<Self, Error> {
        let listening = Listening::open_one(bind, config)
            .map_err(|error| Error { text: format!("--metrics: {}", error.text), ..error })?;
        Ok(Self { listening, clients: Vec::new() })
    }

    /// Those of an old master.
    pub fn inherit(sockets: Vec<OwnedFd>) -> Result<Self, Error> {
        Ok(Self { listening: Listening::inherit(sockets, 0, "http")?, clients: Vec::new() })
    }

    pub fn sockets(&self) -> &[OwnedFd] {
        &self.listening.sockets
    }

    pub fn leave_to_successor(self) {
        self.listening.leave_to_successor();
    }

    pub fn address(&self) -> String {
        match self.listening.addresses.first() {
            Some(address) if address.starts_with("http") => format!("{address}/metrics"),
            Some(address) => address.clone(),
            None => String::new(),
        }
    }

    /// What the next `turn` waits for.
    pub fn watch<'a>(&'a self, fds: &mut Vec<PollFd<'a>>) {
        if self.clients.len() < MOST_CLIENTS {
            let sockets = self.listening.sockets.iter();
            fds.extend(sockets.map(|socket| PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN)));
        }
        for client in &self.clients {
            let flags = if client.answer.is_empty() { PollFlags::IN } else { PollFlags::OUT };
            fds.push(PollFd::from_borrowed_fd(client.socket.as_fd(), flags));
        }
    }

    /// When the first client has had its time.
    pub fn due(&self) -> Option<Instant> {
        self.clients.iter().map(|client| client.until).min()
    }

    /// Does what can be done without waiting.
    pub fn turn(&mut self, memory: &Memory) {
        for socket in &self.listening.sockets {
            while self.clients.len() < MOST_CLIENTS {
                let Ok(socket) = accept(socket) else { break };
                let until = Instant::now() + DEADLINE;
                self.clients.push(Client { socket, until, head: Vec::new(), answer: Vec::new(), sent: 0 });
            }
        }
        let now = Instant::now();
        self.clients.retain_mut(|client| client.until > now && client.turn(memory) == Goes::On);
    }
}

impl Client {
    fn turn(&mut self, memory: &Memory) -> Goes {
        if self.answer.is_empty() {
            let mut piece = [0; 2048];
            match rustix::net::recv(&self.socket, &mut piece[..], RecvFlags::empty()) {
                Ok((0, _)) => return Goes::Away,
                Ok((n, _)) => self.head.extend_from_slice(&piece[..n]),
                Err(Errno::AGAIN | Errno::INTR) => return Goes::On,
                Err(_) => return Goes::Away,
            }
            match answer(&self.head, memory) {
                Some(answer) => self.answer = answer,
                None => return Goes::On,
            }
        }
        match rustix::net::send(&self.socket, &self.answer[self.sent..], SendFlags::NOSIGNAL) {
            Ok(n) => self.sent += n,
            Err(Errno::AGAIN | Errno::INTR) => return Goes::On,
            Err(_) => return Goes::Away,
        }
        if self.sent < self.answer.len() {
            return Goes::On;
        }
        let _ = rustix::net::shutdown(&self.socket, Shutdown::Write);
        Goes::Away
    }
}

/// The whole answer, once the head is whole or hopeless.
fn answer(head: &[u8], memory: &Memory) -> Option<Vec<u8>> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut headers);
    let plain = "text/plain; charset=utf-8";
    let (status, kind, body) = match request.parse(head) {
        Ok(httparse::Status::Partial) if head.len() < MOST_HEAD => return None,
        Ok(httparse::Status::Partial) => ("431 Request Header Fields Too Large", plain, String::new()),
        Err(_) => ("400 Bad Request", plain, String::new()),
        Ok(httparse::Status::Complete(_)) => {
            let path = request.path.and_then(|target| target.split('?').next());
            match (request.method, path) {
                (Some("GET" | "HEAD"), Some("/metrics")) => {
                    ("200 OK", openmetrics::CONTENT_TYPE, openmetrics::render(&memory.snapshot()))
                }
                (Some("GET" | "HEAD"), _) => ("404 Not Found", plain, "the counters are under /metrics\n".into()),
                _ => ("405 Method Not Allowed\r\nAllow: GET, HEAD", plain, String::new()),
            }
        }
    };
    let length = body.len();
    let body = if request.method == Some("HEAD") { String::new() } else { body };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nCache-Control: no-store\r\n\
         Connection: close\r\n\r\n"
    );
    Some((head + &body).into_bytes())
}

#[cfg(test)]
#[path = "../../tests/units/supervise/metrics.rs"]
mod tests;
