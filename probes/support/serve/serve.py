# SPDX-License-Identifier: Apache-2.0
"""The service of serve/ for models in Python: what is asked, the work, the answer.

probes/support/serve/serve.h says what a request is. A model ends in `main(...)`, which serves after --serve and else is
the probe that measures it (drive.py).
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
import zlib
from contextlib import closing
from importlib import metadata, util
from typing import Callable, List, NamedTuple, NoReturn, Optional

HOST = "127.0.0.1"
REFUSAL = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
LEAST = 27
_MOST_HEAD = 4096
_MOST = (1_000_000_000, 60_000_000, 1000, 1, 1 << 20)
_MASK = 0xFFFFFFFF

#: The lock of the service, for models whose contexts are threads or wait as if they were.
lock = threading.Lock()
#: The port of the service that requests wait for; None where they wait for a timer.
asked_port = int(os.environ["STEELYARD_SERVE_ASKED"]) if "STEELYARD_SERVE_ASKED" in os.environ else None
_speed = {"steps per ns": 0.0}  #: of work, found out when a service starts


class Request(NamedTuple):
    """What a client asks for."""

    work_ns: int
    wait_us: int
    depth: int
    lock: int
    answer: int
    crc: int
    size: int  #: bytes, head included


def parse(data: bytes) -> Optional[Request]:
    """The first request of `data`; None if it is not whole yet. Raises ValueError for what is none."""
    head, end, body = data.partition(b"\r\n\r\n")
    if not end:
        if len(data) >= _MOST_HEAD:
            raise ValueError("a head that does not end")
        return None
    if len(head) > _MOST_HEAD:
        raise ValueError("a head that is too long")
    line, *headers = head.split(b"\r\n")
    _method, target, version = line.split(b" ")
    fields: List[int] = [int(part) for part in target[1:].split(b"/")]
    if version != b"HTTP/1.1" or len(fields) != len(_MOST) or any(not 0 <= f <= most for f, most in zip(fields, _MOST)):
        raise ValueError("not a request")
    length = 0
    for header in headers:
        name, _, value = header.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    if not 0 <= length <= _MOST[-1] or fields[2] < 1 or fields[4] < LEAST:
        raise ValueError("not a request")
    if len(body) < length:
        return None
    crc = zlib.crc32(body[:length], zlib.crc32(target))
    return Request(*fields, crc=crc, size=len(head) + len(end) + length)


def steps_of(request: Request) -> int:
    """So many steps are its work on this machine and this interpreter."""
    return int(request.work_ns * _speed["steps per ns"])


def work(state: int, steps: int) -> int:
    """The state after so many steps."""
    for _ in range(steps):
        state = state * 1664525 + 1013904223 & _MASK
    return state


def answer(request: Request, steps: int, state: int) -> bytes:
    """What is sent."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % request.answer
    return head + b"%08x %08x %08x\n" % (request.crc, steps, state) + b"." * (request.answer - LEAST)


def question(wait_us: int) -> bytes:
    """What the other service is asked: it answers the same after that time."""
    return b"%08x" % wait_us


class _Asked:
    """A connection's own to the service that its requests wait for, made for the first question."""

    def __init__(self) -> None:
        self._socket: Optional[socket.socket] = None

    def wait(self, wait_us: int) -> None:
        """Ask and wait for the answer; sleep where there is nobody to ask."""
        if asked_port is None:
            time.sleep(wait_us / 1e6)
            return
        if self._socket is None:
            self._socket = socket.create_connection((HOST, asked_port))
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        asked = question(wait_us)
        self._socket.sendall(asked)
        came = 0
        while came < len(asked):
            chunk = self._socket.recv(len(asked) - came)
            if not chunk:
                raise ConnectionError("the service that requests wait for has ended")
            came += len(chunk)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()


def _deep(request: Request, steps: int, depth: int, asked: _Asked) -> int:
    if depth > 1:
        return _deep(request, steps, depth - 1, asked)
    state = work(request.crc, steps // 2)
    if request.wait_us:
        asked.wait(request.wait_us)
    if request.lock:
        with lock:
            return work(state, steps - steps // 2)
    return work(state, steps - steps // 2)


def _respond(request: Request, asked: _Asked) -> bytes:
    """Do what is asked for, by calls that block."""
    steps = steps_of(request)
    return answer(request, steps, _deep(request, steps, request.depth, asked))


def connection(taken: socket.socket) -> None:
    """Serve one connection by calls that block until it ends, and close it."""
    with taken, closing(_Asked()) as asked:
        data = b""
        try:
            while True:
                request = parse(data)
                if request is not None:
                    taken.sendall(_respond(request, asked))
                    data = data[request.size :]
                    continue
                chunk = taken.recv(1 << 16)
                if not chunk:
                    return
                data += chunk
        except ValueError:
            taken.sendall(REFUSAL)
        except OSError:
            pass


def listening() -> socket.socket:
    """The socket that this service was started to listen on: of a port, or of a path, which has a slash in it."""
    where = sys.argv[2]
    if "/" in where:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(where)
    else:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # connections inherit it
        listener.bind((HOST, int(where)))
    listener.listen(socket.SOMAXCONN)
    return listener


def _calibrate() -> None:
    """The fastest of many short stretches: whoever takes the CPU away for a while does not count."""
    steps, shortest = 500, 1 << 62
    for _ in range(400):
        began = time.perf_counter_ns()
        work(1, steps)
        shortest = min(shortest, time.perf_counter_ns() - began)
    _speed["steps per ns"] = steps / shortest


def main(title: str, source: str, serve: Callable[[], None], module: Optional[str] = None, each: str = "") -> NoReturn:
    """Be a model: `serve` never returns; `module` is what it needs beside Python, `each` as serve.h has it."""
    if sys.argv[1:2] == ["--serve"]:
        sys.setrecursionlimit(5000)
        _calibrate()
        serve()
        os._exit(1)
    import drive

    about = {"title": title, "source": source, "threads": 0, "each": each, "version": sys.version.split()[0]}
    if module and util.find_spec(module) is None:
        about["lacks"] = f"{module} is not installed for {sys.executable}: pip install {module}"
    elif module:
        about["version"] = metadata.version(module)
    drive.drive([sys.executable, os.path.abspath(sys.argv[0])], about)
