# SPDX-License-Identifier: Apache-2.0
"""What a person may type, rightly and wrongly: every refusal is one sentence with what to do, never a traceback."""

import json
import os
import subprocess
import sys

import pytest

from steelyard.__main__ import main
from steelyard.errors import BusyError, ReaderGoneError, SelectionError, SessionFileError, UsageError
from steelyard.measure import machine
from tests import processes
from tests.integration.laboratory import QUICK, a_laboratory, words

REFUSED = {
    "an unknown probe": (["nul/null"], SelectionError, "did you mean null/null?"),
    "an unknown parameter": (["null", "--param", "delay=1"], SelectionError, "did you mean delay_percent?"),
    "a parameter out of limits": (["null", "-p", "copy=2"], SelectionError, "copy is from 0 to 1, not 2"),
    "a parameter without value": (
        ["null", "--param", "copy"],
        UsageError,
        '--param takes name=value[,value…], not "copy"',
    ),
    "an impossible placement": (["null", "--placement", "cross"], SelectionError, "can be placed as cross"),
    "no block": (["null", "--blocks", "0"], UsageError, "--blocks must be at least 1"),
    "no value": (["null", "--values", "0"], UsageError, "--values must be at least 1"),
    "blocks that are not a number": (["null", "--blocks", "many"], UsageError, "many"),
    "a budget that is no time": (["null", "--budget", "nonsense"], UsageError, '"nonsense" is not a duration'),
    "a deadline that is no time": (["null", "--deadline", "soon"], UsageError, '"soon" is not a duration'),
    "two ends": (["null", "--blocks", "2", "--budget", "3s"], UsageError, "both say when to end"),
    "an unknown option": (["null", "--fast"], UsageError, "--fast"),
    "a session that is there": (["null", "-o", "there.jsonl"], UsageError, "sessions are never overwritten"),
    "a place that cannot be": (["null", "-o", "there.jsonl/below"], UsageError, "choose another place with -o"),
    "a neighbour of nothing": (
        ["--beside", "memory"],
        UsageError,
        "--beside needs what to measure beside the neighbour",
    ),
    "an unknown neighbour": (["null", "--beside", "memroy"], UsageError, "did you mean memory?"),
    "a neighbour that cannot be placed": (
        ["null", "--beside", "cache/migration"],
        SelectionError,
        "a neighbour has one",
    ),
    "resuming nothing": (["--resume", "nowhere.jsonl"], SessionFileError, "nowhere.jsonl cannot be read"),
    "resuming what is not a session": (["--resume", "there.jsonl"], SessionFileError, "there.jsonl:1: not a line"),
    "resuming another plan": (
        ["null", "--resume", "there.jsonl"],
        UsageError,
        "leave selectors and other settings away",
    ),
}


