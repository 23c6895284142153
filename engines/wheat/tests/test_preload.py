# SPDX-License-Identifier: Apache-2.0
"""--preload: the application is imported once, and the workers are forked from the process that has done so."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from running import Server, alive, asking, run, serving, until

APPLICATION = """
import os, pathlib

VERSION = "one"
LARGE = bytearray(b"x" * (32 << 20))

with (pathlib.Path(__file__).parent / "imports").open("a") as imports:
    imports.write(f"{os.getpid()}\\n")

def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    if environ["PATH_INFO"] == "/version":
        return [VERSION.encode()]
    return [f"{os.getpid()} {os.getppid()}".encode()]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(APPLICATION)
    return tmp_path


def imports(folder: Path) -> list[int]:
    """The processes that have imported the application."""
    return [int(line) for line in (folder / "imports").read_text().splitlines()]


def template(server: Server) -> int:
    [pid] = server.children("wheat template")
    return pid


def private_mib(pid: int) -> float:
    """Memory that is this process's alone."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(map(int, re.findall(r"^Private_\w+: +(\d+) kB", text, re.MULTILINE))) / 1024


@pytest.mark.parametrize("threads", [1, 2])
def test_workers_share_what_was_imported_once(folder: Path, threads: int) -> None:
    with serving("app", "--preload", "--workers", 3, "--threads", threads, folder=folder) as server:
        first, one = server.workers(), template(server)
        assert (len(first), imports(folder)) == (3, [one])
        pid, parent = map(int, server.get()[1].split())
        assert pid in first
        assert parent == server.pid, "the master waits for it"
        assert [pid for pid in first if private_mib(pid) > 24] == [], "32 MiB are the application's"
        os.kill(first[0], signal.SIGKILL)
        server.wait_for(rf"\(process {first[0]}\) was ended by SIGKILL: it is replaced")
        server.signal(signal.SIGTTIN)
        until(lambda: len(server.workers()) == 4, "there are others")
        assert imports(folder) == [one]
        everybody = server.children()
        assert server.end() == 0
        until(lambda: not any(map(alive, everybody)), "nobody is left")


def test_a_reload_has_the_new_code_and_broken_code_changes_nothing(folder: Path) -> None:
    with serving("app", "--preload", "--workers", 2, folder=folder) as server:
        before = server.children()
        with asking(server, "/version") as load:
            (folder / "app.py").write_text(APPLICATION.replace('"one"', '"two"'))
            server.signal(signal.SIGHUP)
            server.wait_for("wheat: reloaded")
            until(lambda: load.answers[-1:] == [b"two"], "the new code answers")
            until(lambda: not any(map(alive, before)), "those of before are gone")
            (folder / "app.py").write_text("raise RuntimeError('broken')")
            server.signal(signal.SIGHUP)
            server.wait_for("the reload is given up: the workers of before go on")
        assert load.lost == []
        victims = set(server.workers())
        for victim in victims:
            os.kill(victim, signal.SIGKILL)
        until(lambda: len(set(server.workers()) - victims) == 2, "others are there")
        assert server.get("/version") == (200, b"two"), "they are of the code that works"


def test_what_forks_the_workers_is_replaced_when_it_is_needed(folder: Path) -> None:
    with serving("app", "--preload", folder=folder) as server:
        one, [worker] = template(server), server.workers()
        os.kill(one, signal.SIGKILL)
        server.wait_for(rf"forks the workers \({one}\) was ended by SIGKILL")
        assert int(server.get()[1].split()[0]) == worker, "workers go on without it"
        os.kill(worker, signal.SIGKILL)
        until(lambda: worker not in server.workers() and server.workers(), "another one is there")
        assert imports(folder) == [one, template(server)]
        assert server.get("/version") == (200, b"one")


def test_workers_and_what_forks_them_end_with_their_master(folder: Path) -> None:
    with serving("app", "--preload", "--workers", 2, folder=folder) as server:
        everybody = server.children()
        assert len(everybody) == 3
        server.process.kill()
        until(lambda: not any(map(alive, everybody)), "they are gone")


def test_an_application_that_cannot_be_loaded_ends_the_start(folder: Path) -> None:
    (folder / "app.py").write_text("import no_such_module")
    done = run("app", "--preload", "--workers", 2, "--bind", "127.0.0.1:0", folder=folder)
    assert (done.returncode, done.stderr.count("Traceback")) == (78, 1)
    assert done.stderr.splitlines()[-1] == "wheat: app can't be loaded, as said above"


def test_what_the_import_prints_is_printed_once(folder: Path) -> None:
    (folder / "app.py").write_text("print('imported')\n" + APPLICATION)
    with serving("app", "--preload", "--workers", 2, folder=folder, stdout=subprocess.PIPE) as server:
        assert server.end() == 0
        assert server.process.stdout
        assert server.process.stdout.read() == "imported\n"


def test_threads_that_no_worker_has_are_said(folder: Path) -> None:
    code = "import threading, time\nthreading.Thread(target=time.sleep, args=(3600,), daemon=True).start()\n"
    (folder / "app.py").write_text(code + APPLICATION)
    with serving("app", "--preload", folder=folder) as server:
        assert server.heard("has started threads while it was imported")
        assert server.get("/version") == (200, b"one")
