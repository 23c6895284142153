# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from scipy import stats

from steelyard.judge.stats import outlying


def levels(n=30, columns=1, seed=1):
    return np.random.default_rng(seed).normal(size=(n, columns))


def test_the_p_value_of_the_most_distant_is_that_of_a_prediction_interval():
    given = levels(12)
    given[3] = 9.0
    others = np.delete(given[:, 0], 3)
    t = (9.0 - others.mean()) / (others.std(ddof=1) * np.sqrt(1 + 1 / 11))
    assert outlying.p_values(given)[3, 0] == pytest.approx(2 * stats.t.sf(t, 10), rel=1e-9)
    assert outlying.p_values(given)[4, 0] == 1.0


def test_several_that_would_hide_each_other_are_all_found():
    given = levels(60)
    given[:5] = 12.0 + 0.1 * levels(5, seed=2)
    found = outlying.p_values(given)[:, 0]
    assert (found[:5] < 1e-9).all()
    assert (found[5:] > 0.001).all()


def test_columns_are_apart_and_missing_levels_are_no_outliers():
    given = levels(20, columns=3)
    given[4, 1] = 40.0
    given[5, 2] = np.nan
    found = outlying.p_values(given)
    assert found[4, 1] < 1e-9
    assert found[5, 2] == 1.0
    assert found[4, 0] > 1e-4


def test_neither_unit_nor_origin_matters():
    given = levels(20)
    given[0] = 6.0
    moved = outlying.p_values(1e-9 * given + 4.0)
    assert moved[0, 0] == pytest.approx(outlying.p_values(given)[0, 0], rel=1e-3)


def test_too_few_machines_say_nothing():
    given = levels(outlying.FEWEST - 1)
    given[0] = 1e6
    assert (outlying.p_values(given) == 1.0).all()


def test_equal_levels_are_no_outliers_and_one_beside_equal_ones_is():
    given = np.ones((10, 1))
    assert (outlying.p_values(given) == 1.0).all()
    given[2] = 2.0
    assert outlying.p_values(given)[2, 0] < 1e-30


def test_what_has_another_shape_is_refused():
    with pytest.raises(ValueError, match="machines, columns"):
        outlying.p_values(np.ones(5))


def test_the_reach_is_where_power_is_had():
    rng = np.random.default_rng(4)
    level, off = 0.001, outlying.reach(50, 0.001, power=0.9)
    trials = rng.normal(size=(50, 4000))
    trials[0] += off
    assert np.mean(outlying.p_values(trials)[0] <= level) == pytest.approx(0.9, abs=0.02)
