# SPDX-License-Identifier: Apache-2.0
"""The steps of a curve of cost by working set, and between which sizes the capacity lies that each stands for.

A working set that fits into a cache costs the same whatever its size. Of one of size W that does not, and is visited
evenly, a cache of size C holds the share C/W at most (what is needed soonest is kept) and nothing of what comes next in
the worst case (the least recently used goes, visits go round). So the share m of the visits that miss, which is where a
cost lies between two levels, bounds the capacity whatever the cache replaces: m >= 1 - C/W gives C >= W (1 - m) at
every point, and a point at which anything misses has C < W. Real caches lose some lines before they are full; taken for
the second bound is therefore the first point at which half of the visits miss.

Steps are told apart by the rise from each point to the next, an octave usually: a step is a peak of these rises that
stands out from the valleys beside it by half its height, and the levels are the costs in the valleys. A step counts if
the blocks agree that there is one. Both bounds are found in each block, with the levels of all, and have an exact
interval over the blocks; a tenth is allowed for what the levels themselves are uncertain by.
Source: Saavedra & Smith 1995, Measuring Cache and TLB Performance and Their Effect on Benchmark Runtimes, IEEE
Transactions on Computers 44(10), who read capacities off such curves; Yotov, Pingali & Stodghill 2005, Automatic
Measurement of Memory Hierarchy Parameters, SIGMETRICS. The bound by C/W is that of Belady 1966, IBM Systems Journal
5(2), for visits of equal chance.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from steelyard.judge.stats.checks import FloatArray
from steelyard.judge.stats.interval import INTERVAL_CONFIDENCE
from steelyard.judge.stats.summary import median_interval, middle

#: A step that costs less than this is not told from the slow rise that translation and neighbours give a curve.
LEAST = 1.25
#: Share of its height by which a peak of the rises must stand out.
_PROMINENCE = 0.5
#: Share of the lower bound that the levels' own uncertainty may make of it.
_SLACK = 0.1


@dataclass(frozen=True, slots=True)
class Step:
    """A rise from one level of cost to the next, in the unit of the curve.

    smallest, largest: between which sizes the capacity lies. over: whether a level follows, or the curve ends while it
    climbs.
    """

    before: float
    after: float
    smallest: float
    largest: float
    over: bool


def find_steps(sizes: Sequence[float], costs: npt.ArrayLike) -> tuple[Step, ...]:
    """The steps of a curve, the smallest first.

    sizes: rising, at least 3. costs: a row a size, a column a block, positive; NaN where a block has no run.
    Raises ValueError when the sizes do not rise, the shapes differ, or a size has no cost.
    """
    table = np.asarray(costs, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] != len(sizes) or len(sizes) < 3:
        raise ValueError(f"{len(sizes)} sizes and costs of shape {table.shape} make no curve")
    if any(low >= high for low, high in pairwise(sizes)) or sizes[0] <= 0:
        raise ValueError("sizes must be positive and rise")
    centres = np.array([middle(_there(row)) for row in table])
    if centres.min() <= 0:
        raise ValueError("costs must be above zero")
    logs = np.log(centres)
    peaks = _peaks(np.diff(logs))
    bounds = _valleys(np.diff(logs), peaks)
    found = []
    for (left, right), peak in zip(pairwise(bounds), peaks, strict=True):
        before, after = _level(centres, left, at_end=left == 0), _level(centres, right, at_end=right == len(sizes) - 1)
        if after < LEAST * before or not _is_agreed(table[left], table[right]):
            continue
        over = right < len(sizes) - 1 or peak < len(sizes) - 2
        found.append(_step(np.array(sizes, dtype=np.float64), table, (before, after), (left, right), over=over))
    return tuple(step for step in found if step is not None)


def _there(row: FloatArray) -> FloatArray:
    there = row[np.isfinite(row)]
    if there.size == 0:
        raise ValueError("a size has no cost in any block")
    return there


def _peaks(rises: FloatArray) -> list[int]:
    """Positions of the rises that stand out by half their height from the lowest rise towards any higher one."""
    found = []
    for i, rise in enumerate(rises):
        if rise <= 0 or (i > 0 and rises[i - 1] >= rise) or (i + 1 < rises.size and rises[i + 1] > rise):
            continue
        sides = (rises[:i][::-1], rises[i + 1 :])
        feet = [_foot(side, float(rise)) for side in sides]
        if rise - max(feet) >= _PROMINENCE * rise:
            found.append(i)
    return found


def _foot(side: FloatArray, height: float) -> float:
    """The lowest of a side before it rises above the height; beyond the ends of a curve nothing rises."""
    lowest = math.inf
    for rise in side:
        if rise > height:
            return lowest
        lowest = min(lowest, float(rise))
    return min(lowest, 0.0)


def _valleys(rises: FloatArray, peaks: list[int]) -> list[int]:
    """Points that part the steps: the first, one in the flattest place between two peaks, the last."""
    between = [left + 1 + int(np.argmin(rises[left + 1 : right])) for left, right in pairwise(peaks)]
    return [0, *between, rises.size] if peaks else [0]


def _level(centres: FloatArray, at: int, *, at_end: bool) -> float:
    """The cost of a level: of the two points of its flattest place; of an end the median of what is flat there."""
    if not at_end:
        return float(np.sqrt(centres[at] * centres[at + 1]))
    ordered = centres if at == 0 else centres[::-1]
    flat = 1
    while flat < ordered.size and abs(math.log(ordered[flat] / ordered[flat - 1])) < math.log(LEAST) / 2:
        flat += 1
    return middle(ordered[:flat])


def _is_agreed(left: FloatArray, right: FloatArray) -> bool:
    """Whether the rise between two points is there in the blocks and not only in their medians."""
    rises = np.log(right) - np.log(left)
    low = median_interval(rises[np.isfinite(rises)], INTERVAL_CONFIDENCE).low if np.isfinite(rises).any() else 0.0
    return low > math.log(LEAST) / 2 or not math.isfinite(low)


def _step(
    sizes: FloatArray, table: FloatArray, levels: tuple[float, float], bounds: tuple[int, int], *, over: bool
) -> Step | None:
    before, after = levels
    climb = slice(bounds[0], min(bounds[1] + 1, sizes.size - 1) + 1)
    missing = (table[climb] - before) / (after - before)
    found = [pair for block in missing.T if (pair := _bounds(sizes[climb], block)) is not None]
    if not found:
        return None
    least, most = (np.array(ends) for ends in zip(*found, strict=True))
    low, high = median_interval(least, INTERVAL_CONFIDENCE).low, median_interval(most, INTERVAL_CONFIDENCE).high
    return Step(
        before=before,
        after=after,
        smallest=(1 - _SLACK) * (low if math.isfinite(low) else middle(least)),
        largest=high if math.isfinite(high) else middle(most),
        over=over,
    )


def _bounds(sizes: FloatArray, missing: FloatArray) -> tuple[float, float] | None:
    """Of one block: the most that is kept before half of the visits miss, and the first point where they do."""
    there = np.isfinite(missing)
    at, share = sizes[there], missing[there]
    half = np.flatnonzero(share > 0.5)
    if half.size == 0 or half[0] == 0:
        return None
    first = int(half[0])
    kept = at[:first] * (1 - np.maximum(share[:first], 0.0))
    return float(kept.max()), float(at[first])
