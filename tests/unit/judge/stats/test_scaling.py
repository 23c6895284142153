# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest

from steelyard.judge.stats.scaling import fit_scaling
from tests.long import LONG

UP_TO_64 = (1, 2, 4, 8, 16, 32, 64)
UP_TO_512 = (*UP_TO_64, 128, 256, 512)
#: Synthetic sessions of each kind, and how many of them must have the truth in an interval of 95 %: of 300, 93 % or
#: fewer come in less than one case of twenty.
TRIALS, COVERED = (1000, 0.95) if LONG else (300, 0.93)


def planted(contexts, contention, coherence, blocks=10, seed=1, sigma=0.03):
    """Times of one operation by the law, with noise of each run and of each block as a whole."""
    n = np.array(contexts, dtype=float)
    exact = 5e-9 * (1 + contention * (n - 1) + coherence * n * (n - 1)) / n
    noise = np.random.default_rng(seed)
    drift = np.exp(noise.normal(0, 0.2, blocks))
    return exact[:, None] * drift * np.exp(noise.normal(0, sigma, (n.size, blocks)))


@pytest.mark.parametrize(
    ("contention", "coherence", "answer"),
    [(0.0, 0.0, "scales"), (0.05, 0.0, "does not"), (0.02, 0.0005, "does not"), (0.9, 0.01, "does not")],
)
def test_planted_coefficients_are_found(contention, coherence, answer):
    scaling = fit_scaling(UP_TO_64, planted(UP_TO_64, contention, coherence, sigma=1e-9))
    assert scaling.law.contention.value == pytest.approx(contention, abs=1e-6)
    assert scaling.law.coherence.value == pytest.approx(coherence, abs=1e-8)
    assert (scaling.largest, scaling.answer) == (64, answer)
    assert scaling.misfit < 1e-6


def test_the_best_number_is_where_throughput_is_largest():
    best = fit_scaling(UP_TO_64, planted(UP_TO_64, 0.02, 0.0005, sigma=1e-9)).law.best
    assert best.value == pytest.approx(math.sqrt(0.98 / 0.0005), rel=1e-4)
    assert fit_scaling(UP_TO_64, planted(UP_TO_64, 1.2, 0.01, sigma=1e-9)).law.best.value == 1


def test_what_never_falls_has_no_best_number():
    best = fit_scaling(UP_TO_64, planted(UP_TO_64, 0.05, 0.0)).law.best
    assert best.interval.high == math.inf


@pytest.mark.parametrize(
    ("contexts", "contention", "coherence"),
    [
        *((UP_TO_64, *law) for law in [(0.0, 0.0), (0.1, 0.0), (0.02, 0.0005), (0.3, 0.004)]),
        ((1, 2, 3), 0.05, 0.01),
        (UP_TO_512, 0.01, 0.00002),
    ],
)
def test_intervals_cover_what_was_planted(contexts, contention, coherence):
    covered = np.zeros(3)
    n = contexts[-1]
    truth = (contention, coherence, 1 / (1 + contention * (n - 1) + coherence * n * (n - 1)))
    for seed in range(TRIALS):
        found = fit_scaling(contexts, planted(contexts, contention, coherence, seed=seed))
        estimates = (found.law.contention, found.law.coherence, found.efficiency)
        covered += [each.interval.contains(true) for each, true in zip(estimates, truth, strict=True)]
    assert (covered >= COVERED * TRIALS).all(), covered


@pytest.mark.parametrize(("contention", "wrong"), [(0.1 / 0.9 / 63, "scales"), (0.1 / 0.9 / 63 * 0.99, "does not")])
def test_answers_at_the_edge_of_what_was_asked_for_are_seldom_wrong(contention, wrong):
    answers = [fit_scaling(UP_TO_64, planted(UP_TO_64, contention, 0.0, seed=seed)).answer for seed in range(TRIALS)]
    assert answers.count(wrong) <= TRIALS * 0.05


def test_two_points_tell_the_efficiency_but_not_the_law():
    scaling = fit_scaling((1, 2), planted((1, 2), 0.5, 0.0))
    assert (scaling.law, scaling.misfit, scaling.answer) == (None, 0, "does not")
    assert scaling.efficiency.value == pytest.approx(2 / 3, rel=0.05)


def test_points_that_no_such_law_explains_have_none():
    zigzag = np.where(np.arange(7) % 2, 1.0, 4.0)[:, None] / np.array(UP_TO_64)[:, None] * np.ones(10)
    scaling = fit_scaling(UP_TO_64, zigzag)
    assert scaling.law is None
    assert scaling.misfit > 0.2


def test_few_blocks_have_no_interval_and_no_answer():
    scaling = fit_scaling(UP_TO_64, planted(UP_TO_64, 0.0, 0.0, blocks=5))
    assert scaling.answer == "cannot tell"
    assert not scaling.efficiency.interval.bounded
    assert (scaling.law.best.interval.low, scaling.law.best.interval.high) == (1, math.inf)


def test_a_block_without_all_its_runs_is_left_out():
    times = planted(UP_TO_64, 0.1, 0.001)
    spoilt = np.column_stack([times, times[:, 0]])
    spoilt[3, -1] = np.nan
    assert fit_scaling(UP_TO_64, spoilt) == fit_scaling(UP_TO_64, times)


@pytest.mark.parametrize(
    ("contexts", "times"),
    [
        ((1,), [[1.0]]),
        ((2, 4), [[1.0], [1.0]]),
        ((1, 4, 2), [[1.0], [1.0], [1.0]]),
        ((1, 2), [[1.0], [0.0]]),
        ((1, 2), [[1.0], [math.nan]]),
        ((1, 2), [1.0, 1.0]),
        ((1, 2), [[1.0]]),
    ],
)
def test_arguments_are_checked(contexts, times):
    with pytest.raises(ValueError, match=r"contexts|cost|sample"):
        fit_scaling(contexts, times)
