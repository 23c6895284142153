# SPDX-License-Identifier: Apache-2.0
"""Whether the runs of one case fall into two groups: the widest gap between them, measured by the spread inside them.

A pipe that takes 2 µs on one CPU and 80 µs across two has no middle worth quoting. The dip test (Hartigan & Hartigan
1985, Annals of Statistics 13(1)) is the usual answer, but it looks at the distribution function alone, and with 8
runs no two groups, however far apart, make its dip significant. A gap can: it grows with the distance of the groups.
The sample is split where the gap, divided by the pooled deviation of the two sides, is widest (the single-linkage
split; Hartigan 1975, Clustering Algorithms), on logarithms, so that both groups may vary in proportion to
their cost.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard.judge.stats.checks import FloatArray, costs
from steelyard.judge.stats.summary import middle

# 99th percentiles of the statistic under the worst of five shapes with one mode: on logarithms a normal (so lognormal
# costs), a uniform, and the logarithms of gamma costs of shape 0.5, 1 and 2; 20,000 to 200,000 samples each, rounded
# up.
_SIZES = (6, 7, 8, 9, 10, 12, 15, 20, 25, 30, 40, 50)
_CRITICAL = (10.5, 8.4, 7.1, 6.1, 5.4, 4.6, 4.1, 3.7, 2.6, 2.5, 1.9, 1.5)

# With many runs the critical gap falls far below the spread itself, where two groups may exist but are not apart.
_LEAST_GAP = 1.0

# A clock that ticks makes gaps without a mode; groups nearer than this would not change what a reader does.
LEAST_RATIO = 1.2

_FEWEST = 6


@dataclass(frozen=True, slots=True)
class Mode:
    """One group of runs: its median in the unit of the sample, and its share of the runs, from 0 to 1."""

    median: float
    share: float


def find_modes(values: npt.ArrayLike) -> tuple[Mode, Mode] | None:
    """The two modes of a sample, the cheaper first, or None when one mode explains it or there are fewer than 6 runs.

    values: positive costs, one number a run, in any order. Each mode must hold two runs and a tenth of all. A sample
    with one mode is split in at most 2 % of cases (uniform on logarithms the worst). Raises ValueError on values that
    are not finite and positive.
    """
    ordered = np.sort(costs(values))
    if ordered.size < _FEWEST:
        return None
    split, gap = _widest_gap(np.log(ordered))
    lower, upper = ordered[:split], ordered[split:]
    modes = Mode(middle(lower), lower.size / ordered.size), Mode(middle(upper), upper.size / ordered.size)
    if gap < _critical_gap(ordered.size) or modes[1].median < LEAST_RATIO * modes[0].median:
        return None
    return modes


def _critical_gap(n: int) -> float:
    return max(_LEAST_GAP, float(np.interp(math.log(n), np.log(_SIZES), _CRITICAL)))


def _widest_gap(ordered: FloatArray) -> tuple[int, float]:
    """The size of the lower group, and the gap above it in pooled standard deviations of the two groups."""
    n = ordered.size
    fewest = max(2, math.ceil(n / 10))
    splits = range(fewest, n - fewest + 1)
    gaps = [_relative_gap(ordered[:split], ordered[split:]) for split in splits]
    best = int(np.argmax(gaps))
    return splits[best], gaps[best]


def _relative_gap(lower: FloatArray, upper: FloatArray) -> float:
    gap = float(upper[0] - lower[-1])
    inside = float(np.sum((lower - lower.mean()) ** 2) + np.sum((upper - upper.mean()) ** 2))
    if gap == 0:
        return 0.0
    return math.inf if inside == 0 else gap / math.sqrt(inside / (lower.size + upper.size - 2))
