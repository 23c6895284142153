# SPDX-License-Identifier: Apache-2.0
"""One figure or ratio against a range: alone, and when a family has a say."""

import numpy as np
import pytest

from steelyard.judge import ranges
from steelyard.judge.claims import ClaimVerdict, Operand
from steelyard.judge.evidence import Measured, NoAnswer
from steelyard.show.reasons import said
from tests.unit.judge.sessions import noisy, steady, weighed

A, B = "question/a@same", "question/b@same"
SURE, UNSURE = np.array([0.01, 0.01]), np.array([0.01, 0.2])


def ratio(a, b, at_least=None, at_most=None):
    measured = Measured(weighed({A: a, B: b}))
    return ranges.ratio(
        measured.column(Operand(case=A)), measured.column(Operand(case=B)), at_least=at_least, at_most=at_most
    )


def figure(a, at_least=None, at_most=None):
    return ranges.figure(Measured(weighed({A: a})).column(Operand(case=A)), at_least=at_least, at_most=at_most)


@pytest.mark.parametrize(
    ("at_least", "at_most", "verdict"),
    [
        (4, 6, ClaimVerdict.HOLDS),
        (4, None, ClaimVerdict.HOLDS),
        (None, 6, ClaimVerdict.HOLDS),
        (6, 7, ClaimVerdict.FAILS),
        (3, 4, ClaimVerdict.FAILS),
        (6, None, ClaimVerdict.FAILS),
        (None, 4, ClaimVerdict.FAILS),
        (5, 6, ClaimVerdict.UNDECIDED),
        (5, None, ClaimVerdict.UNDECIDED),
    ],
)
def test_the_whole_interval_decides(at_least, at_most, verdict):
    assert ratio(steady(5e-6), noisy(1e-6), at_least, at_most).alone is ClaimVerdict.UNDECIDED
    assert ratio(steady(5e-6), [1e-6] * 8, at_least, at_most).alone is verdict
    assert figure([cost * 1e6 for cost in steady(5e-6)], at_least, at_most).alone is verdict


def test_drift_that_both_share_falls_out_of_a_ratio():
    drift = np.linspace(1, 3, 8)
    seen = ratio(list(5e-6 * drift), list(1e-6 * drift), 4, 6).estimate_at(0.96)
    assert (seen.value, seen.low, seen.high) == pytest.approx((5, 5, 5), rel=1e-3)


def test_blocks_without_both_are_left_out_of_a_ratio():
    test = ratio([1e-6] * 7 + [None], [None] + [1e-6] * 7, 0.5, 2)
    assert test.estimate_at(0.96).n == 6
    assert test.alone is ClaimVerdict.HOLDS


def test_no_block_with_both_is_no_ratio():
    with pytest.raises(NoAnswer) as raised:
        ratio([1e-6, None], [None, 1e-6], 0.5, 2)
    assert raised.value.verdict is ClaimVerdict.NOT_MEASURED


def test_a_cost_of_nothing_has_no_ratio():
    with pytest.raises(NoAnswer) as raised:
        ratio([1e-6, 1e-6], [1e-6, 0.0], 0.5, 2)
    assert raised.value.verdict is ClaimVerdict.UNDECIDED
    assert "told from zero" in said(raised.value.reason)


@pytest.mark.parametrize("blocks", [1, 5])
def test_too_few_blocks_decide_nothing_and_do_not_weigh_on_the_family(blocks):
    for test in (ratio(steady(5e-6, blocks), steady(1e-6, blocks), 2, 10), figure(steady(1.0, blocks), 0.5, 2)):
        assert test.alone is ClaimVerdict.UNDECIDED
        assert test.rows == ()
        assert ranges.blocks_more(test, edges=0) == 6 - blocks


def test_the_family_must_agree_on_both_ends_to_hold():
    test = ratio(steady(5e-6), steady(1e-6), 4, 6)
    assert test.together(SURE) is ClaimVerdict.HOLDS
    assert test.together(UNSURE) is ClaimVerdict.UNDECIDED


def test_the_family_must_agree_on_the_end_that_was_missed_to_fail():
    low, high = ratio(steady(3e-6), steady(1e-6), 4, 6), ratio(steady(8e-6), steady(1e-6), 4, 6)
    assert low.together(UNSURE) is ClaimVerdict.FAILS
    assert high.together(UNSURE) is ClaimVerdict.UNDECIDED
    assert high.together(UNSURE[::-1]) is ClaimVerdict.FAILS


def test_what_is_undecided_alone_stays_so():
    assert ratio(noisy(5e-6), steady(1e-6), 4, 6).together(SURE) is ClaimVerdict.UNDECIDED


def test_more_blocks_are_foreseen_from_the_distance_to_the_end():
    near, far = (
        ratio([ratio * 1e-6 for ratio in (5.2, 4.4, 4.9, 5.6, 4.6, 5.1)], steady(1e-6, 6), at_least=end)
        for end in (4.8, 4.3)
    )
    assert near.alone is ClaimVerdict.UNDECIDED
    assert ranges.blocks_more(near, edges=1) > 5
    assert far.alone is ClaimVerdict.HOLDS
    assert 1 <= ranges.blocks_more(far, edges=40) <= 10


def test_no_number_of_blocks_moves_a_figure_off_the_end_that_it_lies_on():
    test = figure([1.0, 1.01, 0.99, 1.01, 0.99, 1.01, 0.99, 1.0], at_least=1.0)
    assert test.alone is ClaimVerdict.UNDECIDED
    assert ranges.blocks_more(test, edges=1) is None
