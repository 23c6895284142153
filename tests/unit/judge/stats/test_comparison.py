# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest

from steelyard.judge.stats.comparison import Verdict, compare_paired, margin_edge


def noisy(ratio, n=20, sigma=0.01, seed=1):
    rng = np.random.default_rng(seed)
    drift = rng.normal(0, 0.2, n)
    return 100 * np.exp(drift + rng.normal(0, sigma, n)), 100 * ratio * np.exp(drift + rng.normal(0, sigma, n))


def test_a_clear_difference_under_heavy_drift():
    comparison = compare_paired(*noisy(1.05))
    assert comparison.verdict is Verdict.DIFFERENT
    assert comparison.low <= 1.05 <= comparison.high
    assert comparison.p_value < 0.001


def test_equal_within_a_margin_and_undecided_without():
    a, b = noisy(1.0)
    assert compare_paired(a, b, margin=0.03).verdict is Verdict.EQUIVALENT
    assert compare_paired(a, b).verdict is Verdict.UNDECIDED


def test_an_effect_inside_the_margin_is_not_different():
    comparison = compare_paired(*noisy(1.02, n=40, sigma=0.003), margin=0.05)
    assert comparison.verdict is Verdict.EQUIVALENT
    assert comparison.low > 1


@pytest.mark.parametrize("n", [1, 2, 5])
def test_below_six_blocks_nothing_is_decided(n):
    comparison = compare_paired([1.0] * n, [9.0] * n)
    assert (comparison.low, comparison.high, comparison.verdict) == (0, math.inf, Verdict.UNDECIDED)
    assert comparison.ratio == pytest.approx(9)


def test_constant_samples_give_a_point_and_a_verdict_of_the_signs():
    different = compare_paired([5.0] * 10, [6.0] * 10)
    assert different.verdict is Verdict.DIFFERENT
    assert different.low == different.high == pytest.approx(1.2)
    assert compare_paired([5.0] * 10, [5.0] * 10).verdict is Verdict.UNDECIDED
    assert compare_paired([5.0] * 10, [5.0] * 10, margin=0.01).verdict is Verdict.EQUIVALENT


@pytest.mark.parametrize("margin", [0.0, 0.01, 0.03])
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("ratio", [1.0, 1.01, 1.03])
def test_p_values_tell_the_confidence_at_which_the_verdict_turns(margin, seed, ratio):
    a, b = noisy(ratio, n=14, seed=seed)
    p = compare_paired(a, b, margin).p_value
    q = compare_paired(a, b, margin).p_equivalent
    for level, verdict in ((p, Verdict.DIFFERENT), (q, Verdict.EQUIVALENT)):
        if level < 0.9:
            assert compare_paired(a, b, margin, 1 - level * 1.0001).verdict is verdict
            assert compare_paired(a, b, margin, 1 - level * 0.999).verdict is not verdict


def test_one_wild_run_does_not_matter():
    a, b = noisy(1.05)
    b[3] *= 10
    assert compare_paired(a, b).verdict is Verdict.DIFFERENT


def test_extreme_ratios_stay_numbers():
    comparison = compare_paired([1e-300] * 8, [1e300] * 8)
    assert comparison.ratio == math.inf
    assert comparison.verdict is Verdict.DIFFERENT


@pytest.mark.parametrize("margin", [-0.1, math.nan, math.inf])
def test_margin_is_checked(margin):
    with pytest.raises(ValueError, match="margin"):
        margin_edge(margin)


def test_lengths_must_match():
    with pytest.raises(ValueError, match="one length"):
        compare_paired([1, 2, 3], [1, 2])
