# SPDX-License-Identifier: Apache-2.0
"""The sum of medians: exact where everything is in common, known by simulation where nothing is."""

import numpy as np
import pytest

from steelyard.judge.stats.summary import median_interval, middle
from steelyard.judge.stats.sums import total


def test_one_sample_keeps_its_exact_interval():
    sample = [5.0, 1.0, 4.0, 2.0, 3.0, 6.0, 7.0]
    found = total([sample])
    assert (found.value, found.interval, found.n) == (4.0, median_interval(sample, 0.95), 7)


def test_intervals_add_up_like_sides_of_a_triangle():
    # Medians 3.5 and 0; six values give their extremes: from 1 to 6 and from -4 to 8.
    found = total([[1, 2, 3, 4, 5, 6], [-4, -1, 0, 0, 2, 8]])
    assert found.value == pytest.approx(3.5)
    assert found.interval.low == pytest.approx(3.5 - np.hypot(2.5, 4))
    assert found.interval.high == pytest.approx(3.5 + np.hypot(2.5, 8))


def test_a_sample_that_is_too_small_leaves_the_sum_unbounded():
    assert not total([[1, 2, 3], [1, 2, 3, 4, 5, 6]]).interval.bounded


@pytest.mark.parametrize("samples", [[], [[]], [[1.0, float("nan")]]])
def test_no_sum_is_made_of_nothing(samples):
    with pytest.raises(ValueError, match="sample"):
        total(samples)


def test_the_interval_covers_the_sum_of_medians_of_skewed_samples():
    generator = np.random.default_rng(20)
    trials, covered = 2000, 0
    for _ in range(trials):
        samples = [scale * generator.lognormal(0, 0.5, 12) for scale in (1, 2, 4)]
        covered += total(samples).interval.contains(7.0)
    assert covered / trials > 0.94


def test_terms_with_blocks_in_common_are_to_be_added_before():
    # A drift that both share falls out of the difference in blocks, and makes that of the two samples useless.
    drift = np.linspace(0, 10, 12)
    paired = total([(drift + 3) - (drift + 1)]).interval
    apart = total([drift + 3, -(drift + 1)]).interval
    assert (paired.low, paired.high) == (2.0, 2.0)
    assert apart.high - apart.low > 5
    assert middle(drift + 3 - (drift + 1)) == pytest.approx(2.0)
