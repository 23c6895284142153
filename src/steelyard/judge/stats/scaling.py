# SPDX-License-Identifier: Apache-2.0
"""How throughput grows with the number of threads, processes or CPUs: the universal scalability law, with intervals.

N contexts do N / (1 + s (N - 1) + k N (N - 1)) times the work of one. s is contention, the share of the work that only
one may do at a time; k is coherence, what each pays for each other one. Time times N is then linear in both, so each
block gives an estimate by least squares on the relative error, and the median of these with its exact interval is the
answer: drift and neighbours that hit a whole block fall out, and nothing is assumed of the noise. Coefficients are free
of sign: a contention below zero is more than linear growth, by caches that add up, say.
Source: Gunther 2007, Guerrilla Capacity Planning, chapters 4 to 6.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from steelyard.judge.stats.checks import FloatArray, costs
from steelyard.judge.stats.interval import INTERVAL_CONFIDENCE, Interval
from steelyard.judge.stats.summary import median_interval, middle

Answer: TypeAlias = Literal["scales", "does not", "cannot tell"]

# A law of three coefficients passes through any two points.
_FEWEST = 3

# A law that misses its points by a fifth on average explains nothing (as in growth.py).
_WORST_MISFIT = 0.2


@dataclass(frozen=True, slots=True)
class Estimate:
    """The median of the blocks' estimates; interval: infinite at both ends below 6 blocks (at 95 %)."""

    value: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class Law:
    """The coefficients of the law.

    contention: s, from 0 (none) to 1 (only one works at a time). coherence: k, 0 where throughput never falls.
    best: the number of contexts at which throughput is largest; infinite where it never falls.
    """

    contention: Estimate
    coherence: Estimate
    best: Estimate


@dataclass(frozen=True, slots=True)
class Scaling:
    """What a sweep over the number of contexts says.

    efficiency: throughput at `largest` contexts over `largest` times that of one, from the two measured points alone.
    answer: "scales" where the efficiency surely reaches what was asked for, "does not" where it surely does not.
    law: None where it cannot be told: fewer than three numbers of contexts, or points that no such law explains.
    misfit: root mean square, over the numbers of contexts, of the law's relative error; 0 with three of them or fewer.
    """

    largest: int
    efficiency: Estimate
    answer: Answer
    law: Law | None
    misfit: float


def fit_scaling(
    contexts: Sequence[int],
    times: npt.ArrayLike,
    enough: float = 0.9,
    confidence: float = INTERVAL_CONFIDENCE,
) -> Scaling:
    """The scaling of a sweep.

    contexts: rising from 1, two numbers at least. times: a row for each number of contexts and a column for each block:
    the time of one operation, all contexts together, in any unit; NaN marks a missing run, and its block is left out.
    enough: the efficiency that counts as scaling. confidence: of each interval by itself.
    Raises ValueError on other shapes and numbers of contexts, on times that are not finite and positive, and when no
    block has all its runs.
    """
    numbers = np.asarray(contexts, dtype=np.float64)
    if numbers.size < 2 or numbers[0] != 1 or not (np.diff(numbers) > 0).all():
        raise ValueError(f"the numbers of contexts must rise from 1, not be {list(contexts)}")
    work = _whole_blocks(times, numbers.size) * numbers[:, None]
    share = _ratio(_estimate(work[0] / work[-1], confidence))
    law, misfit = _law(numbers, work, confidence)
    return Scaling(int(numbers[-1]), share, _answer(share.interval, enough), law, misfit)


def _whole_blocks(times: npt.ArrayLike, points: int) -> FloatArray:
    table = np.asarray(times, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] != points:
        raise ValueError(f"{points} numbers of contexts need a table of as many rows, not of shape {table.shape}")
    whole = table[:, ~np.isnan(table).any(axis=0)]
    return costs(whole.ravel()).reshape(whole.shape)


def _answer(share: Interval, enough: float) -> Answer:
    if share.low >= enough:
        return "scales"
    return "does not" if share.high < enough else "cannot tell"


def _law(numbers: FloatArray, work: FloatArray, confidence: float) -> tuple[Law | None, float]:
    if numbers.size < _FEWEST:
        return None, 0.0
    design = np.column_stack([np.ones_like(numbers), numbers - 1, numbers * (numbers - 1)])
    # Columns of n (n - 1) reach hundreds of thousands beside ones; the solver's tolerance needs them alike.
    size = np.abs(design).max(axis=0)
    relative = (design / size)[None] / work.T[:, :, None]  # blocks, points, coefficients
    coefficients = np.linalg.pinv(relative).sum(axis=2)
    errors = np.median(np.einsum("bpc,bc->bp", relative, coefficients) - 1, axis=0)
    misfit = float(np.sqrt(np.mean(errors**2)))
    one, contention, coherence = (coefficients / size).T
    # The first coefficient is the work at one context; next to nothing of it would be no scale for the others.
    if misfit > _WORST_MISFIT or not (one > 1e-6 * work[0]).all():
        return None, misfit
    contention, coherence = contention / one, coherence / one
    return Law(
        _estimate(contention, confidence),
        _estimate(coherence, confidence),
        _reciprocal(_estimate(_one_over_best(contention, coherence), confidence)),
    ), misfit


def _one_over_best(contention: FloatArray, coherence: FloatArray) -> FloatArray:
    """Finite where the best number is not. With a contention of 1 and above, one context alone is best."""
    left, falls = 1 - contention, np.maximum(coherence, 0)
    return np.sqrt(np.divide(falls, left, out=np.ones_like(left), where=falls < left))


def _estimate(of_blocks: FloatArray, confidence: float) -> Estimate:
    return Estimate(middle(of_blocks), median_interval(of_blocks, confidence))


def _ratio(of: Estimate) -> Estimate:
    """Of a number above 0, whose unknown lower end is 0."""
    return Estimate(of.value, Interval(max(of.interval.low, 0), of.interval.high, of.interval.confidence))


def _reciprocal(of: Estimate) -> Estimate:
    """Of a number from 0 to 1: at least 1. An end that the data cannot give stays unknown: 1 below, infinity above."""

    def over(value: float) -> float:
        return 1 / value if value > 0 else np.inf

    low, high = max(of.interval.low, 0), min(of.interval.high, 1)
    return Estimate(over(of.value), Interval(over(high), over(low), of.interval.confidence))
