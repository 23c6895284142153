// SPDX-License-Identifier: Apache-2.0
//! The libraries that compress, behind one interface: zlib-rs, which takes less CPU than zlib and needs no C, by flate2; the
//! encoder of brotli in Rust; and zstd's own library.

use std::io;
#[cfg(feature = "compress")]
use std::io::Write;
use std::sync::Arc;

#[cfg(feature = "compress")]
use flate2::{Compress, FlushCompress, Status};
#[cfg(feature = "compress")]
use zstd::stream::raw::{CParameter, Encoder, InBuffer, Operation, OutBuffer};

use super::Compression;
use crate::options::Coding;

/// Window of zstd, as the logarithm of its bytes: a client needs as much, and so do we.
#[cfg(feature = "compress")]
const ZSTD_WINDOW: u32 = 20;
/// Most of that of brotli; smaller where the whole is smaller.
#[cfg(feature = "compress")]
const BROTLI_WINDOW: u32 = 18;

/// What a thread compresses with, one body after another.
pub struct Compressor {
    pub compression: Arc<Compression>,
    current: Coding,
    // Kept from one body to the next: to make them costs as much as a small body.
    #[cfg(feature = "compress")]
    gzip: Option<Compress>,
    #[cfg(feature = "compress")]
    zstd: Option<Encoder<'static>>,
    /// Of one body: it can't be used again.
    #[cfg(feature = "compress")]
    brotli: Option<brotli::CompressorWriter<Vec<u8>>>,
}

