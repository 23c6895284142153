// SPDX-License-Identifier: Apache-2.0
//! What `Files` answers.

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::time::{Duration, UNIX_EPOCH};

use super::*;
use crate::options::{ErrorPage, static_header, try_files};

struct Served {
    _tree: tempfile::TempDir,
    files: Files,
}

const TEXT: &str = "0123456789abcdefghijklmnopqrstuvwxyz";
const LARGE: usize = resource::LARGEST_KEPT as usize + 1000;

impl Served {
    fn new(index: Option<&str>) -> Self {
        let tree = tempfile::tempdir().unwrap();
        let at = |name: &str| tree.path().join(name);
        for folder in ["root/d", "root/none", "other"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        let large: Vec<u8> = (0..LARGE).map(|i| (i % 251) as u8).collect();
        for (name, content) in [
            ("secret", b"secret".as_slice()),
            ("root/a.txt", TEXT.as_bytes()),
            ("root/empty.css", b""),
            ("root/large.bin", &large),
            ("root/page.html", TEXT.as_bytes()),
            ("root/page.html.br", b"brotli"),
            ("root/page.html.gz", b"gzip"),
            ("root/stale.js", TEXT.as_bytes()),
            ("root/stale.js.gz", b"older"),
            ("root/d/index.html", b"index"),
            ("root/closed", b"closed"),
            ("other/b", b"other"),
        ] {
            fs::write(at(name), content).unwrap();
            let age = if name == "root/stale.js.gz" { 1 } else { 0 };
            let time = UNIX_EPOCH + Duration::from_secs(784_111_777 - age);
            fs::File::open(at(name)).unwrap().set_modified(time).unwrap();
        }
        fs::set_permissions(at("root/closed"), fs::Permissions::from_mode(0o000)).unwrap();
        symlink("../secret", at("root/out")).unwrap();
        let route = |prefix: &str, root: &str| StaticRoute { prefix: prefix.into(), root: at(root) };
        let mut files = Files::new(&[route("/s", "root"), route("/s/o/", "other")], index.map(String::from)).unwrap();
        files.cache.clock =
            || std::time::SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + Duration::from_secs(10);
        Self { _tree: tree, files }
    }

    fn with(mut self, headers: &[&str], missing: Missing) -> Self {
        let headers: Vec<_> = headers.iter().map(|header| static_header(header).unwrap()).collect();
        self.files = self.files.with(&headers, missing);
        self
    }

    fn ask(&mut self, request: &str, fields: &[(&str, &str)]) -> Option<Answer> {
        let headers: Vec<Header> =
            fields.iter().map(|(name, value)| Header { name, value: value.as_bytes() }).collect();
        let (method, target) = request.split_once(' ').unwrap();
        self.files.respond(method.as_bytes(), target.as_bytes(), &headers, 1).map(Answer::new)
    }

    fn get(&mut self, name: &str, fields: &[(&str, &str)]) -> Answer {
        self.ask(&format!("GET /s/{name}"), fields).unwrap()
    }
}

struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    /// Checks what must be true of every answer.
    fn new(reply: Reply) -> Self {
        let pieces = match reply.body {
            Body::Empty => vec![],
            Body::One(piece) => vec![piece],
            Body::Several(pieces) => pieces,
        };
        let mut body = Vec::new();
        for piece in pieces {
            let start = body.len();
            match &piece {
                Piece::Bytes(bytes, range) => body.extend_from_slice(&bytes[range.clone()]),
                Piece::File(file, range) => {
                    body.resize(start + piece.length() as usize, 0);
                    file.read_exact_at(&mut body[start..], range.start).unwrap();
                }
            }
            assert_eq!(body.len() - start, piece.length() as usize);
        }
        let answer = Self { status: reply.status, head: String::from_utf8(reply.head.to_vec()).unwrap(), body };
        assert!(answer.head.ends_with("\r\n") && !answer.head.contains("\r\n\r\n"));
        assert_eq!(answer.head.lines().count(), answer.head.matches("\r\n").count());
        match answer.field("Content-Length") {
            Some(length) if !answer.body.is_empty() => assert_eq!(length, answer.body.len().to_string()),
            Some(_) => {}
            None => assert_eq!(answer.status, 304),
        }
        answer
    }

