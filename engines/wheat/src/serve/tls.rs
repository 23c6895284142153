// SPDX-License-Identifier: Apache-2.0
//! TLS by rustls, on sockets that do not block.

use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use rustls::{ServerConfig, ServerConnection};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use super::socket::{self, After};
use crate::config::Tls;

/// Plaintext that waits for its encryption and ciphertext that waits for its client, in bytes, each.
const BUFFERED: usize = 64 << 10;

/// The certificate chain and its key, read once. The error says which file is at fault. `alpn`: the registered name of the protocol
/// (RFC 7301), if it has one.
pub fn server_config(files: &Tls, alpn: Option<&[u8]>) -> Result<Arc<ServerConfig>, String> {
    let certificate = files.certificate.display();
    let key = files.key.display();
    let chain = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| format!("the certificate {certificate} cannot be read: {error}"))?;
    if chain.is_empty() {
        return Err(format!("the certificate {certificate} holds no PEM certificate"));
    }
    let private_key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| {
        // Read as text, because the parser of PEM only says that it found no key.
        match std::fs::read_to_string(&files.key) {
            Ok(text) if text.contains("ENCRYPTED") => {
                format!("the key {key} is encrypted: decrypt it (openssl pkey -in {key} -out PLAIN)")
            }
            _ => format!("the key {key} cannot be read: {error}"),
        }
    })?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_no_client_auth()
        .with_single_cert(chain, private_key)
        .map_err(|error| format!("the key {key} does not belong to the certificate {certificate}: {error}"))?;
    config.alpn_protocols.extend(alpn.map(<[u8]>::to_vec));
    Ok(Arc::new(config))
}

/// One connection's TLS.
pub struct Session {
    fd: OwnedFd,
    tls: ServerConnection,
    /// The client has ended its side, with or without saying so.
    ended: bool,
}

/// The socket as rustls reads and writes it.
struct Wire<'a>(&'a OwnedFd);

impl Read for Wire<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        socket::receive(self.0, into)
    }
}

impl Write for Wire<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        socket::send(self.0, &[IoSlice::new(bytes)], After::Nothing)
    }
    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        socket::send(self.0, slices, After::Nothing)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Session {
    pub fn new(fd: OwnedFd, config: Arc<ServerConfig>) -> Result<Self, rustls::Error> {
        let mut tls = ServerConnection::new(config)?;
        tls.set_buffer_limit(Some(BUFFERED));
        Ok(Self { fd, tls, ended: false })
    }

    pub fn fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    pub fn receive(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.tls.reader().read(into) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // An end without close_notify: the heads and the framing of bodies say what is complete.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                got => return got,
            }
            if self.ended {
                return Ok(0);
            }
            if self.tls.read_tls(&mut Wire(&self.fd))? == 0 {
                self.ended = true;
            }
            let processed = self.tls.process_new_packets();
            // Answers of the handshake, or the alert that tells of the error.
            match self.flush() {
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
                _ => {}
            }
            processed.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        }
    }

    pub fn holds_input(&mut self) -> bool {
        self.tls.process_new_packets().is_ok_and(|state| state.plaintext_bytes_to_read() > 0)
    }

    pub fn send(&mut self, slices: &[IoSlice]) -> io::Result<usize> {
        loop {
            let taken = self.tls.writer().write_vectored(slices)?;
            match self.flush() {
                Err(error) if error.kind() == ErrorKind::WouldBlock && taken > 0 => return Ok(taken),
                Err(error) => return Err(error),
                Ok(()) if taken > 0 => return Ok(taken),
                Ok(()) => {} // there was no room, and now there is
            }
        }
    }

    pub fn send_file(&mut self, file: BorrowedFd, offset: u64, length: u64) -> io::Result<usize> {
        if self.tls.wants_write() {
            self.flush()?;
        }
        // SAFETY: ManuallyDrop: the descriptor is only borrowed.
        let file = ManuallyDrop::new(unsafe { File::from_raw_fd(file.as_raw_fd()) });
        let mut block = [0; 16 << 10]; // one TLS record
        let wanted = block.len().min(usize::try_from(length).unwrap_or(usize::MAX));
        let got = file.read_at(&mut block[..wanted], offset)?;
        if got == 0 { Ok(0) } else { self.send(&[IoSlice::new(&block[..got])]) }
    }

    pub fn flush(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            self.tls.write_tls(&mut Wire(&self.fd))?;
        }
        Ok(())
    }

    pub fn holds_output(&self) -> bool {
        self.tls.wants_write()
    }

    pub fn finish(&mut self) {
        self.tls.send_close_notify();
        // Whoever does not take it sees the end of the connection instead.
        let _ = self.flush();
    }
}
