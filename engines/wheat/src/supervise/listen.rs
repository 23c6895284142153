// SPDX-License-Identifier: Apache-2.0
//! Listening sockets. The master opens them once and keeps them: a connection that waits to be accepted outlives any worker.
//! All workers share them (`EPOLLEXCLUSIVE` wakes one at a time), so no connection waits behind a busy worker while another
//! has nothing to do, which is what a socket for each worker (SO_REUSEPORT, `--reuse-port`) leads to. The price: keep-alive
//! connections that come all at once may land on few workers.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use crate::config::{Config, DEFAULT_BIND};
use crate::error::Error;
use crate::options::{Bind, Protocol};

/// All sockets of a server.
pub struct Listening {
    pub sockets: Vec<OwnedFd>,
    /// What a client would connect to, in the order of the sockets.
    pub addresses: Vec<String>,
    /// How many of them, from the first on, belong to a service manager.
    pub adopted: usize,
    own_paths: Vec<OwnPath>,
}

/// A UNIX socket in the file system, and which one: another server may have put its own there since.
struct OwnPath {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl Listening {
    /// Those of a service manager first, then those of the command line; without either the default address.
    pub fn open(config: &Config) -> Result<Self, Error> {
        let mut listening = Self::none();
        let scheme = scheme(config);
        for socket in handed_down() {
            let (socket, address) = adopt(socket, scheme)?;
            listening.sockets.push(socket);
            listening.addresses.push(address);
            listening.adopted += 1;
        }
        let default = [Bind::Tcp(DEFAULT_BIND.parse().expect("an address"))];
        let binds = if config.binds.is_empty() && listening.sockets.is_empty() { &default[..] } else { &config.binds };
        for bind in binds {
            listening.add(bind, config, scheme)?;
        }
        Ok(listening)
    }

    /// Those of an old master.
    pub fn inherit(sockets: Vec<OwnedFd>, adopted: usize, scheme: &str) -> Result<Self, Error> {
        let mut listening = Self::none();
        listening.adopted = adopted;
        for socket in sockets {
            let (socket, address) = adopt(socket, scheme)?;
            if let Some(path) = address.strip_prefix("unix:").filter(|_| listening.sockets.len() >= adopted) {
                listening.own(Path::new(path));
            }
            listening.sockets.push(socket);
            listening.addresses.push(address);
        }
        Ok(listening)
    }

    /// Another process has the sockets now, and will remove those of the file system.
    pub fn leave_to_successor(mut self) {
        self.own_paths.clear();
    }

    fn own(&mut self, path: &Path) {
        if let Ok(made) = path.symlink_metadata() {
            self.own_paths.push(OwnPath { path: path.to_owned(), device: made.dev(), inode: made.ino() });
        }
    }

    fn none() -> Self {
        Self { sockets: Vec::new(), addresses: Vec::new(), adopted: 0, own_paths: Vec::new() }
    }

    /// Has clients refused at once from now on, even while a worker that is busy has not closed its copies yet. What belongs to
    /// a service manager goes on listening: the next server finds there what came meanwhile.
    pub fn shut(&self) {
        for socket in &self.sockets[self.adopted..] {
            let _ = rustix::net::shutdown(socket, rustix::net::Shutdown::Both);
        }
    }

    /// One address for something other than the application.
    pub fn open_one(bind: &Bind, config: &Config) -> Result<Self, Error> {
        let mut listening = Self::none();
        listening.add(bind, config, "http")?;
        Ok(listening)
    }

    fn add(&mut self, bind: &Bind, config: &Config, scheme: &str) -> Result<(), Error> {
        match bind {
            Bind::Tcp(address) => self.add_tcp(*address, config, scheme),
            Bind::Name(host, port) => {
                let unknown = |why: String| Error::unavailable(format!("--bind {host}:{port}: {why}"));
                let mut found: Vec<SocketAddr> = (host.as_str(), *port)
                    .to_socket_addrs()
                    .map_err(|error| unknown(format!("the name is not known here: {error}")))?
                    .collect();
                found.dedup();
                if found.is_empty() {
                    return Err(unknown("the name has no address".into()));
                }
                found.into_iter().try_for_each(|address| self.add_tcp(address, config, scheme))
            }
            Bind::Unix(path) => self.add_unix(path, config),
        }
    }

    fn add_tcp(&mut self, address: SocketAddr, config: &Config, scheme: &str) -> Result<(), Error> {
        let open = || -> rustix::io::Result<OwnedFd> {
            let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
            sockopt::set_socket_reuseaddr(&socket, true)?;
            if config.reuse_port {
                sockopt::set_socket_reuseport(&socket, true)?;
            }
            if address.is_ipv6() {
                // An address means itself: [::] is not 0.0.0.0 as well, whatever the system's default.
                sockopt::set_ipv6_v6only(&socket, true)?;
            }
            // Accepted connections inherit it, which saves a system call each.
            sockopt::set_tcp_nodelay(&socket, true)?;
            rustix::net::bind(&socket, &address)?;
            rustix::net::listen(&socket, config.backlog as i32)?;
            Ok(socket)
        };
        let socket = open().map_err(|error| refused(&address.to_string(), error))?;
        let bound = rustix::net::getsockname(&socket).ok().and_then(|bound| SocketAddr::try_from(bound).ok());
        self.addresses.push(format!("{scheme}://{}", bound.unwrap_or(address)));
        self.sockets.push(socket);
        Ok(())
    }