    fn field(&self, name: &str) -> Option<&str> {
        let mut values = self.head.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let value = values.next();
        assert_eq!(values.next(), None, "{name} twice");
        value
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

#[test]
fn headers_of_a_route_go_with_all_that_is_answered_from_its_files() {
    let mut served = Served::new(None).with(&["/s/=Cache-Control:  max-age=60 ", "/s=X-A: b"], Missing::NotFound);
    let tag = served.get("a.txt", &[]).field("ETag").unwrap().to_owned();
    for (name, field, status) in [
        ("a.txt", ("Accept", "*/*"), 200),
        ("a.txt", ("If-None-Match", tag.as_str()), 304),
        ("a.txt", ("Range", "bytes=0-3"), 206),
        ("a.txt", ("Range", "bytes=0-3,6-7"), 206),
        ("page.html", ("Accept-Encoding", "br"), 200),
    ] {
        let answer = served.get(name, &[field]);
        let lines = (answer.field("Cache-Control"), answer.field("X-A"));
        assert_eq!((answer.status, lines), (status, (Some("max-age=60"), Some("b"))), "{name} {field:?}");
    }
    assert_eq!(served.get("none", &[]).field("Cache-Control"), None);
    assert_eq!(served.get("o/b", &[]).field("Cache-Control"), None, "another route");
}

#[test]
fn a_header_of_a_type_goes_before_that_of_the_folder() {
    let headers = ["/s=Cache-Control: max-age=1", "/s=X-A: b", "text/*=cache-control: max-age=2"];
    let mut served = Served::new(None).with(&headers, Missing::NotFound);
    let answer = served.get("a.txt", &[]);
    assert_eq!((answer.field("Cache-Control"), answer.field("cache-control")), (None, Some("max-age=2")));
    assert_eq!(answer.field("X-A"), Some("b"));
    assert_eq!(served.get("large.bin", &[]).field("Cache-Control"), Some("max-age=1"));
    assert_eq!(served.get("o/b", &[]).field("Cache-Control"), None);
}

#[test]
fn names_are_tried_where_there_is_no_file() {
    let mut served = Served::new(None);
    served.files = served.files.trying(&[try_files("/s=$uri.html,$uri/index.html,/a.txt").unwrap()]);
    for (name, wanted) in
        [("page", TEXT), ("page.html", TEXT), ("d", "index"), ("d/", "index"), ("none/", TEXT), ("x", TEXT)]
    {
        let answer = served.get(name, &[]);
        assert_eq!((answer.status, answer.text()), (200, wanted), "{name}");
    }
    assert_eq!(served.get("page", &[("Accept-Encoding", "br")]).text(), "brotli");
    assert_eq!(served.get("page/../../secret", &[]).text(), TEXT, "no name, so the last");
    assert_eq!(served.get("%zz", &[]).status, 400);
    assert_eq!(served.get("o/page", &[]).status, 404, "another route");

    let mut served = Served::new(None);
    served.files = served.files.trying(&[try_files("/s=$uri.html,404").unwrap()]);
    for name in ["x", "d", "d/", ".hidden", "out"] {
        assert_eq!(served.get(name, &[]).status, 404, "{name}");
    }
    let mut served = Served::new(None);
    served.files = served.files.trying(&[try_files("/s=$uri.html,application").unwrap()]);
    assert!(served.ask("GET /s/x", &[]).is_none());
    assert!(served.ask("POST /s/a.txt", &[]).is_none());
    assert_eq!(served.get("o/x", &[]).status, 404);
}

#[test]
fn pages_stand_for_the_servers_own_words() {
    let folder = tempfile::tempdir().unwrap();
    let page = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name)
    };
    let pages = [(400..=499, page("4xx.txt", "four")), (404..=404, page("404.html", "<p>none"))];
    let pages: Vec<_> = pages.into_iter().map(|(statuses, path)| ErrorPage { statuses, path }).collect();
    let mut served = Served::new(None);
    served.files.desk.pages = Arc::new(Pages::load(&pages).unwrap());
    let none = served.get("none", &[]);
    assert_eq!((none.status, none.text(), none.field("Content-Type")), (404, "<p>none", Some("text/html")));
    let post = served.ask("POST /s/a.txt", &[]).unwrap();
    assert_eq!((post.status, post.text(), post.field("Allow")), (405, "four", Some("GET, HEAD")));
    let range = served.get("a.txt", &[("Range", "bytes=99-")]);
    assert_eq!((range.status, range.field("Content-Range")), (416, Some("bytes */36")));
    assert_eq!(served.ask("HEAD /s/none", &[]).unwrap().body, b"");
    let missing = [ErrorPage { statuses: 404..=404, path: folder.path().join("no.html") }];
    assert!(Pages::load(&missing).unwrap_err().text.contains("no.html"));
}

