// SPDX-License-Identifier: Apache-2.0
//! A file as it is served: its codings, their heads and their contents, read at one moment.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, UNIX_EPOCH};

use httpdate::HttpDate;
use rustix::io::Errno;

use super::conditional::{Strength, Validators};
use super::manner::media_type;
use super::root::{Found, Kind, Moment, Root, Version, version};
use crate::compress::encoder::Compressor;
use crate::options::Coding;

/// Up to this length the content is kept in memory and leaves with its head in one system call; a longer one is sent from
/// an open file. CPU time of a request with `wrk -t1 -c50` over loopback, kept and from the file: 1 KiB 6.8 and 8.0 us,
/// 16 KiB 10.9 and 10.1 (0.84 to 1.05 in seven pairs, and 1.14 times as many a second: the client reads pages that its cache
/// has), 64 KiB 18 and 15, 256 KiB 56 and 46, 1 MiB 200 and 111.
pub const LARGEST_KEPT: u64 = 8 << 10;

/// A file that changed so lately may change again without its times showing it: they are as coarse as a timer tick, and two
/// seconds on some file systems. Until then its tag is weak and its content is read anew at every check.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    NotFound,
    Directory,
    Forbidden,
    /// Too many open files, here or in the system.
    Exhausted,
    /// The storage fails, or the file changes faster than it can be read.
    Broken,
}

impl From<Errno> for Failure {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::NAMETOOLONG | Errno::INVAL => {
                Self::NotFound
            }
            Errno::ACCESS | Errno::PERM => Self::Forbidden,
            Errno::MFILE | Errno::NFILE | Errno::NOMEM => Self::Exhausted,
            _ => Self::Broken,
        }
    }
}

#[derive(Debug)]
pub struct Resource {
    /// The file itself, then what lies beside it compressed.
    pub representations: Vec<Representation>,
    /// The codings of all but the first.
    pub codings: Vec<Coding>,
    /// Where it may be compressed for clients.
    compressible: Option<Compressible>,
    seen: Seen,
    is_settled: bool,
}

/// What is made of a file when it is first asked for in a coding.
#[derive(Debug)]
struct Compressible {
    media_type: &'static str,
    lines: String,
    /// When the file was read, since 1970.
    read: Duration,
    /// By their codings; None where it is no shorter then.
    made: [OnceLock<Option<Representation>>; Coding::ALL.len()],
}

/// The versions of the file and of what may lie beside it, in the order of `Coding::PRECOMPRESSED`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    file: Version,
    beside: [Option<Version>; Coding::PRECOMPRESSED.len()],
}

impl Seen {
    fn new(file: &Found, beside: &[Option<Found>; Coding::PRECOMPRESSED.len()]) -> Self {
        Self { file: file.version, beside: beside.each_ref().map(|found| found.as_ref().map(|found| found.version)) }
    }
}

#[derive(Debug)]
pub struct Representation {
    pub head: Head,
    pub content: Content,
    pub version: Version,
}

#[derive(Clone, Debug)]
pub enum Content {
    Kept(Arc<[u8]>),
    Open(Arc<File>),
}

/// The header lines of a whole answer.
#[derive(Debug)]
pub struct Head {
    pub bytes: Arc<[u8]>,
    /// Ends of: Content-Type; Content-Encoding or Accept-Ranges, or both; Last-Modified, ETag, Vary and those of `--static-header`.
    /// Content-Length is last.
    type_end: usize,
    coding_end: usize,
    validators_end: usize,
    tag: Range<usize>,
    strength: Strength,
    modified: u64,
}

impl Resource {
    /// `now`: since 1970.
    pub fn load(root: &Root, name: &str, now: Duration) -> Result<Self, Failure> {
        let tries = 4;
        for _ in 1..tries {
            match Self::load_once(root, name, now, Changing::Refused) {
                Err(Failure::Broken) => {}
                result => return result,
            }
        }
        Self::load_once(root, name, now, Changing::Accepted)
    }

    /// Whether it is still what is there.
    pub fn is_current(&self, root: &Root, name: &str) -> bool {
        self.is_settled
            && find_file(root, name).is_ok_and(|file| Seen::new(&file, &find_beside(root, name)) == self.seen)
    }

