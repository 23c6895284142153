# SPDX-License-Identifier: Apache-2.0
"""One session over every rogue, beside the null probe: it says what happened, goes on, and leaves nothing behind."""

import pytest

from steelyard.errors import CasesFailedError, NothingMeasuredError
from tests import processes
from tests.integration.laboratory import a_laboratory, words

#: What is said of each, and in the end of the line what the last word on standard error was.
FAILING = {
    "hangs": "did not finish within 2 s",
    "hangs_with_child": "did not finish within 2 s",
    "garbage": "which is not a line of protocol 1",
    "no_text": "which is not a line of protocol 1",
    "nested": "which is not a line of protocol 1",
    "nothing": "printed nothing",
    "fails": "exited with code 1: [/red] [bold]the last word",
    "dies": "was ended by signal 11",
    "kills_itself": "was ended by signal 9",
    "overcounts": "operations and proved",
    "impersonates": "was asked for rogue/impersonates@same and says that it ran rogue/well@same",
    "no_end": "stopped before its end line",
    "overdoes": "it gave 5000 values where",
    "miscounts": "announced 2 values at its end and printed 1",
    "goes_on": "printed 'one more thing' after its end line",
    "fills_file": "wrote more to files than a probe of its kind may",
    "fills_folder": "wrote more to files than a probe of its kind may",
    "floods": "printed more than 8 MiB",
    "turns_bad": "exited with code 1: [/red] [bold]the last word",
}
TIDIED = {
    "leaves_child": "1 processes outlived the probe and were killed",
    "leaves_objects": "12 queues, semaphores or shared memory segments were removed",
    "hangs_with_child": "12 queues, semaphores or shared memory segments were removed",
}
WELL = ("well", "leaves_child", "leaves_objects", "leaves_files", "floods_stderr")
UNKNOWN = {
    "misnames": "calls itself 'rogue/somebody_else'",
    "mumbles": "did not print a descriptor",
    "dies_asked": "was ended by signal 11",
    "outdated": "speaks protocol 99",
}
ALL = sorted({*FAILING, *TIDIED, *WELL, *UNKNOWN, "skips"})


@pytest.fixture(scope="module")
def finished(rogue, tmp_path_factory):
    """The laboratory after the session, with what the command printed."""
    with a_laboratory(tmp_path_factory.mktemp("rogues")) as laboratory:
        laboratory.add(rogue, *(f"rogue/{way}" for way in ALL))
        result = laboratory.run("rogue/*", "null/null", "--deadline", "2s")
        yield laboratory, result


def runs_of(finished, way: str):
    laboratory, _ = finished
    return [run for run in laboratory.session().runs if run.case == f"rogue/{way}@same"]


def test_the_exit_code_says_that_cases_failed_and_the_session_is_whole(finished):
    laboratory, result = finished
    assert result.returncode == CasesFailedError.exit_code, result.stderr
    assert "Traceback" not in result.stderr
    assert laboratory.session().end is not None


def test_the_good_probe_beside_them_is_measured_in_every_block(finished):
    laboratory, _ = finished
    good = [run for run in laboratory.session().runs if run.case.startswith("null/null") and run.role == "block"]
    assert {run.block for run in good if run.status == "ok"} == {1, 2}


def test_nothing_of_any_of_them_is_left(finished):
    laboratory, _ = finished
    assert len(set(laboratory.run_ids())) > len(ALL)
    laboratory.assert_nothing_is_left()


@pytest.mark.parametrize(("way", "sentence"), FAILING.items(), ids=FAILING.keys())
def test_a_failure_is_recorded_and_said_in_a_sentence(finished, way, sentence):
    _, result = finished
    run = runs_of(finished, way)[-1]
    assert run.status == "failed"
    assert sentence in run.error
    assert words(sentence) in words(result.stderr)
    assert f"rogue/{way}@same {words(run.error)[:40]}" in words(result.stderr)


