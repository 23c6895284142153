// SPDX-License-Identifier: Apache-2.0
//! The access log as messages to a syslog, one datagram a line (RFC 5424; over UDP as RFC 5426 has it).

use std::io;
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use super::format::Clock;
use crate::options::Bind;

/// Facility 3, system daemons, and severity 6, informational.
const PRIORITY: u8 = 3 * 8 + 6;

pub struct Syslog {
    way: Way,
    host: String,
    clock: Clock,
    message: Vec<u8>,
}

/// Sockets that are not connected: each message finds the syslog that is there by then.
enum Way {
    Unix(UnixDatagram, PathBuf),
    Udp(UdpSocket, SocketAddr),
}

impl Syslog {
    pub fn open(address: &Bind) -> io::Result<Self> {
        let of = |addresses: &mut dyn Iterator<Item = SocketAddr>| {
            let address = addresses.next().ok_or_else(|| io::Error::other("the name has no address"))?;
            let any = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
            Ok::<_, io::Error>(Way::Udp(UdpSocket::bind(any)?, address))
        };
        let way = match address {
            Bind::Unix(path) => Way::Unix(UnixDatagram::unbound()?, path.clone()),
            Bind::Tcp(address) => of(&mut std::iter::once(*address))?,
            Bind::Name(host, port) => of(&mut (host.as_str(), *port).to_socket_addrs()?)?,
        };
        Ok(Self { way, host: host_name(), clock: Clock::default(), message: Vec::new() })
    }

    /// A line without its end.
    pub fn send(&mut self, line: &[u8]) -> io::Result<()> {
        use io::Write;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.clock.set(now.as_secs());
        self.message.clear();
        let (time, microseconds, process) = (&self.clock.iso, now.subsec_micros(), std::process::id());
        let host = &self.host;
        write!(self.message, "<{PRIORITY}>1 {time}.{microseconds:06}Z {host} wheat {process} access - ")?;
        self.message.extend_from_slice(line);
        match &self.way {
            Way::Unix(socket, path) => socket.send_to(&self.message, path),
            Way::Udp(socket, address) => socket.send_to(&self.message, address),
        }
        .map(drop)
    }
}

/// `-` where there is none that a message could have.
fn host_name() -> String {
    let mut name = [0u8; 256];
    // SAFETY: the buffer is writable for its length, of which the last byte stays zero.
    let got = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    if got == 0 && !name.is_empty() && name.iter().all(u8::is_ascii_graphic) {
        String::from_utf8_lossy(name).into_owned()
    } else {
        "-".into()
    }
}
