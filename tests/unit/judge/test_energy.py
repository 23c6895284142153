# SPDX-License-Identifier: Apache-2.0
"""Joules an operation, as a session says them."""

import msgspec
import pytest

from steelyard.judge.energy import energies
from steelyard.judge.findings import judge
from steelyard.judge.samples import CaseRuns, case_runs
from steelyard.records import Audit, Session
from tests.making import a_case, a_planned, a_run, a_session, a_value, counted
from tests.unit.judge.sessions import QUIET

IDLE = (10.0,) * 10
#: Operations of a process with one value of 1000: the warm-up is an eighth of them, and one more.
DONE = 1000 + 126


def session(joules, watts=IDLE, wall_s=0.1, **more) -> Session:
    """A session whose runs took so much energy, in a tenth of a second each."""
    runs = [
        a_run(a_case(), block, values=(a_value(5e-5, **more),), wall_s=wall_s, energy_j={"package": each})
        for block, each in enumerate(joules, start=1)
    ]
    return a_session(Audit(moment="before", disturbances=(), idle_w={"package": watts}), *runs)


def of(*arguments, **more):
    found = session(*arguments, **more)
    [runs] = case_runs(found)
    return energies(runs, found.audits)


def test_what_idle_takes_is_subtracted_and_all_operations_of_the_process_share_the_rest():
    [found] = of([1.0 + 2e-3 * DONE * quiet for quiet in QUIET])
    assert found.median == pytest.approx(2e-3, rel=0.01)
    assert found.low < 2e-3 < found.high
    assert (found.domain, found.idle_w, found.n, found.at_most) == ("package", 10.0, 8, False)
    assert found.timed == pytest.approx(0.5)


def test_batches_that_ran_again_for_the_counters_are_operations_as_well():
    [found] = of([1.0 + 2e-3 * (DONE + 500)] * 8, counters=counted(500, cycles=7))
    assert found.median == pytest.approx(2e-3)


def test_an_energy_that_idle_explains_is_at_most_so_much():
    [found] = of([1.0 + 0.01 * sign for sign in (1, -1) * 4])
    assert found.at_most
    assert found.high > 0


def test_the_uncertainty_of_idle_is_in_the_interval():
    [sure] = of([2.0] * 8)
    [unsure] = of([2.0] * 8, watts=(9.0, 11.0, 10.0) * 4)
    assert sure.low == sure.high == pytest.approx(1.0 / DONE)
    assert unsure.low == pytest.approx((2.0 - 1.1) / DONE)
    assert unsure.high == pytest.approx((2.0 - 0.9) / DONE)


def test_few_runs_or_looks_have_no_interval():
    for found in (of([2.0] * 3), of([2.0] * 8, watts=(10.0,))):
        assert (found[0].low, found[0].high, found[0].at_most) == (None, None, False)


def test_without_counters_of_energy_a_case_has_none():
    plain = a_session(*(a_run(a_case(), block) for block in range(1, 9)))
    assert judge(plain).cases[0].energy == ()
    assert of([2.0] * 8, watts=()) == ()
    runs = CaseRuns(planned=a_planned(a_case()), descriptor=plain.header.probes["example/steady"].descriptor, runs=())
    assert energies(runs, session([1.0]).audits) == ()


def test_a_session_says_it_of_each_case():
    [case] = judge(session([2.0] * 8)).cases
    assert [one.domain for one in case.energy] == ["package"]
    assert msgspec.json.decode(msgspec.json.encode(case.energy))[0]["domain"] == "package"
