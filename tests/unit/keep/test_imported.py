# SPDX-License-Identifier: Apache-2.0
"""What becomes of a file of another tool, and what is said about all that it does not say."""

import msgspec
import pytest

from steelyard.errors import SessionFileError
from steelyard.judge.findings import judge
from steelyard.keep import imported
from steelyard.keep import session as sessions
from steelyard.records import Case, ForeignFile, ForeignSample
from steelyard.show.reasons import said


def a_file(*samples: ForeignSample, **more: object) -> ForeignFile:
    """A file of pyperf."""
    return ForeignFile(path="file.json", tool=str(more.pop("tool", "pyperf")), samples=samples, **more)


def a_sample(name: str = "loop", *runs: float, **more: object) -> ForeignSample:
    """Six runs of about a microsecond, each a process, unless told otherwise."""
    fields = {"unit": "s", "better": "lower", "processes_known": True}
    numbers = runs or (1.0e-6, 1.1e-6, 1.2e-6, 1.3e-6, 1.4e-6, 1.5e-6)
    return ForeignSample(name=name, runs=numbers, **{**fields, **more})


def a_session(file: ForeignFile) -> object:
    """The file as a session, through the bytes of a session file."""
    header, lines = imported.lines(file, b"contents", "2026-01-02T03:04:05+00:00", {"steelyard": "0"})
    return sessions.decode(b"".join(msgspec.json.encode(line) + b"\n" for line in (header, *lines)), "s.session.jsonl")


def test_it_is_a_whole_session_with_the_figures_of_the_file():
    session = a_session(a_file(a_sample()))
    findings = judge(session)
    [case] = findings.cases
    assert findings.complete
    assert case.case == "pyperf/loop@free"
    assert (case.main.n, case.main.median) == (6, pytest.approx(1.25e-6))
    assert (case.main.low, case.main.high) == (1.0e-6, 1.5e-6)


def test_no_digit_of_a_figure_is_lost():
    numbers = (1.2345678901234567e-10, 2.2e-10)
    [case] = judge(a_session(a_file(a_sample("x", *numbers)))).cases
    assert case.main.minimum == numbers[0]


def test_without_controls_it_is_not_void_but_says_that_it_has_none():
    findings = judge(a_session(a_file(a_sample())))
    assert findings.void is None
    assert findings.controls == ()
    assert any("no controls, no sentinel, no blocks" in item.what for item in findings.disturbances)
    assert any("imported from pyperf: no controls" in said(caveat) for caveat in findings.cases[0].caveats)


def test_nothing_is_said_of_where_it_ran():
    assert not any("unpinned" in said(caveat) for caveat in judge(a_session(a_file(a_sample()))).cases[0].caveats)


def test_what_is_not_known_of_the_machine_is_said_to_be_unknown():
    machine = a_session(a_file(a_sample())).header.machine
    assert machine.key == "foreign-unknown"
    assert set(machine.facts.values()) == {"not known"}


def test_files_of_one_machine_have_one_key_and_others_another():
    keys = [
        a_session(a_file(a_sample(), facts={"cpu": cpu})).header.machine.key for cpu in ("Example", "Example", "Other")
    ]
    assert keys[0] == keys[1] != keys[2]
    assert all(key.startswith("foreign-") for key in keys)


def test_runs_that_are_no_processes_get_a_caveat():
    session = a_session(a_file(a_sample(processes_known=False), tool="google/benchmark"))
    assert not session.header.imported.processes_known
    assert any("which process" in said(caveat) for caveat in judge(session).cases[0].caveats)


def test_the_moment_of_the_file_is_kept_and_that_of_the_import_is_marked():
    known = a_session(a_file(a_sample(), started="2020-01-01T00:00:00+00:00"))
    unknown = a_session(a_file(a_sample()))
    assert known.header.started.startswith("2020")
    assert not any("when it was measured" in item.what for item in judge(known).disturbances)
    assert any("when it was measured" in item.what for item in judge(unknown).disturbances)


def test_all_values_of_a_run_are_kept_and_its_number_is_the_same():
    values = ((1e-6, 3e-6, 2e-6), (5e-6, 4e-6, 6e-6))
    session = a_session(a_file(a_sample("x", 2e-6, 5e-6, values=values)))
    assert [len(run.values) for run in session.runs] == [3, 3]
    assert judge(session).cases[0].main.median == pytest.approx(3.5e-6)


@pytest.mark.parametrize(
    ("name", "case"),
    [
        ("call/direct@same", Case(probe="call/direct", placement="same")),
        (
            "switch/yield[contexts=2,kind=thread]@cross",
            Case(probe="switch/yield", placement="cross", parameters={"contexts": 2, "kind": "thread"}),
        ),
        ("call/direct@same~old", Case(probe="call/direct", placement="same", variant="old")),
        ("call/direct", Case(probe="pyperf/call/direct", placement="free")),
        ("call/direct@moon", Case(probe="pyperf/call/direct@moon", placement="free")),
        ("x/y[a=01]@same", Case(probe="x/y", placement="same", parameters={"a": "01"})),
        ("sleep 0.1", Case(probe="pyperf/sleep 0.1", placement="free")),
    ],
)
def test_our_own_names_come_back_as_our_cases_and_others_stay_what_they_are(name, case):
    found = imported.case_of(name, "pyperf")
    assert found == case
    assert name in found.name


def test_sweeps_come_back_as_curves():
    samples = [a_sample(f"x/grow[n={n}]@same", *(n * 1e-6 + i * 1e-9 for i in range(6))) for n in (1, 10, 100)]
    [curve] = judge(a_session(a_file(*samples))).curves
    assert (curve.parameter, [point.x for point in curve.points]) == ("n", [1, 10, 100])


def test_two_results_that_are_one_case_are_refused():
    with pytest.raises(SessionFileError, match="two results that are both pyperf/x@free"):
        imported.lines(a_file(a_sample("x"), a_sample("pyperf/x@free")), b"", "now", {})
