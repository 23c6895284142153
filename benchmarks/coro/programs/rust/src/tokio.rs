// SPDX-License-Identifier: Apache-2.0
//! The programs by tokio: a task for each fork, mpsc channels, sockets.
use std::future::Future;
use std::pin::Pin;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

mod programs;
use programs::{queen_fits, Board};

const CAPACITY: usize = 128;
const MESSAGE_SIZE: usize = 64;

type Boxed = Pin<Box<dyn Future<Output = u64> + Send>>;

fn fib(n: u64) -> Boxed {
    Box::pin(async move {
        if n < 2 {
            return n;
        }
        let a = tokio::spawn(fib(n - 1));
        let b = fib(n - 2).await;
        a.await.expect("a task") + b
    })
}

fn skynet(number: u64, size: u64) -> Boxed {
    Box::pin(async move {
        if size == 1 {
            return number;
        }
        let children: Vec<_> =
            (0..10).map(|i| tokio::spawn(skynet(number + i * (size / 10), size / 10))).collect();
        let mut sum = 0;
        for child in children {
            sum += child.await.expect("a task");
        }
        sum
    })
}

fn queens(placed: Board, row: usize, n: usize) -> Boxed {
    Box::pin(async move {
        if row == n {
            return 1;
        }
        let mut children = Vec::new();
        for column in (0..n).filter(|&column| queen_fits(&placed, row, column)) {
            let mut next = placed;
            next[row] = column as i8;
            children.push(tokio::spawn(queens(next, row + 1, n)));
        }
        let mut sum = 0;
        for child in children {
            sum += child.await.expect("a task");
        }
        sum
    })
}

/// mpsc has one consumer: as many channels as pairs.
async fn channel(threads: usize, size: u64) -> u64 {
    let pairs = std::cmp::max(1, threads as u64 / 2);
    let each = size / pairs;
    let consumers: Vec<_> = (0..pairs)
        .map(|pair| {
            let (sender, mut receiver) = mpsc::channel::<u64>(CAPACITY);
            tokio::spawn(async move {
                for i in 0..each {
                    sender.send(pair * each + i).await.expect("a receiver");
                }
            });
            tokio::spawn(async move {
                let mut sum = 0u64;
                while let Some(value) = receiver.recv().await {
                    sum += value;
                }
                sum
            })
        })
        .collect();
    let mut sum = 0;
    for consumer in consumers {
        sum += consumer.await.expect("a task");
    }
    sum
}

async fn answer(mut socket: TcpStream) {
    let mut message = [0u8; MESSAGE_SIZE];
    while socket.read_exact(&mut message).await.is_ok() {
        if socket.write_all(&message).await.is_err() {
            return;
        }
    }
}

async fn ask(mut socket: TcpStream, times: u64) -> u64 {
    let (mut message, mut answered, mut right) = ([0u8; MESSAGE_SIZE], [0u8; MESSAGE_SIZE], 0);
    for i in 0..times {
        message[..8].copy_from_slice(&i.to_le_bytes());
        socket.write_all(&message).await.expect("a server");
        socket.read_exact(&mut answered).await.expect("an answer");
        right += u64::from(message == answered);
    }
    right
}

/// A server and a client with a thread each, as in the other runtimes.
fn io_socket(connections: u64, size: u64) -> u64 {
    let one_thread = || tokio::runtime::Builder::new_current_thread().enable_io().build().expect("a runtime");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a socket");
    let address = listener.local_addr().expect("an address");
    let server = std::thread::spawn(move || {
        one_thread().block_on(async move {
            let listener = TcpListener::from_std(listener).expect("a listener");
            let mut answering = Vec::new();
            for _ in 0..connections {
                let (socket, _) = listener.accept().await.expect("a connection");
                socket.set_nodelay(true).expect("a socket");
                answering.push(tokio::spawn(answer(socket)));
            }
            for each in answering {
                each.await.expect("a task");
            }
        });
    });
    let right = one_thread().block_on(async move {
        let mut asking = Vec::new();
        for _ in 0..connections {
            let socket = TcpStream::connect(address).await.expect("a server");
            socket.set_nodelay(true).expect("a socket");
            asking.push(tokio::spawn(ask(socket, size / connections)));
        }
        let mut right = 0;
        for each in asking {
            right += each.await.expect("a task");
        }
        right
    });
    server.join().expect("the server");
    right
}

fn main() {
    let Some((name, threads, size)) = programs::arguments("fib skynet nqueens channel io_socket") else { return };
    if name == "io_socket" {
        return programs::time_and_print(|| io_socket(threads as u64, size));
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(threads).build().expect("a runtime");
    programs::time_and_print(|| {
        let task: Boxed = match name.as_str() {
            "fib" => fib(size),
            "skynet" => skynet(0, size),
            "nqueens" => queens([0; 16], 0, size as usize),
            _ => Box::pin(channel(threads, size)),
        };
        runtime.block_on(runtime.spawn(task)).expect("a task")
    });
}
