# SPDX-License-Identifier: Apache-2.0
"""Starts whole servers, master and workers, and asks them as clients do."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import pytest

#: Longest that anything is waited for. No test measures it: it only ends what would hang.
PATIENCE_S = 60.0


def missing(reason: str) -> NoReturn:
    """Something that a test needs is not there: skips, but fails on a machine that is there to test."""
    if os.environ.get("CI"):
        pytest.fail(f"{reason}, and CI has to have it")
    pytest.skip(reason)


def program() -> str:
    """The installed executable, beside this Python."""
    found = Path(sys.executable).with_name("wheat")
    if not found.is_file():
        missing("wheat is not installed beside this Python (pip install engines/wheat)")
    return str(found)


def tool(name: str) -> str:
    """A program of the system or of the Rust toolchain."""
    found = shutil.which(name) or shutil.which(name, path=str(Path.home() / ".cargo/bin"))
    if found is None:
        missing(f"{name} is not installed")
    return found


def until(holds: Callable[[], object], what: str) -> None:
    """Wait until something holds; fails saying what did not."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            pytest.fail(f"waited in vain for this: {what}")
        time.sleep(0.01)


def alive(pid: int) -> bool:
    """Whether a process lives; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (OSError, IndexError):
        return False


def called(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text()
    except OSError:  # it has ended by now
        return ""


@dataclass
class Server:
    """A running server: its master, and all that it has said."""

    process: subprocess.Popen[str]
    said: list[str] = field(default_factory=list)
    reader: threading.Thread | None = None

    def heard(self, pattern: str) -> re.Match[str] | None:
        """The first line so far that contains this."""
        return next((found for line in list(self.said) if (found := re.search(pattern, line))), None)

    def wait_for(self, pattern: str, times: int = 1) -> None:
        """Until so many lines say this."""
        until(
            lambda: sum(1 for line in list(self.said) if re.search(pattern, line)) >= times or self.ended(),
            f"{pattern!r} {times} times in {self.said}",
        )
        assert self.heard(pattern), self.said

    def ended(self) -> bool:
        return self.process.poll() is not None

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def port(self) -> int:
        found = self.heard(r"serving .*?\w+://[^,\s]+:(\d+)\b")
        assert found, self.said
        return int(found[1])

    def children(self, name: str = "") -> list[int]:
        """Process ids of the children that live and that ps calls so, or more."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text()
        return [pid for pid in map(int, children.split()) if alive(pid) and called(pid).startswith(name)]

    def workers(self) -> list[int]:
        """The children without the one that forks the others (`--preload`)."""
        return self.children("wheat worker")

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self) -> int:
        """The exit code after SIGTERM."""
        self.signal(signal.SIGTERM)
        return self.wait()

    def wait(self) -> int:
        """The exit code, and everything that was said is read."""
        code = self.process.wait(PATIENCE_S)
        if self.reader:
            self.reader.join(PATIENCE_S)
        return code

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)

    def get(self, path: str = "/", **headers: str) -> tuple[int, bytes]:
        """Status and body, on a connection of its own."""
        with contextlib.closing(self.connect()) as connection:
            connection.request("GET", path, headers=headers)
            response = connection.getresponse()
            return response.status, response.read()


@contextlib.contextmanager
def serving(
    *arguments: object,
    folder: Path,
    bind: str | None = "127.0.0.1:0",
    ready: str | None = "wheat: serving ",
    starter: list[str] | None = None,
    **options,
) -> Iterator[Server]:
    """A server, started in a folder, by a program if one is given; whatever happens nothing of it is left."""
    command = [*(starter or []), program(), *map(str, arguments)]
    if bind:
        command += ["--bind", bind]
    options.setdefault("env", os.environ | {"PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": "1"})
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True, errors="replace", **options)
    server = Server(process)

    def read() -> None:
        assert process.stderr
        for line in process.stderr:
            server.said.append(line.rstrip("\n"))

    server.reader = threading.Thread(target=read, daemon=True)
    server.reader.start()
    try:
        if ready:
            server.wait_for(ready)
        yield server
    finally:
        # Workers end with their master, by the kernel's hand.
        process.kill()
        process.wait(PATIENCE_S)
        server.reader.join(PATIENCE_S)
        assert process.stderr
        process.stderr.close()
        if process.stdout:
            process.stdout.close()


def run(*arguments: object, folder: Path, **options) -> subprocess.CompletedProcess[str]:
    """The command, to its end."""
    return subprocess.run(
        [program(), *map(str, arguments)],
        check=False,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        **options,
    )


@dataclass
class Clients:
    """Clients that ask on connections that stay open, and count what they got and what was lost."""

    port: int
    path: str
    #: Between two requests of a client.
    pause_s: float = 0.0
    threads: list[threading.Thread] = field(default_factory=list)
    answers: list[bytes] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    def ask(self) -> None:
        request = f"GET {self.path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
        connection: socket.socket | None = None
        while not self.stop.is_set():
            try:
                if connection is None:
                    connection = socket.create_connection(("127.0.0.1", self.port), PATIENCE_S)
                connection.sendall(request)
                response = http.client.HTTPResponse(connection)
                response.begin()
                body = response.read()
                if response.status != 200:
                    self.lost.append(f"status {response.status}: {body[:80]!r}")
                self.answers.append(body)
                closes = response.will_close
                response.close()
                if closes:
                    connection.close()
                    connection = None
            except (OSError, http.client.HTTPException) as error:
                self.lost.append(repr(error))
                if connection is not None:
                    connection.close()
                connection = None
            self.stop.wait(self.pause_s)
        if connection is not None:
            connection.close()


@contextlib.contextmanager
def asking(server: Server, path: str = "/", clients: int = 8, pause: float = 0.0) -> Iterator[Clients]:
    """Load, as long as the block lasts; afterwards all answers are in."""
    load = Clients(server.port, path, pause)
    load.threads = [threading.Thread(target=load.ask, daemon=True) for _ in range(clients)]
    for thread in load.threads:
        thread.start()
    try:
        yield load
    finally:
        load.stop.set()
        for thread in load.threads:
            thread.join(PATIENCE_S)