#[cfg(feature = "compress")]
#[test]
fn files_are_compressed_for_who_accepts_it() {
    let config =
        match Config::parse(["--static", "/=.", "--compress", "gzip,zstd", "--compress-least", "30"].map(Into::into)) {
            Ok(crate::config::Command::Serve(config)) => config,
            other => panic!("{other:?}"),
        };
    let mut served = Served::new(None);
    served.files = served.files.compressing(Compression::of(&config).unwrap());
    let (tree, text) = (served._tree.path().join("root"), TEXT.repeat(400));
    let write = |name: &str, content: &[u8]| {
        fs::write(tree.join(name), content).unwrap();
        let time = UNIX_EPOCH + Duration::from_secs(784_111_777);
        fs::File::open(tree.join(name)).unwrap().set_modified(time).unwrap();
    };
    write("long.css", text.as_bytes());
    write("short.css", b"a{}");
    write("image.png", text.as_bytes());
    write("page.html", text.as_bytes());
    let noise: Vec<u8> = (0..40u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 20) as u8).collect();
    write("noise.txt", &noise);

    let plain = served.get("long.css", &[]);
    assert_eq!((plain.text(), plain.field("Vary")), (text.as_str(), Some("Accept-Encoding")));
    assert!(plain.field("ETag").unwrap().starts_with('"'));
    let unpacked = |answer: &Answer| {
        use std::io::Read;
        let mut text = String::new();
        let _ = match answer.field("Content-Encoding").unwrap() {
            "gzip" => flate2::read::GzDecoder::new(&answer.body[..]).read_to_string(&mut text).unwrap(),
            _ => zstd::Decoder::new(&answer.body[..]).unwrap().read_to_string(&mut text).unwrap(),
        };
        text
    };
    for (accepted, wanted) in [("gzip", "gzip"), ("zstd, gzip", "gzip"), ("zstd, gzip;q=0.9", "zstd"), ("*", "gzip")] {
        for _ in 0..2 {
            let answer = served.get("long.css", &[("Accept-Encoding", accepted)]);
            assert_eq!((answer.status, answer.field("Content-Encoding")), (200, Some(wanted)), "{accepted}");
            assert!(answer.body.len() < text.len() / 10 && unpacked(&answer) == text);
            assert_eq!(answer.field("Content-Type"), Some("text/css"));
            assert_eq!((answer.field("Vary"), answer.field("Accept-Ranges")), (Some("Accept-Encoding"), None));
            let tag = answer.field("ETag").unwrap().to_owned();
            assert!(tag.starts_with("W/\""), "{tag}");
            let again = served.get("long.css", &[("Accept-Encoding", accepted), ("If-None-Match", &tag)]);
            assert_eq!((again.status, again.field("ETag")), (304, Some(tag.as_str())));
            let head = served.ask("HEAD /s/long.css", &[("Accept-Encoding", accepted)]).unwrap();
            assert_eq!((head.head, head.body), (answer.head, vec![]));
        }
    }
    let part = served.get("long.css", &[("Accept-Encoding", "gzip"), ("Range", "bytes=3-5")]);
    assert_eq!((part.status, part.text(), part.field("Content-Encoding")), (206, "345", None));
    for name in ["short.css", "image.png", "noise.txt"] {
        let answer = served.get(name, &[("Accept-Encoding", "gzip")]);
        assert_eq!((answer.status, answer.field("Content-Encoding")), (200, None), "{name}");
    }
    assert_eq!(served.get("image.png", &[]).field("Vary"), None);
    // What lies there goes before what would have to be made.
    assert_eq!(served.get("page.html", &[("Accept-Encoding", "zstd, gzip, br")]).text(), "brotli");
    assert_eq!(unpacked(&served.get("page.html", &[("Accept-Encoding", "zstd")])), text);
    assert_eq!(served.get("long.css", &[("Accept-Encoding", "identity;q=0, br")]).status, 406);
}

