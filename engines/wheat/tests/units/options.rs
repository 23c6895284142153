// SPDX-License-Identifier: Apache-2.0
//! Tests of `src/options.rs`.

use super::*;

#[test]
fn cpus_read_as_ranges() {
    assert_eq!(shown_cpus(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
    let first = allowed_cpus()[0];
    assert_eq!(affinity(&first.to_string()), Ok(Affinity::Cpus(vec![first])));
}

#[test]
fn codings_have_levels() {
    use Coding::{Brotli, Gzip, Zstd};
    assert_eq!(codings("br:5,gzip,zstd:19"), Ok(vec![(Brotli, 5), (Gzip, 4), (Zstd, 19)]));
    for wrong in
        ["", "gzip,", "deflate", "identity", "gzip:0", "gzip:10", "gzip:+1", "br:12", "zstd:20", "gzip,gzip:1", "GZIP"]
    {
        assert!(codings(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn media_types_have_one_star() {
    let types = media_types("text/*,*+json,Application/JSON").unwrap();
    for (name, wanted) in [
        ("text/html", true),
        ("Text/Plain; charset=utf-8", true),
        ("application/json", true),
        ("application/problem+JSON", true),
        ("application/jsonx", false),
        ("image/png", false),
        ("text", false),
        ("", false),
    ] {
        assert_eq!(types.contain(name.as_bytes()), wanted, "{name}");
    }
    assert!(!media_types("image/a*a").unwrap().contain(b"image/a"), "the two ends do not overlap");
    for wrong in ["", "text", "text/", "/html", "*/*", "te xt/a", "text/html;a", "a/b/c"] {
        assert!(media_types(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn headers_are_of_a_folder_or_of_a_type() {
    let header = static_header("image/*=Cache-Control: max-age=9").unwrap();
    assert_eq!((header.name.as_str(), header.value.as_str()), ("Cache-Control", "max-age=9"));
    assert!(matches!(header.of, Of::Type(types) if types.contain(b"image/png")));
    assert_eq!(static_header("/a/=X: y").unwrap().of, Of::Prefix("/a".into()));
    for wrong in ["a=X: y", "/a=X", "/a=: y", "/a=X: \u{e9}", "/a=ETag: \"x\"", "/a", "a b/c=X: y"] {
        assert!(static_header(wrong).is_err(), "{wrong}");
    }
    assert_eq!(super::header("X-A:  b "), Ok("X-A: b\r\n".into()));
    for wrong in ["X-A", "Date: x", "Connection: close", "X A: b", "X-A: b\r\nC: d"] {
        assert!(super::header(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn what_is_tried_stays_in_its_folder() {
    let tried = try_files("/docs/=$uri,$uri.html,$uri/index.html,application").unwrap();
    assert_eq!((tried.prefix.as_str(), tried.last), ("/docs", Some(Missing::Application)));
    assert_eq!(tried.suffixes, [".html", "/index.html"]);
    assert_eq!(try_files("/=$uri.html =404").unwrap().last, Some(Missing::NotFound));
    assert_eq!(try_files("/=/app/index.html").unwrap().last, Some(Missing::File("app/index.html".into())));
    assert_eq!(try_files("/=$uri.html").unwrap().last, None);
    for wrong in ["/", "/=", "docs=$uri", "/=404,$uri", "/=$uri/", "/=$uri/../x", "/=../x", "/=$uri/./x,404"] {
        assert!(try_files(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn error_pages_are_of_a_status_or_of_a_class() {
    let page = |value: &str| error_page(OsStr::new(value)).map(|page| page.statuses);
    assert_eq!(page("404=/a"), Ok(404..=404));
    assert_eq!(page("5xx=/a"), Ok(500..=599));
    for wrong in ["404=", "404", "304=/a", "xxx=/a", "40x=/a", "4xx/a", "600=/a", ""] {
        assert!(page(wrong).is_err(), "{wrong}");
    }
}
