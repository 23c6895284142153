# SPDX-License-Identifier: Apache-2.0
"""What neighbours do to a case, as a session says it."""

import msgspec
import pytest

from steelyard.judge.findings import judge
from steelyard.judge.neighbours import beside
from steelyard.judge.stats.comparison import VERDICT_CONFIDENCE
from steelyard.records import Case, Neighbour, Plan, Variant
from tests.making import a_case, a_descriptor, a_header, a_metric, a_planned, a_run, a_session
from tests.unit.judge.sessions import OPERATIONS, a_value, steady

NEIGHBOUR = Neighbour(case=a_case("cache/bandwidth"), where="other", does="streams memory")


def session(alone, *others, better="lower", **more):
    """The case alone and beside neighbours, with what an operation cost in each block."""
    first = a_case("example/pipe")
    labels = [f"beside {number}" for number in range(len(others))]
    cases = [first, *(msgspec.structs.replace(first, variant=label) for label in labels)]
    runs = [
        a_run(case, block, values=(a_value(cost, OPERATIONS),))
        for case, costs in zip(cases, (alone, *others), strict=True)
        for block, cost in enumerate(costs, start=1)
        if cost is not None
    ]
    over, per = ("wall", "operations") if better == "lower" else ("operations", "wall")
    metric = a_metric(better=better, over=over, per=per, unit="s" if better == "lower" else "1/s")
    header = a_header(
        *cases,
        probes=(a_descriptor("example/pipe", metrics=(metric,), title="pipe"),),
        variants=tuple(Variant(label=label, beside=(NEIGHBOUR,)) for label in labels),
        **more,
    )
    return a_session(Plan(cases=tuple(map(a_planned, cases)), blocks=len(alone)), *runs, header=header)


def test_a_case_that_takes_longer_beside_a_neighbour_suffers():
    found = judge(session(steady(1e-6, 12), steady(1.4e-6, 12))).beside
    [one] = found.cases
    assert (one.title, one.where, one.of.verdict) == ("pipe", "other", "different")
    assert one.factor == pytest.approx((1.4, 1.4, 1.4), rel=0.02)
    assert one.factor[1] <= one.factor[0] <= one.factor[2]
    assert found.of("example/pipe@same~beside 0") is one
    assert found.of("example/pipe@same") is None


def test_of_a_bandwidth_what_is_left_counts_upside_down():
    [one] = beside(session(steady(1e-6, 12), steady(2e-6, 12), better="higher")).cases
    assert one.of.ratio == pytest.approx(0.5, rel=0.02)
    assert one.factor == pytest.approx((2, 2, 2), rel=0.02)
    assert one.factor[1] <= one.factor[0] <= one.factor[2]


def test_a_neighbour_that_does_nothing_is_found_to_do_nothing():
    [one] = beside(session(steady(1e-6, 12), steady(1e-6, 12))).cases
    assert one.of.verdict == "equivalent"


def test_few_blocks_decide_nothing_and_have_no_upper_end():
    [one] = beside(session(steady(1e-6, 2), steady(2e-6, 2))).cases
    assert (one.of.verdict, one.factor[2]) == ("undecided", None)
    [other] = beside(session(steady(1e-6, 2), steady(2e-6, 2), better="higher")).cases
    assert other.factor[1:] == (0.0, None)


def test_several_conditions_are_one_family():
    found = beside(session(steady(1e-6, 12), steady(1.4e-6, 12), steady(1e-6, 12)))
    assert [one.of.verdict for one in found.cases] == ["different", "equivalent"]
    assert found.confidence == VERDICT_CONFIDENCE


def test_a_condition_without_a_run_is_left_out_with_its_reason():
    found = beside(session(steady(1e-6, 8), [None] * 8))
    assert found.cases == ()
    assert len(found.left_out) == 1


def test_a_session_without_neighbours_says_nothing():
    assert judge(session(steady(1e-6, 8))).beside is None
    variant = Variant(label="beside 0", environment={"A": "1"})
    plain = session(steady(1e-6, 8), steady(1e-6, 8))
    assert (
        beside(msgspec.structs.replace(plain, header=msgspec.structs.replace(plain.header, variants=(variant,))))
        is None
    )


def test_what_is_only_a_baseline_beside_neighbours_is_not_judged():
    plain = session(steady(1e-6, 8), steady(1e-6, 8))
    only = msgspec.structs.replace(plain.header, selection=(Case(probe="example/pipe", placement="same"),))
    assert beside(msgspec.structs.replace(plain, header=only)) is None
