# SPDX-License-Identifier: Apache-2.0
import msgspec
import pytest

from steelyard.judge.findings import judge
from steelyard.judge.ledger import Moments, ledger, moments
from steelyard.records import Imported
from tests.making import a_case, a_failed_run, a_header, a_run, a_session, a_value
from tests.unit.show.formats.sessions import COST_CASE, RATE_CASE, mixed

CASE = a_case()


def test_the_numbers_are_those_that_the_findings_are_made_of():
    session = mixed()
    findings = {case.case: case for case in judge(session).cases}
    for entry in ledger(session).cases:
        numbers = [run.numbers[entry.main.name] for run in entry.runs]
        assert findings[entry.case.name].main.median == pytest.approx(sorted(numbers)[2] / 2 + sorted(numbers)[3] / 2)
        assert findings[entry.case.name] == entry.finding


def test_controls_are_there_and_marked():
    assert {entry.case.probe for entry in ledger(mixed()).cases if entry.finding.control} == {"null/null"}


def test_moments_of_one_number_have_no_deviation():
    assert moments([3.0]) == Moments(mean=3.0, median=3.0, stddev=None)
    assert moments([1.0, 2.0, 6.0]) == Moments(mean=3.0, median=2.0, stddev=pytest.approx(7**0.5))


def test_the_number_of_a_run_is_by_the_statistic_of_its_probe():
    entries = {entry.case: entry for entry in ledger(mixed()).cases}
    cost, rate = entries[COST_CASE].runs[0], entries[RATE_CASE].runs[0]
    assert cost.numbers["operation"] == pytest.approx(1e-6 * (1.01 + 0.75 / 1000))
    assert rate.numbers["message"] == pytest.approx(1e-6 * (1.01 + 1.5 / 1000))


def test_time_is_per_operation_and_cpu_time_is_none_where_the_probe_cannot_tell():
    run = next(entry for entry in ledger(mixed()).cases if entry.case == COST_CASE).runs[0]
    assert run.wall_s == run.numbers["operation"]
    assert run.cpu_s == pytest.approx(0.9 * run.wall_s, rel=1e-3)
    plain = a_session(a_run(CASE, 1, 1e-6), header=a_header(CASE))
    assert ledger(plain).cases[0].runs[0].cpu_s is None


def test_only_the_attempt_that_counts_is_there_and_blocks_keep_their_numbers():
    disturbed = a_run(CASE, 1, 9e-6, disturbed=("a neighbour",))
    again = a_run(CASE, 1, 1e-6, attempt=2)
    session = a_session(disturbed, again, a_failed_run(CASE, 2), a_run(CASE, 3, 2e-6), header=a_header(CASE))
    [entry] = ledger(session).cases
    assert [(run.block, run.attempt) for run in entry.runs] == [(1, 2), (3, 1)]


def test_a_metric_that_a_run_does_not_have_is_no_number():
    session = mixed()
    bare = tuple(
        msgspec.structs.replace(run, values=(a_value(1e-6, counts={"checked": 1000, "bytes": 1}),))
        if run.values
        else run
        for run in session.runs
    )
    entries = {entry.case: entry for entry in ledger(msgspec.structs.replace(session, runs=bare)).cases}
    assert set(entries[RATE_CASE].runs[0].numbers) == {"bandwidth", "message"}


def test_an_import_says_whether_its_runs_are_processes():
    session = a_session(a_run(CASE), header=a_header(CASE))
    assert ledger(session).processes_known
    origin = Imported(tool="google/benchmark", path="x", sha256="", processes_known=False)
    header = msgspec.structs.replace(session.header, imported=origin)
    assert not ledger(msgspec.structs.replace(session, header=header)).processes_known
