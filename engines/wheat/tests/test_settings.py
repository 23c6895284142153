# SPDX-License-Identifier: Apache-2.0
"""Options from a file and the environment, and that they reach the workers."""

from __future__ import annotations

import os
import signal
import tomllib
from pathlib import Path

import pytest
from running import run, serving

APPLICATION = """
def application(environ, start_response):
    start_response("200 OK", [])
    return [b"threads" if environ["wsgi.multithread"] else b"one thread"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(APPLICATION)
    return tmp_path


def test_a_file_is_enough(folder):
    text = 'application = "app"\nthreads = 2\nbind = ["127.0.0.1:0", "unix:a.sock"]\naccess-log = "json"\n'
    (folder / "wheat.toml").write_text(text + 'access-log-file = "log"\n')
    with serving("--config", "wheat.toml", folder=folder, bind=None) as server:
        assert server.get() == (200, b"threads")
        assert (folder / "a.sock").exists()
        # A reload keeps the options, whatever has become of the file.
        (folder / "wheat.toml").write_text("broken")
        server.signal(signal.SIGHUP)
        server.wait_for("wheat: reloaded")
        assert server.get() == (200, b"threads")
        assert server.end() == 0
    assert (folder / "log").read_text().count("\n") == 2


def test_the_command_line_goes_before_the_environment_and_that_before_the_file(folder):
    (folder / "wheat.toml").write_text("threads = 2\nworkers = 2\nlimit-line = '4KiB'\n")
    variables = {"WHEAT_CONFIG": "wheat.toml", "WHEAT_THREADS": "3", "WHEAT_WORKERS": "3"}
    done = run("app", "--workers", 4, "--print-config", folder=folder, env=os.environ | variables)
    assert done.returncode == 0, done.stderr
    config = tomllib.loads(done.stdout)
    assert (config["application"], config["workers"], config["threads"], config["limit-line"]) == ("app", 4, 3, "4KiB")
    assert config["spool"] == "256KiB"
    lines = {line.split(" =")[0].lstrip("# "): line for line in done.stdout.splitlines()}
    assert lines["workers"].endswith("# the command line")
    assert lines["threads"].endswith("# the file or the environment")
    assert lines["spool"].endswith("# the default")
    # What is printed says the same again.
    (folder / "printed.toml").write_text(done.stdout)
    again = run("--config", "printed.toml", "--print-config", folder=folder)
    assert tomllib.loads(again.stdout) == config
    assert run("--config", "printed.toml", "--check", folder=folder).returncode == 0


@pytest.mark.parametrize(
    ("text", "variables", "words"),
    [
        ("wokers = 2", {}, "wheat.toml: wokers is no option"),
        ("workers = 'many'", {}, "wheat.toml: --workers is a number from 1"),
        ("workers = \n", {}, "wheat.toml: line 1: "),
        ("", {"WHEAT_WORKERS": "many"}, "WHEAT_WORKERS: --workers is a number from 1"),
        ("", {"WHEAT_CONFIG": "none.toml"}, "none.toml: "),
    ],
)
def test_a_mistake_is_one_sentence_that_says_where(folder, text, variables, words):
    (folder / "wheat.toml").write_text(text)
    done = run("app", "--check", folder=folder, env=os.environ | {"WHEAT_CONFIG": "wheat.toml"} | variables)
    assert (done.returncode, done.stdout) == (78, "")
    assert done.stderr.startswith("wheat: ")
    assert done.stderr.count("\n") == 1
    assert words in done.stderr


def test_the_environment_is_no_harm_to_stat(folder):
    done = run("stat", "nobody", folder=folder, env=os.environ | {"WHEAT_WORKERS": "2"})
    assert (done.returncode, "is running" in done.stderr) == (69, True)
