# SPDX-License-Identifier: Apache-2.0
"""`steelyard explain`: from a session, or from a measurement of exactly what is needed, to the parts of a cost."""

import json

import pytest

from steelyard.__main__ import main
from steelyard.errors import SelectionError, SessionFileError, UsageError
from steelyard.judge import explain
from steelyard.keep import session as sessions
from tests.integration.laboratory import words
from tests.many import lines_of, write
from tests.unit.judge.sessions import steady, weighed


@pytest.fixture
def kept(tmp_path):
    """A session of a pipe and of the calls that it makes, without its switches."""
    session = weighed({"switch/pipe[kind=thread]@same": steady(4e-6), "call/syscall@same": steady(150e-9)})
    path = tmp_path / f"some{sessions.SUFFIX}"
    return write(path, lines_of(session))


def test_what_is_needed_is_measured_and_nothing_else(laboratory):
    # Fewer blocks than an interval needs: that the parts are found and added is the subject.
    done = laboratory.do("explain", "switch/pipe[kind=thread]", "--measure", "--blocks", "2", "--quick", "--json")
    assert done.returncode == 0, done.stderr
    (one,) = json.loads(done.stdout)
    assert (one["composite"], one["case"]) == ("switch_pipe", "switch/pipe[kind=thread]@same")
    if any("preempt" in part["reason"] for part in one["missing"]):
        pytest.skip(f"others use this machine: {one['missing'][0]['reason']}")
    assert (one["missing"], one["state"]) == ([], "undecided")
    assert one["explained"]["value"] == pytest.approx(one["whole"]["value"] - one["rest"]["value"], rel=0.05)
    (path,) = (laboratory.folder / "sessions").glob(f"*{sessions.SUFFIX}")
    measured = {case.probe for case in sessions.read(path).header.selection}
    assert measured == explain.library()["switch_pipe"].probes


def test_a_session_says_what_it_lacks(kept, capsys):
    assert main(["explain", "switch/pipe", str(kept)]) == 0
    printed = words(capsys.readouterr().out)
    assert "INCOMPLETE" in printed
    assert "steelyard explain 'switch/pipe[kind=thread]@same' --measure" in printed


def test_without_a_case_all_composites_are_listed(kept, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")  # no cell is wrapped
    sessions.sessions_folder().mkdir()
    kept.rename(sessions.sessions_folder() / kept.name)
    assert main(["explain"]) == 0
    printed = words(capsys.readouterr().out)
    assert "switch_pipe" in printed
    assert "were not measured" in printed


def test_without_a_session_the_composites_are_declared(capsys):
    assert main(["explain"]) == 0
    printed = words(capsys.readouterr().out)
    assert "No session was measured yet" in printed
    for name, composite in explain.library().items():
        assert f"{name} {composite.case} {words(composite.made_of)} " in printed
        assert all(part.what in printed for part in composite.part)
    assert "1 for each sleeps_per_operation: wake-ups (switch/wake@same less call/syscall@same)" in printed


def test_without_a_session_the_one_that_is_asked_for_is_declared(capsys):
    assert main(["explain", "lock/counter_flock"]) == 0
    printed = words(capsys.readouterr().out)
    assert "lock_flock" in printed
    assert "lock_mutex" not in printed
    assert "`steelyard explain 'lock/counter_flock' --measure` measures what it needs" in printed


def test_without_a_session_the_declarations_are_objects(capsys):
    assert main(["explain", "lock_flock", "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)
    assert (one["composite"], one["state"]) == ("lock_flock", "not measured")
    assert one["part"][0]["case"] == "call/syscall@same"


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        (["switch/pip"], SelectionError, "did you mean switch/pipe"),
        (["pipes"], SelectionError, "did you mean pipe"),
        (["switch/pip[kind=thread]@same"], SelectionError, "did you mean switch/pipe"),
        (["2718281828"], SelectionError, "`steelyard explain` lists the composites"),
        (["switch/pipe", "a.jsonl", "--measure"], UsageError, "leave SESSION"),
        (["switch/pipe", "--blocks", "3"], UsageError, "go with --measure: give it too"),
        (["switch/pipe", "nowhere.jsonl"], SessionFileError, "cannot be read"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_sentence(arguments, error, said, capsys):
    assert main(["explain", *arguments]) == error.exit_code
    assert said in words(capsys.readouterr().err)


def test_parts_of_another_machine_are_refused(kept, tmp_path, capsys):
    other = tmp_path / f"other{sessions.SUFFIX}"
    other.write_text(kept.read_text().replace('"key":"0123456789ab"', '"key":"ffffffffffff"'))
    assert main(["explain", "switch/pipe", str(kept), "--parts", str(other)]) == SessionFileError.exit_code
    assert "machine ffffffffffff" in words(capsys.readouterr().err)
