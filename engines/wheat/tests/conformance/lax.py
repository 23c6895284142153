# SPDX-License-Identifier: Apache-2.0
"""Servers that are wrong on purpose, to show that the check finds them: each takes what a careless one takes."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

Head = dict[str, str]
calls: list[str] = []


class Stream:
    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.unread = b""

    def line(self) -> bytes:
        while b"\n" not in self.unread:
            self.more()
        line, _, self.unread = self.unread.partition(b"\n")
        return line.strip()

    def exactly(self, length: int) -> bytes:
        while len(self.unread) < length:
            self.more()
        taken, self.unread = self.unread[:length], self.unread[length:]
        return taken

    def more(self) -> None:
        got = self.connection.recv(1 << 16)
        if not got:
            raise EOFError
        self.unread += got


def careless(stream: Stream) -> tuple[str, Head, bytes]:
    """Any line end, any name, any number; chunked is whatever says so, and beats a length."""
    words = stream.line().decode("latin-1").split()
    head: Head = {}
    while line := stream.line():
        name, _, value = line.decode("latin-1").partition(":")
        head[name.strip().lower()] = value.strip()
    body = b""
    if "chunked" in head.get("transfer-encoding", ""):
        while size := int(stream.line().split(b";")[0] or b"0", 16):
            body += stream.exactly(size)
            stream.line()
        while stream.line():
            pass
    else:
        body = stream.exactly(max(0, int(re.sub(r"\D", "", head.get("content-length", "")) or 0)))
    return " ".join(words), head, body


def one_read_one_head(stream: Stream) -> tuple[str, Head, bytes]:
    """As above, but what it reads at once it takes for a whole head."""
    if b"\r\n\r\n" not in stream.unread:
        stream.unread = b""
        stream.more()
        if b"\r\n\r\n" not in stream.unread:
            raise EOFError
    return careless(stream)


def answer(request: str, head: Head, body: bytes) -> bytes:
    _, target, _ = [*request.split(" "), "", "", ""][:3]
    path, _, query = target.partition("?")
    if path == "/calls":
        told: object = list(calls)
        calls.clear()
    else:
        calls.append(request)
        environ = {"HTTP_" + name.upper().replace("-", "_"): value for name, value in head.items()}
        environ |= {"PATH_INFO": path, "QUERY_STRING": query, "REQUEST_METHOD": request.partition(" ")[0]}
        told = {"environ": environ, "body": body.decode("latin-1")}
    content = json.dumps(told).encode()
    close = "Connection: close\r\n" if head.get("connection", "").lower() == "close" else ""
    return f"HTTP/1.1 200 OK\r\n{close}Content-Length: {len(content)}\r\n\r\n".encode() + content


def converse(connection: socket.socket, read: Callable[[Stream], tuple[str, Head, bytes]]) -> None:
    stream = Stream(connection)
    with connection, contextlib.suppress(EOFError, ValueError, OSError):
        while True:
            request, head, body = read(stream)
            connection.sendall(answer(request, head, body))
            if head.get("connection", "").lower() == "close":
                return


@contextlib.contextmanager
def serving(folder: Path, read: Callable[[Stream], tuple[str, Head, bytes]]) -> Iterator[str]:
    address = str(folder / "lax.sock")
    calls.clear()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(16)

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    threading.Thread(target=converse, args=(connection, read), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield address
        listener.shutdown(socket.SHUT_RDWR)
