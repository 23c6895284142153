# SPDX-License-Identifier: Apache-2.0
from functools import partial

import numpy as np
import pytest

from steelyard.judge.stats.comparison import Verdict, compare_paired
from steelyard.judge.stats.family import hold, holm


def test_holm_of_the_textbook():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_works_on_rows():
    rows = np.random.default_rng(1).random((5, 4))
    assert np.array_equal(holm(rows), np.array([holm(row) for row in rows]))


def pairs(ratios, n=20, seed=2):
    rng = np.random.default_rng(seed)
    return [(np.exp(rng.normal(0, 0.01, n)), ratio * np.exp(rng.normal(0, 0.01, n))) for ratio in ratios]


def held(ratios, margin=0.0, **options):
    return hold([partial(compare_paired, a, b, margin) for a, b in pairs(ratios, **options)])


def test_clear_differences_survive_and_doubtful_ones_do_not():
    members = held([1.1, 0.9, *[1.0] * 60])
    assert [member.held.verdict for member in members[:2]] == [Verdict.DIFFERENT] * 2
    assert all(member.held.verdict is Verdict.UNDECIDED for member in members[2:])
    assert any(member.alone.verdict is Verdict.DIFFERENT and not member.survives for member in members[2:])


@pytest.mark.parametrize("margin", [0.0, 0.02])
@pytest.mark.parametrize("seed", range(5))
def test_intervals_agree_with_the_adjusted_p_values(margin, seed):
    members = held([1.0, 1.005, 1.008, 1.012, 1.02, 1.03, 1.05] * 4, margin=margin, seed=seed)
    for member in members:
        assert (member.held.verdict is Verdict.DIFFERENT) == (member.adjusted_p <= 0.04)
        assert (member.held.verdict is Verdict.EQUIVALENT) == (member.adjusted_p_equivalent <= 0.04)
        assert member.held.low <= member.alone.low
        assert member.held.high >= member.alone.high


def test_a_family_of_one_is_the_comparison_alone():
    (member,) = held([1.05])
    assert member.held == member.alone
    assert member.survives


def test_no_family_at_all():
    assert hold([]) == ()


def test_alpha_is_checked():
    with pytest.raises(ValueError, match="alpha"):
        hold([], alpha=0)
