# SPDX-License-Identifier: Apache-2.0
"""The sum of the medians of independent samples, with an interval.

What was measured in common blocks is added block by block before it comes here, and is then one sample: whatever drifts
in all of its terms alike falls out, and no assumption about their correlation is needed. Samples of different sessions
have no blocks in common. Their intervals are put together by recovering each one's variance estimate from its own
distance to its median, on the side that matters (MOVER): the intervals of the terms may be skewed, and need not come
from any particular distribution.
Source: Zou & Donner 2008, Statistics in Medicine 27(10), doi 10.1002/sim.3095; the propagation of uncertainty of
JCGM 100:2008, 5.1.2, is its case of symmetric intervals.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy.typing as npt

from steelyard.judge.stats.checks import finite
from steelyard.judge.stats.interval import INTERVAL_CONFIDENCE, Interval
from steelyard.judge.stats.summary import median_interval, middle


@dataclass(frozen=True, slots=True)
class Total:
    """A sum of medians in the unit of its terms; ends that no data gave are infinite. n: of the smallest sample."""

    value: float
    interval: Interval
    n: int


def total(samples: Sequence[npt.ArrayLike], confidence: float = INTERVAL_CONFIDENCE) -> Total:
    """The sum of the medians of samples that have nothing in common, each of one number a run, in any order.

    One sample alone keeps its exact interval. Raises ValueError without samples, or when one is empty or not finite.
    """
    arrays = [finite(sample) for sample in samples]
    if not arrays:
        raise ValueError("a sum needs at least one sample")
    centres = [middle(array) for array in arrays]
    intervals = [median_interval(array, confidence) for array in arrays]
    value = math.fsum(centres)
    below = math.hypot(*(centre - own.low for centre, own in zip(centres, intervals, strict=True)))
    above = math.hypot(*(own.high - centre for centre, own in zip(centres, intervals, strict=True)))
    return Total(value, Interval(value - below, value + above, confidence), min(array.size for array in arrays))
