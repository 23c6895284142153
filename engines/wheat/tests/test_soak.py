# SPDX-License-Identifier: Apache-2.0
"""Everything at once, for a while: fast clients, slow ones, those that reset and those that upload, reloads and killed
workers. No request is lost that a proxy would keep, every body is whole, and memory stays flat. Five minutes of it in
the long tests, and as many seconds as WHEAT_SOAK says, one half for each server: two hours are
`WHEAT_SOAK=7200 pytest -s test_soak.py`."""

from __future__ import annotations

import hashlib
import http.client
import os
import random
import signal
import socket
import threading
import time
from pathlib import Path

import pytest
from running import PATIENCE_S, asking, serving, until
from slow import resident_mib
from talking import Client

SECONDS = float(os.environ.get("WHEAT_SOAK") or (300 if os.environ.get("STEELYARD_LONG") else 10))
#: Each loses what its connections have in flight, and no more.
KILL_EVERY_S = 30 if SECONDS > 60 else 3
RELOAD_EVERY_S = 60 if SECONDS > 60 else 1.5
#: Between two requests of a client: a long soak leaves the machine to others.
PAUSE_S = 0.5 if SECONDS > 60 else 0.0

APPLICATION = """
import hashlib, os

def pieces():
    for number in range(100):
        yield bytes([number]) * 65536

def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain"), ("X-Process", str(os.getpid()))])
    if environ["PATH_INFO"] == "/pieces":
        return pieces()
    if environ["PATH_INFO"] == "/digest":
        return [hashlib.sha256(environ["wsgi.input"].read()).hexdigest().encode()]
    return [b"hello"]
"""
PIECES = b"".join(bytes([number]) * 65536 for number in range(100))


class Crowd(threading.Thread):
    """Clients of one kind, one after the other."""

    def __init__(self, server, way, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.server, self.way, self.stop = server, way, stop
        self.count, self.cut, self.wrong = 0, 0, []

    def run(self) -> None:
        chance = random.Random(self.way.__name__)
        while not self.stop.is_set():
            try:
                with Client(self.server) as client:
                    self.way(client, chance, self.wrong)
                self.count += 1
            except (OSError, http.client.HTTPException) as error:  # a worker was killed
                self.cut += 1
                self.error = error
            self.stop.wait(PAUSE_S)


def reads_slowly(client: Client, chance: random.Random, wrong: list) -> None:
    client.send(b"GET /pieces HTTP/1.0\r\n\r\n")
    while client.file.readline() not in (b"\r\n", b""):
        pass
    got = bytearray()
    while part := client.file.read1(1 << 18):
        got += part
        time.sleep(chance.random() * 0.02)
    if len(got) == len(PIECES) and got != PIECES:
        wrong.append("pieces")
    if len(got) < len(PIECES):
        raise ConnectionError("cut")


def resets(client: Client, chance: random.Random, wrong: list) -> None:
    client.send(b"GET /pieces HTTP/1.1\r\nHost: h\r\n\r\n")
    got = client.file.read(chance.randrange(13, 1 << 20))
    if not got:
        raise ConnectionError("cut")
    if not got.startswith(b"HTTP/1.1 200 "):
        wrong.append("begin")
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    time.sleep(0.01)


def uploads(client: Client, chance: random.Random, wrong: list) -> None:
    body = chance.randbytes(chance.randrange(1 << 21))
    answer = client.ask("/digest", body)
    if answer.status != 200:
        raise ConnectionError(answer.status)
    if answer.text != hashlib.sha256(body).hexdigest():
        wrong.append("digest")


@pytest.mark.parametrize("options", [["--threads", 1], ["--threads", 3, "--preload"]], ids=["one thread", "preload"])
def test_nothing_is_lost_but_what_a_killed_worker_had(tmp_path: Path, options: list) -> None:
    (tmp_path / "app.py").write_text(APPLICATION)
    clients = 4
    options = [*options, "--workers", 2, "--spool", "100KiB", "--deadline-graceful", "60s"]
    with serving("app", *options, folder=tmp_path) as server:
        stop = threading.Event()
        crowds = [Crowd(server, way, stop) for way in (reads_slowly, reads_slowly, resets, uploads)]
        with asking(server, clients=clients, pause=PAUSE_S / 10) as load:
            for crowd in crowds:
                crowd.start()
            began = time.monotonic()
            kills = reloads = 0
            memory: list[float] = []
            while (passed := time.monotonic() - began) < SECONDS / 2:
                time.sleep(0.2)
                if passed > (reloads + 1) * RELOAD_EVERY_S:
                    reloads += 1
                    server.signal(signal.SIGHUP)
                    server.wait_for("wheat: reloaded", times=reloads)
                elif passed > (kills + 1) * KILL_EVERY_S and len(server.workers()) == 2:
                    kills += 1
                    os.kill(random.choice(server.workers()), signal.SIGKILL)
                    until(lambda: len(server.workers()) == 2, "another one is there")
                elif len(server.workers()) == 2:
                    memory.append(resident_mib(server))
            stop.set()
            for crowd in crowds:
                crowd.join(PATIENCE_S)
        assert len(load.answers) > 100
        assert all(crowd.count > 0 for crowd in crowds)
        assert not [wrong for crowd in crowds for wrong in crowd.wrong]
        # Of each connection that the killed worker had: one request.
        assert len(load.lost) <= kills * clients, load.lost
        assert sum(crowd.cut for crowd in crowds) <= kills * len(crowds), [crowd.__dict__ for crowd in crowds]
        assert reloads > 0
        before, after = max(memory[: len(memory) // 2]), max(memory[len(memory) // 2 :])
        assert after < before + 32
        assert not server.heard("hangs|Traceback|did not end in time")
        answered = len(load.answers) + sum(crowd.count for crowd in crowds)
        lost = len(load.lost) + sum(crowd.cut for crowd in crowds)
        print(
            f"{options}: {SECONDS / 2:.0f} s, {answered} answered, {lost} lost to {kills} killed workers, "
            f"{reloads} reloads, at most {before:.0f} MiB in the first half and {after:.0f} MiB in the second"
        )
