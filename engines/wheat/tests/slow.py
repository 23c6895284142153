# SPDX-License-Identifier: Apache-2.0
"""Clients that are slow on purpose, and what the server has of them.

Run as a program it reports how long ordinary requests take among them: python slow.py [SECONDS]"""

from __future__ import annotations

import contextlib
import re
import resource
import select
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from running import PATIENCE_S, Server, serving

HALF_HEAD = b"GET /half HTTP/1.1\r\nHost: h\r\nX-Slow: "
HALF_BODY = b"POST /half HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nhalf"
HALF_CHUNK = b"POST /half HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n100\r\nhalf"
LARGE = b"GET /s/large.bin HTTP/1.1\r\nHost: h\r\n\r\n"
LARGE_BYTES = 16 << 20  # more than the socket buffers of both sides take

APPLICATION = """
def application(environ, start_response):
    body = environ["wsgi.input"].read()
    start_response("200 OK", [("Content-Length", "5"), ("X-Body", str(len(body)))])
    return [b"hello"]
"""


@contextlib.contextmanager
def served(folder: Path, *arguments: object) -> Iterator[Server]:
    (folder / "hello.py").write_text(APPLICATION)
    (folder / "files").mkdir()
    with (folder / "files" / "large.bin").open("wb") as large:
        large.truncate(LARGE_BYTES)
    with serving("hello:application", "--static", f"/s={folder}/files", *arguments, folder=folder) as server:
        yield server


class Crowd:
    """Connections that have each said the same thing and wait."""

    def __init__(self, port: int, count: int, said: bytes, receive_buffer: int | None = None) -> None:
        self.sockets = []
        for _ in range(count):
            one = socket.socket()
            one.settimeout(PATIENCE_S)
            if receive_buffer:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
            one.connect(("127.0.0.1", port))
            one.sendall(said)
            self.sockets.append(one)

    def drip(self) -> None:
        """One byte more from each that is still heard."""
        for one in self.sockets:
            with contextlib.suppress(OSError):
                one.sendall(b"x")

    def have_heard(self) -> bool:
        """Whether the server has said something to each, or ended its connection."""
        poll = select.poll()
        for one in self.sockets:
            poll.register(one, select.POLLIN)
        return len(poll.poll(0)) == len(self.sockets)

    def last_words(self) -> list[bytes]:
        """What the server said to each before it ended the connection; it must have."""
        words = []
        for one in self.sockets:
            heard = b""
            with contextlib.suppress(ConnectionResetError):
                while got := one.recv(1 << 16):
                    heard += got
            words.append(heard)
        return words

    def __enter__(self) -> Crowd:
        return self

    def __exit__(self, *_: object) -> None:
        for one in self.sockets:
            one.close()


def connections(server: Server) -> int:
    """That the workers have open."""
    count = 0
    for pid in server.workers():
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                count += str(link.readlink()).startswith("socket:")
    return count


def resident_mib(server: Server) -> float:
    """Of the master and its children, shared pages counted twice."""
    total = 0.0
    for pid in [server.pid, *server.children()]:
        with contextlib.suppress(OSError):  # it has ended by now
            found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
            total += int(found[1]) / 1024 if found else 0
    return total


def allow_descriptors(count: int) -> int:
    """As many as may be open, here and in what is started from here: `count`, or fewer where the machine says so."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(allowed, soft)


class Ordinary:
    """A client as they should be: one connection, one question after the other."""

    def __init__(self, server: Server) -> None:
        self.socket = socket.create_connection(("127.0.0.1", server.port), PATIENCE_S)
        self.took_ms: list[float] = []

    def __enter__(self) -> Ordinary:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def ask(self) -> None:
        began = time.perf_counter()
        self.socket.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        answer = b""
        while not answer.endswith(b"\r\n\r\nhello"):
            got = self.socket.recv(4096)
            assert got, f"the connection of an ordinary client ended: {answer!r}"
            answer += got
        assert answer.startswith(b"HTTP/1.1 200 "), answer
        self.took_ms.append((time.perf_counter() - began) * 1000)


def idle(port: int, count: int) -> Crowd:
    """Connections that have been answered once and stay."""
    crowd = Crowd(port, 0, b"")
    for _ in range(count):
        one = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        one.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        crowd.sockets.append(one)
    for one in crowd.sockets:
        assert one.recv(4096).startswith(b"HTTP/1.1 200 ")
    return crowd


def report(seconds: float) -> None:
    """Of an ordinary client among others, in milliseconds."""
    many = min(10_000, allow_descriptors(11_000) - 1000)
    crowds = {
        "nobody": lambda port: Crowd(port, 0, b""),
        "300 half heads": lambda port: Crowd(port, 300, HALF_HEAD),
        "300 half bodies": lambda port: Crowd(port, 300, HALF_BODY),
        "60 that never read": lambda port: Crowd(port, 60, LARGE, 4096),
        f"{many} idle": lambda port: idle(port, many),
    }
    print(f"{'among':20} {'requests':>8} {'median':>8} {'p99':>8} {'longest':>8} ms {'memory':>8} MiB")
    for name, make in crowds.items():
        with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as server:
            end = time.monotonic() + seconds
            with make(server.port), Ordinary(server) as client:
                while time.monotonic() < end:
                    client.ask()
                    time.sleep(0.001)
            times = sorted(client.took_ms)
            row = [times[len(times) // 2], times[int(len(times) * 0.99)], times[-1]]
            print(f"{name:20} {len(times):8}", *(f"{value:8.2f}" for value in row), f"   {resident_mib(server):8.1f}")


if __name__ == "__main__":
    report(float(sys.argv[1]) if len(sys.argv) > 1 else 3.0)
