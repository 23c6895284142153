# SPDX-License-Identifier: Apache-2.0
"""Hooks: Python functions that a worker calls beside its application, from a file of their own."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from running import run, serving, until

APPLICATION = """
import pathlib

HERE = pathlib.Path(__file__).parent
with (HERE / "told").open("a") as told:
    told.write("import\\n")

def application(environ, start_response):
    if environ["PATH_INFO"] == "/fail":
        raise RuntimeError("as it was told to")
    start_response("202 Accepted", [("Content-Type", "text/plain")])
    return [environ.get("shop.request", "none").encode()]
"""

HOOKS = """
import os, pathlib

HERE = pathlib.Path(__file__).parent

def tell(text):
    with (HERE / "told").open("a") as told:
        told.write(text + "\\n")

def post_fork(worker):
    assert worker.pid == os.getpid()
    tell(f"post_fork {worker.index}")

def post_worker_init(worker):
    tell(f"post_worker_init {worker.index}")

def on_request(environ):
    if environ["PATH_INFO"] == "/refuse":
        raise ValueError("not this one")
    environ["shop.request"] = "seen " + environ["PATH_INFO"]

def on_response(environ, status):
    tell(f"{environ['PATH_INFO']} {status}")
    if environ["PATH_INFO"] == "/late":
        raise ValueError("too late to matter")

def worker_exit(worker):
    tell(f"worker_exit {worker.index} {worker.pid == os.getpid()}")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(APPLICATION)
    (tmp_path / "hooks.py").write_text(HOOKS)
    return tmp_path


def told(folder: Path) -> list[str]:
    return (folder / "told").read_text().splitlines()


@pytest.mark.parametrize(
    ("arguments", "start"),
    [
        ([], ["post_fork 0", "import", "post_worker_init 0"]),
        (["--threads", 2], ["post_fork 0", "import", "post_worker_init 0"]),
        (["--preload"], ["import", "post_fork 0", "post_worker_init 0"]),
    ],
)
def test_each_is_called_at_its_time(folder: Path, arguments: list, start: list[str]) -> None:
    with serving("app", "--hooks", "hooks.py", *arguments, folder=folder) as server:
        assert told(folder) == start
        assert server.get("/a") == (202, b"seen /a")
        assert server.get("/fail")[0] == 500
        assert server.get("/refuse")[0] == 500
        assert server.get("/late") == (202, b"seen /late"), "what fails after the response changes nothing"
        server.wait_for("ValueError: not this one")
        server.wait_for("wheat: the application failed at on_response of GET /late")
        assert server.get("/b") == (202, b"seen /b")
        assert server.end() == 0
    requests = ["/a 202", "/fail 500", "/refuse 500", "/late 202", "/b 202"]
    assert told(folder)[3:] == [*requests, "worker_exit 0 True"]


def test_the_workers_of_a_reload_call_the_functions_of_the_new_file(folder: Path) -> None:
    with serving("app", "--hooks", "hooks.py", "--workers", 2, folder=folder) as server:
        (folder / "hooks.py").write_text(HOOKS.replace("seen ", "found "))
        server.signal(signal.SIGHUP)
        server.wait_for("wheat: reloaded")
        assert server.get("/a") == (202, b"found /a")
        until(lambda: sum("worker_exit" in line for line in told(folder)) == 2, "the workers of before have ended")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def post_fork(", "SyntaxError"),
        ("def pre_request(worker, request): ...", "has pre_request, which wheat never calls"),
        ("def post_fork(worker): raise OSError('no database')", "the hook post_fork failed"),
    ],
)
def test_a_mistake_in_the_file_ends_the_start(folder: Path, text: str, words: str) -> None:
    (folder / "hooks.py").write_text(text)
    done = run("app", "--hooks", "hooks.py", "--bind", "127.0.0.1:0", folder=folder)
    assert done.returncode == 78
    assert words in done.stderr
    assert done.stderr.splitlines()[-1] == "wheat: no worker can begin, as said above"


def test_without_an_application_there_is_nobody_to_call_them(folder: Path) -> None:
    done = run("--static", "/=.", "--hooks", "hooks.py", folder=folder)
    assert (done.returncode, "need an application" in done.stderr) == (64, True)
