// SPDX-License-Identifier: Apache-2.0
//! What a service manager is told, as in sd_notify(3). Without one nothing happens.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::{Duration, Instant};

pub fn notify(text: &str) {
    if let Some(socket) = std::env::var_os("NOTIFY_SOCKET") {
        // A manager that does not listen is told nothing.
        let _ = tell(&socket, text);
    }
}

/// `@name` is a name without a file.
fn tell(socket: &OsStr, text: &str) -> io::Result<usize> {
    let address = match socket.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(socket)?,
    };
    let sender = UnixDatagram::unbound()?;
    sender.set_nonblocking(true)?;
    sender.send_to_addr(text.as_bytes(), &address)
}

/// A service manager that ends a master which is not heard of.
pub struct Watchdog {
    pause: Duration,
    pub due: Instant,
}

impl Watchdog {
    /// None: nobody watches. `takes_over`: the variables are those of an older master, whom this one follows.
    pub fn of_environment(takes_over: bool) -> Option<Self> {
        let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
        let is_of_another = number("WATCHDOG_PID").is_some_and(|pid| pid != u64::from(std::process::id()));
        if is_of_another && !takes_over {
            return None;
        }
        let patience = Duration::from_micros(number("WATCHDOG_USEC").filter(|patience| *patience > 0)?);
        Some(Self { pause: patience / 2, due: Instant::now() })
    }

    /// Says that the master is alive, when it is time to.
    pub fn turn(&mut self) {
        if self.due <= Instant::now() {
            notify("WATCHDOG=1");
            self.due = Instant::now() + self.pause;
        }
    }
}
