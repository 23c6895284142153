# SPDX-License-Identifier: Apache-2.0
"""`steelyard claims` from a session file to what is printed."""

import json

import pytest

from steelyard.__main__ import main
from steelyard.errors import SessionFileError
from steelyard.keep import session as sessions
from tests.unit.judge.sessions import steady, weighed


@pytest.fixture
def kept():
    """A session of two cases, in the folder where the newest one is looked for."""
    session = weighed({"call/syscall@same": steady(150e-9), "call/direct@same": steady(1.4e-9)})
    path = sessions.sessions_folder() / f"20260102T030405-x{sessions.SUFFIX}"
    with sessions.SessionWriter.create(path, session.header) as writer:
        for line in (session.plan, *session.runs):
            writer.append(line)
    return path


def test_the_newest_session_is_judged(kept, capsys):
    assert main(["claims"]) == 0
    printed = capsys.readouterr().out
    assert "FAILS  system-call-negligible" in printed
    assert "HOLDS  system-call-order-of-magnitude" in printed


def test_one_object_a_claim_is_printed(kept, capsys):
    assert main(["claims", str(kept), "--json"]) == 0
    found = {one["id"]: one for one in json.loads(capsys.readouterr().out)}
    assert found["system-call-negligible"]["verdict"] == "fails"
    assert found["goroutine-twentieth-of-thread"]["verdict"] == "not measured"


def test_a_session_that_is_not_there_is_an_error(capsys):
    assert main(["claims", "nowhere.session.jsonl"]) == SessionFileError.exit_code
    assert "nowhere.session.jsonl" in capsys.readouterr().err
