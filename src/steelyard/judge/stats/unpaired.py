# SPDX-License-Identifier: Apache-2.0
"""Two sessions compared: no blocks match, so what the machine did in between has to be paid for in width.

The sentinel, the same case in both sessions, is the covariate: its shift is taken off the case's. The intervals of both
shifts and an allowance for what still moves between sessions are joined by the method of variance estimates recovery,
which needs intervals only and keeps their skew. The shifts are Hodges-Lehmann's: medians' own intervals would need
thirteen runs before a suite of a hundred cases gets any interval at all.
Source: Zou & Donner 2008, Statistics in Medicine 27(10); Hodges & Lehmann 1963, Annals of Mathematical Statistics
34(2).
"""

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from steelyard.judge.stats import rank_sum, students_t
from steelyard.judge.stats.checks import FloatArray, costs
from steelyard.judge.stats.comparison import VERDICT_CONFIDENCE, Comparison, Verdict, exponential, judge, margin_edge
from steelyard.judge.stats.interval import Interval
from steelyard.judge.stats.summary import middle

# Clean medians of one program, half an hour apart on one small virtual machine, differed by 3 % at the 90th percentile:
# as a normal deviation, 3 % / 1.645.
BETWEEN_SESSIONS = 0.018

# The relative efficiency of the median to the mean of a normal sample is 2/pi for large n, and better for small n.
_MEDIAN_PENALTY = math.sqrt(math.pi / 2)

_FEWEST_FOR_RANKS = 6


def compare_unpaired(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    sentinel_a: npt.ArrayLike,
    sentinel_b: npt.ArrayLike,
    *,
    margin: float = 0.0,
    confidence: float = VERDICT_CONFIDENCE,
    between: float = BETWEEN_SESSIONS,
) -> Comparison:
    """The comparison of one case in two sessions, the sentinel's ratio divided out.

    a, b: the case's positive costs in one unit, one number a run, of any two lengths; below 6 the interval is infinite.
    sentinel_a, sentinel_b: the sentinel's costs in the same two sessions; 2 to 5 of them give a t interval, one none.
    between: the standard deviation of the log ratio of two sessions of the same program that the sentinel does not
    explain.
    Raises ValueError on values that are not finite and positive, and on a negative margin or allowance.
    """
    if not (math.isfinite(between) and between >= 0):
        raise ValueError(f"the allowance between sessions must be at least 0, not {between}")
    edge = margin_edge(margin)
    samples = tuple(np.log(costs(values)) for values in (a, b, sentinel_a, sentinel_b))
    centre = _centre(samples)

    def interval_at(level: float) -> Interval:
        return _interval(samples, centre, level, between)

    interval = interval_at(confidence)
    return Comparison(
        ratio=exponential(centre),
        low=exponential(interval.low),
        high=exponential(interval.high),
        confidence=confidence,
        margin=margin,
        n=min(samples[0].size, samples[1].size),
        verdict=judge(interval, edge),
        p_value=_least_error(interval_at, edge, Verdict.DIFFERENT),
        p_equivalent=_least_error(interval_at, edge, Verdict.EQUIVALENT),
    )


def _centre(samples: tuple[FloatArray, ...]) -> float:
    case_a, case_b, sentinel_a, sentinel_b = samples
    return _shift(case_a, case_b) - _shift(sentinel_a, sentinel_b)


def _shift(a: FloatArray, b: FloatArray) -> float:
    return middle(rank_sum.differences(a, b))


def _interval(samples: tuple[FloatArray, ...], centre: float, confidence: float, between: float) -> Interval:
    case_a, case_b, sentinel_a, sentinel_b = samples
    case = _reach(case_a, case_b, rank_sum.shift_interval(case_a, case_b, confidence))
    sentinel = _sentinel_reach(sentinel_a, sentinel_b, confidence)
    allowance = NormalDist().inv_cdf((1 + confidence) / 2) * between if confidence < 1 else math.inf
    # What enters with a minus sign lends its upper reach to the lower end, and the other way round.
    below = math.hypot(case[0], sentinel[1], allowance)
    above = math.hypot(case[1], sentinel[0], allowance)
    return Interval(centre - below, centre + above, confidence)


def _reach(a: FloatArray, b: FloatArray, interval: Interval) -> tuple[float, float]:
    """How far the interval goes below and above the shift from a to b."""
    centre = _shift(a, b)
    return centre - interval.low, interval.high - centre


def _sentinel_reach(a: FloatArray, b: FloatArray, confidence: float) -> tuple[float, float]:
    """The reach of the sentinel's shift; of fewer than six runs it is made of two t intervals."""
    if min(a.size, b.size) >= _FEWEST_FOR_RANKS:
        return _reach(a, b, rank_sum.shift_interval(a, b, confidence))
    first, second = (_small_reach(sample, confidence) for sample in (a, b))
    reach = math.hypot(first, second)
    return reach, reach


def _small_reach(sample: FloatArray, confidence: float) -> float:
    """Half the width of the t interval of a few runs' centre."""
    n = sample.size
    if n == 1:
        return math.inf
    quantile = students_t.quantile((1 + confidence) / 2, n - 1)
    return _MEDIAN_PENALTY * quantile * float(np.std(sample, ddof=1)) / math.sqrt(n)


def _least_error(interval_at: Callable[[float], Interval], edge: float, verdict: Verdict) -> float:
    """The least error rate at which the verdict would be given, by bisection, since the intervals are nested."""
    low, high = -30.0, 0.0
    for _ in range(40):
        exponent = (low + high) / 2
        if judge(interval_at(-math.expm1(exponent)), edge) is verdict:
            high = exponent
        else:
            low = exponent
    return math.exp(high)
