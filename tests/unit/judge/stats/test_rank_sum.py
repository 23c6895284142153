# SPDX-License-Identifier: Apache-2.0
import itertools
import math

import numpy as np
import pytest

from steelyard.judge.stats.rank_sum import critical_rank, cumulative, differences, shift_interval


@pytest.mark.parametrize(("m", "n"), [(1, 1), (2, 3), (4, 4), (5, 3)])
def test_the_null_distribution_is_what_counting_all_orders_gives(m, n):
    counts = np.zeros(m * n + 1)
    for places in itertools.combinations(range(m + n), m):
        first = set(places)
        counts[sum(1 for i in first for j in range(m + n) if j not in first and j < i)] += 1
    assert cumulative(m, n) == pytest.approx(np.cumsum(counts) / counts.sum())


def test_a_published_critical_value_is_met():
    # Mann & Whitney's table: two samples of 10, two-sided 5 %: U of 23 and less is significant.
    assert critical_rank(10, 10, 0.95) == 24


def test_exact_and_approximate_ranks_meet_where_one_takes_over():
    assert critical_rank(50, 50, 0.96) == pytest.approx(critical_rank(50, 51, 0.96), abs=30)


def test_an_interval_holds_the_shift_and_mirrors():
    a, b = np.linspace(0, 1, 12), np.linspace(0.5, 1.5, 12)
    there, back = shift_interval(a, b, 0.95), shift_interval(b, a, 0.95)
    assert there.low < 0.5 < there.high
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low))
    assert np.median(differences(a, b)) == pytest.approx(0.5)


def test_samples_that_are_too_small_get_no_end():
    assert math.isinf(shift_interval(np.array([1.0, 2.0]), np.array([1.0, 2.0]), 0.95).high)


@pytest.mark.parametrize("confidence", [0.0, -1.0, 1.1])
def test_a_confidence_out_of_range_is_refused(confidence):
    with pytest.raises(ValueError, match="confidence"):
        critical_rank(5, 5, confidence)


def test_ten_against_ten_runs_suffice_for_a_suite_of_a_hundred():
    assert critical_rank(10, 10, 1 - 0.04 / 100) > 0
