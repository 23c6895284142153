# SPDX-License-Identifier: Apache-2.0
"""What goes wrong in a first hour ends in one sentence that says what to type, and in an exit code of its own."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from steelyard.__main__ import main
from steelyard.errors import InstallationError, NothingMeasuredError, SelectionError, SessionFileError
from steelyard.keep import session as sessions
from steelyard.measure import catalog
from tests.unit.judge.sessions import steady, weighed

SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture
def kept(tmp_path):
    """A session that no claim is about, and that is of another schema."""

    def write(schema=1):
        path = tmp_path / f"schema{schema}{sessions.SUFFIX}"
        session = weighed({"example/steady@same": steady(1e-6)})
        header = msgspec.structs.replace(session.header, schema=schema, versions={"steelyard": "0.1"})
        lines = (header, session.plan, *session.runs)
        path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
        return path

    return write


def refused(arguments, error, capsys):
    """The one sentence that a command ends with."""
    assert main([str(argument) for argument in arguments]) == error.exit_code
    printed = capsys.readouterr()
    assert printed.out == ""
    [line] = printed.err.splitlines()
    assert line.startswith("steelyard: ")
    return line


def test_a_misspelt_probe_names_those_that_are_alike(capsys):
    assert "did you mean switch/pipe" in refused(["run", "swich/pipe"], SelectionError, capsys)


def test_an_old_session_file_names_the_version_that_reads_it(kept, capsys):
    said = refused(["show", kept(schema=0)], SessionFileError, capsys)
    assert "has schema 0; this Steelyard reads schema 1: read it with Steelyard 0.1" in said
    assert "`steelyard run`" in said


def test_claims_of_a_session_that_answers_none_say_what_to_measure(kept, capsys):
    said = refused(["claims", kept()], NothingMeasuredError, capsys)
    assert "answers none of these " in said
    assert "`steelyard run` measures" in said
    assert "`steelyard run null/null` measures" not in said
    short = refused(["claims", kept(), "--short"], NothingMeasuredError, capsys)
    assert short == said
    of_one = refused(["claims", kept(), "--source", "go-1-4"], NothingMeasuredError, capsys)
    assert "`steelyard run create/goroutine" in of_one or "`steelyard run memory/" in of_one
    assert main(["claims", str(kept()), "--all"]) == 0
    assert "NOT MEASURED" in capsys.readouterr().out


def test_no_session_yet_says_how_to_make_one(capsys):
    assert "`steelyard run` makes one" in refused(["claims"], SessionFileError, capsys)


def test_probes_that_were_not_built_say_how_to_build_them(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("steelyard.__path__", [str(tmp_path)])
    assert "run `make build` in a checkout" in refused(["run", "null"], InstallationError, capsys)
    with pytest.raises(InstallationError):
        catalog.native_folder()


def test_a_checkout_without_its_environment_says_how_to_make_one():
    """`-S` leaves the interpreter with the standard library, as one outside of `.venv` has it."""
    done = subprocess.run(
        [sys.executable, "-S", "-m", "steelyard", "run"],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (InstallationError.exit_code, "")
    [line] = done.stderr.splitlines()
    assert line.startswith("steelyard: cyclopts is not installed for ")
    assert "run `make build` in a checkout and call .venv/bin/steelyard" in line
