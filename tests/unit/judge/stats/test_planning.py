# SPDX-License-Identifier: Apache-2.0
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.judge.stats.comparison import Verdict, compare_paired
from steelyard.judge.stats.family import hold
from steelyard.judge.stats.planning import Forecast, fewest_blocks, forecast


def pair(rng, n, ratio, sigma=0.03):
    return np.exp(rng.normal(0, sigma, n)), ratio * np.exp(rng.normal(0, sigma, n))


def verdicts(ratios, blocks, alpha, margin):
    """What a family says of cases that differ by these ratios in every block."""
    pairs = [([1.0] * blocks, [ratio] * blocks) for ratio in ratios]
    family = hold([partial(compare_paired, a, b, margin) for a, b in pairs], alpha)
    return [member.held.verdict for member in family]


@given(
    st.lists(st.sampled_from([0.1, 0.5, 1.0, 2.0, 1000.0]), min_size=1, max_size=40),
    st.floats(1e-4, 0.2),
    st.sampled_from([0.0, 0.02]),
)
def test_below_the_fewest_blocks_no_verdict_is_possible_and_with_them_it_is(ratios, alpha, margin):
    blocks = fewest_blocks(len(ratios), alpha)
    if blocks > 1:
        assert set(verdicts(ratios, blocks - 1, alpha, margin)) == {Verdict.UNDECIDED}
    decidable = [verdict for ratio, verdict in zip(ratios, verdicts(ratios, blocks, alpha, margin), strict=True)
                 if ratio != 1 or margin]  # fmt: skip
    assert Verdict.UNDECIDED not in decidable


def test_the_fewest_blocks_of_families_of_a_known_size():
    assert [fewest_blocks(comparisons) for comparisons in (1, 6, 155)] == [6, 9, 13]


@pytest.mark.parametrize(("comparisons", "alpha"), [(0, 0.04), (1, 0), (1, 1)])
def test_fewest_blocks_checks_its_arguments(comparisons, alpha):
    with pytest.raises(ValueError, match="no number of blocks"):
        fewest_blocks(comparisons, alpha)


def test_as_many_blocks_as_forecast_mostly_decide():
    rng = np.random.default_rng(1)
    a, b = pair(rng, 4000, 1.015)
    first = next(
        c for c in (compare_paired(a[i : i + 20], b[i : i + 20]) for i in range(99)) if 1.014 < c.ratio < 1.016
    )
    assert first.verdict is Verdict.UNDECIDED
    planned = forecast(first, seconds_per_block=30)
    assert planned is not None
    assert planned.minutes == pytest.approx(planned.blocks / 2)
    total = first.n + planned.blocks
    decided = [compare_paired(*pair(rng, total, 1.015)).verdict is Verdict.DIFFERENT for _ in range(200)]
    assert 0.55 < np.mean(decided) < 0.97


def test_a_decided_comparison_needs_nothing_more():
    assert forecast(compare_paired([1.0] * 8, [2.0] * 8), 10) == Forecast(0, 0.0)


def test_too_few_blocks_for_an_interval_come_first():
    assert forecast(compare_paired([1.0, 1.1], [1.0, 1.2]), 60) == Forecast(4, 4.0)


def test_identical_programs_are_never_decided_without_a_margin():
    assert forecast(compare_paired([1.0] * 9, [1.0] * 9), 1) is None


@pytest.mark.parametrize(("power", "seconds"), [(0, 1), (1, 1), (0.8, -1)])
def test_forecast_checks_its_arguments(power, seconds):
    with pytest.raises(ValueError, match="power"):
        forecast(compare_paired([1.0] * 9, [1.0] * 9), seconds, power)