#[test]
fn what_is_no_file_is_for_the_application_where_that_is_said() {
    let mut served = Served::new(None).with(&[], Missing::Application);
    for request in ["GET /s/none", "GET /s", "GET /s/d", "GET /s/d/", "GET /s/.env", "GET /s/a%2fb", "POST /s/a.txt"] {
        assert!(served.ask(request, &[]).is_none(), "{request}");
    }
    assert_eq!(served.get("a.txt", &[]).text(), TEXT);
    assert_eq!(served.get("%zz", &[]).status, 400);
    assert_eq!(served.get("closed", &[]).status, if rustix::process::geteuid().is_root() { 200 } else { 403 });
}

#[test]
fn a_file_can_stand_for_those_that_are_missing() {
    let mut served = Served::new(None).with(&[], Missing::File("page.html".into()));
    for _ in 0..2 {
        assert_eq!(served.get("none/of/these?x", &[]).text(), TEXT);
        assert_eq!(served.get("d", &[("Accept-Encoding", "br")]).text(), "brotli");
    }
    assert_eq!(served.get("a.txt", &[]).field("Content-Type"), Some("text/plain"));
    assert_eq!(served.ask("POST /s/none", &[]).unwrap().status, 405);
    assert_eq!(Served::new(None).with(&[], Missing::File("no".into())).get("none", &[]).status, 404);
}

#[test]
fn a_whole_file() {
    let mut served = Served::new(None);
    let answer = served.get("a.txt?v=2", &[("Host", "h"), ("Accept", "*/*")]);
    assert_eq!((answer.status, answer.text()), (200, TEXT));
    assert_eq!(answer.field("Content-Type"), Some("text/plain"));
    assert_eq!(answer.field("Content-Length"), Some("36"));
    assert_eq!(answer.field("Last-Modified"), Some("Sun, 06 Nov 1994 08:49:37 GMT"));
    assert_eq!(answer.field("Accept-Ranges"), Some("bytes"));
    assert_eq!(answer.field("Vary"), None);
    let tag = answer.field("ETag").unwrap();
    assert!(tag.starts_with('"') && tag.ends_with('"') && tag.len() > 8, "{tag}");

    let large = served.get("large.bin", &[]);
    assert_eq!((large.body.len(), large.body[LARGE - 1]), (LARGE, ((LARGE - 1) % 251) as u8));
    assert_eq!(large.field("Content-Type"), Some("application/octet-stream"));
    let empty = served.get("empty.css", &[]);
    assert_eq!((empty.status, empty.body.len(), empty.field("Content-Length")), (200, 0, Some("0")));
}

#[test]
fn head_is_get_without_its_body() {
    let mut served = Served::new(None);
    for (name, field) in [
        ("a.txt", ("Host", "h")),
        ("large.bin", ("Host", "h")),
        ("page.html", ("Accept-Encoding", "br")),
        ("none.txt", ("Host", "h")),
        ("../a", ("Host", "h")),
        ("a.txt", ("If-None-Match", "*")),
        ("a.txt", ("If-Match", "\"x\"")),
    ] {
        let get = served.get(name, &[field]);
        let head = served.ask(&format!("HEAD /s/{name}"), &[field]).unwrap();
        assert_eq!((head.status, head.head, head.body.len()), (get.status, get.head, 0), "{name}");
    }
    let ranged = served.ask("HEAD /s/a.txt", &[("Range", "bytes=1-2")]).unwrap();
    assert_eq!((ranged.status, ranged.field("Content-Length")), (200, Some("36")));
}

#[test]
fn other_methods_are_told_which_are_allowed() {
    let mut served = Served::new(None);
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "get", "GETS"] {
        let answer = served.ask(&format!("{method} /s/a.txt"), &[]).unwrap();
        assert_eq!((answer.status, answer.field("Allow")), (405, Some("GET, HEAD")), "{method}");
    }
}

#[test]
fn routes_go_by_whole_segments_and_the_longest_wins() {
    let mut served = Served::new(None);
    assert_eq!(served.get("o/b", &[]).text(), "other");
    assert_eq!(served.get("o/a.txt", &[]).status, 404);
    assert_eq!(served.ask("GET /%73/a%2etxt", &[]).unwrap().text(), TEXT);
    for target in ["/", "/sa", "/S/a.txt", "/x/../s/a.txt", "/x%zz", "/x%00", "*", "//s/a.txt"] {
        assert!(served.ask(&format!("GET {target}"), &[]).is_none(), "{target}");
    }
}

