# SPDX-License-Identifier: Apache-2.0
"""`run --beside`: one measurement, and what is left of neighbours when the lab is killed."""

import json
import os
from pathlib import Path

import pytest

from tests import processes
from tests.integration.laboratory import a_laboratory

#: What the two are called: on one CPU also the one that may go elsewhere works on it.
CONDITIONS = {"beside sleeper" if len(os.sched_getaffinity(0)) > 1 else "beside sleeper@same", "beside syscall@same"}


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A laboratory after a session of the null probe beside one that sleeps and one that has half of its CPU."""
    with a_laboratory(tmp_path_factory.mktemp("beside")) as laboratory:
        arguments = ("null", "-p", "delay_percent=0", "-p", "copy=0", "--beside", "sleeper,syscall@same", "--quick")
        quick = ("--target", "4ms", "--values", "3", "--blocks", "7", "--seed", "1", "-o", laboratory.session_path)
        yield laboratory, laboratory.do("run", *arguments, *quick)


def test_a_case_is_measured_alone_and_beside_each_neighbour_which_prove_their_work(measured):
    laboratory, result = measured
    assert result.returncode == 0, result.stderr
    laboratory.assert_nothing_is_left()
    session = laboratory.session()
    name = "null/null[delay_percent=0,copy=0]@same"
    for variant in CONDITIONS:
        runs = [run for run in session.runs if run.case == f"{name}~{variant}" and run.status == "ok"]
        assert {run.block for run in runs} >= {1, 2}
        assert all(operations > 0 for run in runs for one in run.beside for operations in one.operations)
    assert {run.beside for run in session.runs if run.case == name} == {()}
    assert {planned.group for planned in session.plan.cases if planned.case.variant} == {name}


def test_what_it_suffers_is_said_on_the_screen_and_for_programs(measured):
    laboratory, result = measured
    assert "what neighbours do to it" in result.stdout
    assert "a neighbour that makes system calls, on the same CPU" in result.stdout
    shown = json.loads(laboratory.do("show", laboratory.session_path, "--json").stdout)
    beside = {case["case"].partition("~")[2]: case["beside"] for case in shown if "beside" in case}
    assert set(beside) == CONDITIONS


def test_no_neighbour_outlives_a_lab_that_is_killed(laboratory):
    with laboratory.start("run", "null", "--beside", "syscall@same", "--target", "300ms", "--quick") as lab:
        laboratory.catch(
            lab, lambda: [pid for pid in processes.marked(laboratory.mark) if at_tally(pid)], "a neighbour works"
        )
        lab.kill()
    processes.until(lambda: processes.marked(laboratory.mark) == [], "nothing of it lives on", 30)


def at_tally(pid: int) -> bool:
    """Whether a process is a neighbour at work."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"--tally" in words and words[0].endswith(b"call/syscall")
