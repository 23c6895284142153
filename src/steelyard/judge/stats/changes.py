# SPDX-License-Identifier: Apache-2.0
"""Where a history of session medians changed its level.

Binary segmentation: the whole series is split where a t statistic is largest, then each side again, as long as the
split is significant. Taking a t test instead of permutations makes it deterministic, so the same history always tells
the same. Two things differ from the programs in use. The p-value is multiplied by the number of splits tried, which
bounds the false alarms of the search itself; and a rank-sum test must agree, since one wild session among few is a
large t but no change.
Source: Fleming, Kołaczkowski and others 2023, Hunter, ICPE (a t test in E-divisive, of Matteson & James 2014, Journal
of the American Statistical Association 109); that two detectors should agree: Mozilla's comparison of 25 detectors,
2026, arXiv 2606.18377.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from steelyard.judge.stats import students_t
from steelyard.judge.stats.checks import FloatArray, costs
from steelyard.judge.stats.summary import middle

# Nearer to an end no level can be told from a stray session: three values can never convince the rank sum.
_SHORTEST = 4

# The rank sum guards against wild sessions and need not stand alone: at 1 % both together split at most 3 % of flat
# series of 12 to 100 values, normal to Cauchy, and agree after 5 values of a new level in nineteen cases of twenty.
_AGREEMENT = 0.01


@dataclass(frozen=True, slots=True)
class Change:
    """A lasting change of level.

    index: position of the first value after it, from 0. before, after: medians up to the neighbouring changes, in the
    unit of the series. p_value: of the change, with the search accounted for.
    """

    index: int
    before: float
    after: float
    p_value: float

    @property
    def ratio(self) -> float:
        """The new level divided by the old one."""
        return self.after / self.before


def find_changes(medians: npt.ArrayLike, alpha: float = 0.05, least: float = 0.0) -> tuple[Change, ...]:
    """The changes in a series of session medians in the order of time; none when it has fewer than 8.

    medians: positive costs in one unit, oldest first. alpha: the chance of any change in a flat series, whatever its
    length.
    least: the fraction by which the level must change, 0.02 for 2 % either way; smaller changes are left out.
    Raises ValueError on values that are not finite and positive.
    """
    series = np.log(costs(medians))
    found = _segment(series, 0, alpha)
    kept = _large_enough(series, found, float(np.log1p(least)))
    bounds = [0, *(index for index, _ in kept), series.size]
    levels = [float(np.exp(middle(series[i:j]))) for i, j in pairwise(bounds)]
    return tuple(
        Change(index, before, after, p) for (index, p), before, after in zip(kept, levels, levels[1:], strict=False)
    )


def _segment(series: FloatArray, start: int, alpha: float) -> list[tuple[int, float]]:
    """Indices and p-values of the significant splits of this part, whose first value stands at `start` in the whole."""
    if series.size < 2 * _SHORTEST:
        return []
    split, p = _best_split(series)
    if p > alpha:
        return []
    left = _segment(series[:split], start, alpha)
    right = _segment(series[split:], start + split, alpha)
    return [*left, (start + split, p), *right]


def _best_split(series: FloatArray) -> tuple[int, float]:
    """The split with the largest t, and its p-value times the splits tried; 1 when the rank sum disagrees."""
    sizes = np.arange(_SHORTEST, series.size - _SHORTEST + 1)
    if np.ptp(series) == 0:
        return int(sizes[0]), 1.0
    t = _t_statistics(series, sizes)
    ranked = _rank_sum_statistics(series, sizes)
    best = int(np.argmax(t))
    if math.erfc(float(ranked[best]) / math.sqrt(2)) > _AGREEMENT:
        return int(sizes[best]), 1.0
    p = 2 * students_t.tail(float(t[best]), series.size - 2) * sizes.size
    return int(sizes[best]), min(1.0, p)


def _t_statistics(series: FloatArray, sizes: npt.NDArray[np.int64]) -> FloatArray:
    """Student's t with a pooled variance, without its sign, of the first `size` values against the others."""
    n = series.size
    centred = series - series.mean()
    before = np.cumsum(centred)[sizes - 1]
    between = before**2 * n / (sizes * (n - sizes))
    # A clean step leaves no variance inside; the floor keeps its t finite and larger than any other.
    within = np.maximum(np.sum(centred**2) - between, np.finfo(np.float64).eps * np.sum(centred**2))
    statistic: FloatArray = np.sqrt(between / within * (n - 2))
    return statistic


def _rank_sum_statistics(series: FloatArray, sizes: npt.NDArray[np.int64]) -> FloatArray:
    """The normal score of the rank sum without its sign, with corrections for ties and continuity."""
    n = series.size
    _, where, ties = np.unique(series, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(ties) - (ties - 1) / 2)[where]
    distance = np.abs(np.cumsum(ranks)[sizes - 1] - sizes * (n + 1) / 2)
    tied = float(np.sum(ties**3 - ties)) / (n * (n - 1))
    deviation = np.sqrt(sizes * (n - sizes) / 12 * (n + 1 - tied))
    score: FloatArray = np.maximum(distance - 0.5, 0) / deviation
    return score


def _large_enough(series: FloatArray, found: list[tuple[int, float]], least: float) -> list[tuple[int, float]]:
    """The changes left when the smallest is dropped, and the levels joined, until all exceed `least`."""
    kept = list(found)
    while kept:
        bounds = [0, *(index for index, _ in kept), series.size]
        levels = [middle(series[i:j]) for i, j in pairwise(bounds)]
        steps = np.abs(np.diff(levels))
        smallest = int(np.argmin(steps))
        if steps[smallest] >= least:
            break
        del kept[smallest]
    return kept