    /// Whether the open files have the content that their heads are about.
    pub fn is_untouched(&self) -> bool {
        self.representations.iter().all(|one| match &one.content {
            Content::Kept(_) => true,
            Content::Open(file) => version(file) == Ok(one.version),
        })
    }

    pub fn is_compressible(&self) -> bool {
        self.compressible.is_some()
    }

    /// The file in a coding that does not lie beside it. None: it is better sent as it is. The other value: whether it takes
    /// more memory now.
    pub fn compressed(&self, coding: Coding, compressor: &mut Compressor) -> (Option<&Representation>, bool) {
        let Some(compressible) = &self.compressible else { return (None, false) };
        let place = &compressible.made[coding as usize];
        if let Some(made) = place.get() {
            return (made.as_ref(), false);
        }
        let made = self.representations[0].compressed(coding, compressible, compressor);
        (place.get_or_init(|| made).as_ref(), true)
    }

    /// Bytes in memory, and open files.
    pub fn weight(&self) -> (usize, usize) {
        let made = self.compressible.iter().flat_map(|compressible| &compressible.made);
        let made = made.filter_map(|place| place.get()?.as_ref());
        self.representations.iter().chain(made).fold((0, 0), |(bytes, files), one| match &one.content {
            Content::Kept(kept) => (bytes + kept.len() + one.head.bytes.len(), files),
            Content::Open(_) => (bytes + one.head.bytes.len(), files + 1),
        })
    }

    fn load_once(root: &Root, name: &str, now: Duration, changing: Changing) -> Result<Self, Failure> {
        let file = find_file(root, name)?;
        let beside = find_beside(root, name);
        let seen = Seen::new(&file, &beside);
        // one that is older than the file is of an older file
        let usable = |found: &Found| found.version.modified >= file.version.modified;
        let mut codings = Vec::new();
        let mut sources = vec![(Coding::Identity, &file)];
        for (coding, found) in Coding::PRECOMPRESSED.into_iter().zip(&beside) {
            if let Some(found) = found.as_ref().filter(|found| usable(found)) {
                codings.push(coding);
                sources.push((coding, found));
            }
        }
        let is_settled = sources.iter().all(|(_, found)| settled(found.version.changed, now));
        let media_type = media_type(name);
        let lines = root.manner.lines(media_type);
        let is_compressible = root.manner.compresses(media_type, file.version.length);
        let varies = !codings.is_empty() || is_compressible;
        let representations = sources
            .into_iter()
            .map(|(coding, found)| {
                let content = content(found, changing)?;
                let head = Head::new(media_type, coding, Source::File { varies }, &lines, &found.version, now);
                Ok(Representation { head, content, version: found.version })
            })
            .collect::<Result<_, Failure>>()?;
        let compressible =
            is_compressible.then(|| Compressible { media_type, lines, read: now, made: Default::default() });
        Ok(Self { representations, codings, compressible, seen, is_settled })
    }
}

/// What to do about a file that is written to while it is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Changing {
    Refused,
    /// It is sent from the open file: its writer decides what a client sees.
    Accepted,
}

impl Representation {
    /// None: no shorter, or not to be read.
    fn compressed(&self, coding: Coding, source: &Compressible, compressor: &mut Compressor) -> Option<Self> {
        let packed = match &self.content {
            Content::Kept(bytes) => compressor.whole(coding, bytes),
            Content::Open(file) => {
                let mut bytes = vec![0; self.version.length as usize];
                file.read_exact_at(&mut bytes, 0).ok()?;
                if version(file) != Ok(self.version) {
                    return None; // somebody writes to it
                }
                compressor.whole(coding, &bytes)
            }
        };
        let packed = packed.ok().filter(|packed| (packed.len() as u64) < self.version.length)?;
        let mut version = self.version;
        version.length = packed.len() as u64;
        let Compressible { media_type, lines, read, .. } = source;
        let head = Head::new(media_type, coding, Source::Compressor, lines, &version, *read);
        Some(Self { head, content: Content::Kept(packed.into()), version })
    }
}

