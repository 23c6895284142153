// SPDX-License-Identifier: Apache-2.0
//! Whatever the target and the fields are, nothing outside of the root is answered, a name is always one below it, and an
//! answer is as long as it says.
#![no_main]

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Component, Path};

use libfuzzer_sys::fuzz_target;
use wheat::options::StaticRoute;
use wheat::files::path::{Name, below, decode, name, split};
use wheat::files::{Body, Files, Piece};

const SECRET: &[u8] = b"outside of the root";

struct Served {
    files: Files,
    second: u64,
}

thread_local! {
    static SERVED: RefCell<Served> = RefCell::new(Served::new());
}

impl Served {
    fn new() -> Self {
        // libFuzzer ends without cleaning up: one folder, made anew by each run
        let tree = std::env::current_exe().unwrap().with_file_name("path-served");
        let _ = fs::remove_dir_all(&tree);
        let at = |name: &str| tree.join(name);
        fs::create_dir_all(at("s/d/.well-known")).unwrap();
        fs::write(at("secret"), SECRET).unwrap();
        fs::write(at("s/.hidden"), SECRET).unwrap();
        fs::write(at("s/a"), "inside").unwrap();
        fs::write(at("s/d/b.txt"), vec![b'x'; 17_000]).unwrap();
        fs::write(at("s/d/c"), "").unwrap();
        fs::write(at("s/a.gz"), "packed").unwrap();
        fs::write(at("s/i"), "index").unwrap();
        for (to, link) in
            [("../secret", "s/o"), ("..", "s/p"), ("../..", "s/d/q"), ("/", "s/r"), ("a", "s/l"), ("../a", "s/d/m")]
        {
            symlink(to, at(link)).unwrap();
        }
        let route = |prefix: &str| StaticRoute { prefix: prefix.into(), root: at("s") };
        let files = Files::new(&[route("/s"), route("/s/t/u")], Some("i".into())).unwrap();
        Self { files, second: 0 }
    }

    fn ask(&mut self, method: &[u8], target: &[u8], headers: &[httparse::Header]) {
        self.second += 1; // so that each is looked up, now in the cache and now in the folder
        let Some(reply) = self.files.respond(method, target, headers, self.second / 2) else { return };
        assert!((200..600).contains(&reply.status));
        let head = std::str::from_utf8(&reply.head).expect("a head is text");
        assert!(head.is_empty() || head.ends_with("\r\n"));
        assert!(head.bytes().all(|byte| matches!(byte, b'\r' | b'\n' | b'\t' | b' '..=b'~')));
        assert!(head.split_terminator("\r\n").all(|line| line.contains(": ") && !line.contains(['\r', '\n'])));
        let pieces = match reply.body {
            Body::Empty => return,
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
                    file.read_exact_at(&mut body[start..], range.start).expect("a range within its file");
                }
            }
        }
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).expect("a length");
        assert_eq!(length.parse(), Ok(body.len()));
        assert!(memchr::memmem::find(&body, SECRET).is_none());
    }
}

fn check_name(target: &[u8]) {
    let Ok(decoded) = decode(split(target).0) else { return };
    assert!(!decoded.contains(&0) || target.contains(&0));
    let Some(rest) = below(&decoded, "/s") else { return };
    let text = match name(rest) {
        Ok(Name::File(text)) => {
            assert!(!text.is_empty());
            text
        }
        Ok(Name::Directory(text)) => text,
        Ok(Name::Root) | Err(_) => return,
    };
    assert!(!text.contains(['\0', '\\']) && !text.contains("//") && !text.ends_with('/'));
    assert!(Path::new(text).components().all(|part| matches!(part, Component::Normal(_))));
    // what names something is found again by the same name written with every byte escaped
    let escaped: String =
        text.bytes().map(|byte| if byte == b'/' { "/".into() } else { format!("%{byte:02x}") }).collect();
    assert_eq!(decode(escaped.as_bytes()).as_deref(), Ok(text.as_bytes()));
}

// Lines: the target, then header fields.
fuzz_target!(|input: &[u8]| {
    let mut lines = input.split(|byte| *byte == b'\n');
    let target = lines.next().unwrap_or_default();
    let fields: Vec<_> = lines
        .take(8)
        .filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            Some((std::str::from_utf8(&line[..colon]).ok()?, line[colon + 1..].trim_ascii()))
        })
        .collect();
    let headers: Vec<_> = fields.iter().map(|(name, value)| httparse::Header { name, value }).collect();
    let below_s = [b"/s/", target].concat();
    check_name(target);
    check_name(&below_s);
    SERVED.with_borrow_mut(|served| {
        for target in [target, &below_s] {
            for method in [&b"GET"[..], b"GET", b"HEAD"] {
                served.ask(method, target, &headers);
            }
        }
    });
});
