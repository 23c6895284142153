# SPDX-License-Identifier: Apache-2.0
import io

import msgspec
import pytest

from steelyard.show.console import Console
from steelyard.show.progress import progress
from tests.making import a_case, a_failed_run, a_run

CASE = a_case()


def told(*runs, planned: int | None = None, terminal: bool = False, titles=None) -> str:
    out = io.StringIO()
    console = Console(file=out, width=100, force_terminal=terminal)
    with progress(console, "a.session.jsonl", titles or {}) as shown:
        shown.begin("pilot", 1.0, 1)
        shown.begin("blocks", 65.0, len(runs) if planned is None else planned)
        for run in runs:
            shown.ran(run, 5.0)
    return out.getvalue()


def test_a_log_names_the_file_and_each_stage_once():
    assert told(a_run(CASE)).splitlines() == [
        "session: a.session.jsonl",
        "pilot: 1 runs, about 1.0 s",
        "blocks: 1 runs, about 1 min 05 s",
    ]


def test_a_failure_is_told_at_once_and_as_it_is():
    assert "example/steady@same [/red] oops" in told(a_failed_run(CASE, 1, "[/red] oops"))


def test_what_was_left_behind_is_told():
    assert "example/steady@same: 3 queues were removed" in told(a_run(CASE, leftovers=("3 queues were removed",)))


def test_a_terminal_has_a_bar_with_the_time_to_go():
    text = told(a_run(CASE), a_failed_run(CASE, 2, "[/red] oops"), terminal=True)
    assert "to go" in text
    assert "oops" in text


def test_a_log_says_now_and_then_how_far_it_is(monkeypatch):
    monkeypatch.setattr("steelyard.show.progress._LOG_EVERY_S", 0.0)
    assert "blocks: runs 2 of 2, about 5.0 s to go" in told(a_run(CASE, 1), a_run(CASE, 2))


@pytest.mark.parametrize("terminal", [False, True])
def test_what_is_repeated_is_none_of_the_planned_runs(monkeypatch, terminal):
    monkeypatch.setattr("steelyard.show.progress._LOG_EVERY_S", 0.0)
    runs = [a_run(CASE, 1), a_run(CASE, 2), a_run(CASE, 2, attempt=2), a_run(CASE, 2, attempt=3)]
    assert "2 of 2, 2 repeated" in told(*runs, planned=2, terminal=terminal)


@pytest.mark.parametrize("terminal", [False, True])
def test_that_disturbed_runs_are_being_repeated_is_said(monkeypatch, terminal):
    monkeypatch.setattr("steelyard.show.progress._LOG_EVERY_S", 0.0)
    out = io.StringIO()
    with progress(Console(file=out, width=100, force_terminal=terminal), "a.session.jsonl", {}) as shown:
        shown.begin("blocks", 65.0, 2)
        for run in (a_run(CASE, 1), a_run(CASE, 2)):
            shown.ran(run, 5.0)
        shown.repeating(3)
        shown.ran(a_run(CASE, 2, attempt=2), 5.0)
        assert "2 of 2, repeating 2 disturbed runs, about 5.0 s to go" in " ".join(out.getvalue().split()) or terminal
        shown.ran(a_run(CASE, 2, attempt=2), 5.0)
        shown.ran(a_run(CASE, 2, attempt=2), 5.0)
    assert "2 of 2, 3 repeated" in out.getvalue()


@pytest.mark.parametrize("terminal", [False, True])
def test_blocks_that_are_added_while_there_is_time_are_added_to_the_total(monkeypatch, terminal):
    monkeypatch.setattr("steelyard.show.progress._LOG_EVERY_S", 0.0)
    text = told(*(a_run(CASE, block) for block in range(1, 4)), planned=2, terminal=terminal)
    assert "3 of 3" in text
    assert "3 of 2" not in text


def test_a_reason_for_which_many_are_skipped_is_said_once_and_each_failure_by_itself():
    names = ("nginx", "wheat", "bjoern")
    runs = [a_failed_run(f"request/{name}@cross", 0, f"request/{name}: wrk is not installed") for name in names]
    said = told(*(msgspec.structs.replace(run, status="skipped") for run in runs))
    assert said.count("wrk is not installed") == 1
    assert "request/nginx@cross request/nginx: wrk is not installed" in said
    assert told(*runs).count("wrk is not installed") == 3


def test_a_mechanism_has_its_title_beside_its_case():
    titles = {"example/steady": "steady example"}
    assert "steady example (example/steady@same) oops" in told(a_failed_run(CASE, 1, "oops"), titles=titles)
    assert "steady example, one CPU" in told(a_run(CASE), terminal=True, titles=titles)
