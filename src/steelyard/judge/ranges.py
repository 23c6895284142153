# SPDX-License-Identifier: Apache-2.0
"""A figure or a ratio held against a range: outside, inside, or not to be told yet; alone and together with others."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from steelyard.judge.claims import ClaimVerdict
from steelyard.judge.evidence import Column, NoAnswer
from steelyard.judge.reasons import Why
from steelyard.judge.samples import FloatArray
from steelyard.judge.stats import comparison as comparing
from steelyard.judge.stats.comparison import VERDICT_CONFIDENCE, Comparison, compare_paired
from steelyard.judge.stats.planning import fewest_blocks, forecast
from steelyard.judge.stats.summary import median_interval, middle

ALPHA = 1 - VERDICT_CONFIDENCE
#: More blocks than these nobody measures for one statement.
_MOST_BLOCKS = 1000


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure or ratio with its interval at some confidence."""

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True, eq=False)
class RangeTest:
    """One figure or ratio and its range. ``rows``: differences from its lower and its upper end, where it has one."""

    of: Column
    over: Column | None
    at_least: float | None
    at_most: float | None
    estimate_at: Callable[[float], Estimate]
    rows: tuple[FloatArray, ...]

    @property
    def blocks(self) -> int:
        """Blocks that it rests on."""
        return self.estimate_at(VERDICT_CONFIDENCE).n

    @property
    def alone(self) -> ClaimVerdict:
        """The verdict without regard to other tests."""
        seen = self.estimate_at(VERDICT_CONFIDENCE)
        above = self.at_least is None or seen.low >= self.at_least
        below = self.at_most is None or seen.high <= self.at_most
        if above and below:
            return ClaimVerdict.HOLDS
        return ClaimVerdict.FAILS if self.too_low or self.too_high else ClaimVerdict.UNDECIDED

    @property
    def too_low(self) -> bool:
        """Whether the interval lies below the range."""
        return self.at_least is not None and self.estimate_at(VERDICT_CONFIDENCE).high < self.at_least

    @property
    def too_high(self) -> bool:
        """Whether the interval lies above the range."""
        return self.at_most is not None and self.estimate_at(VERDICT_CONFIDENCE).low > self.at_most

    def together(self, p_values: FloatArray) -> ClaimVerdict:
        """The verdict in the family, from the p-values of its own rows."""
        alone = self.alone
        if alone is ClaimVerdict.HOLDS:
            sure = bool(np.all(p_values <= ALPHA))
        elif alone is ClaimVerdict.FAILS:
            sure = bool(p_values[0 if self.too_low else -1] <= ALPHA)
        else:
            sure = False
        return alone if sure else ClaimVerdict.UNDECIDED


def ratio(of: Column, over: Column, at_least: float | None, at_most: float | None) -> RangeTest:
    """The ratio of two costs, block by block, against a range, either end of which may be open."""
    both = np.isfinite(of.values) & np.isfinite(over.values)
    if not both.any():
        raise NoAnswer(ClaimVerdict.NOT_MEASURED, Why.NO_COMMON_BLOCK, of=of.case, over=over.case)
    a, b = of.values[both], over.values[both]
    for column, values in ((of, a), (over, b)):
        if values.min() <= 0:
            raise NoAnswer(ClaimVerdict.UNDECIDED, Why.NOT_ABOVE_ZERO, case=column.case)
    logs = np.full(both.size, np.nan)
    logs[both] = np.log(a) - np.log(b)
    edges = [math.log(edge) for edge in (at_least, at_most) if edge is not None]
    return RangeTest(of, over, at_least, at_most, partial(_ratio_at, a, b), _rows(logs, edges, a.size))


def _ratio_at(of: FloatArray, over: FloatArray, confidence: float) -> Estimate:
    compared = compare_paired(over, of, confidence=confidence)
    return Estimate(compared.ratio, compared.low, compared.high, compared.n)


def figure(column: Column, at_least: float | None, at_most: float | None) -> RangeTest:
    """The median of one figure against a range, either end of which may be open."""
    there = column.values[np.isfinite(column.values)]
    edges = [edge for edge in (at_least, at_most) if edge is not None]
    rows = _rows(column.values, edges, there.size)
    return RangeTest(column, None, at_least, at_most, partial(_median_at, there), rows)


def _median_at(values: FloatArray, confidence: float) -> Estimate:
    interval = median_interval(values, confidence)
    return Estimate(middle(values), interval.low, interval.high, values.size)


def _rows(values: FloatArray, edges: Sequence[float], n: int) -> tuple[FloatArray, ...]:
    """A difference from each end, of a sample large enough to be decided at all; others would only cost power."""
    return tuple(values - edge for edge in edges) if n >= fewest_blocks() else ()


def blocks_more(test: RangeTest, edges: int) -> int | None:
    """Blocks until this undecided test is decided in a family of ``edges`` ends of ranges; None if none will do it."""
    # Where only the family objects, Bonferroni's share of the error rate says what would surely be enough.
    confidence = VERDICT_CONFIDENCE if test.alone is ClaimVerdict.UNDECIDED else 1 - ALPHA / max(1, edges)
    seen = test.estimate_at(confidence)
    if math.isinf(seen.high):
        return max(1, fewest_blocks(alpha=1 - confidence) - seen.n)
    low, high = test.at_least, test.at_most
    if low is not None and high is not None:
        centre, margin = math.sqrt(max(low, 0.0) * high), math.sqrt(high / low) - 1 if low > 0 else 0.0
    else:
        centre, margin = (low if low is not None else high) or 0.0, 0.0
    if seen.value <= 0 or centre <= 0:
        return None
    foreseen = forecast(
        Comparison(
            ratio=seen.value / centre,
            low=max(seen.low / centre, 0.0),
            high=seen.high / centre,
            confidence=confidence,
            margin=margin,
            n=seen.n,
            verdict=comparing.Verdict.UNDECIDED,
            p_value=1.0,
            p_equivalent=1.0,
        ),
        seconds_per_block=0.0,
        most=_MOST_BLOCKS,
    )
    return None if foreseen is None else foreseen.blocks