@pytest.mark.parametrize("way", sorted(FAILING.keys() - {"turns_bad"}))
def test_what_fails_in_its_pilot_is_not_tried_again(finished, way):
    assert [run.role for run in runs_of(finished, way)] == ["pilot"]


def test_what_turns_bad_keeps_what_it_did_well(finished):
    first, second, *others = [run.status for run in runs_of(finished, "turns_bad")]
    assert (first, second) == ("ok", "ok")
    assert set(others) == {"failed"}, "as many as there are: a run that is disturbed is repeated"


@pytest.mark.parametrize("way", WELL)
def test_what_only_makes_a_mess_is_measured(finished, way):
    runs = runs_of(finished, way)
    assert {run.status for run in runs} == {"ok"}
    assert {run.block for run in runs} == {0, 1, 2}


@pytest.mark.parametrize(("way", "sentence"), TIDIED.items(), ids=TIDIED.keys())
def test_what_was_cleaned_up_is_recorded_and_said(finished, way, sentence):
    _, result = finished
    assert all(any(sentence in leftover for leftover in run.leftovers) for run in runs_of(finished, way))
    assert f"rogue/{way}@same: {sentence}" in words(result.stderr)
    assert sentence in words(result.stdout)


def test_a_probe_that_cannot_run_here_is_a_skip_with_its_reason(finished):
    laboratory, result = finished
    skips = {skip.subject: skip.reason for skip in laboratory.session().skips}
    assert skips["rogue/skips@same"] == "needs a quantum computer"
    assert "rogue/skips@same: needs a quantum computer" in words(result.stdout)
    assert "rogue/skips" not in result.stderr.splitlines()[-1]


@pytest.mark.parametrize(("way", "sentence"), UNKNOWN.items(), ids=UNKNOWN.keys())
def test_a_probe_that_describes_itself_wrongly_is_a_skip(finished, way, sentence):
    laboratory, _ = finished
    skips = {skip.subject: skip.reason for skip in laboratory.session().skips}
    assert sentence in skips[f"rogue/{way}"]
    assert runs_of(finished, way) == []


def test_the_results_of_the_session_can_be_shown_again(finished):
    laboratory, _ = finished
    shown = laboratory.do("show", laboratory.session_path)
    assert shown.returncode == 0
    assert "[/red] [bold]the last word" in words(shown.stdout)


def test_where_every_case_fails_nothing_was_measured(laboratory, rogue):
    laboratory.add(rogue, "rogue/fails", "rogue/nothing")
    result = laboratory.run("rogue")
    assert result.returncode == NothingMeasuredError.exit_code
    assert "no selected case could be measured" in result.stderr
    assert "printed nothing" in result.stderr
    laboratory.assert_nothing_is_left()


def test_asking_for_a_probe_that_cannot_be_used_says_why(laboratory, rogue):
    laboratory.add(rogue, "rogue/misnames")
    result = laboratory.run("rogue/misnames")
    assert result.returncode == 65
    assert "calls itself 'rogue/somebody_else'" in words(result.stderr)


def test_a_probe_that_is_killed_from_outside_fails_and_is_cleaned_up_after(laboratory, rogue):
    laboratory.add(rogue, "rogue/hangs_with_child")
    process = laboratory.start(
        "run",
        "rogue",
        "null",
        "--quick",
        "--target",
        "1ms",
        "--blocks",
        "1",
        "--deadline",
        "60s",
        "-o",
        laboratory.session_path,
    )
    with process:
        laboratory.catch(process, lambda: any(map(processes.ipc_objects, laboratory.run_ids())), "the probe is at work")
        there = processes.marked(laboratory.run_ids()[-1], "STEELYARD_RUN_ID")
        [probe] = [
            pid
            for pid in there
            if processes.name_of(pid) == "hangs_with_chil" and processes.leader_name(pid) == "launch"
        ]
        processes.kill(probe)
        _, err = process.communicate(timeout=processes.PATIENCE_S)
    assert process.returncode == CasesFailedError.exit_code
    assert "was ended by signal 9" in err
    laboratory.assert_nothing_is_left()
