// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/compress/accept.rs`.

use super::*;

fn chosen(value: &str, available: &[Coding]) -> Option<Coding> {
    choose(&[Header { name: "Accept-Encoding", value: value.as_bytes() }], available)
}

#[test]
fn weights_decide() {
    use Coding::{Brotli, Gzip, Identity, Zstd};
    for (value, wanted) in [
        ("gzip, deflate, br", Some(Brotli)),
        ("br;q=0.5, gzip", Some(Gzip)),
        ("br;q=0.5,gzip;q=0.501", Some(Gzip)),
        ("x-gzip", Some(Gzip)),
        ("GZIP;Q=1.000", Some(Gzip)),
        ("*", Some(Brotli)),
        ("gzip;q=1, *;q=0", Some(Gzip)),
        ("*;q=0.1, br;q=0, zstd;q=0", Some(Gzip)),
        ("gzip;q=0, br;q=0", Some(Identity)),
        ("identity, gzip;q=0.5", Some(Identity)),
        ("identity;q=0.5, gzip;q=0.5", Some(Gzip)),
        ("identity;q=0, gzip;q=0.001", Some(Gzip)),
        ("", Some(Identity)),
        ("deflate", Some(Identity)),
        ("zstd", Some(Zstd)),
        ("gzip, br, zstd", Some(Brotli)),
        ("gzip, br;q=0.9, ZSTD", Some(Zstd)),
        ("*, br;q=0", Some(Zstd)),
        ("identity;q=0", None),
        ("*;q=0", None),
        ("*;q=0, identity", Some(Identity)),
        ("gzip;q=2", Some(Identity)),
        ("gzip;q=1.001", Some(Identity)),
        ("gzip;q=0.0001", Some(Identity)),
        ("gzip;q", Some(Identity)),
        ("gzip;q=1;x=1", Some(Identity)),
        ("gzipbr", Some(Identity)),
    ] {
        assert_eq!(chosen(value, &Coding::PRECOMPRESSED), wanted, "{value}");
    }
}

#[test]
fn only_what_is_there() {
    use Coding::{Gzip, Identity};
    assert_eq!(chosen("br, gzip;q=0.1", &[Gzip]), Some(Gzip));
    assert_eq!(chosen("br", &[Gzip]), Some(Identity));
    assert_eq!(chosen("br, identity;q=0", &[Gzip]), None);
    assert_eq!(choose(&[], &Coding::PRECOMPRESSED), Some(Identity));
    let lines =
        [Header { name: "accept-encoding", value: b"deflate" }, Header { name: "Accept-Encoding", value: b"gzip" }];
    assert_eq!(choose(&lines, &Coding::PRECOMPRESSED), Some(Gzip));
}
