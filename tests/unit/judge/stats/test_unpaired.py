# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest

from steelyard.judge.stats.comparison import Verdict
from steelyard.judge.stats.unpaired import compare_unpaired


def session(rng, level, n=20, sigma=0.02):
    return level * np.exp(rng.normal(0, sigma, n))


def test_the_sentinel_takes_out_what_the_machine_did():
    rng = np.random.default_rng(1)
    comparison = compare_unpaired(session(rng, 10), session(rng, 14), session(rng, 5), session(rng, 7))
    assert comparison.verdict is Verdict.UNDECIDED
    assert comparison.low <= 1 <= comparison.high


def test_a_large_change_is_found():
    rng = np.random.default_rng(2)
    comparison = compare_unpaired(session(rng, 10), session(rng, 15), session(rng, 5), session(rng, 5))
    assert comparison.verdict is Verdict.DIFFERENT
    assert comparison.low < 1.5 < comparison.high
    assert comparison.p_value < 0.01


def test_the_allowance_between_sessions_bounds_what_can_be_found():
    rng = np.random.default_rng(3)
    data = session(rng, 10, 500), session(rng, 10.2, 500), session(rng, 5, 500), session(rng, 5, 500)
    assert compare_unpaired(*data).verdict is Verdict.UNDECIDED
    assert compare_unpaired(*data, between=0.0).verdict is Verdict.DIFFERENT


def test_two_sentinel_runs_are_wide_and_one_is_infinite():
    rng = np.random.default_rng(4)
    a, b = session(rng, 10), session(rng, 10)
    many = compare_unpaired(a, b, session(rng, 5), session(rng, 5))
    two = compare_unpaired(a, b, session(rng, 5, 2), session(rng, 5, 2))
    one = compare_unpaired(a, b, [5.0], [5.0])
    assert two.high / two.low > many.high / many.low
    assert (one.low, one.high) == (0, math.inf)


def test_few_runs_of_the_case_decide_nothing():
    comparison = compare_unpaired([1.0] * 3, [9.0] * 3, [1.0] * 20, [1.0] * 20)
    assert (comparison.low, comparison.high, comparison.verdict) == (0, math.inf, Verdict.UNDECIDED)
    assert comparison.p_value == pytest.approx(2 / math.comb(6, 3))


def test_a_suite_of_a_hundred_gets_intervals_from_ten_runs_a_side():
    rng = np.random.default_rng(6)
    data = session(rng, 10, 10), session(rng, 10, 10), session(rng, 5, 13), session(rng, 5, 13)
    comparison = compare_unpaired(*data, confidence=1 - 0.04 / 100)
    assert 0 < comparison.low < 1 < comparison.high < math.inf


def test_p_value_is_the_level_at_which_the_verdict_turns():
    rng = np.random.default_rng(5)
    data = session(rng, 10), session(rng, 11), session(rng, 5), session(rng, 5)
    p = compare_unpaired(*data).p_value
    assert compare_unpaired(*data, confidence=1 - p * 1.001).verdict is Verdict.DIFFERENT
    assert compare_unpaired(*data, confidence=1 - p * 0.99).verdict is not Verdict.DIFFERENT


def test_swapping_the_sessions_mirrors_the_interval():
    rng = np.random.default_rng(6)
    a, b, s, t = session(rng, 10), session(rng, 12, 31), session(rng, 5, 3), session(rng, 5, 9)
    there, back = compare_unpaired(a, b, s, t), compare_unpaired(b, a, t, s)
    assert there.ratio * back.ratio == pytest.approx(1)
    assert there.low * back.high == pytest.approx(1)


def test_a_negative_allowance_is_refused():
    with pytest.raises(ValueError, match="allowance"):
        compare_unpaired([1.0], [1.0], [1.0], [1.0], between=-1)
