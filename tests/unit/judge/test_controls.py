# SPDX-License-Identifier: Apache-2.0
import pytest

from steelyard.judge.controls import Control, controls, void_reason
from steelyard.judge.findings import judge
from steelyard.judge.samples import case_runs
from steelyard.measure.plan import controls as control_cases
from steelyard.records import Plan
from steelyard.show.reasons import said
from tests.making import a_case, a_header, a_planned, a_run, a_session

FIRST, TWIN, PLANTED = control_cases()


def noisy(cost: float, block: int, salt: int) -> float:
    """A cost with up to one percent of noise that repeats itself."""
    return cost * (1 + ((block * 7 + salt * 3) % 11) / 1100)


def a_controlled_session(*, twin: float = 1.0, planted: float = 1.05, last: float = 1.0, blocks: int = 20):
    plan = Plan(cases=tuple(a_planned(case, control=True) for case in (FIRST, TWIN, PLANTED)), blocks=blocks)
    costs = {FIRST.name: 1e-6, TWIN.name: twin * 1e-6, PLANTED.name: planted * 1e-6}
    runs = [
        a_run(name, block, noisy(cost, block, salt))
        for block in range(1, blocks + 1)
        for salt, (name, cost) in enumerate(costs.items())
    ]
    sentinels = [
        a_run(FIRST, block, cost, role="sentinel", order=number)
        for block, cost in ((0, 1e-6), (blocks + 1, last * 1e-6))
        for number in range(3)
    ]
    return a_session(plan, *runs, *sentinels, header=a_header(a_case()))


def states(session) -> dict[str, str]:
    by_name = {runs.planned.case.name: runs for runs in case_runs(session)}
    return {control.name: control.state for control in controls(session, by_name)}


def test_a_good_session_passes_all_its_controls():
    session = a_controlled_session()
    assert set(states(session).values()) == {"passed"}
    assert judge(session).void is None


@pytest.mark.parametrize("twin", [0.9, 1.1])
def test_a_session_in_which_one_program_is_two_is_void(twin):
    session = a_controlled_session(twin=twin)
    assert states(session)["identical copies"] == "failed"
    assert "identical copies: two copies of one program differ by" in said(judge(session).void)


@pytest.mark.parametrize("planted", [1.0, 1.2])
def test_a_session_that_does_not_find_what_was_planted_is_void(planted):
    assert states(a_controlled_session(planted=planted))["planted difference"] == "failed"


def test_with_few_blocks_nothing_has_to_be_found():
    assert states(a_controlled_session(planted=1.03, blocks=3))["planted difference"] == "too few blocks to tell"
    assert judge(a_controlled_session(planted=1.03, blocks=3)).void is None


@pytest.mark.parametrize("blocks", [1, 6])
def test_copies_that_could_not_fail_have_not_passed(blocks):
    session = a_controlled_session(twin=2.8, blocks=blocks)
    (identical, *_) = judge(session).controls
    assert (identical.name, identical.state) == ("identical copies", "too few blocks to tell")
    assert judge(session).void is None


def test_copies_pass_as_soon_as_they_could_fail():
    assert states(a_controlled_session(blocks=12))["identical copies"] == "passed"
    assert states(a_controlled_session(twin=2.8, blocks=12))["identical copies"] == "failed"


@pytest.mark.parametrize("last", [0.5, 2.0])
def test_a_machine_that_changed_its_speed_makes_a_session_void(last):
    session = a_controlled_session(last=last)
    assert states(session)["sentinel"] == "failed"
    assert "compare within blocks" not in said(judge(session).void), "what a void session can't be used for"


@pytest.mark.parametrize("last", [0.77, 1.2])
def test_a_small_drift_is_doubtful_and_forgiven(last):
    """It did not pass, and the advice that goes with it can be followed: the session is not void."""
    session = a_controlled_session(last=last)
    assert states(session)["sentinel"] == "doubtful"
    assert judge(session).void is None
    assert any("compare within blocks only" in said(control.showed) for control in judge(session).controls)


def test_a_session_without_controls_has_none_to_fail():
    assert controls(a_session(a_run()), {}) == ()
    assert void_reason(()) is None


def test_every_failed_control_is_named():
    found = tuple(Control(name=name, state="failed", showed="bad") for name in ("one", "two"))
    assert said(void_reason(found)) == "one: bad; two: bad"