@pytest.mark.parametrize(("arguments", "error", "sentence"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_is_refused_in_a_sentence(arguments, error, sentence, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    there = tmp_path / "there.jsonl"
    there.write_text("something that was written before\n")
    assert main(["run", *arguments]) == error.exit_code
    printed = capsys.readouterr()
    assert sentence in words(printed.err)
    assert "Traceback" not in printed.err
    assert printed.out == ""
    assert there.read_text() == "something that was written before\n"
    assert list(tmp_path.iterdir()) == [there]


def test_a_refusal_is_an_exit_code_of_the_program(laboratory):
    result = laboratory.do("run", "null", "--placement", "cross")
    assert result.returncode == SelectionError.exit_code
    assert result.stderr.startswith("steelyard: no selected probe can be placed as cross")


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A laboratory after a session over the null probe, with what the command printed."""
    with a_laboratory(tmp_path_factory.mktemp("measured")) as laboratory:
        result = laboratory.do("run", "null", *QUICK, "--json", "-p", "delay_percent=0,100")
        yield laboratory, result


def test_results_for_programs_are_one_object_a_case(measured):
    laboratory, result = measured
    assert result.returncode == 0, result.stderr
    cases = {case["case"]: case for case in json.loads(result.stdout)}
    assert set(cases) >= {f"null/null[delay_percent={percent},copy=0]@same" for percent in (0, 100)}
    for case in cases.values():
        assert {"case", "unit", "median", "low", "high", "minimum", "n", "caveats"} <= set(case)
        assert case["unit"] == "s"
        assert case["n"] == 2
        assert 0 < case["minimum"] <= case["median"] < 1
    laboratory.assert_nothing_is_left()


def test_words_go_to_standard_error_and_name_the_session_file(measured):
    laboratory, result = measured
    [path] = (laboratory.folder / "sessions").glob("*.session.jsonl")
    assert f"session: {path}" in result.stderr
    assert "pilot: 4 runs" in words(result.stderr)
    assert "blocks: 8 runs" in words(result.stderr)


def test_without_a_file_the_newest_session_is_shown(measured):
    laboratory, result = measured
    assert json.loads(laboratory.do("show", "--json").stdout) == json.loads(result.stdout)
    shown = laboratory.do("show")
    assert "delay_percent=100" in shown.stdout
    assert "session file: " in shown.stdout


def test_where_there_is_no_session_one_is_told_how_to_get_it(laboratory):
    result = laboratory.do("show")
    assert result.returncode == SessionFileError.exit_code
    assert "`steelyard run` makes one" in result.stderr


def test_the_list_has_every_probe_and_can_be_narrowed(laboratory, capsys):
    assert "null/null" in laboratory.do("list").stdout
    assert main(["list", "null", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [probe["probe"] for probe in listed["probes"]] == ["null/null"]
    assert main(["list", "nul"]) == SelectionError.exit_code


def test_the_doctor_says_what_this_machine_is(capsys):
    assert main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert main(["doctor"]) == 0
    assert found["machine"]["key"] in capsys.readouterr().out
    assert all(disturbance["advice"] for disturbance in found["disturbances"])


def test_a_reader_that_has_seen_enough_is_no_error(laboratory):
    read_end, write_end = os.pipe()
    os.close(read_end)
    listed = subprocess.run(
        processes.command("list", "null", "--json"),
        stdout=write_end,
        stderr=subprocess.PIPE,
        env=laboratory.environment(),
        check=False,
    )
    os.close(write_end)
    assert (listed.returncode, listed.stderr) == (ReaderGoneError.exit_code, b"")


def test_help_names_every_command(laboratory):
    text = laboratory.do("--help").stdout
    assert all(command in text for command in ("run", "list", "show", "doctor"))


def test_the_installed_command_is_the_same_program(laboratory):
    steelyard = processes.tool("steelyard")
    printed = subprocess.run([steelyard, "--version"], capture_output=True, text=True, check=True).stdout
    assert printed == laboratory.do("--version").stdout


IN_A_CHILD = """
import sys
from pathlib import Path
from steelyard.__main__ import main
from steelyard.measure import machine
machine._LOCK = Path(sys.argv[1])
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize("option", [["--no-wait"], ["--wait", "100ms"]])
def test_a_machine_that_another_one_measures_on_is_not_waited_for_longer_than_asked(tmp_path, monkeypatch, option):
    lock, path = tmp_path / "lock", tmp_path / "a.session.jsonl"
    monkeypatch.setattr(machine, "_LOCK", lock)
    words_ = ["run", "null/null", "--quick", *option, "-o", str(path)]
    with machine.lock(lambda _: pytest.fail("nobody holds it")):
        done = subprocess.run(
            [sys.executable, "-c", IN_A_CHILD, str(lock), *words_], capture_output=True, text=True, check=False
        )
    assert done.returncode == BusyError.exit_code
    assert f"process {os.getpid()} (since " in done.stderr
    assert ("waiting" in done.stderr) == ("--wait" in option)
    assert not path.exists()


@pytest.mark.parametrize("option", [["--no-wait"], ["--wait", "100ms"]])
def test_a_node_of_a_fleet_waits_as_long_as_the_plan_says(tmp_path, monkeypatch, option):
    lock, plan = tmp_path / "lock", tmp_path / "plan.json"
    monkeypatch.setattr(machine, "_LOCK", lock)
    assert main(["fleet", "plan", "null/null", "--quick", *option, "-o", str(plan)]) == 0
    words_ = ["fleet", "node", str(plan), "--to", str(tmp_path / "fleet")]
    with machine.lock(lambda _: pytest.fail("nobody holds it")):
        done = subprocess.run(
            [sys.executable, "-c", IN_A_CHILD, str(lock), *words_], capture_output=True, text=True, check=False
        )
    assert done.returncode == BusyError.exit_code, done.stderr
