# SPDX-License-Identifier: Apache-2.0
"""`--protocol line`: lines in the place of HTTP, by the same workers, threads, deadlines, limits, counters and logs."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from running import PATIENCE_S, Server, run, serving, until

APPLICATION = """
import os

VERSION = b"one"

def application(line):
    assert type(line) is bytes
    word, _, rest = line.partition(b" ")
    if word == b"large":
        return b"x" * int(rest)
    if word == b"fail":
        raise ValueError("as it was told to")
    if word == b"none":
        return None
    if word == b"version":
        return VERSION
    return line.upper()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(APPLICATION)
    return tmp_path


def lines(*arguments: object, folder: Path) -> contextlib.AbstractContextManager[Server]:
    return serving("app", "--protocol", "line", *arguments, folder=folder)


@contextlib.contextmanager
def client(server: Server, **options) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE_S, **options) as connection:
        yield connection


def rest_of(connection: socket.socket) -> bytes:
    """Up to the end of what the server has to say."""
    heard = b""
    while got := connection.recv(1 << 16):
        heard += got
    return heard


def conversation(server: Server, said: bytes) -> bytes:
    """What a client hears that says this and ends its side."""
    with client(server) as connection:
        connection.sendall(said)
        connection.shutdown(socket.SHUT_WR)
        return rest_of(connection)


@pytest.mark.parametrize("threads", [1, 3])
def test_each_line_has_its_answer_and_mistakes_end_the_connection(folder: Path, threads: int) -> None:
    options = ["--threads", threads, "--limit-line", "100", "--access-log", "json", "--access-log-file", "log"]
    with lines(*options, folder=folder) as server:
        assert server.heard("serving app at tcp://127")
        said = {
            b"": b"",
            b"a\n": b"A\n",
            b"a\r\nb b\n\nc\nunfinished": b"A\nB B\n\nC\n",
            "äöü\n".encode(): "äöü\n".encode(),
            b"y" * 100 + b"\r\nz\n": b"Y" * 100 + b"\nZ\n",
            b"a\n" + b"y" * 101 + b"\nb\n": b"A\nerror: the line is too long\n",
            b"y" * 200: b"error: the line is too long\n",
            b"a\n\xff\nb\n": b"A\nerror: the line is not UTF-8\n",
            b"a\nfail\nb\n": b"A\nerror: the application failed\n",
            b"none\n": b"error: the application failed\n",
            b"large 100000\na\n": b"x" * 100_000 + b"\nA\n",
        }
        for request, answer in said.items():
            assert conversation(server, request) == answer, request
        server.wait_for("ValueError: as it was told to")
        server.wait_for("TypeError: the application gave something that is not bytes")
        assert server.heard('the application failed at "fail"')
        shown = run("stat", "--openmetrics", server.pid, folder=folder).stdout
        assert server.end() == 0
    logged = [json.loads(line) for line in (folder / "log").read_text().splitlines()]
    assert {"target": "b b", "status": 200, "bytes": 4, "version": None}.items() <= logged[2].items()
    assert [line["reason"] for line in logged if line["reason"]] == [
        *["the line is too long"] * 2,
        "the line is not UTF-8",
    ]
    assert sum(line["status"] == 500 for line in logged) == 2
    assert f'wheat_responses_total{{class="2xx"}} {sum(line["status"] == 200 for line in logged)}\n' in shown
    assert "wheat_application_errors_total 2\n" in shown


def test_deadlines_hold_for_half_a_line_and_for_one_that_reads_nothing(folder: Path) -> None:
    options = ["--deadline-head", "200ms", "--deadline-send", "300ms", "--deadline-idle", "10s"]
    with lines(*options, folder=folder) as server, client(server) as half, client(server) as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        half.sendall(b"a\nhalf of a li")
        deaf.sendall(b"large 30000000\n")
        assert conversation(server, b"b\n") == b"B\n", "others are answered meanwhile"
        assert rest_of(half) == b"A\nerror: the request did not come in time\n"
        shown = 'wheat_timeouts_total{kind="send"} 1\n'
        until(lambda: shown in run("stat", "--openmetrics", server.pid, folder=folder).stdout, "it is given up")
        with pytest.raises(ConnectionResetError):
            rest_of(deaf)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_reload_under_load_loses_no_line(folder: Path, threads: int) -> None:
    answers: list[bytes] = []
    stop = threading.Event()

    def ask(port: int) -> None:
        """A line to which the end of the connection comes in the place of an answer is asked again."""
        while not stop.is_set():
            with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as connection:
                answer = b"\n"
                while answer and not stop.is_set():
                    connection.sendall(b"version\n")
                    answer = b""
                    while not answer.endswith(b"\n") and (got := connection.recv(100)):
                        answer += got
                    if answer:
                        answers.append(answer)

    with lines("--workers", 2, "--threads", threads, folder=folder) as server:
        askers = [threading.Thread(target=ask, args=[server.port], daemon=True) for _ in range(4)]
        for asker in askers:
            asker.start()
        until(lambda: len(answers) > 100, "it answers")
        (folder / "app.py").write_text(APPLICATION.replace('b"one"', 'b"two"'))
        server.signal(signal.SIGHUP)
        server.wait_for("wheat: reloaded")
        until(lambda: answers[-1] == b"two\n", "the new code answers")
        stop.set()
        for asker in askers:
            asker.join(PATIENCE_S)
        shown = run("stat", "--openmetrics", server.pid, folder=folder).stdout
    assert set(answers) <= {b"one\n", b"two\n"}
    assert f"wheat_requests_total {len(answers)}\n" in shown, "what was looked at was answered"


def test_hooks_that_need_an_environ_are_refused_and_others_run(folder: Path) -> None:
    (folder / "hooks.py").write_text("def post_worker_init(worker): print('begun', worker.index, flush=True)\n")
    with lines("--hooks", "hooks.py", "--preload", folder=folder) as server:
        assert conversation(server, b"a\n") == b"A\n"
    (folder / "hooks.py").write_text("def on_request(environ): ...\n")
    done = run("app", "--protocol", "line", "--hooks", "hooks.py", "--check", folder=folder)
    assert done.returncode == 78
    assert re.search("wheat: on_request and on_response .* are for --protocol http", done.stderr)
