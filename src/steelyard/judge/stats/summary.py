# SPDX-License-Identifier: Apache-2.0
"""Centre and spread of one sample, and of a sample less its overhead.

The interval of the median is made of two order statistics; it is exact for any continuous distribution, since the
number of values below the true median is binomial with one half.
Source: Hahn & Meeker 1991, Statistical Intervals, chapter 5; Le Boudec 2010, Performance Evaluation, theorem 2.1.
Quantiles interpolate linearly between order statistics (Hyndman & Fan 1996, definition 7).
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from steelyard.judge.stats.checks import FloatArray, finite, matched
from steelyard.judge.stats.interval import Interval


@dataclass(frozen=True, slots=True)
class Summary:
    """One sample in a few numbers, all but n and confidence in the unit of the sample.

    low and high bound the median; they are infinite when n is too small for the confidence (below 6 for 95 %).
    p99 of fewer than 100 runs lies near the maximum and says little more than it.
    """

    n: int
    median: float
    low: float
    high: float
    confidence: float
    minimum: float
    p25: float
    p99: float
    maximum: float


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


def summarise(values: npt.ArrayLike, confidence: float = 0.95) -> Summary:
    """The summary of a sample of one number a run, in any order. Raises ValueError on no values, NaN or infinity."""
    sample = finite(values)
    interval = median_interval(sample, confidence)
    return Summary(
        n=sample.size,
        median=middle(sample),
        low=interval.low,
        high=interval.high,
        confidence=confidence,
        minimum=float(sample.min()),
        p25=float(np.quantile(sample, 0.25)),
        p99=float(np.quantile(sample, 0.99)),
        maximum=float(sample.max()),
    )


def subtract_overhead(values: npt.ArrayLike, overhead: npt.ArrayLike, confidence: float = 0.95) -> NetCost:
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
    ordered = np.sort(values)
    half = ordered.size // 2
    upper = float(ordered[half])
    lower = float(ordered[half - 1]) if ordered.size % 2 == 0 else upper
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
