# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from steelyard.judge.stats.modes import find_modes


@pytest.mark.parametrize("few", [2, 3, 4])
@pytest.mark.parametrize("seed", range(10))
def test_two_and_eighty_microseconds_are_found_in_eight_runs(few, seed):
    rng = np.random.default_rng(seed)
    runs = rng.permutation([2.0] * (8 - few) + [80.0] * few) * np.exp(rng.normal(0, 0.1, 8))
    modes = find_modes(runs)
    assert modes is not None
    assert modes[0].median == pytest.approx(2, rel=0.2)
    assert modes[1].median == pytest.approx(80, rel=0.2)
    assert modes[1].share == few / 8


@pytest.mark.parametrize("n", [6, 8, 13, 20, 21, 40, 150])
@pytest.mark.parametrize("shape", ["normal", "lognormal", "gamma", "exponential"])
def test_one_mode_is_rarely_split(n, shape):
    rng = np.random.default_rng(n)
    samples = {
        "normal": lambda: rng.normal(100, 10, n),
        "lognormal": lambda: rng.lognormal(0, 1, n),
        "gamma": lambda: rng.gamma(2, 1, n),
        "exponential": lambda: rng.exponential(1, n),
    }
    alarms = sum(find_modes(samples[shape]()) is not None for _ in range(400))
    assert alarms <= 8


@pytest.mark.parametrize("values", [[1, 1, 80, 80, 80], [5.0] * 20, [2.0] * 19 + [80.0], [10, 10, 10, 11, 11, 11]])
def test_too_few_constant_a_lone_run_and_ticks_are_no_modes(values):
    assert find_modes(values) is None


def test_two_constants_are_two_modes():
    modes = find_modes([2.0] * 6 + [80.0] * 2)
    assert modes is not None
    assert [(mode.median, mode.share) for mode in modes] == [(2, 0.75), (80, 0.25)]
