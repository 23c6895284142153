# SPDX-License-Identifier: Apache-2.0
"""A live machine on the measured curves: what a switch costs where its queue is, and why not where it can't be said."""

import pytest

from steelyard.judge import placing
from steelyard.judge.findings import judge
from steelyard.judge.placing import cost_at, mean, place, quantile
from steelyard.records import Observation
from steelyard.show.reasons import said
from tests.unit.judge.sessions import steady, weighed


def an_observation(*lengths: int, **more) -> Observation:
    fields = {
        "started": "2026-01-01T00:00:00+00:00",
        "machine_key": judge(a_session()).machine_key,
        "cpus": 1,
        "seconds": 10.0,
        "every_s": 0.01,
        "lengths": lengths or (1, 2, 1),
        "switches": 4000,
        "forks": 20,
        "voluntary": 1500,
        "involuntary": 500,
        "tasks": 100,
        "run_delay_s": None,
        "pressure_s": 1.0,
        "own_cpu_s": 0.02,
        "own_switches": 1000,
    }
    return Observation(**{**fields, **more})


def a_session(kind="process"):
    return weighed({f"switch/yield[contexts={n},kind={kind}]@same": steady(n * 1e-6) for n in (2, 4, 8, 40)})


def test_a_sleeper_takes_as_long_as_beside_the_tasks_that_are_busy():
    costs = {
        "wake/timer[load=none,loads=1,nice=0]@same": steady(50e-6),
        "wake/timer[load=spin,loads=1,nice=0]@same": steady(2e-3),
        "wake/timer[load=spin,loads=3,nice=0]@same": steady(4e-3),
        "wake/timer[load=memory,loads=1,nice=0]@same": steady(9e-3),
    }
    session = weighed({**costs, **{f"switch/yield[contexts={n},kind=process]@same": steady(1e-6) for n in (2, 4)}})
    # Two CPUs: half of the time nobody is busy, half of the time two are, one a CPU.
    [one] = place(an_observation(5, 0, 5, cpus=2), judge(session)).wakes
    assert one.curve == "wake/timer nice=0"
    assert one.here == pytest.approx((50e-6 + 2e-3) / 2, rel=0.02)
    assert (one.tail, one.beyond) == (None, False)
    assert place(an_observation(*[0] * 20, 5), judge(session)).wakes[0].beyond
    assert place(an_observation(1, 1), judge(a_session())).wakes == ()
    alone = judge(weighed(costs))
    assert place(an_observation(1, 1), alone).session == alone.path, "wake-ups need no curve of switches"


def test_quantiles_are_lengths_that_were_seen():
    lengths = (0, 90, 0, 9, 0, 1)
    assert (quantile(lengths, 0.5), quantile(lengths, 0.9), quantile(lengths, 0.99), quantile(lengths, 1.0)) == (
        1,
        1,
        3,
        5,
    )
    assert mean(lengths) == pytest.approx(1.22)
    assert quantile((0,), 0.99) == 0


def test_between_two_points_a_curve_is_straight_on_logarithmic_axes_and_beyond_its_ends_it_is_level():
    points = [(2, 1e-6), (8, 4e-6)]
    assert cost_at(points, 4) == pytest.approx(2e-6)
    assert cost_at(points, 1) == 1e-6
    assert cost_at(points, 100) == 4e-6


def test_a_machine_with_a_short_queue_pays_what_two_contexts_pay_and_not_what_forty_do():
    placed = place(an_observation(0, 100), judge(a_session()))
    [curve] = placed.curves
    assert curve.here == pytest.approx(2e-6, rel=0.02)
    assert curve.at_benchmark == pytest.approx(40e-6, rel=0.02)
    assert not curve.beyond
    assert placed.main == curve
    assert placed.cpu_share == pytest.approx(400 * 2e-6, rel=0.02)


def test_a_queue_is_shared_by_the_cpus():
    placed = place(an_observation(*[0] * 16, 100, cpus=2), judge(a_session()))
    assert placed.curves[0].here == pytest.approx(8e-6, rel=0.02)


def test_a_curve_that_ends_before_says_so():
    session = weighed({f"switch/yield[contexts={n},kind=process]@same": steady(1e-6) for n in (2, 8)})
    assert place(an_observation(), judge(session)).curves[0].beyond


@pytest.mark.parametrize(
    ("findings", "why_not", "named"),
    [
        (None, "there is no session", "there is no session"),
        (judge(weighed({"call/direct@same": steady(1e-9)})), None, "steelyard run switch/yield"),
    ],
    ids=["no session", "no curve"],
)
def test_what_can_not_be_placed_is_a_skip_with_its_reason(findings, why_not, named):
    placed = place(an_observation(), findings, why_not=why_not)
    assert placed.curves == ()
    assert any(named in said(skip.reason) for skip in placed.skips)
    assert (placed.main, placed.cpu_share) == (None, None)


def test_the_curves_of_another_machine_are_not_used():
    placed = place(an_observation(machine_key="another"), judge(a_session()))
    assert placed.curves == ()
    assert "another" in said(placed.skips[0].reason)


def test_processes_are_what_the_sentence_is_about():
    costs = {
        f"switch/yield[contexts={n},kind={kind}]@same": steady(cost)
        for kind, cost in (("thread", 1e-6), ("process", 3e-6))
        for n in (2, 40)
    }
    placed = place(an_observation(), judge(weighed(costs)))
    assert len(placed.curves) == 2
    assert placed.main.here == pytest.approx(3e-6, rel=0.02)
    assert placing.BENCHMARK == 40
