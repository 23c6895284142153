# SPDX-License-Identifier: Apache-2.0
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from steelyard.judge import proving
from steelyard.judge.stats.comparison import Verdict, compare_paired

SMALL = {"trials": 40, "trials_of_others": 40, "sessions": 3}


def test_the_same_seed_gives_the_same_table_and_another_gives_another():
    first, again, other = (proving.prove(seed, **SMALL) for seed in (1, 1, 2))
    assert repr(first) == repr(again)
    assert repr(replace(first, seed=2)) != repr(other)


def test_the_table_has_a_row_for_each_rule_and_noise():
    table = proving.prove(1, **SMALL)
    rules = len(proving.OUR_RULES) + len(proving.OTHER_RULES)
    assert len({(row.rule, row.noise) for row in table.rows}) == rules * len(proving.NOISES)
    assert {row.noise for row in table.family} == {noise.name for noise in proving.NOISES}


def test_coverage_is_missing_exactly_where_a_rule_gives_no_interval():
    without = {row.rule.split()[0] for row in proving.prove(1, **SMALL).rows if math.isnan(row.coverage)}
    assert without == {"pyperf,", "google/benchmark", "hyperfine"}


@pytest.mark.parametrize("rule", proving.OUR_RULES, ids=lambda rule: rule.name)
@pytest.mark.parametrize("noise", proving.NOISES, ids=lambda noise: noise.name)
def test_what_is_proven_is_what_is_shipped(rule, noise):
    margin = proving.MARGIN if "margin" in rule.name else 0.0
    a, b = rule.draw(np.random.default_rng(3), 30, noise)
    b = b + 0.01
    shipped = [compare_paired(np.exp(x), np.exp(y), margin) for x, y in zip(a, b, strict=True)]
    assert list(rule.detects(a, b)) == [one.verdict is Verdict.DIFFERENT for one in shipped]
    assert list(rule.covers(a, b, 0.01)) == [one.low <= math.exp(0.01) <= one.high for one in shipped]


def test_the_rank_sum_is_scipys():
    rng = np.random.default_rng(4)
    a, b = rng.normal(0, 0.01, (50, 1, 9)), rng.normal(0.01, 0.01, (50, 1, 9))
    expected = stats.mannwhitneyu(np.exp(a[:, 0]), np.exp(b[:, 0]), axis=1, method="asymptotic").pvalue < 0.05
    others = {rule.name.split()[0]: rule for rule in proving.OTHER_RULES}
    assert np.array_equal(others["google/benchmark"].detects(a, b), expected)


@pytest.mark.parametrize("noise", [*proving.NOISES, proving.DISTURBED], ids=lambda noise: noise.name)
def test_noise_has_a_value_for_every_time_and_leaves_some_trial_different(noise):
    times = np.broadcast_to(np.linspace(0, 1, 12, endpoint=False), (50, 12))
    made = noise.environment(np.random.default_rng(5), times)
    assert made.shape == times.shape
    assert np.isfinite(made).all()


def test_binomial_bound():
    assert proving.binomial_bound(0, 59) == pytest.approx(1 - 0.05 ** (1 / 59))
    assert proving.binomial_bound(10, 10) == 1
    assert stats.binom.cdf(7, 100, proving.binomial_bound(7, 100)) == pytest.approx(0.05)


@pytest.mark.parametrize("sizes", [{"trials": 0}, {"trials_of_others": 0}, {"sessions": 0}])
def test_sizes_are_checked(sizes):
    with pytest.raises(ValueError, match="trial"):
        proving.prove(1, **{**SMALL, **sizes})
