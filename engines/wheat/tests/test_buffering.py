# SPDX-License-Identifier: Apache-2.0
"""Bodies are kept for slow clients, both ways: the application is free once it is done, a deadline means progress, and
only a worker that does not get on is replaced."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from running import PATIENCE_S, Server, serving, until
from talking import Client

APPLICATION = '''
import pathlib, threading, time

HERE = pathlib.Path(__file__).parent
PIECE = bytes(range(256)) * 256  # 64 KiB
state = threading.local()

def pieces(count):
    """A framework that keeps something in the thread while it answers."""
    assert getattr(state, "answers", None) is None
    state.answers = mark = object()
    try:
        for _ in range(count):
            assert state.answers is mark, "another request came between"
            yield PIECE
    finally:
        state.answers = None
        with (HERE / "done").open("a") as done:
            done.write("x")

def events(count):
    for number in range(count):
        yield b"data: %d\\n\\n" % number
        time.sleep(0.02)

def halves():
    for _ in range(128):
        yield PIECE
    while not (HERE / "go-on").exists():
        time.sleep(0.01)
    yield b"the end"

def application(environ, start_response):
    name, _, argument = environ["PATH_INFO"].strip("/").partition("/")
    answer = [b"hello"]
    if name == "pieces":
        answer = pieces(int(argument))
    elif name == "whole":
        answer = [PIECE * int(argument)]
    elif name == "events":
        answer = events(int(argument))
    elif name == "halves":
        answer = halves()
    elif name == "work":
        time.sleep(0.05)
    elif name == "gone":
        (HERE / "asked").touch()
        while not (HERE / "go-on").exists():
            time.sleep(0.01)
    elif name == "hang":
        time.sleep(3600)
    elif name == "read":
        answer = [str(len(environ["wsgi.input"].read())).encode()]
    elif name == "state":
        assert getattr(state, "answers", None) is None
    start_response("200 OK", [("Content-Type", "text/plain")])
    return answer
'''
PIECE = bytes(range(256)) * 256


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(APPLICATION)
    return tmp_path


class Reader(Client):
    """A client that asks and then reads when it is told to, with little room before that."""

    def __init__(self, server: Server, path: str) -> None:
        self.socket = socket.socket()
        self.socket.settimeout(PATIENCE_S)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 10)
        self.socket.connect(("127.0.0.1", server.port))
        self.file = self.socket.makefile("rb")
        self.send(f"GET {path} HTTP/1.1\r\nHost: h\r\n\r\n".encode())


@contextlib.contextmanager
def readers(server: Server, path: str, count: int) -> Iterator[list[Reader]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Reader(server, path)) for _ in range(count)]


def done(folder: Path) -> int:
    """How many of `pieces` have come to their end."""
    path = folder / "done"
    return len(path.read_text()) if path.exists() else 0


def is_unharmed(server: Server) -> bool:
    return not server.heard("hangs|ended|killed|Traceback|AssertionError")


# The application is done before its client


@pytest.mark.parametrize("threads", [1, 2])
def test_a_response_ends_in_its_thread_however_slow_its_client(folder: Path, threads: int) -> None:
    with (
        serving("app", "--threads", threads, "--spool", "100KiB", folder=folder) as server,
        readers(server, "/pieces/200", 4) as slow,
    ):
        until(lambda: done(folder) == 4, "the application is done, though nobody has read")
        assert server.get("/state") == (200, b"hello")
        for reader in slow:
            assert reader.answer().body == PIECE * 200
        assert is_unharmed(server), server.said


def test_a_whole_answer_without_room_keeps_nobody_waiting(folder: Path) -> None:
    """Nor do calls that wait for clients keep the interpreter meanwhile."""
    arguments = ["--threads", 2, "--limit-disk", "0", "--deadline-send", "3s"]
    with serving("app", *arguments, folder=folder) as server, readers(server, "/whole/400", 2) as slow:
        for _ in range(3):
            assert server.get("/hello") == (200, b"hello")
        for reader in slow:
            assert reader.answer().body == PIECE * 400
        assert is_unharmed(server), server.said


@pytest.mark.parametrize("arguments", [["--limit-response", "300KiB"], ["--limit-disk", "500KiB"], ["no TMPDIR"]])
def test_without_room_the_application_waits_and_nothing_is_lost(folder: Path, arguments: list[str]) -> None:
    more = {}
    if arguments == ["no TMPDIR"]:
        arguments, more = [], {"env": os.environ | {"TMPDIR": str(folder / "none")}}
    with (
        serving("app", "--threads", 2, *arguments, folder=folder, **more) as server,
        readers(server, "/pieces/400", 4) as slow,
    ):
        for _ in range(3):
            assert server.get("/hello") == (200, b"hello"), "calls that wait for clients keep nobody waiting"
        assert done(folder) == 0
        bodies: dict[int, bytes] = {}
        threads = [
            threading.Thread(target=lambda at=at, reader=reader: bodies.update({at: reader.answer().body}))
            for at, reader in enumerate(slow)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [body == PIECE * 400 for body in bodies.values()] == [True] * 4
        assert is_unharmed(server), server.said
        if arguments[:1] != ["--limit-response"]:
            assert server.heard("a body can't be kept in")


def test_a_single_thread_does_not_wait_for_ever_for_one_client(folder: Path) -> None:
    """It takes enough for its deadline, and too little for the others."""
    arguments = ["--limit-disk", "500KiB", "--deadline-send", "1s"]
    with serving("app", *arguments, folder=folder) as server, Reader(server, "/pieces/400") as slow:
        assert slow.file.read(8 << 10), "it is being answered"
        are_answered = threading.Event()

        def read_slowly() -> None:
            with contextlib.suppress(ConnectionError):
                while not are_answered.is_set() and slow.file.read(8 << 10):
                    time.sleep(0.05)

        reading = threading.Thread(target=read_slowly)
        reading.start()
        try:
            assert server.get("/hello") == (200, b"hello")
            server.wait_for("a response is cut: there was no room for it")
        finally:
            are_answered.set()
            reading.join()


def test_a_body_without_room_is_refused(folder: Path) -> None:
    with serving("app", "--limit-disk", "1MiB", folder=folder) as server:
        with Client(server) as client:
            assert client.ask("/read", b"x" * 900_000).body == b"900000"
            assert client.ask("/read", b"x" * 900_000).body == b"900000", "the room is there again"
            assert client.ask("/read", b"x" * 2_000_000).status == 503
        server.wait_for("a body can't be kept in .*limit-disk")


def test_what_was_given_is_sent_while_the_next_piece_is_made(folder: Path) -> None:
    for threads in (1, 2):
        (folder / "go-on").unlink(missing_ok=True)
        with serving("app", "--threads", threads, folder=folder) as server, Reader(server, "/halves") as client:
            while client.file.readline() != b"\r\n":
                pass
            for _ in range(128):
                assert client.file.readline() == b"10000\r\n"
                assert client.file.read(len(PIECE)) == PIECE
                client.file.read(2)
            (folder / "go-on").touch()
            assert client.file.readline() == b"7\r\n"


def test_readers_that_do_not_read_keep_nobody_waiting(folder: Path) -> None:
    limits = ["--limit-response", "256KiB", "--deadline-send", "2s"]
    with (
        serving("app", "--threads", 2, *limits, folder=folder) as server,
        readers(server, "/pieces/200", 60) as slow,
    ):
        for _ in range(5):
            assert server.get("/hello") == (200, b"hello")
        until(lambda: done(folder) == 60, "those that never read are ended")
        assert len(slow) == 60


def test_slow_uploads_keep_nobody_waiting_and_end(folder: Path) -> None:
    arguments = ["--threads", 2, "--input", "streamed", "--deadline-body", "1s", "--hang-after", "500ms"]
    with serving("app", *arguments, folder=folder) as server, contextlib.ExitStack() as stack:
        slow = [stack.enter_context(Client(server)) for _ in range(4)]
        for client in slow:
            client.send(b"POST /read HTTP/1.1\r\nHost: h\r\nContent-Length: 60000000\r\n\r\nx")
        for _ in range(3):
            assert server.get("/hello") == (200, b"hello")
            for client in slow:
                client.send(b"x")
        for client in slow:
            answer = client.answer()
            assert (answer.status, client.is_closed()) == (408, True)
        assert is_unharmed(server), server.said


def test_streams_leave_the_count_of_threads(folder: Path) -> None:
    with serving("app", "--threads", 2, folder=folder) as server, readers(server, "/events/1000000", 6) as streams:
        for stream in streams:
            while not stream.file.readline().startswith(b"data: "):
                pass
        for _ in range(3):
            assert server.get("/hello") == (200, b"hello")
        for stream in streams:
            stream.file.readline()


def test_what_a_lost_client_was_to_get_goes_to_no_other(folder: Path) -> None:
    with serving("app", folder=folder) as server:
        for _ in range(10):
            with Client(server) as lost:
                lost.send(b"GET /pieces/3000 HTTP/1.1\r\nHost: h\r\n\r\n")
                lost.file.read(1 << 20)
                lost.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            assert server.get("/hello") == (200, b"hello")
        until(lambda: done(folder) == 10, "all have ended")


# Who hangs


@pytest.mark.parametrize("threads", [1, 2])
def test_a_worker_that_gets_on_does_not_hang(folder: Path, threads: int) -> None:
    with serving("app", "--threads", threads, "--hang-after", "400ms", folder=folder) as server:
        with readers(server, "/events/60", threads) as streams:
            for stream in streams:
                assert stream.answer().body.count(b"data: ") == 60
        with readers(server, "/work", 40) as many:  # two seconds of calls, in few turns of the event loop
            assert [reader.answer().body for reader in many] == [b"hello"] * 40
        assert is_unharmed(server), server.said


def test_a_worker_that_waits_for_its_clients_does_not_hang(folder: Path) -> None:
    arguments = ["--threads", 2, "--limit-streams", 0, "--limit-response", "100KiB", "--hang-after", "400ms"]
    with serving("app", *arguments, folder=folder) as server, readers(server, "/pieces/200", 3) as slow:
        time.sleep(1.5)  # three times as long as calls may take without getting on
        bodies: list[bytes] = []
        threads = [threading.Thread(target=lambda r=r: bodies.append(r.answer().body)) for r in slow]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [body == PIECE * 200 for body in bodies] == [True] * 3
        assert is_unharmed(server), server.said


def test_threads_that_all_hang_are_replaced_once_somebody_waits(folder: Path) -> None:
    with serving("app", "--threads", 2, "--hang-after", "300ms", folder=folder) as server:
        first = server.workers()
        with readers(server, "/hang", 2), Reader(server, "/events/1000000"):
            server.wait_for("hangs: nothing has got on for 300ms")
        until(lambda: server.workers() and server.workers() != first, "another worker is there")
        assert server.get("/hello") == (200, b"hello")


# Deadlines


@pytest.mark.parametrize("path", ["/pieces/160", "/s/large"])
def test_who_reads_slowly_but_reads_is_not_given_up(folder: Path, path: str) -> None:
    """The kernel takes more only when a good part of its buffer is free: what the client acknowledges counts."""
    (folder / "large").write_bytes(PIECE * 160)
    arguments = ["--deadline-send", "1s", "--static", f"/s={folder}"]
    with serving("app", *arguments, folder=folder) as server, Reader(server, path) as client:
        for _ in range(60):  # 0.3 MB/s for three seconds
            time.sleep(0.05)
            assert len(client.file.read(16 << 10)) == 16 << 10
        while got := client.file.read1(1 << 20):
            if got.endswith(PIECE[-100:]) or got.endswith(b"0\r\n\r\n"):
                break
        assert got, "cut"


# The log


def test_a_response_that_is_cut_is_logged_with_what_was_sent(folder: Path) -> None:
    (folder / "large").write_bytes(PIECE * 800)
    log = ["--access-log", "json", "--access-log-file", "log", "--static", f"/s={folder}"]
    for threads in (1, 2):
        (folder / "log").unlink(missing_ok=True)
        with serving("app", *log, "--threads", threads, folder=folder) as server:
            paths = ["/pieces/800", "/s/large", "/pieces/4000"]
            for path in paths:
                with Reader(server, path) as client:
                    assert client.file.read(100_000)
                    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            assert server.get("/hello")[0] == 200
            until(lambda: (folder / "log").read_text().count("\n") == 4, "all four are logged")
        lines = {line["target"]: line for line in map(json.loads, (folder / "log").read_text().splitlines())}
        for path in paths:
            assert 100_000 - 500 < lines[path]["bytes"] < 20_000_000, (path, lines[path])
        assert lines["/hello"]["bytes"] == 5


@pytest.mark.parametrize("threads", [1, 2])
def test_an_answer_that_nobody_was_left_to_take_is_logged_without_bytes(folder: Path, threads: int) -> None:
    log = ["--access-log", "json", "--access-log-file", "log"]
    with serving("app", *log, "--threads", threads, folder=folder) as server:
        with Client(server) as gone:
            gone.send(b"GET /gone HTTP/1.1\r\nHost: h\r\n\r\n")
            until((folder / "asked").exists, "it is being answered")
            gone.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        (folder / "go-on").touch()
        until(lambda: (folder / "log").read_text().count("\n") == 1, "it is logged")
        line = json.loads((folder / "log").read_text())
    assert (line["target"], line["status"], line["bytes"]) == ("/gone", 200, 0)


def test_pipelined_requests_are_logged_with_their_own_bytes(folder: Path) -> None:
    with serving("app", "--access-log", "json", "--access-log-file", "log", folder=folder) as server:
        with Client(server) as client:
            client.send(b"".join(b"GET /%d HTTP/1.1\r\nHost: h\r\n\r\n" % number for number in range(3)))
            assert [client.answer().body for _ in range(3)] == [b"hello"] * 3
        until(lambda: (folder / "log").read_text().count("\n") == 3, "all are logged")
        lines = map(json.loads, (folder / "log").read_text().splitlines())
    assert [(line["target"], line["bytes"]) for line in lines] == [(f"/{number}", 5) for number in range(3)]
