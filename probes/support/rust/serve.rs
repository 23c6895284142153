// SPDX-License-Identifier: Apache-2.0
//! The service of serve/ for models in Rust: what is asked, the work, the answer. A model is two lines around one of the
//! functions here. probes/support/serve/serve.h says what a request is; the instrument is probes/support/serve/drive.py.
use std::ffi::OsString;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::process::{exit, Command};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener};
use tokio::sync::Mutex;

const LEAST: u32 = 27; // bytes of an answer's three numbers
const MOST_HEAD: usize = 4096;
const MOST_BODY: u32 = 1 << 20;
const REFUSAL: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

static LOCK: Mutex<()> = Mutex::const_new(());
/// The port of the service that requests wait for; a timer where there is none.
static ASKED: OnceLock<Option<u16>> = OnceLock::new();

fn asked_port() -> Option<u16> {
    *ASKED.get_or_init(|| std::env::var("STEELYARD_SERVE_ASKED").ok()?.parse().ok())
}

/// What a client asks for; `size` is in bytes, head included.
struct Request {
    work_ns: u32,
    wait_us: u32,
    depth: u32,
    lock: u32,
    answer: u32,
    crc: u32,
    size: usize,
}

enum Parsed {
    Whole(Request),
    NotYet,
    Wrong,
}

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { 0xEDB8_8320 } else { 0 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

/// CRC-32 as zlib has it, of what came before and `data` together.
fn crc32(before: u32, data: &[u8]) -> u32 {
    const TABLE: [u32; 256] = table();
    !data.iter().fold(!before, |crc, byte| crc >> 8 ^ TABLE[((crc ^ u32::from(*byte)) & 255) as usize])
}

fn number(text: &[u8], most: u32) -> Option<u32> {
    std::str::from_utf8(text).ok()?.trim().parse().ok().filter(|value| *value <= most)
}

fn parse(data: &[u8]) -> Parsed {
    let Some(end) = data.windows(4).position(|four| four == b"\r\n\r\n") else {
        return if data.len() < MOST_HEAD { Parsed::NotYet } else { Parsed::Wrong };
    };
    let Some(request) = understood(data, end) else { return Parsed::Wrong };
    if data.len() < request.size {
        return Parsed::NotYet;
    }
    Parsed::Whole(request)
}

fn understood(data: &[u8], end: usize) -> Option<Request> {
    let mut lines = data[..end].split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let mut words = lines.next()?.split(|byte| *byte == b' ');
    let (_method, target, version) = (words.next()?, words.next()?, words.next()?);
    let mut parts = target.split(|byte| *byte == b'/');
    if version != b"HTTP/1.1" || words.next().is_some() || !parts.next()?.is_empty() {
        return None;
    }
    let mut fields = [0; 5];
    for (field, most) in fields.iter_mut().zip([1_000_000_000, 60_000_000, 1000, 1, MOST_BODY]) {
        *field = number(parts.next()?, most)?;
    }
    let mut length = 0;
    for line in lines {
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        if line[..colon].eq_ignore_ascii_case(b"content-length") {
            length = number(&line[colon + 1..], MOST_BODY)? as usize;
        }
    }
    let [work_ns, wait_us, depth, lock, answer] = fields;
    if parts.next().is_some() || depth < 1 || answer < LEAST {
        return None;
    }
    let size = end + 4 + length;
    let crc = data.get(end + 4..size).map_or(0, |body| crc32(crc32(0, target), body));
    Some(Request { work_ns, wait_us, depth, lock, answer, crc, size })
}

fn work(mut state: u32, steps: u32) -> u32 {
    for _ in 0..steps {
        state = std::hint::black_box(state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    }
    state
}

/// Asks the other service and waits for its answer; `asked` is the connection to it, made for the first question.
async fn ask(asked: &mut Option<TcpStream>, port: u16, wait_us: u32) -> std::io::Result<()> {
    if asked.is_none() {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        *asked = Some(stream);
    }
    if let Some(stream) = asked {
        stream.write_all(format!("{wait_us:08x}").as_bytes()).await?;
        stream.read_exact(&mut [0; 8]).await?;
    }
    Ok(())
}

async fn whole(request: &Request, steps: u32, asked: &mut Option<TcpStream>) -> std::io::Result<u32> {
    let state = work(request.crc, steps / 2);
    match asked_port() {
        Some(port) if request.wait_us > 0 => ask(asked, port, request.wait_us).await?,
        None if request.wait_us > 0 => tokio::time::sleep(Duration::from_micros(request.wait_us.into())).await,
        _ => (),
    }
    if request.lock == 1 {
        let _held = LOCK.lock().await;
        return Ok(work(state, steps - steps / 2));
    }
    Ok(work(state, steps - steps / 2))
}

/// A future that calls itself has to be boxed: each level is an allocation, as anybody has it who writes recursion so.
async fn deep(request: &Request, steps: u32, depth: u32, asked: &mut Option<TcpStream>) -> std::io::Result<u32> {
    if depth > 1 {
        return Box::pin(deep(request, steps, depth - 1, asked)).await;
    }
    whole(request, steps, asked).await
}

async fn connection(mut stream: impl AsyncRead + AsyncWrite + Unpin, steps_per_ns: f64) -> std::io::Result<()> {
    let mut data = Vec::with_capacity(2048);
    let mut answer = Vec::new();
    let mut asked = None;
    loop {
        match parse(&data) {
            Parsed::Whole(request) => {
                let steps = (f64::from(request.work_ns) * steps_per_ns) as u32;
                let state = if request.depth > 1 {
                    deep(&request, steps, request.depth, &mut asked).await?
                } else {
                    whole(&request, steps, &mut asked).await?
                };
                answer.clear();
                answer.extend_from_slice(
                    format!(
                        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{:08x} {steps:08x} {state:08x}\n",
                        request.answer, request.crc
                    )
                    .as_bytes(),
                );
                answer.resize(answer.len() + (request.answer - LEAST) as usize, b'.');
                stream.write_all(&answer).await?;
                data.drain(..request.size);
            }
            Parsed::NotYet => {
                if stream.read_buf(&mut data).await? == 0 {
                    return Ok(());
                }
            }
            Parsed::Wrong => return stream.write_all(REFUSAL).await,
        }
    }
}

/// With room for many who connect at once: TcpListener::bind has 1024.
fn listening(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(4096)
}

/// The fastest of many short stretches: whoever takes the CPU away for a while does not count.
fn calibrate() -> f64 {
    const STEPS: u32 = 20_000;
    let mut shortest = Duration::MAX;
    let mut state = 1;
    for _ in 0..500 {
        let began = Instant::now();
        state = work(state, STEPS);
        shortest = shortest.min(began.elapsed());
    }
    f64::from(STEPS) / shortest.as_nanos() as f64
}

/// Become the instrument, which starts this program again with --serve and measures it.
fn instrument(words: &[OsString]) -> ! {
    let found = std::env::current_exe().and_then(|path| path.canonicalize());
    let program = found.unwrap_or_else(|error| leave(1, &error));
    let drive = program.parent().map(|folder| folder.join("../support/serve/drive.py")).unwrap_or_default();
    let python = std::env::var_os("STEELYARD_PYTHON").unwrap_or_else(|| "python3".into());
    let error = Command::new(python).arg(drive).arg(program).args(words).exec();
    leave(77, &error)
}

fn leave(code: i32, error: &dyn std::fmt::Display) -> ! {
    eprintln!("{error}");
    exit(code)
}

/// A model's whole main: it serves on this runtime after --serve, and else starts the instrument, which starts it again so.
pub fn main(title: &str, runtime: fn() -> std::io::Result<tokio::runtime::Runtime>) {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let word = |at: usize| words.get(at).and_then(|word| word.to_str()).unwrap_or_default();
    if word(0) == "--about" {
        println!("{{\"title\":\"{title}\",\"source\":\"documentation of tokio\",\"threads\":0,\"version\":\"\"}}");
        return;
    }
    if word(0) != "--serve" {
        instrument(&words);
    }
    let steps_per_ns = calibrate();
    let runtime = runtime().unwrap_or_else(|error| leave(1, &error));
    if word(1).contains('/') {
        runtime.block_on(async {
            let listener = UnixListener::bind(word(1)).unwrap_or_else(|error| leave(1, &error));
            loop {
                if let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(connection(stream, steps_per_ns));
                }
            }
        });
    }
    let address = format!("127.0.0.1:{}", word(1)).parse().unwrap_or_else(|error| leave(2, &error));
    runtime.block_on(async move {
        let listener = listening(address).unwrap_or_else(|error| leave(1, &error));
        loop {
            if let Ok((stream, _)) = listener.accept().await {
                if stream.set_nodelay(true).is_ok() {
                    tokio::spawn(connection(stream, steps_per_ns));
                }
            }
        }
    });
}