/// Where the bytes are from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// `varies`: another client may get other bytes.
    File { varies: bool },
    /// Another version of the library makes others of the same file: no ranges, and a weak tag.
    Compressor,
}

fn find_file(root: &Root, name: &str) -> Result<Found, Failure> {
    let found = root.find(name)?;
    match found.kind {
        Kind::File => Ok(found),
        Kind::Directory => Err(Failure::Directory),
        Kind::Other => Err(Failure::NotFound),
    }
}

fn find_beside(root: &Root, name: &str) -> [Option<Found>; Coding::PRECOMPRESSED.len()] {
    Coding::PRECOMPRESSED.map(|coding| find_file(root, &format!("{name}{}", coding.suffix())).ok())
}

fn settled(changed: Moment, now: Duration) -> bool {
    let changed = Duration::new(changed.seconds.max(0) as u64, changed.nanoseconds);
    now.checked_sub(changed).is_some_and(|age| age >= SETTLED_AFTER)
}

fn content(found: &Found, changing: Changing) -> Result<Content, Failure> {
    let file = found.open()?;
    if found.version.length > LARGEST_KEPT || changing == Changing::Accepted {
        return Ok(Content::Open(Arc::new(file)));
    }
    let mut bytes = vec![0; found.version.length as usize];
    match file.read_exact_at(&mut bytes, 0) {
        Ok(()) if version(&file)? == found.version => Ok(Content::Kept(bytes.into())),
        Ok(()) => Err(Failure::Broken),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(Failure::Broken),
        Err(error) => Err(Errno::from_io_error(&error).map_or(Failure::Broken, Failure::from)),
    }
}

impl Head {
    fn new(media_type: &str, coding: Coding, source: Source, lines: &str, version: &Version, now: Duration) -> Self {
        let Moment { seconds, nanoseconds } = version.modified;
        let mut text = format!("Content-Type: {media_type}\r\n");
        let type_end = text.len();
        if coding != Coding::Identity {
            text += &format!("Content-Encoding: {}\r\n", coding.token());
        }
        if source != Source::Compressor {
            text += "Accept-Ranges: bytes\r\n";
        }
        let coding_end = text.len();

        // never later than Date (RFC 9110, section 8.8.2.1), whatever the file says
        let modified = (seconds.max(0) as u64).min(now.as_secs());
        let date = HttpDate::from(UNIX_EPOCH + Duration::from_secs(modified));
        let is_strong = settled(version.changed, now) && source != Source::Compressor;
        let strength = if is_strong { Strength::Strong } else { Strength::Weak };
        let prefix = if strength == Strength::Weak { "W/" } else { "" };
        text += &format!("Last-Modified: {date}\r\nETag: {prefix}");
        let tag_start = text.len();
        let mark = if coding == Coding::Identity { "" } else { coding.suffix() };
        text += &format!("\"{seconds:x}.{nanoseconds:x}-{:x}{mark}\"", version.length);
        let tag = tag_start..text.len();
        text += "\r\n";
        if source != (Source::File { varies: false }) {
            text += "Vary: Accept-Encoding\r\n";
        }
        text += lines;
        let validators_end = text.len();
        text += &format!("Content-Length: {}\r\n", version.length);
        Self { bytes: text.into_bytes().into(), type_end, coding_end, validators_end, tag, strength, modified }
    }

    pub fn validators(&self) -> Validators<'_> {
        Validators { opaque: &self.bytes[self.tag.clone()], strength: self.strength, modified: self.modified }
    }

    /// The header lines for 304, Cache-Control among them (RFC 9110, section 15.4.5).
    pub fn validator_lines(&self) -> Range<usize> {
        self.coding_end..self.validators_end
    }

    /// All but Content-Length.
    pub fn without_length(&self) -> &[u8] {
        &self.bytes[..self.validators_end]
    }

    pub fn type_line(&self) -> &[u8] {
        &self.bytes[..self.type_end]
    }

    /// All but Content-Type and Content-Length.
    pub fn without_type_or_length(&self) -> &[u8] {
        &self.bytes[self.type_end..self.validators_end]
    }
}