#[test]
fn what_is_not_served() {
    let mut served = Served::new(None);
    for name in [
        "none",
        "d",
        "d/",
        "",
        "a.txt/",
        "a.txt/x",
        "out",
        "../secret",
        "%2e%2e/secret",
        "..%2fsecret",
        "a%5c..",
        "/a.txt",
    ] {
        assert_eq!(served.get(name, &[]).status, 404, "{name}");
    }
    for name in ["a%00.txt", "%", "%zz"] {
        assert_eq!(served.get(name, &[]).status, 400, "{name}");
    }
    if !rustix::process::geteuid().is_root() {
        assert_eq!(served.get("closed", &[]).status, 403);
    }
    assert_eq!(served.ask("GET /s", &[]).unwrap().status, 404);
}

#[test]
fn a_directory_has_its_index_if_one_is_named() {
    let mut served = Served::new(Some("index.html"));
    let answer = served.get("d/", &[]);
    assert_eq!((answer.text(), answer.field("Content-Type")), ("index", Some("text/html")));
    assert_eq!(served.get("", &[]).status, 404);
    assert_eq!(served.get("none/", &[]).status, 404);
    for (target, location) in
        [("/s/d", "/s/d/"), ("/s/d?a=b%20c", "/s/d/?a=b%20c"), ("/s/%64?\u{e9}", "/s/d/?%C3%A9"), ("/s", "/s/")]
    {
        let answer = served.ask(&format!("GET {target}"), &[]).unwrap();
        assert_eq!((answer.status, answer.field("Location")), (301, Some(location)));
    }
    for target in ["//s/d", "/s//d", "/s/d//", "/s//example.org/%2e%2e"] {
        assert_ne!(served.ask(&format!("GET {target}"), &[]).map_or(0, |answer| answer.status), 301, "{target}");
    }
}

#[test]
fn a_target_without_a_path_is_the_root() {
    let tree = tempfile::tempdir().unwrap();
    fs::write(tree.path().join("index.html"), b"index").unwrap();
    let route = StaticRoute { prefix: "/".into(), root: tree.path().to_owned() };
    let mut files = Files::new(&[route], Some("index.html".into())).unwrap();
    // Of http://host?query
    let reply = files.respond(b"GET", b"?query", &[], 1).unwrap();
    assert_eq!((reply.status, files.respond(b"GET", b"/?query", &[], 1).unwrap().status), (200, 200));
}

#[test]
fn one_range() {
    let mut served = Served::new(None);
    for (range, wanted, content_range) in [
        ("bytes=0-0", "0", "bytes 0-0/36"),
        ("bytes=10-12", "abc", "bytes 10-12/36"),
        ("bytes=-3", "xyz", "bytes 33-35/36"),
        ("bytes=30-99", "uvwxyz", "bytes 30-35/36"),
        ("bytes=2-3,3-4", "234", "bytes 2-4/36"),
    ] {
        let answer = served.get("a.txt", &[("Range", range)]);
        assert_eq!((answer.status, answer.text()), (206, wanted), "{range}");
        assert_eq!(answer.field("Content-Range"), Some(content_range));
        assert!(answer.field("ETag").is_some() && answer.field("Last-Modified").is_some());
    }
    let large = served.get("large.bin", &[("Range", "bytes=8188-8197")]);
    assert_eq!(large.body, (8188..8198).map(|i| (i % 251) as u8).collect::<Vec<_>>());
    let outside = served.get("a.txt", &[("Range", "bytes=36-")]);
    assert_eq!((outside.status, outside.field("Content-Range")), (416, Some("bytes */36")));
    assert_eq!(served.get("empty.css", &[("Range", "bytes=0-")]).status, 416);
    for fields in [&[("Range", "bytes=9-1")][..], &[("Range", "bytes=0-0"), ("Range", "bytes=1-1")]] {
        assert_eq!(served.get("a.txt", fields).status, 200);
    }
}

