# SPDX-License-Identifier: Apache-2.0
"""Two sessions compared: no blocks match, so what the machine did in between has to be paid for in width.

The sentinel, the same case in both sessions, is the covariate: the ratio of its medians is divided out. The four
medians' intervals and an allowance for what still moves between sessions are joined by the method of variance
estimates recovery, which needs intervals only and keeps their skew.
Source: Zou & Donner 2008, Statistics in Medicine 27(10); for medians Price & Bonett 2002, Journal of Statistical
Computation and Simulation 72(2).
"""

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
from scipy import special

from steelyard.judge.stats.checks import FloatArray, costs
from steelyard.judge.stats.comparison import CONFIDENCE, Comparison, Verdict, exponential, judge, margin_edge
from steelyard.judge.stats.interval import Interval
from steelyard.judge.stats.summary import median_interval, middle

# Clean medians of one program, half an hour apart on one small virtual machine, differed by 3 % at the 90th percentile:
# as a normal deviation, 3 % / 1.645.
BETWEEN_SESSIONS = 0.018

# The relative efficiency of the median to the mean of a normal sample is 2/pi for large n, and better for small n.
_MEDIAN_PENALTY = math.sqrt(math.pi / 2)

_FEWEST_FOR_ORDER_STATISTICS = 6


def compare_unpaired(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    sentinel_a: npt.ArrayLike,
    sentinel_b: npt.ArrayLike,
    *,
    margin: float = 0.0,
    confidence: float = CONFIDENCE,
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
    case_a, case_b, sentinel_a, sentinel_b = (middle(sample) for sample in samples)
    return (case_b - case_a) - (sentinel_b - sentinel_a)


def _interval(samples: tuple[FloatArray, ...], centre: float, confidence: float, between: float) -> Interval:
    case_a, case_b = (_reach(sample, median_interval(sample, confidence)) for sample in samples[:2])
    sentinel_a, sentinel_b = (_reach(sample, _sentinel_interval(sample, confidence)) for sample in samples[2:])
    allowance = NormalDist().inv_cdf((1 + confidence) / 2) * between
    # What enters with a minus sign lends its upper reach to the lower end, and the other way round.
    below = math.hypot(case_b[0], case_a[1], sentinel_b[1], sentinel_a[0], allowance)
    above = math.hypot(case_b[1], case_a[0], sentinel_b[0], sentinel_a[1], allowance)
    return Interval(centre - below, centre + above, confidence)


def _reach(sample: FloatArray, interval: Interval) -> tuple[float, float]:
    """How far the interval goes below and above the sample's median."""
    centre = middle(sample)
    return centre - interval.low, interval.high - centre


def _sentinel_interval(sample: FloatArray, confidence: float) -> Interval:
    n = sample.size
    if n >= _FEWEST_FOR_ORDER_STATISTICS:
        return median_interval(sample, confidence)
    if n == 1:
        return Interval(-math.inf, math.inf, confidence)
    quantile = float(special.stdtrit(n - 1, (1 + confidence) / 2))
    half = _MEDIAN_PENALTY * quantile * float(np.std(sample, ddof=1)) / math.sqrt(n)
    return Interval(middle(sample) - half, middle(sample) + half, confidence)


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
