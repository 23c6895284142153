# SPDX-License-Identifier: Apache-2.0
"""Speaks bytes to a server and reads answers strictly."""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import select
import socket
import struct
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass

PATIENCE = 20.0
"""Seconds that a client waits for anything, on a loaded machine. No test depends on it unless it fails."""

EDGE = 300
"""Of a long request only so many bytes at either end go one by one."""


class NotHttpError(Exception):
    """What came back is no HTTP."""


@dataclass(frozen=True)
class Answer:
    status: int
    fields: dict[str, str]
    content: bytes
    interim: tuple[int, ...] = ()

    @property
    def closes(self) -> bool:
        return self.fields.get("connection", "").lower() == "close"


def whole(data: bytes, _seed: str) -> Iterator[bytes]:
    yield data


def bytewise(data: bytes, _seed: str) -> Iterator[bytes]:
    middle = data[EDGE:-EDGE] if len(data) > 2 * EDGE else b""
    start, end = (data[:EDGE], data[-EDGE:]) if middle else (data, b"")
    yield from (bytes([byte]) for byte in start)
    if middle:
        yield middle
    yield from (bytes([byte]) for byte in end)


def cut(data: bytes, seed: str) -> Iterator[bytes]:
    """At random, but the same for a seed."""
    chance = random.Random(seed)
    longest = max(4, len(data) // 6)
    while data:
        length = chance.randint(1, longest)
        yield data[:length]
        data = data[length:]


WAYS = {"whole": whole, "bytewise": bytewise, "cut": cut}


class Connection:
    """To a UNIX socket: there a sender sees when the other side has taken what was sent, so that every piece is read by
    itself."""

    def __init__(self, address: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(address)
        self.unread = b""

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, pieces: Iterator[bytes]) -> None:
        """Stops when the other side does not listen any more."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for piece in pieces:
                self.socket.sendall(piece)
                self._wait_until_taken()

    def _wait_until_taken(self) -> None:
        deadline = time.monotonic() + PATIENCE
        hangup = select.poll()
        hangup.register(self.socket, 0)
        while struct.unpack("i", fcntl.ioctl(self.socket, termios.TIOCOUTQ, bytes(4)))[0] > 0:
            if hangup.poll(0) or time.monotonic() > deadline:
                return
            os.sched_yield()

    def more(self) -> bool:
        try:
            got = self.socket.recv(1 << 16)
        except ConnectionResetError:
            got = b""
        except TimeoutError:
            raise NotHttpError(f"nothing more came, and the connection stayed; so far: {self.unread[:200]!r}") from None
        self.unread += got
        return bool(got)

    def answer(self, *, to_head: bool = False) -> Answer | None:
        """The next final answer; none if the connection ended before it."""
        interim: list[int] = []
        while True:
            while b"\r\n\r\n" not in self.unread:
                if not self.more():
                    if self.unread:
                        raise NotHttpError(f"the connection ended within a head: {self.unread[:200]!r}")
                    return None
            head, _, self.unread = self.unread.partition(b"\r\n\r\n")
            status, fields = read_head(head)
            if status >= 200:
                return Answer(status, fields, self._content(status, fields, to_head), tuple(interim))
            interim.append(status)

    def _content(self, status: int, fields: dict[str, str], to_head: bool) -> bytes:
        if to_head or status in (204, 304):
            return b""
        if "content-length" not in fields:
            raise NotHttpError(f"an answer without a length: {fields}")
        length = int(fields["content-length"])
        while len(self.unread) < length:
            if not self.more():
                raise NotHttpError("the connection ended within a body")
        content, self.unread = self.unread[:length], self.unread[length:]
        return content

    def ends(self) -> bool:
        """Whether the other side ends the connection and says nothing more."""
        while self.more():
            pass
        return not self.unread


def read_head(head: bytes) -> tuple[int, dict[str, str]]:
    line, *rest = head.decode("latin-1").split("\r\n")
    version, status, reason = [*line.split(" ", 2), ""][:3]
    if version != "HTTP/1.1" or len(status) != 3 or not status.isdigit() or not reason:
        raise NotHttpError(f"no status line: {line!r}")
    fields: dict[str, str] = {}
    for field in rest:
        name, colon, value = field.partition(": ")
        if not colon or not name or name.lower() in fields or "\n" in field or "\r" in field:
            raise NotHttpError(f"no header field, or one twice: {field!r}")
        fields[name.lower()] = value
    return int(status), fields
