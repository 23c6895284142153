# SPDX-License-Identifier: Apache-2.0
"""Neighbours at work, with the runner that starts them: their work is proven, and nothing of them is left."""

import os

import pytest

from steelyard.measure import audit, catalog
from steelyard.measure.beside import Helper
from steelyard.measure.machine import cpus_beside
from steelyard.measure.runner import ProcessRunner, Request
from steelyard.records import Case, Neighbour, Worked
from tests import processes
from tests.making import a_case, a_descriptor, a_run, a_value
from tests.unit.measure.test_runner import CPUS, PRINT

PROGRAMS = catalog.find_programs(catalog.probe_folders())


def a_helper(program, where="same", probe="beside/sleeper", **parameters):
    neighbour = Neighbour(case=Case(probe=probe, placement="same", parameters=parameters), where=where, does="works")
    return Helper(neighbour=neighbour, program=program, descriptor=a_descriptor(probe))


@pytest.fixture
def run(tmp_path):
    """Run a shell script beside helpers; returns its outcome."""
    mark = processes.a_mark()
    (tmp_path / "scratch").mkdir()

    def script(name: str, text: str):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
        return program

    def run(text: str, *helpers: Helper, cpus=CPUS):
        request = Request(
            case=a_case(),
            program=script("probe", text),
            descriptor=a_descriptor(),
            values=1,
            operations=7,
            deadline_s=20,
            beside=helpers,
        )
        outcome = ProcessRunner(catalog.native_folder() / "launch", cpus, tmp_path / "scratch").run(request)
        assert list((tmp_path / "scratch").iterdir()) == []
        return outcome

    run.script = script
    os.environ[processes.MARK] = mark
    yield run
    del os.environ[processes.MARK]
    assert processes.marked(mark) == []


def test_a_neighbour_works_while_the_run_lasts_and_is_gone_afterwards(run):
    outcome = run(f"sleep 0.1; {PRINT}", a_helper(PROGRAMS["beside/sleeper"]))
    assert (outcome.status, outcome.error) == ("ok", None)
    [worked] = outcome.beside
    assert (worked.case, worked.cpus) == ("beside/sleeper@same", (CPUS[-1],))
    assert worked.operations[0] >= 2
    assert worked.cpu_s > 0


def test_what_a_neighbour_takes_of_the_cpus_of_a_run_is_not_foreign(run, monkeypatch):
    """Its own is the time of the run and that of the neighbour on the same CPU, and not of one elsewhere."""
    monkeypatch.setattr(audit, "shares", lambda _before, _after, own_s, _wall_s, _cpus: (own_s, 0.0))
    outcome = run(f"sleep 0.1; {PRINT}", a_helper(PROGRAMS["call/syscall"], probe="call/syscall"))
    [worked] = outcome.beside
    assert worked.cpu_s > 0
    assert outcome.foreign_share == pytest.approx(outcome.user_s + outcome.system_s + worked.cpu_s)
    if len(CPUS) > 1:
        outcome = run(f"sleep 0.1; {PRINT}", a_helper(PROGRAMS["call/syscall"], "other", "call/syscall"))
        assert outcome.beside[0].cpus == CPUS[:-1]
        assert outcome.foreign_share == pytest.approx(outcome.user_s + outcome.system_s)


def test_neighbours_may_be_several(run):
    outcome = run(
        f"sleep 0.1; {PRINT}",
        a_helper(PROGRAMS["beside/sleeper"]),
        a_helper(PROGRAMS["call/syscall"], probe="call/syscall"),
    )
    assert [one.case for one in outcome.beside] == ["beside/sleeper@same", "call/syscall@same"]


def test_a_run_whose_neighbour_did_nothing_meanwhile_is_void(run):
    idle = run.script(
        "idle", 'for file; do :; done; printf "\\001" | dd of="$file" conv=notrunc 2>/dev/null; sleep 600'
    )
    outcome = run(f"sleep 0.05; {PRINT}", a_helper(idle))
    assert outcome.status == "failed"
    assert outcome.error.startswith(f"its neighbour beside/sleeper@same finished nothing on CPU {CPUS[-1]} meanwhile")
    assert outcome.transcript is None


@pytest.mark.parametrize(
    ("text", "status", "words"),
    [
        ("echo no disk here >&2; exit 77", "skipped", "its neighbour cannot work here: no disk here"),
        (
            "echo out of memory >&2; exit 1",
            "failed",
            "its neighbour beside/sleeper@same exited with code 1: out of memory",
        ),
        ("kill -9 $$", "failed", "its neighbour beside/sleeper@same was ended by signal 9"),
        ("exit 0", "failed", "its neighbour beside/sleeper@same ended by itself"),
    ],
)
def test_a_neighbour_that_ends_is_the_end_of_the_run_with_its_reason(run, text, status, words):
    outcome = run("exit 9", a_helper(run.script("ends", text)))
    assert (outcome.status, outcome.error) == (status, words)


def test_a_probe_that_cannot_run_says_why_also_beside_a_neighbour(run):
    outcome = run("echo not here >&2; exit 77", a_helper(PROGRAMS["beside/sleeper"]))
    assert (outcome.status, outcome.error) == ("skipped", "not here")


def test_where_no_cpu_is_left_the_run_is_skipped_and_says_what_to_type(run):
    outcome = run(PRINT, a_helper(PROGRAMS["beside/sleeper"], where="other"), cpus=CPUS[-1:])
    assert (outcome.status, outcome.error) == (
        "skipped",
        "it leaves no CPU to its neighbour beside/sleeper@same: put @same behind the neighbour",
    )


def test_the_cpus_of_a_neighbour():
    assert cpus_beside("other", (3,), (0, 1, 3)) == (0, 1)
    assert cpus_beside("same", (0, 1), (0, 1, 3)) == (0, 1)
    assert cpus_beside("other", (0, 1), (0, 1)) == ()


def test_waiting_for_a_neighbour_on_the_same_cpu_is_no_disturbance():
    value = a_value(1e-6, 1_000_000, run_delay_ns=300_000_000)

    def disturbed(*cpus):
        worked = Worked(case="beside/sleeper@same", cpus=cpus, operations=(1,) * len(cpus), cpu_s=0.1)
        return audit.disturbances_of_run(a_run(values=(value,), cpus=(1,), beside=(worked,)), alone=True)

    assert disturbed(1) == ()
    assert disturbed(0) == ("it waited for its CPU 30% of the time",)
