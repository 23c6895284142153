# SPDX-License-Identifier: Apache-2.0
"""How a program that compiles itself while it runs reaches a steady state: flat, warm-up, slowdown, or never.

The values of one process, in their order, are cut where their level changes. If the last level was reached before the
last quarter of the series it is the steady state; by the levels before it the process warmed up (none was cheaper) or
slowed down. The first values of a process decide nothing by themselves: fewer than four can't be told from strays.
Source: Barrett, Bolz-Tereick, Killick, Mount & Tratt 2017, Virtual Machine Warmup Blows Hot and Cold, OOPSLA,
doi 10.1145/3133876, who cut series of 2000 iterations by PELT and ask for the last 500 to be of one level. The cuts
here are those of `changes`, which also suit series of tens; steps can hide a slow fall, so the last level must not
drift either (Mann 1945, Nonparametric Tests Against Trend, Econometrica 13).
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from steelyard.judge.stats.changes import find_changes
from steelyard.judge.stats.checks import FloatArray, costs
from steelyard.judge.stats.summary import middle

Shape = Literal["flat", "warm-up", "slowdown", "no steady state", "too short to tell"]

#: Fewest values of which a change of level can be seen at all: four on each side.
FEWEST_VALUES = 8
#: Chance that a flat series is taken for another; a change below LEAST of the cost is none.
_ALPHA = 0.01
LEAST = 0.05
#: The share of the series, from its end, in which the level must not change.
_REST = 0.25


@dataclass(frozen=True, slots=True)
class WarmUp:
    """The shape of a series; its steady state begins at value number `steady_from`, from 0, if it has one."""

    shape: Shape
    steady_from: int | None


def classify(series: npt.ArrayLike) -> WarmUp:
    """The shape of the costs of one process, oldest first.

    A series too short to tell counts as a whole. Raises ValueError on values that are not finite and positive.
    """
    values = costs(series)
    if values.size < FEWEST_VALUES:
        return WarmUp("too short to tell", 0)
    changes = find_changes(values, _ALPHA, LEAST)
    begin = changes[-1].index if changes else 0
    if begin > values.size * (1 - _REST) or _drifts(values[begin:]):
        return WarmUp("no steady state", None)
    if not changes:
        return WarmUp("flat", 0)
    last = changes[-1]
    cheaper_before = any(change.before < last.after * (1 - LEAST) for change in changes)
    return WarmUp("slowdown" if cheaper_before else "warm-up", last.index)


def _drifts(level: FloatArray) -> bool:
    """Whether the last third of these values differs from the first by more than LEAST, and they have a trend."""
    n, third = level.size, max(1, level.size // 3)
    if abs(np.log(middle(level[-third:]) / middle(level[:third]))) < np.log1p(LEAST):
        return False
    later_less_earlier = np.sign(level[None, :] - level[:, None])
    score = abs(float(np.sum(np.triu(later_less_earlier)))) - 1
    deviation = np.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    return math.erfc(score / deviation / math.sqrt(2)) <= _ALPHA
