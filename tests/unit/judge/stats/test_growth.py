# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest
from scipy import optimize

from steelyard.judge.stats import growth as module
from steelyard.judge.stats.growth import fit_growth

DECADES = np.array([1, 2, 4, 8, 16, 32, 64, 128, 256])
AROUND_FOUR_CPUS = np.array([1, 2, 3, 4, 6, 8, 12, 16, 24, 32])

SHAPES = {
    "1": lambda n: 5.0 + 0 * n,
    "log n": lambda n: 5 + 3 * np.log(n),
    "n": lambda n: 5 + 0.5 * n,
    "n log n": lambda n: 5 + 0.5 * n * np.log(n),
}


def noisy(cost, seed, sigma=0.01):
    return cost * np.exp(np.random.default_rng(seed).normal(0, sigma, cost.size))


@pytest.mark.parametrize("form", SHAPES)
@pytest.mark.parametrize("seed", range(5))
def test_each_form_is_told(form, seed):
    growth = fit_growth(DECADES, noisy(SHAPES[form](DECADES), seed))
    assert growth.form == form
    assert growth.candidates == (form,)
    assert growth.base == pytest.approx(5, rel=0.1)


def test_coefficients_are_in_the_unit_of_the_cost():
    growth = fit_growth(DECADES, 2e-9 + 3e-9 * DECADES)
    assert (growth.base, growth.slope) == (pytest.approx(2e-9), pytest.approx(3e-9))
    assert growth.rise_low <= 255 * 3 / 5 <= growth.rise_high


@pytest.mark.parametrize("form", SHAPES)
def test_noise_as_large_as_the_effect_cannot_be_told(form):
    weak = 50 + 0.05 * SHAPES[form](AROUND_FOUR_CPUS) ** 0.5
    assert fit_growth(AROUND_FOUR_CPUS, noisy(weak, 1, sigma=0.2)).form == "cannot tell"


@pytest.mark.parametrize("cost", [10 / DECADES**0.3, 1.0 + DECADES**2.0, np.array([1, 9, 1, 9, 1, 9, 1, 9, 1.0])])
def test_what_is_none_of_the_forms_cannot_be_told(cost):
    assert fit_growth(DECADES, cost).form == "cannot tell"


@pytest.mark.parametrize("points", [1, 2, 3, 4])
def test_too_few_points_cannot_be_told(points):
    growth = fit_growth(DECADES[:points], SHAPES["n"](DECADES[:points]))
    assert growth.form == "cannot tell"
    assert not math.isnan(growth.confidence)


@pytest.mark.parametrize("form", ["log n", "n", "n log n"])
@pytest.mark.parametrize("sigma", [0.02, 0.1, 0.3])
def test_the_form_that_it_has_is_hardly_ever_ruled_out(form, sigma):
    """In 400 noisy sweeps; 5 % would be granted, and 8.5 % is three standard deviations above it."""
    rising = 1 + SHAPES[form](AROUND_FOUR_CPUS) / SHAPES[form](AROUND_FOUR_CPUS)[-1]
    wrong = sum(form in fit_growth(AROUND_FOUR_CPUS, noisy(rising, seed, sigma)).ruled_out for seed in range(400))
    assert wrong / 400 <= 0.085


def test_what_is_told_rules_all_else_out():
    assert set(fit_growth(DECADES, noisy(SHAPES["n"](DECADES), 1)).ruled_out) == {"1", "log n", "n log n"}


def test_a_break_at_the_number_of_cpus():
    n = AROUND_FOUR_CPUS
    stepped = fit_growth(n, noisy(np.where(n > 4, 9.0, 5.0), 1), cpus=4)
    assert (stepped.form, stepped.break_at) == ("1", 4)
    assert stepped.extra == pytest.approx(4, rel=0.05)
    bent = fit_growth(n, noisy(5 + 0.5 * n + 2 * np.maximum(0, n - 4), 2), cpus=4)
    assert (bent.form, bent.break_at) == ("n", 4)
    assert bent.extra == pytest.approx(2, rel=0.2)


def test_no_break_where_none_is_or_where_points_lack():
    straight = fit_growth(AROUND_FOUR_CPUS, noisy(SHAPES["n"](AROUND_FOUR_CPUS), 3), cpus=4)
    assert straight.break_at is None
    assert fit_growth(DECADES, np.where(DECADES > 1, 9.0, 5.0), cpus=1).break_at is None


@pytest.mark.parametrize("seed", range(30))
def test_coefficients_are_those_of_lawson_and_hanson(seed):
    """Of random problems, of whose plain solutions most have negative coefficients."""
    generator = np.random.default_rng(seed)
    design, target = generator.normal(size=(9, 3)), generator.normal(size=9)
    assert module._not_negative(design, target) == pytest.approx(optimize.nnls(design, target)[0], abs=1e-12)


def test_wrong_answers_are_rare():
    answers = [fit_growth(DECADES, noisy(SHAPES["1"](DECADES), seed, sigma=0.05)).form for seed in range(300)]
    assert sum(answer not in {"1", "cannot tell"} for answer in answers) <= 300 * 0.05


@pytest.mark.parametrize(("n", "cost"), [([1, 2], [1]), ([0.5, 2], [1, 1]), ([1, 2], [0, 1]), ([], [])])
def test_arguments_are_checked(n, cost):
    with pytest.raises(ValueError, match=r"cost|sample"):
        fit_growth(n, cost)