    fn add_unix(&mut self, path: &Path, config: &Config) -> Result<(), Error> {
        let shown = format!("unix:{}", path.display());
        make_way(path).map_err(|why| Error::unavailable(format!("can't listen on {shown}: {why}")))?;
        let open = || -> rustix::io::Result<OwnedFd> {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
            let address = SocketAddrUnix::new(path)?;
            // By the umask, not by chmod afterwards: the socket never has more permissions than it is to have.
            let before = config.socket_mode.map(|mode| rustix::process::umask(Mode::from_raw_mode(!mode & 0o777)));
            let bound = rustix::net::bind(&socket, &address);
            if let Some(before) = before {
                rustix::process::umask(before);
            }
            bound?;
            rustix::net::listen(&socket, config.backlog as i32)?;
            Ok(socket)
        };
        let socket = open().map_err(|error| refused(&shown, error))?;
        self.own(path);
        self.addresses.push(shown);
        self.sockets.push(socket);
        Ok(())
    }
}

impl Drop for Listening {
    /// Removes the UNIX sockets from the file system, if they are still these.
    fn drop(&mut self) {
        for own in &self.own_paths {
            let still = own.path.symlink_metadata().is_ok_and(|now| (now.dev(), now.ino()) == (own.device, own.inode));
            if still {
                let _ = std::fs::remove_file(&own.path);
            }
        }
    }
}

pub fn scheme(config: &Config) -> &'static str {
    match (config.protocol, config.tls.is_some()) {
        (Protocol::Http, false) => "http",
        (Protocol::Http, true) => "https",
        (_, false) => "tcp",
        (_, true) => "tls",
    }
}

fn refused(address: &str, error: Errno) -> Error {
    let advice = match error {
        Errno::ADDRINUSE => "another program listens there: end it, or choose another --bind",
        Errno::ACCESS => "this user may not: ports below 1024 and other people's folders need permission",
        Errno::ADDRNOTAVAIL => "this machine has no such address",
        Errno::NOENT => "its folder does not exist",
        _ => return Error::unavailable(format!("can't listen on {address}: {error}")),
    };
    Error::unavailable(format!("can't listen on {address}: {advice}"))
}

/// Removes a socket that a killed server left behind, and nothing else that is in the way.
fn make_way(path: &Path) -> Result<(), String> {
    let Ok(found) = path.symlink_metadata() else { return Ok(()) };
    if !found.file_type().is_socket() {
        return Err("a file that is not a socket is there: remove it, or choose another path".into());
    }
    match UnixStream::connect(path) {
        Ok(_) => Err("another program listens there: end it, or choose another path".into()),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path).map_err(|error| format!("a dead socket is there and stays: {error}"))
        }
        // Its queue is full, or this user may not connect: somebody is there.
        Err(error) => Err(format!("another program seems to listen there ({error})")),
    }
}

/// What a service manager handed down: descriptors from 3 on, as in sd_listen_fds(3). The variables do not reach the workers.
fn handed_down() -> Vec<OwnedFd> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<i32>().ok());
    let (pid, count) = (number("LISTEN_PID"), number("LISTEN_FDS"));
    if pid != i32::try_from(std::process::id()).ok() {
        return Vec::new();
    }
    let sockets = (3..3 + count.unwrap_or(0).clamp(0, 1000)).map(|fd| {
        // SAFETY: the service manager says that they are open and for this process; each is taken once.
        unsafe { OwnedFd::from_raw_fd(fd) }
    });
    sockets.collect()
}

fn adopt(socket: OwnedFd, scheme: &str) -> Result<(OwnedFd, String), Error> {
    let set_up = || -> rustix::io::Result<Option<String>> {
        fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
        if !sockopt::socket_acceptconn(&socket)? {
            return Ok(None);
        }
        let flags = rustix::fs::fcntl_getfl(&socket)?;
        rustix::fs::fcntl_setfl(&socket, flags | rustix::fs::OFlags::NONBLOCK)?;
        let address = rustix::net::getsockname(&socket)?;
        if let Ok(address) = SocketAddr::try_from(address.clone()) {
            sockopt::set_tcp_nodelay(&socket, true)?;
            return Ok(Some(format!("{scheme}://{address}")));
        }
        let path = SocketAddrUnix::try_from(address)?;
        Ok(Some(format!("unix:{}", path.path().map_or(String::new(), |path| path.to_string_lossy().into_owned()))))
    };
    match set_up() {
        Ok(Some(address)) => Ok((socket, address)),
        Ok(None) => Err(Error::unavailable("a socket from the service manager (LISTEN_FDS) does not listen")),
        Err(error) => Err(Error::unavailable(format!("a socket from the service manager (LISTEN_FDS): {error}"))),
    }
}

/// Takes a connection that waits, if there is one.
pub fn accept(socket: impl AsFd) -> rustix::io::Result<OwnedFd> {
    rustix::net::accept_with(socket, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)
}

#[cfg(test)]
#[path = "../../tests/units/supervise/listen.rs"]
mod tests;
