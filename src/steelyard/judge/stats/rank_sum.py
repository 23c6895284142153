# SPDX-License-Identifier: Apache-2.0
"""The shift between two samples that no block matches: Mann and Whitney's statistic and the interval that goes with it.

The statistic for a shift counts the pairs whose difference lies on one side of it, so test and interval are two views
of one count, as with the signed rank. Exact for samples of up to 50 runs each; beyond that by the normal approximation.
Source: Mann & Whitney 1947, Annals of Mathematical Statistics 18(1); Hodges & Lehmann 1963, ibid. 34(2); Hollander,
Wolfe & Chicken 2014, Nonparametric Statistical Methods, sections 4.1-4.3.
"""

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from steelyard.judge.stats.checks import FloatArray
from steelyard.judge.stats.interval import Interval

_EXACT_PRODUCT = 2500


def differences(a: FloatArray, b: FloatArray) -> FloatArray:
    """All b[j] - a[i], in order; their median is the Hodges-Lehmann estimate of the shift from a to b."""
    return np.sort((b[np.newaxis, :] - a[:, np.newaxis]).ravel())


def shift_interval(a: FloatArray, b: FloatArray, confidence: float) -> Interval:
    """The interval of the shift from a to b; infinite when the samples are too small for the confidence."""
    ordered = differences(a, b)
    rank = critical_rank(a.size, b.size, confidence)
    if rank == 0:
        return Interval(-math.inf, math.inf, confidence)
    return Interval(float(ordered[rank - 1]), float(ordered[-rank]), confidence)


@lru_cache(maxsize=4096)
def critical_rank(m: int, n: int, confidence: float) -> int:
    """The rank, from 1, of the difference that ends the interval below; 0 when the samples are too small.

    Raises ValueError unless 0 < confidence <= 1.
    """
    if not 0 < confidence <= 1:
        raise ValueError(f"confidence must be above 0 and at most 1, not {confidence}")
    allowed = (1 - confidence) / 2
    if m * n <= _EXACT_PRODUCT:
        return int(np.searchsorted(cumulative(m, n), allowed * (1 + 1e-9), side="right"))
    if allowed == 0:
        return 0
    deviation = math.sqrt(m * n * (m + n + 1) / 12)
    return max(0, math.floor(m * n / 2 + NormalDist().inv_cdf(allowed) * deviation + 0.5))


@lru_cache(maxsize=256)
def cumulative(m: int, n: int) -> FloatArray:
    """P(U <= u) for u = 0 ... mn under the null hypothesis, for samples of m and n values without ties."""
    # The largest of all values belongs to one sample or the other, which gives the distribution from two smaller ones.
    row = [np.array([1.0])] * (n + 1)
    for i in range(1, m + 1):
        fresh = [np.array([1.0])]
        for j in range(1, n + 1):
            probability = np.zeros(i * j + 1)
            probability[j:] += i / (i + j) * row[j]
            probability[: i * (j - 1) + 1] += j / (i + j) * fresh[j - 1]
            fresh.append(probability)
        row = fresh
    total: FloatArray = np.minimum(np.cumsum(row[n]), 1.0)
    total.setflags(write=False)
    return total
