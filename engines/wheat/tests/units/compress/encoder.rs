// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/compress/encoder.rs`.

use std::io::Read;

use super::*;
use crate::options::{codings, media_types};

fn compressor(levels: &str) -> Compressor {
    let (codings, types) = (codings(levels).unwrap(), media_types("text/*").unwrap());
    Compressor::new(Arc::new(Compression { codings, least: 0, types }))
}

/// What a client reads of it by now.
fn read(coding: Coding, packed: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut reader: Box<dyn Read> = match coding {
        Coding::Identity => Box::new(packed),
        Coding::Gzip => Box::new(flate2::read::GzDecoder::new(packed)),
        Coding::Brotli => Box::new(brotli::Decompressor::new(packed, 4096)),
        Coding::Zstd => Box::new(zstd::Decoder::new(packed).unwrap()),
    };
    let mut block = [0; 1000];
    // An error: it is not over.
    while let Ok(got @ 1..) = reader.read(&mut block) {
        out.extend_from_slice(&block[..got]);
    }
    out
}

/// Neither easy nor hard to compress.
fn text(length: usize) -> Vec<u8> {
    let mut state = 1u32;
    let words = ["switch ", "thread ", "fork ", "join ", "pipe\n", "0.73 ", "microseconds "];
    let mut word = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        words[(state >> 24) as usize % words.len()]
    };
    std::iter::repeat_with(|| word().bytes()).flatten().take(length).collect()
}

const LEVELS: [&str; 3] = ["gzip,br,zstd", "gzip:1,br:0,zstd:1", "gzip:9,br:6,zstd:9"];

#[test]
fn what_is_compressed_comes_back() {
    for levels in LEVELS {
        let mut compressor = compressor(levels);
        for length in [0, 1, 5000, 90_000, 17] {
            let body = text(length);
            for coding in Coding::PRECOMPRESSED {
                let packed = compressor.whole(coding, &body).unwrap();
                assert!(read(coding, &packed) == body, "{levels} {coding:?} {length}");
                assert!(packed.len() < length / 3 + 50, "{levels} {coding:?} {length}: {}", packed.len());
            }
        }
    }
}

#[test]
fn what_is_flushed_can_be_read_before_the_end() {
    for levels in LEVELS {
        let mut compressor = compressor(levels);
        for coding in Coding::PRECOMPRESSED {
            for _ in 0..2 {
                let (mut packed, mut given) = (Vec::new(), Vec::new());
                compressor.begin(coding, None).unwrap();
                for length in [1, 20_000, 10, 40_000, 1] {
                    let piece = text(length);
                    compressor.write(&piece, &mut packed).unwrap();
                    compressor.flush(&mut packed).unwrap();
                    given.extend_from_slice(&piece);
                    assert!(read(coding, &packed) == given, "{levels} {coding:?} {length}");
                }
                compressor.flush(&mut packed).unwrap(); // with nothing in between
                compressor.finish(&mut packed).unwrap();
                assert!(read(coding, &packed) == given, "{levels} {coding:?}");
            }
        }
    }
}

#[test]
fn a_body_that_was_given_up_is_not_in_the_next() {
    let mut compressor = compressor("gzip,br,zstd");
    for coding in Coding::PRECOMPRESSED {
        compressor.begin(coding, Some(1000)).unwrap();
        compressor.write(b"given up", &mut Vec::new()).unwrap();
        let packed = compressor.whole(coding, b"whole").unwrap();
        assert_eq!(read(coding, &packed), b"whole", "{coding:?}");
    }
}
