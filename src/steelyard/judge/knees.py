# SPDX-License-Identifier: Apache-2.0
"""The rate up to which a server keeps up: where its latency curve turns upwards, between two rates that were offered.

A rate is kept where nearly all that was offered was answered in its time, and where the median latency is not far above
that at the lowest rate: an open queue, offered more than it can serve, grows for as long as it is loaded, so that
beyond the knee even the median says how long the load lasted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from steelyard.records import Record

#: Of what was offered, what must be answered in time.
KEPT_SHARE = 0.98
#: How many times the median latency of the lowest rate is still no queue.
KEPT_LATENCY = 10.0
_POINTS = 2


class RatePoint(Record, frozen=True, kw_only=True):
    """What became of an offered rate. ``answered`` is a share; None is what the generator was too slow to tell."""

    probe: str
    title: str
    fixed: str
    rate: int
    answered: float | None
    latency_s: float | None


class Knee(Record, frozen=True, kw_only=True):
    """The highest rate that was kept and the lowest that was not, in requests a second; None where there was none."""

    probe: str
    title: str
    fixed: str
    kept: int | None
    lost: int | None


def knees(points: Iterable[RatePoint]) -> tuple[Knee, ...]:
    """One for each server that was offered two rates or more, all else the same."""
    groups: dict[tuple[str, str], list[RatePoint]] = defaultdict(list)
    for point in points:
        groups[point.probe, point.fixed].append(point)
    return tuple(
        _knee(sorted(group, key=lambda point: point.rate)) for group in groups.values() if len(group) >= _POINTS
    )


def _knee(points: Sequence[RatePoint]) -> Knee:
    first = points[0]
    kept: int | None = None
    lost: int | None = None
    for point in points:
        if point.answered is None or point.latency_s is None or first.latency_s is None:
            break  # the generator's own limit ends the curve
        if point.answered < KEPT_SHARE or point.latency_s > KEPT_LATENCY * first.latency_s:
            lost = point.rate
            break
        kept = point.rate
    return Knee(probe=first.probe, title=first.title, fixed=first.fixed, kept=kept, lost=lost)