#[test]
fn several_ranges() {
    let mut served = Served::new(None);
    for name in ["a.txt", "large.bin"] {
        let whole = served.get(name, &[]);
        let answer = served.get(name, &[("Range", "bytes=10-12, 0-0, -2")]);
        assert_eq!(answer.status, 206);
        let boundary = answer.field("Content-Type").unwrap().strip_prefix("multipart/byteranges; boundary=").unwrap();
        let length = whole.body.len();
        let mut wanted = Vec::new();
        for (first, last) in [(10, 12), (0, 0), (length - 2, length - 1)] {
            let media_type = whole.field("Content-Type").unwrap();
            wanted.extend_from_slice(
                format!("\r\n--{boundary}\r\nContent-Type: {media_type}\r\nContent-Range: bytes {first}-{last}/{length}\r\n\r\n")
                    .as_bytes(),
            );
            wanted.extend_from_slice(&whole.body[first..=last]);
        }
        wanted.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
        assert_eq!(answer.body, wanted[2..]);
        assert_eq!(answer.field("Content-Range"), None);
    }
}

#[test]
fn preconditions() {
    let mut served = Served::new(None);
    let tag = served.get("a.txt", &[]).field("ETag").unwrap().to_string();
    let date = "Sun, 06 Nov 1994 08:49:37 GMT";
    for (fields, status) in [
        (&[("If-None-Match", tag.as_str())][..], 304),
        (&[("If-Modified-Since", date)], 304),
        (&[("If-Match", &tag)], 200),
        (&[("If-Match", "\"x\"")], 412),
        (&[("If-Unmodified-Since", "Sun, 06 Nov 1994 08:49:36 GMT")], 412),
        (&[("Range", "bytes=0-0"), ("If-Range", &tag)], 206),
        (&[("Range", "bytes=0-0"), ("If-Range", date)], 206),
        (&[("Range", "bytes=0-0"), ("If-Range", "\"x\"")], 200),
        (&[("Range", "bytes=99-"), ("If-Range", "\"x\"")], 200),
        (&[("Range", "bytes=0-0"), ("If-None-Match", &tag)], 304),
        (&[("Range", "bytes=99-"), ("If-Match", "\"x\"")], 412),
    ] {
        let answer = served.get("a.txt", fields);
        assert_eq!(answer.status, status, "{fields:?}");
        if status == 304 {
            assert_eq!(answer.field("ETag"), Some(tag.as_str()));
            assert_eq!((answer.field("Content-Type"), answer.body.len()), (None, 0));
        }
    }
}

#[test]
fn what_lies_beside_compressed() {
    let mut served = Served::new(None);
    for (accepted, body, coding) in [
        ("gzip, br", "brotli", Some("br")),
        ("gzip", "gzip", Some("gzip")),
        ("gzip, br;q=0.5", "gzip", Some("gzip")),
        ("identity", TEXT, None),
        ("", TEXT, None),
    ] {
        let answer = served.get("page.html", &[("Accept-Encoding", accepted)]);
        assert_eq!((answer.text(), answer.field("Content-Encoding")), (body, coding), "{accepted}");
        assert_eq!(answer.field("Content-Type"), Some("text/html"));
        assert_eq!(answer.field("Vary"), Some("Accept-Encoding"));
    }
    let tags: std::collections::HashSet<String> = ["br", "gzip", ""]
        .map(|accepted| served.get("page.html", &[("Accept-Encoding", accepted)]).field("ETag").unwrap().into())
        .into();
    assert_eq!(tags.len(), 3);
    let refused = served.get("page.html", &[("Accept-Encoding", "identity;q=0, zstd")]);
    assert_eq!((refused.status, refused.field("Vary")), (406, Some("Accept-Encoding")));
    let part = served.get("page.html", &[("Accept-Encoding", "br"), ("Range", "bytes=1-2")]);
    assert_eq!((part.text(), part.field("Content-Encoding")), ("ro", Some("br")));
    let stale = served.get("stale.js", &[("Accept-Encoding", "gzip")]);
    assert_eq!((stale.text(), stale.field("Vary")), (TEXT, None));
}

#[test]
fn a_root_that_is_not_there_is_one_sentence() {
    let route = StaticRoute { prefix: "/s".into(), root: "/nonexistent/folder".into() };
    let error = Files::new(&[route], None).unwrap_err().text;
    assert!(error.starts_with("--static /s=/nonexistent/folder: the folder can't be served: "), "{error}");
}
