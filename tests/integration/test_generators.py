# SPDX-License-Identifier: Apache-2.0
"""Each generator that is installed loads a server, and only one that can is asked to hold a rate."""

import importlib.util
import json
import shutil
import socketserver
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from threading import Thread

import pytest

from steelyard.measure import catalog
from tests import processes

SKIPPED = 77
RATE = 200


def ran(*arguments: str, folder: Path, server: str = "wsgiref") -> subprocess.CompletedProcess[str]:
    """A short run of a server; of the one that every interpreter has, unless another is named."""
    program = catalog.find_programs(catalog.probe_folders())[f"request/{server}"]
    command = [sys.executable, program, "connections=3", "--operations", "40", "--values", "2", "--json", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=folder, timeout=processes.PATIENCE_S, check=False
    )


def values_of(result: subprocess.CompletedProcess[str]) -> list[dict]:
    assert result.returncode == 0, result.stderr
    return [line for line in map(json.loads, result.stdout.splitlines()) if line["type"] == "value"]


def needs(generator: str) -> None:
    """oha is in no distribution, so that a machine which is there to test may lack it."""
    if shutil.which(generator) is None:
        (pytest.skip if generator == "oha" else processes.missing)(f"{generator} is not installed")


@pytest.mark.parametrize("generator", ["wrk", "ab", "oha"])
def test_what_it_says_becomes_figures(generator, tmp_path):
    needs(generator)
    for value in values_of(ran(f"generator={generator}", folder=tmp_path)):
        assert value["counts"]["checked"] == value["operations"] > 0
        readings = value["readings"]
        assert 0 < readings["p50"] <= readings["p99"] <= readings["max"]
        assert readings["server_cpu"] > 0
        assert 0 < readings["generator_cpu"] < readings["watched"]


def test_a_rate_is_offered_whatever_comes_back(tmp_path):
    needs("oha")
    for value in values_of(ran("generator=oha", f"rate={RATE}", folder=tmp_path)):
        offered, seconds = value["counts"]["offered"], value["readings"]["load_seconds"]
        assert offered == pytest.approx(RATE * seconds, abs=1)
        assert value["operations"] <= offered + RATE * 0.1, "it sends no more than is offered"


def test_a_server_of_several_workers_can_have_all_cpus(tmp_path):
    needs("wrk")
    result = ran("workers=2", "--placement", "free", folder=tmp_path, server="gunicorn_sync")
    for value in values_of(result):
        assert value["counts"]["checked"] == value["operations"] > 0
    assert "server and generator share all CPUs" in result.stdout
    alone = ran("workers=1", "--placement", "free", folder=tmp_path, server="gunicorn_sync")
    assert alone.returncode == SKIPPED, "one worker is weighed on a CPU of its own"
    assert "placement cross" in alone.stderr


@pytest.mark.parametrize("generator", ["wrk", "ab"])
def test_one_that_cannot_hold_a_rate_says_which_can(generator, tmp_path):
    needs(generator)
    result = ran(f"generator={generator}", f"rate={RATE}", folder=tmp_path)
    assert (result.returncode, result.stdout) == (SKIPPED, "")
    [sentence] = result.stderr.splitlines()
    assert f"{generator} cannot hold a rate" in sentence
    assert ("take generator=oha" if shutil.which("oha") else "cargo install oha") in sentence


@pytest.fixture
def generators():
    """The module of that name that belongs to the probes."""
    path = catalog.native_folder() / "probes/support/request/generators.py"
    spec = importlib.util.spec_from_file_location("request_generators", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.demand_of = lambda url, body, folder: module.Demand(url, 1, False, (), 0, len(body), str(folder))
    return module


@contextmanager
def server_of(*answers: bytes) -> Iterator[str]:
    """A server that gives each connection one answer, the last one again and again; its address."""
    number = count()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            body = answers[min(next(number), len(answers) - 1)]
            self.request.recv(4096)
            if body:
                self.request.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

    with socketserver.TCPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


RIGHT = b"as it should be"


@pytest.mark.parametrize(
    ("answers", "broken", "wrong"),
    [
        ([RIGHT], {}, {}),
        ([b"", RIGHT], {"closed": 1}, {}),
        ([RIGHT, b"", b"", RIGHT], {"closed": 2}, {}),
        ([b"short", RIGHT], {}, {"wrong length": 1}),
        ([RIGHT, b"short", RIGHT], {}, {"wrong length": 1}),
    ],
)
def test_ab_is_held_against_what_is_right_and_not_against_its_first_answer(
    generators, answers, broken, wrong, tmp_path
):
    needs("ab")
    with server_of(*answers) as url:
        load = generators.Ab().load(generators.demand_of(url, RIGHT, tmp_path), 20, 1.0)
    assert load.answered == 20 - sum(broken.values())
    assert {kind: number for kind, number in load.broken.items() if number} == broken
    assert {kind: number for kind, number in load.wrong.items() if number} == wrong
    assert 0 < load.percentiles["p50"] <= load.percentiles["p90"] <= load.percentiles["p99"] <= load.percentiles["max"]


def test_wrk_compares_each_body_and_counts_each_status(generators, tmp_path):
    needs("wrk")
    # wrk connects once without a request, to see whether it can.
    with server_of(b"another answer!", b"another answer!", RIGHT) as url:
        right, statuses = generators.Wrk().compare_bodies(generators.demand_of(url, RIGHT, tmp_path), RIGHT, 0.3)
    assert list(statuses) == [200]
    assert right == statuses[200] - 1


#: A wrk that takes its time until it can be interrupted. A shell would catch SIGINT from its start.
LATE = """
#include <signal.h>
#include <unistd.h>
static const char said[] = "{\\"right\\":7,\\"statuses\\":[]}\\n";
static void end(int signal)
{
    (void)signal;
    _exit(write(1, said, sizeof said - 1) < 0);
}
int main(void)
{
    usleep(300000);
    signal(SIGINT, end);
    for (;;)
        pause();
}
"""


@pytest.fixture
def wrk(generators, tmp_path, monkeypatch):
    """What a check by wrk comes to, or its error, where wrk is the program that the test puts in this place."""
    program = tmp_path / "bin" / "wrk"
    program.parent.mkdir()
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")

    def checked() -> int | str:
        demand = generators.demand_of("http://127.0.0.1:1/", RIGHT, tmp_path)
        try:
            return generators.Wrk().compare_bodies(demand, RIGHT, 0.01)[0]
        except generators.GeneratorError as error:
            return str(error)

    checked.program = program
    return checked


def test_wrk_is_not_interrupted_before_it_is_ready_for_it(wrk, tmp_path):
    (tmp_path / "late.c").write_text(LATE)
    processes.compiled(tmp_path / "late.c", wrk.program)
    assert wrk() == 7


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("kill -TERM $$", "wrk was ended by SIGTERM and printed nothing"),
        ("exit 3", "wrk exited with code 3 and printed nothing"),
        ("echo; echo no such host >&2; exit 1", "wrk: no such host"),
    ],
)
def test_a_generator_that_gives_up_says_why_or_how(wrk, script, sentence):
    wrk.program.write_text(f"#!/bin/sh\n{script}\n")
    wrk.program.chmod(0o755)
    assert wrk() == sentence