impl std::fmt::Debug for Compressor {
    fn fmt(&self, into: &mut std::fmt::Formatter) -> std::fmt::Result {
        into.debug_struct("Compressor").field("compression", &self.compression).finish_non_exhaustive()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Upto {
    /// What does not depend on what follows.
    Now,
    /// All that was given.
    Flush,
    End,
}

impl Compressor {
    pub fn new(compression: Arc<Compression>) -> Self {
        Self {
            compression,
            current: Coding::Identity,
            #[cfg(feature = "compress")]
            gzip: None,
            #[cfg(feature = "compress")]
            zstd: None,
            #[cfg(feature = "compress")]
            brotli: None,
        }
    }

    /// Adds a piece of the body; what comes of it by now is appended to `into`.
    pub fn write(&mut self, bytes: &[u8], into: &mut Vec<u8>) -> io::Result<()> {
        self.run(bytes, Upto::Now, into)
    }

    /// All that was written can be read by whoever has what is in `into`.
    pub fn flush(&mut self, into: &mut Vec<u8>) -> io::Result<()> {
        self.run(&[], Upto::Flush, into)
    }

    pub fn finish(&mut self, into: &mut Vec<u8>) -> io::Result<()> {
        self.run(&[], Upto::End, into)
    }

    /// A body that is there as a whole.
    pub fn whole(&mut self, coding: Coding, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut packed = Vec::with_capacity(bytes.len() / 3 + 64);
        self.begin(coding, Some(bytes.len() as u64))?;
        self.run(bytes, Upto::End, &mut packed)?;
        Ok(packed)
    }

    #[cfg(not(feature = "compress"))]
    pub fn begin(&mut self, coding: Coding, _length: Option<u64>) -> io::Result<()> {
        self.current = coding;
        Err(io::ErrorKind::Unsupported.into())
    }

    #[cfg(not(feature = "compress"))]
    fn run(&mut self, _bytes: &[u8], _upto: Upto, _into: &mut Vec<u8>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// A new body, of this length if it is known.
    #[cfg(feature = "compress")]
    pub fn begin(&mut self, coding: Coding, length: Option<u64>) -> io::Result<()> {
        let level = self.compression.level(coding);
        match coding {
            Coding::Identity => {}
            Coding::Gzip => match &mut self.gzip {
                Some(gzip) => gzip.reset(),
                gzip => *gzip = Some(Compress::new_gzip(flate2::Compression::new(level), 15)),
            },
            Coding::Zstd => {
                let encoder = match &mut self.zstd {
                    Some(encoder) => {
                        encoder.reinit()?;
                        encoder
                    }
                    zstd => {
                        let mut encoder = Encoder::new(level as i32)?;
                        encoder.set_parameter(CParameter::WindowLog(ZSTD_WINDOW))?;
                        zstd.insert(encoder)
                    }
                };
                encoder.set_pledged_src_size(length)?;
            }
            Coding::Brotli => {
                let length = usize::try_from(length.unwrap_or(0)).unwrap_or(0);
                let bits = if length > 0 { length.ilog2() + 1 } else { BROTLI_WINDOW };
                let parameters = brotli::enc::BrotliEncoderParams {
                    quality: level as i32,
                    lgwin: bits.clamp(10, BROTLI_WINDOW) as i32,
                    size_hint: length,
                    ..Default::default()
                };
                self.brotli = Some(brotli::CompressorWriter::with_params(Vec::new(), 4 << 10, &parameters));
            }
        }
        self.current = coding;
        Ok(())
    }

    #[cfg(feature = "compress")]
    fn run(&mut self, bytes: &[u8], upto: Upto, into: &mut Vec<u8>) -> io::Result<()> {
        match (self.current, &mut self.gzip, &mut self.zstd) {
            (Coding::Gzip, Some(gzip), _) => run_gzip(gzip, bytes, upto, into),
            (Coding::Zstd, _, Some(zstd)) => run_zstd(zstd, bytes, upto, into),
            (Coding::Brotli, ..) => {
                let mut brotli = self.brotli.take().ok_or(io::Error::other("there is no body"))?;
                brotli.write_all(bytes)?;
                if upto == Upto::End {
                    into.append(&mut brotli.into_inner());
                    return Ok(());
                }
                if upto == Upto::Flush {
                    brotli.flush()?;
                }
                into.append(brotli.get_mut());
                self.brotli = Some(brotli);
                Ok(())
            }
            _ => Err(io::Error::other("there is no body")),
        }
    }
}

/// Room that is made for each step.
#[cfg(feature = "compress")]
const STEP: usize = 4 << 10;

#[cfg(feature = "compress")]
fn run_gzip(gzip: &mut Compress, bytes: &[u8], upto: Upto, into: &mut Vec<u8>) -> io::Result<()> {
    let how = match upto {
        Upto::Now => FlushCompress::None,
        Upto::Flush => FlushCompress::Sync,
        Upto::End => FlushCompress::Finish,
    };
    let began = gzip.total_in();
    loop {
        if into.capacity() - into.len() < STEP / 2 {
            into.reserve(STEP);
        }
        let taken = (gzip.total_in() - began) as usize;
        let status = gzip.compress_vec(&bytes[taken..], into, how).map_err(io::Error::other)?;
        let is_all = (gzip.total_in() - began) as usize == bytes.len();
        // With room left it has no more to give (zlib.h, deflate).
        match status {
            Status::StreamEnd => return Ok(()),
            _ if upto != Upto::End && is_all && into.len() < into.capacity() => return Ok(()),
            _ => {}
        }
    }
}

#[cfg(feature = "compress")]
fn run_zstd(zstd: &mut Encoder, bytes: &[u8], upto: Upto, into: &mut Vec<u8>) -> io::Result<()> {
    let mut input = InBuffer::around(bytes);
    loop {
        if into.capacity() - into.len() < STEP / 2 {
            into.reserve(STEP);
        }
        let at = into.len();
        let mut output = OutBuffer::around_pos(into, at);
        let is_over = if input.pos() < bytes.len() {
            zstd.run(&mut input, &mut output)?;
            upto == Upto::Now && input.pos() == bytes.len()
        } else {
            match upto {
                Upto::Now => true,
                Upto::Flush => zstd.flush(&mut output)? == 0,
                Upto::End => zstd.finish(&mut output, false)? == 0,
            }
        };
        if is_over {
            return Ok(());
        }
    }
}

#[cfg(all(test, feature = "compress"))]
#[path = "../../tests/units/compress/encoder.rs"]
mod tests;
