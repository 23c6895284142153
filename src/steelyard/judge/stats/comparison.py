# SPDX-License-Identifier: Apache-2.0
"""Two cases of one session compared over its blocks, as the ratio b/a with an interval and a verdict of three.

Each block gives one logarithm of a ratio; their pseudo-median with the signed-rank interval is the comparison. Both
rivals were simulated beside it (`proving.choose`): a few disturbed runs rob t of its power, and the interval of the
sign test is a quarter to a half wider.
Source: Hodges & Lehmann 1963, Annals of Mathematical Statistics 34(2); the three verdicts after Schuirmann 1987,
Journal of Pharmacokinetics and Biopharmaceutics 15(6), with one interval for both questions; blocks after Abedi &
Brecht 2017, ICPE.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from steelyard.judge.stats import signed_rank
from steelyard.judge.stats.checks import FloatArray, costs
from steelyard.judge.stats.interval import Interval
from steelyard.judge.stats.summary import middle

# An error rate of at most 5 % is promised, and a promise met with equality can never be shown to be kept: the upper
# bound of any finite number of trials lies above it. One point of confidence is the price of a proof.
VERDICT_CONFIDENCE = 0.96


class Verdict(StrEnum):
    """What an interval allows to be said about a ratio and a margin."""

    DIFFERENT = "different"
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The ratio b/a of two costs: below 1 means that b is cheaper.

    low, high: an interval for the ratio; 0 and infinity when n is too small for the confidence.
    margin: the fraction that does not matter; 0.02 stands for the band from 1/1.02 to 1.02, alike in both directions.
    n: blocks, or the runs of the smaller sample where there are no blocks.
    p_value: the least error rate at which the verdict would be "different"; p_equivalent: the same for "equivalent".
    """

    ratio: float
    low: float
    high: float
    confidence: float
    margin: float
    n: int
    verdict: Verdict
    p_value: float
    p_equivalent: float


def compare_paired(
    a: npt.ArrayLike, b: npt.ArrayLike, margin: float = 0.0, confidence: float = VERDICT_CONFIDENCE
) -> Comparison:
    """The comparison of two samples matched by block: a[i] and b[i] ran in block i.

    a, b: positive costs in one unit, one number a run. Below 6 blocks (at 95 or 96 %) the interval is infinite and the
    verdict undecided. With margin 0 nothing is ever equivalent. Raises ValueError when the lengths differ, the margin
    is negative, or a value is not finite and positive; drop the blocks that miss a run with `checks.matched` first.
    """
    differences = log_ratios(a, b)
    edge = margin_edge(margin)
    averages = signed_rank.walsh_averages(differences)
    interval = _interval(averages, differences.size, confidence)
    different, equivalent = _p_values(differences, edge)
    return Comparison(
        ratio=exponential(middle(averages)),
        low=exponential(interval.low),
        high=exponential(interval.high),
        confidence=confidence,
        margin=margin,
        n=differences.size,
        verdict=judge(interval, edge),
        p_value=different,
        p_equivalent=equivalent,
    )


def log_ratios(a: npt.ArrayLike, b: npt.ArrayLike) -> FloatArray:
    """log(b/a) of each block. Raises ValueError when the lengths differ or a value is not finite and positive."""
    first, second = costs(a), costs(b)
    if first.size != second.size:
        raise ValueError(f"samples matched by block need one length, not {first.size} and {second.size}")
    # A difference of logarithms, not the logarithm of a quotient: exactly antisymmetric, and it cannot overflow.
    return np.log(second) - np.log(first)


def margin_edge(margin: float) -> float:
    """The margin on the scale of log ratios. Raises ValueError unless it is finite and at least 0."""
    if not (np.isfinite(margin) and margin >= 0):
        raise ValueError(f"margin must be a fraction of at least 0, not {margin}")
    return float(np.log1p(margin))


def judge(interval: Interval, edge: float) -> Verdict:
    """The verdict on a log ratio: its interval wholly beyond the band [-edge, edge], wholly inside, or neither."""
    if interval.low > edge or interval.high < -edge:
        return Verdict.DIFFERENT
    if -edge < interval.low and interval.high < edge:
        return Verdict.EQUIVALENT
    return Verdict.UNDECIDED


def exponential(value: float) -> float:
    """E to the value, infinite instead of an error where it overflows."""
    with np.errstate(over="ignore"):
        return float(np.exp(value))


def _interval(averages: FloatArray, n: int, confidence: float) -> Interval:
    rank = signed_rank.critical_rank(n, confidence)
    if rank == 0:
        return Interval(-np.inf, np.inf, confidence)
    return Interval(float(averages[rank - 1]), float(averages[-rank]), confidence)


def _p_values(differences: FloatArray, edge: float) -> tuple[float, float]:
    """The p-values of "different" and of "equivalent", from the counts at both edges of the band."""
    n = differences.size
    most_upper, least_upper = signed_rank.counts(differences, edge)
    most_lower, least_lower = signed_rank.counts(differences, -edge)
    different = signed_rank.tail(n, np.minimum(most_upper, least_lower))
    equivalent = signed_rank.tail(n, np.maximum(most_lower, least_upper))
    return float(different), float(equivalent)
