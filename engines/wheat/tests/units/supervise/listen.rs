// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/supervise/listen.rs`.

use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;

use super::*;

fn listening_on(bind: Bind) -> Result<Listening, Error> {
    Listening::open(&Config { binds: vec![bind], socket_mode: Some(0o640), ..Config::default() })
}

fn free() -> Bind {
    Bind::Tcp("127.0.0.1:0".parse().unwrap())
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("wheat-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn port_zero_is_told_and_reached() {
    let listening = listening_on(free()).unwrap();
    let address: SocketAddr = listening.addresses[0].strip_prefix("http://").unwrap().parse().unwrap();
    assert_ne!(address.port(), 0);
    let client = TcpStream::connect(address).unwrap();
    let served = accept(&listening.sockets[0]).unwrap();
    assert!(sockopt::tcp_nodelay(&served).unwrap(), "inherited from the listener");
    drop(client);
}

#[test]
fn a_taken_port_is_said_and_can_be_shared_when_both_say_so() {
    let first = listening_on(free()).unwrap();
    let address: SocketAddr = first.addresses[0].strip_prefix("http://").unwrap().parse().unwrap();
    let error = listening_on(Bind::Tcp(address)).err().unwrap();
    assert!(error.text.contains("another program listens there"), "{error}");
    let shared = |address| Config { binds: vec![Bind::Tcp(address)], reuse_port: true, ..Config::default() };
    let first = Listening::open(&shared("127.0.0.1:0".parse().unwrap())).unwrap();
    let address = first.addresses[0].strip_prefix("http://").unwrap().parse().unwrap();
    assert!(Listening::open(&shared(address)).is_ok());
}

#[test]
fn a_dead_socket_makes_way_and_a_live_one_or_a_file_does_not() {
    let folder = Folder::new("unix");
    let path = folder.0.join("a.sock");
    let bind = || Bind::Unix(path.clone());
    let live = listening_on(bind()).unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    assert!(listening_on(bind()).err().unwrap().text.contains("another program"));
    drop(live);
    assert!(!path.exists(), "removed at the end");
    // As a killed server leaves it.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let again = listening_on(bind()).unwrap();
    UnixStream::connect(&path).unwrap();
    // Another server has replaced it: this one does not remove what is not its own.
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "mine").unwrap();
    drop(again);
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    assert!(listening_on(bind()).err().unwrap().text.contains("not a socket"));
    assert!(listening_on(Bind::Unix(folder.0.join("none/a.sock"))).err().unwrap().text.contains("folder"));
}

#[test]
fn a_shut_socket_refuses_although_another_process_has_it() {
    let listening = listening_on(free()).unwrap();
    let address: SocketAddr = listening.addresses[0].strip_prefix("http://").unwrap().parse().unwrap();
    let copy = listening.sockets[0].try_clone().unwrap();
    listening.shut();
    assert!(TcpStream::connect(address).is_err());
    assert!(accept(&copy).is_err());
}

#[test]
fn ipv6_means_itself() {
    let Ok(six) = listening_on(Bind::Tcp("[::1]:0".parse().unwrap())) else { return }; // no IPv6 here
    let address: SocketAddr = six.addresses[0].strip_prefix("http://").unwrap().parse().unwrap();
    assert!(TcpStream::connect(address).is_ok());
    let all = listening_on(Bind::Tcp("[::]:0".parse().unwrap())).unwrap();
    let port = all.addresses[0].rsplit(':').next().unwrap().parse().unwrap();
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[test]
fn names_are_looked_up_and_unknown_ones_said() {
    let listening = listening_on(Bind::Name("localhost".into(), 0)).unwrap();
    assert!(!listening.sockets.is_empty());
    let error = listening_on(Bind::Name("name.invalid".into(), 1)).err().unwrap();
    assert!(error.text.contains("name.invalid:1"), "{error}");
}
