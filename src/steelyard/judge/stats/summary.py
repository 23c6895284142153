# SPDX-License-Identifier: Apache-2.0
"""Centre and spread of one sample, and of a sample less its overhead.

The interval of the median is made of two order statistics; it is exact for any continuous distribution, since the
number of values below the true median is binomial with one half.
Source: Hahn & Meeker 1991, Statistical Intervals, chapter 5; Le Boudec 2010, Performance Evaluation, theorem 2.1.
Quantiles interpolate linearly between order statistics (Hyndman & Fan 1996, definition 7).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from steelyard.judge.stats.checks import FloatArray, finite, matched
from steelyard.judge.stats.interval import INTERVAL_CONFIDENCE, Interval
from steelyard.records import Summary


@dataclass(frozen=True, slots=True)
class NetCost:
    """What is left of a cost when its overhead is taken off, in the unit of the cost.

    median: of the differences within blocks; negative when the overhead came out larger, and never clamped.
    n: the blocks that had both runs.
    """

    median: float
    low: float
    high: float
    confidence: float
    n: int

    @property
    def may_be_zero(self) -> bool:
        """Whether only "at most `high`" can be said, not a figure."""
        return self.low <= 0 <= self.high

    @property
    def contradicts(self) -> bool:
        """Whether the overhead is surely larger than the cost that should contain it: the baseline is wrong."""
        return self.high < 0


def summarise(values: npt.ArrayLike, confidence: float = INTERVAL_CONFIDENCE) -> Summary:
    """The summary of a sample of one number a run, in any order. Raises ValueError on no values, NaN or infinity."""
    ordered = sorted(finite(values).tolist())
    rank = order_statistic_rank(len(ordered), confidence)
    return Summary(
        n=len(ordered),
        median=_middle(ordered),
        low=ordered[rank - 1] if rank else -math.inf,
        high=ordered[-rank] if rank else math.inf,
        confidence=confidence,
        minimum=ordered[0],
        p25=quantile(ordered, 0.25),
        p99=quantile(ordered, 0.99),
        maximum=ordered[-1],
    )


def quantile(ordered: Sequence[float], share: float) -> float:
    """The quantile of numbers in ascending order, of which there is at least one, as `numpy.quantile` has it.

    Numbers of a run are few, and there are millions of runs: numpy takes ten times as long for a handful.
    """
    place = share * (len(ordered) - 1)
    below = int(place)
    if below == len(ordered) - 1:
        return ordered[-1]
    a, b, part = ordered[below], ordered[below + 1], place - below
    if a == b:
        return a
    # From the nearer of the two, so that the last number is reached exactly.
    return a + (b - a) * part if part < 0.5 else b - (b - a) * (1 - part)


def subtract_overhead(
    values: npt.ArrayLike, overhead: npt.ArrayLike, confidence: float = INTERVAL_CONFIDENCE
) -> NetCost:
    """The cost less its overhead, by the differences within blocks, so that drift common to both falls out.

    values, overhead: one number a block, matched by position; NaN marks a missing run, and its block is left out.
    Raises ValueError when the lengths differ or no block has both.
    """
    whole, part = matched(values, overhead)
    difference = whole - part
    interval = median_interval(difference, confidence)
    return NetCost(middle(difference), interval.low, interval.high, confidence, difference.size)


def middle(values: FloatArray) -> float:
    """The median, safe where the sum of the two middle values would overflow."""
    return _middle(np.sort(values).tolist())


def _middle(ordered: Sequence[float]) -> float:
    upper = ordered[len(ordered) // 2]
    lower = ordered[len(ordered) // 2 - 1] if len(ordered) % 2 == 0 else upper
    return lower if lower == upper else lower / 2 + upper / 2


def median_interval(values: npt.ArrayLike, confidence: float) -> Interval:
    """The narrowest symmetric pair of order statistics that covers the median with at least this confidence.

    Infinite at both ends when even the extremes do not reach it. Raises ValueError unless 0 < confidence < 1.
    """
    ordered = np.sort(finite(values))
    rank = order_statistic_rank(ordered.size, confidence)
    if rank == 0:
        return Interval(-math.inf, math.inf, confidence)
    return Interval(float(ordered[rank - 1]), float(ordered[-rank]), confidence)


@lru_cache(maxsize=1024)
def order_statistic_rank(n: int, confidence: float) -> int:
    """The rank, counted from 1, of the lower end of the median's interval; 0 when n is too small for one.

    The largest r with 2 P(X < r) <= 1 - confidence for X binomial in n and one half.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}")
    allowed = (1 - confidence) * 2 ** (n - 1) if n < 1000 else int((1 - confidence) * 2**53) << (n - 54)
    rank, below, term = 0, 1, 1
    while below <= allowed:
        rank += 1
        term = term * (n - rank + 1) // rank
        below += term
    return rank
