# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest
from scipy import stats

from steelyard.judge.stats.summary import median_interval, middle, order_statistic_rank, subtract_overhead, summarise


def test_six_values_give_their_extremes_as_95_percent_interval():
    summary = summarise([3, 1, 2, 6, 5, 4])
    assert (summary.n, summary.median, summary.low, summary.high) == (6, 3.5, 1, 6)
    assert (summary.minimum, summary.p25, summary.maximum) == (1, 2.25, 6)


def test_five_values_give_a_median_and_no_interval():
    summary = summarise([1, 2, 3, 4, 5])
    assert (summary.median, summary.low, summary.high) == (3, -math.inf, math.inf)


@pytest.mark.parametrize("n", [6, 7, 20, 51, 200, 999, 1000, 1500])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_rank_is_the_largest_that_keeps_the_confidence(n, confidence):
    rank = order_statistic_rank(n, confidence)
    assert 2 * stats.binom.cdf(rank - 1, n, 0.5) <= 1 - confidence + 1e-12
    assert 2 * stats.binom.cdf(rank, n, 0.5) > 1 - confidence - 1e-12


def test_middle_of_huge_values_does_not_overflow():
    assert middle(np.array([1.5e308, 1.7e308])) == pytest.approx(1.6e308)


def test_overhead_comes_off_block_by_block():
    drift = np.linspace(0, 50, 12)
    net = subtract_overhead(100 + drift, 40 + drift)
    assert (net.median, net.low, net.high, net.n) == (60, 60, 60, 12)
    assert not net.may_be_zero


def test_missing_blocks_are_left_out_of_both():
    net = subtract_overhead([5, math.nan, 7, 8, 9, 10, 11, 12], [1, 1, math.nan, 1, 1, 1, 1, 1])
    assert net.n == 6


def test_a_difference_that_may_be_zero_says_at_most():
    net = subtract_overhead([1, 2, 3, 4, 5, 6, 7], [2, 1, 4, 3, 5, 7, 6])
    assert net.may_be_zero
    assert net.low <= 0 <= net.high


def test_an_overhead_above_its_cost_is_neither_clamped_nor_silent():
    net = subtract_overhead([1.0] * 8, [3.0] * 8)
    assert net.median == -2
    assert net.contradicts
    assert not net.may_be_zero


@pytest.mark.parametrize("confidence", [0, 1, -1, 2])
def test_confidence_must_lie_between_0_and_1(confidence):
    with pytest.raises(ValueError, match="confidence"):
        median_interval([1, 2, 3], confidence)
