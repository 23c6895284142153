# SPDX-License-Identifier: Apache-2.0
"""Student's t distribution: how much lies beyond t, and the quantiles.

The upper tail is half the incomplete beta function I_x(freedom/2, 1/2) at x = freedom / (freedom + t²). Its continued
fraction keeps its relative precision however small the tail is. scipy has both functions, and takes more room on disk
than all that a session needs to be judged, and 0.15 s to be imported.
Source: NIST Digital Library of Mathematical Functions, 8.17.22 (continued fraction) and 8.17.4 (symmetry); evaluated by
Lentz 1976, Generating Bessel functions in Mie scattering calculations using continued fractions, Applied Optics 15(3).
"""

import math
from functools import cache

#: Relative, of the continued fraction.
_PRECISION = 1e-15
#: In place of a denominator of zero.
_TINY = 1e-300


def tail(t: float, freedom: float) -> float:
    """The probability of a value above t, with this many degrees of freedom."""
    if freedom <= 0 or math.isnan(t):
        raise ValueError(f"t is a number and its degrees of freedom are above zero, not {t} and {freedom}")
    if math.isinf(t):
        return 0.0 if t > 0 else 1.0
    # Both shares are worked out as they are: one as the difference of the other from 1 would lose its digits.
    square = t * t
    beyond = _incomplete_beta(freedom / (freedom + square), square / (freedom + square), freedom / 2, 0.5) / 2
    return beyond if t >= 0 else 1 - beyond


@cache
def quantile(probability: float, freedom: float) -> float:
    """The value that this share of the distribution lies below."""
    if not 0 < probability < 1:
        raise ValueError(f"a quantile is of a probability between 0 and 1, not of {probability}")
    if probability < 0.5:
        return -quantile(1 - probability, freedom)
    wanted = 1 - probability
    low, high = 0.0, 1.0
    while tail(high, freedom) > wanted:
        low, high = high, 2 * high
    while (middle := (low + high) / 2) not in (low, high):
        if tail(middle, freedom) > wanted:
            low = middle
        else:
            high = middle
    return high


def _incomplete_beta(x: float, rest: float, a: float, b: float) -> float:
    """I_x(a, b), where ``rest`` is 1 - x."""
    if x <= 0 or rest <= 0:
        return 0.0 if x <= 0 else 1.0
    # The fraction converges quickly on this side alone.
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(rest, x, b, a)
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(rest)
    fraction, numerator, denominator = 1.0, 1 / _TINY, 1.0
    change, m = math.inf, 0
    while abs(change - 1) > _PRECISION:
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        m += 1
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        for coefficient in (odd, even):
            denominator = 1 / ((1 + coefficient * denominator) or _TINY)
            numerator = (1 + coefficient / numerator) or _TINY
            change = numerator * denominator
            fraction *= change
    return math.exp(scale) / a * fraction
