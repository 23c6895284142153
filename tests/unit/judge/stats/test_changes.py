# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from steelyard.judge.stats.changes import find_changes


def history(seed, n=50, sigma=0.02):
    return 100 * np.exp(np.random.default_rng(seed).normal(0, sigma, n))


def test_a_step_is_found_where_it_is():
    series = history(1)
    series[30:] *= 1.05
    (change,) = find_changes(series)
    assert abs(change.index - 30) <= 2
    assert change.ratio == pytest.approx(1.05, abs=0.02)
    assert change.p_value < 0.001


def test_five_sessions_after_a_step_of_5_percent_suffice():
    found = 0
    for seed in range(200):
        series = history(seed)
        series[45:] *= 1.05
        found += any(abs(change.index - 45) <= 5 for change in find_changes(series))
    assert found >= 180


@pytest.mark.parametrize("shape", ["normal", "heavy tails", "skewed", "wild sessions"])
def test_flat_series_seldom_change(shape):
    rng = np.random.default_rng(5)
    series = {
        "normal": lambda: np.exp(rng.normal(0, 0.02, 50)),
        "heavy tails": lambda: np.exp(0.02 * rng.standard_t(2, 50)),
        "skewed": lambda: 1 + rng.exponential(0.05, 50),
        "wild sessions": lambda: np.exp(rng.normal(0, 0.02, 50)) * np.where(rng.random(50) < 0.1, 1.5, 1),
    }
    alarms = sum(bool(find_changes(series[shape]())) for _ in range(500))
    assert alarms <= 25


def test_two_steps_are_found():
    series = history(3, n=60)
    series[20:40] *= 1.2
    assert [round(change.index, -1) for change in find_changes(series)] == [20, 40]


def test_a_lone_wild_session_is_no_change():
    series = history(4)
    series[25] *= 1.6
    assert find_changes(series) == ()


def test_small_changes_can_be_left_out():
    series = history(1)
    series[30:] *= 1.05
    assert find_changes(series, least=0.1) == ()
    assert len(find_changes(series, least=0.02)) == 1


@pytest.mark.parametrize("series", [[1.0], [1.0, 9.0] * 3, [5.0] * 50])
def test_short_and_constant_series_have_none(series):
    assert find_changes(series) == ()


def test_a_clean_step_has_a_change():
    (change,) = find_changes([1.0] * 20 + [2.0] * 20)
    assert (change.index, change.before, change.after) == (20, 1, 2)
