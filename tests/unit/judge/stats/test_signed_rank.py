# SPDX-License-Identifier: Apache-2.0
import itertools

import numpy as np
import pytest
from scipy import stats

from steelyard.judge.stats import signed_rank


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_distribution_is_that_of_all_sign_flips(n):
    ranks = np.arange(1, n + 1)
    sums = [int(ranks @ signs) for signs in itertools.product([0, 1], repeat=n)]
    expected = [np.mean([s <= w for s in sums]) for w in range(n * (n + 1) // 2 + 1)]
    assert signed_rank.cumulative(n) == pytest.approx(expected)


def test_95_percent_needs_six_and_the_level_is_the_discrete_one():
    assert signed_rank.critical_rank(5, 0.95) == 0
    assert signed_rank.critical_rank(6, 0.95) == 1
    assert signed_rank.exact_level(5, 0.95) == 0
    assert signed_rank.exact_level(6, 0.95) == pytest.approx(2 / 64)


@pytest.mark.parametrize("n", [6, 10, 20, 45, 300])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.96, 0.999])
def test_exact_level_is_never_above_the_nominal_one(n, confidence):
    assert signed_rank.exact_level(n, confidence) <= 1 - confidence + 1e-9


def test_full_confidence_never_has_an_interval():
    assert signed_rank.critical_rank(50, 1.0) == 0


def test_p_value_is_that_of_the_exact_test():
    differences = np.random.default_rng(3).normal(0.4, 1, 15)
    at_most, at_least = signed_rank.counts(differences, 0.0)
    p = signed_rank.tail(15, np.minimum(at_most, at_least))
    assert float(p) == pytest.approx(stats.wilcoxon(differences, method="exact").pvalue)


def test_counts_are_those_of_the_walsh_averages_row_by_row():
    differences = np.random.default_rng(4).normal(0, 1, (7, 9))
    at_most, at_least = signed_rank.counts(differences, 0.2)
    for row, below, above in zip(differences, at_most, at_least, strict=True):
        averages = signed_rank.walsh_averages(row)
        assert (below, above) == (np.sum(averages <= 0.2), np.sum(averages >= 0.2))
