# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from steelyard.judge.stats.warmup import FEWEST_VALUES, classify


def series(seed, *levels, sigma=0.02):
    """Values around each level in turn, given as (level, how many)."""
    generator = np.random.default_rng(seed)
    return np.concatenate([level * np.exp(generator.normal(0, sigma, count)) for level, count in levels])


def shapes(*levels, sigma=0.02, runs=100):
    found = [classify(series(seed, *levels, sigma=sigma)).shape for seed in range(runs)]
    return {shape: found.count(shape) for shape in set(found)}


def test_a_flat_series_is_flat_and_counts_as_a_whole():
    assert shapes((1.0, 25))["flat"] >= 97
    assert classify(series(1, (1.0, 25))).steady_from == 0


def test_one_that_gets_cheaper_and_stays_so_warms_up_and_counts_from_there():
    assert shapes((2.0, 8), (1.0, 17))["warm-up"] >= 97
    assert abs(classify(series(1, (2.0, 8), (1.0, 17))).steady_from - 8) <= 1


def test_so_does_one_that_warms_up_in_several_steps():
    assert shapes((4.0, 6), (2.0, 6), (1.0, 13))["warm-up"] >= 95


def test_one_that_ends_dearer_than_it_was_slows_down():
    assert shapes((1.0, 10), (1.3, 15))["slowdown"] >= 97
    assert shapes((2.0, 6), (1.0, 6), (1.4, 13))["slowdown"] >= 95


def test_one_that_still_changes_in_its_last_quarter_has_no_steady_state():
    assert shapes((1.0, 20), (0.6, 5))["no steady state"] >= 95
    found = classify(series(1, (1.0, 20), (0.6, 5)))
    assert found.steady_from is None


def test_one_that_falls_to_its_end_has_no_steady_state():
    falling = 3.0 * 0.95 ** np.arange(40)
    assert classify(falling).shape == "no steady state"


def test_a_change_of_less_than_5_percent_is_none():
    assert classify(series(1, (1.03, 12), (1.0, 13), sigma=0.001)).shape == "flat"


@pytest.mark.parametrize("place", [0, 12, 24])
def test_one_stray_value_changes_nothing(place):
    values = series(1, (1.0, 25))
    values[place] *= 20
    assert classify(values).shape == "flat"


def test_a_few_values_are_too_short_to_tell():
    assert classify([5.0] + [1.0] * (FEWEST_VALUES - 2)).shape == "too short to tell"
    assert classify([1.0] * FEWEST_VALUES).shape == "flat"


def test_what_is_no_cost_is_refused():
    with pytest.raises(ValueError, match="above zero"):
        classify([1.0, 0.0] * 10)
