# SPDX-License-Identifier: Apache-2.0
"""Slow clients cost the others nothing, end by their deadline, and the memory that they hold is bounded."""

from __future__ import annotations

import csv
import subprocess
import time
from pathlib import Path

import pytest
from running import PATIENCE_S, missing, tool, until
from slow import (
    HALF_BODY,
    HALF_CHUNK,
    HALF_HEAD,
    LARGE,
    LARGE_BYTES,
    Crowd,
    Ordinary,
    allow_descriptors,
    connections,
    idle,
    resident_mib,
    served,
)

DEADLINES = ("--deadline-head", "2s", "--deadline-body", "2s", "--deadline-send", "2s")

MEMORY_MIB = 64
"""That the slow may cost in all: generous, for it is there to find what grows without bound. A response of 16 MiB for
each of 60 that never read would be 960."""


@pytest.mark.parametrize("threads", [1, 4])
def test_other_requests_are_answered_until_the_slow_have_ended(tmp_path: Path, threads: int) -> None:
    with served(tmp_path, *DEADLINES, "--threads", threads) as server, Ordinary(server) as client:
        client.ask()
        before, memory = connections(server), resident_mib(server)
        with Crowd(server.port, 60, LARGE, receive_buffer=4096):
            with (
                Crowd(server.port, 280, HALF_HEAD) as heads,
                Crowd(server.port, 150, HALF_BODY) as bodies,
                Crowd(server.port, 150, HALF_CHUNK) as chunks,
                Crowd(server.port, 20, HALF_HEAD) as dripping,
            ):
                until(lambda: connections(server) >= before + 660, "all are connected")
                client.ask()
                assert resident_mib(server) - memory < MEMORY_MIB

                def are_told() -> bool:
                    client.ask()
                    dripping.drip()
                    return all(crowd.have_heard() for crowd in (heads, bodies, chunks, dripping))

                until(are_told, "the slow are told")
                assert resident_mib(server) - memory < MEMORY_MIB
                for crowd in (heads, bodies, chunks):
                    assert {words[:13] for words in crowd.last_words()} == {b"HTTP/1.1 408 "}
            until(lambda: connections(server) <= before, "those that never read are ended, too")
        client.ask()


def test_who_reads_slowly_but_reads_gets_all(tmp_path: Path) -> None:
    """The deadline is for a piece, not for the whole, which takes twice as long here."""
    with (
        served(tmp_path, "--deadline-send", "700ms") as server,
        Ordinary(server) as client,
        Crowd(server.port, 1, LARGE, receive_buffer=65536) as crowd,
    ):
        [reader] = crowd.sockets
        got = 0
        pauses = 0
        while got < LARGE_BYTES:
            part = reader.recv(1 << 20)
            assert part, f"ended after {got} bytes"
            got += len(part)
            if got > (pauses + 1) * (LARGE_BYTES // 8):
                pauses += 1
                time.sleep(0.2)
                client.ask()


def test_ten_thousand_idle_connections(tmp_path: Path) -> None:
    count = min(10_000, allow_descriptors(10_500) - 500)
    if count < 2000:
        missing(f"only {count + 500} open files are allowed here (ulimit -n)")
    with served(tmp_path) as server, Ordinary(server) as client:
        client.ask()
        memory = resident_mib(server)
        with idle(server.port, count) as crowd:
            assert connections(server) >= count
            for _ in range(50):
                client.ask()
            assert resident_mib(server) - memory < MEMORY_MIB
            crowd.sockets[0].sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            assert crowd.sockets[0].recv(4096).startswith(b"HTTP/1.1 200 "), "an idle connection is not a dead one"
        until(lambda: connections(server) < count // 10, "the closed connections are closed here, too")
        client.ask()


def test_slowhttptest_finds_the_service_available(tmp_path: Path) -> None:
    """Slow heads, slow bodies, slow reading and many ranges, all at once."""
    program = tool("slowhttptest")
    with served(tmp_path) as server:
        at = f"http://127.0.0.1:{server.port}"
        common = ["-c", "150", "-r", "150", "-i", "1", "-l", "3", "-p", "3"]
        attacks = {
            "heads": ["-H", "-u", f"{at}/"],
            "bodies": ["-B", "-s", "8192", "-u", f"{at}/"],
            "reading": ["-X", "-w", "512", "-y", "1024", "-n", "1", "-z", "32", "-k", "3", "-u", f"{at}/s/large.bin"],
            "ranges": ["-R", "-a", "10", "-b", "3000", "-u", f"{at}/s/large.bin"],
        }
        running = [
            subprocess.Popen([program, *common, *attack, "-g", "-o", name], cwd=tmp_path, stdout=subprocess.DEVNULL)
            for name, attack in attacks.items()
        ]
        for process in running:
            process.wait(PATIENCE_S)
        for name in attacks:
            # a row a second; the probe hasn't connected yet in the first
            rows = list(csv.DictReader((tmp_path / f"{name}.csv").read_text().splitlines()))[1:]
            assert rows, name
            assert all(int(row["Service Available"]) > 0 for row in rows), (name, rows)
        with Ordinary(server) as client:
            client.ask()
