# SPDX-License-Identifier: Apache-2.0
"""Latency by bandwidth: how long one operation takes while others move so much, for each probe that measures both.

Such a probe has a parameter that says how hard the others try, and whose first curve is the bandwidth that they had.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from steelyard.judge.cases import CaseFinding, Figure
from steelyard.judge.comparisons import Compared, compare_cases
from steelyard.records import Record, Session

_MARGIN = 0.02
_FEWEST = 2


class LoadedPoint(Record, frozen=True, kw_only=True):
    """One point of a curve; the case that it is of."""

    case: str
    bandwidth: Figure
    latency: Figure


class Loaded(Record, frozen=True, kw_only=True):
    """A curve, all else the same: its points by rising bandwidth, and the last of them against the first."""

    probe: str
    title: str
    fixed: tuple[str, ...]
    points: tuple[LoadedPoint, ...]
    most: Compared | None


def loaded(session: Session, cases: Sequence[CaseFinding]) -> tuple[Loaded, ...]:
    """The curves of a session; none where no probe measures both at two loads or more."""
    groups: dict[tuple[str, str, tuple[str, ...]], list[LoadedPoint]] = defaultdict(list)
    for case in cases:
        for name, point in _points(session, case):
            fixed = (*(f"{key}={value}" for key, value in case.parameters.items() if key != name), case.where)
            groups[case.probe, case.called, fixed].append(point)
    curves = {
        key: tuple(sorted(points, key=lambda point: point.bandwidth.median))
        for key, points in groups.items()
        if len(points) >= _FEWEST
    }
    if not curves:
        return ()
    pairs = [(str(n), points[0].case, points[-1].case) for n, points in enumerate(curves.values())]
    found = compare_cases(session, pairs, ("unloaded", "loaded"), margin=_MARGIN)
    most = {int(one.case): one for one in found.cases}
    return tuple(
        Loaded(probe=probe, title=title, fixed=fixed, points=points, most=most.get(n))
        for n, ((probe, title, fixed), points) in enumerate(curves.items())
    )


def _points(session: Session, case: CaseFinding) -> Iterator[tuple[str, LoadedPoint]]:
    """The parameter of the load, and the point of this case; nothing of a probe that has no such parameter."""
    if case.control or case.main.unit != "s":
        return
    for parameter in session.header.probes[case.probe].descriptor.parameters:
        moved = case.figure(parameter.curves[0]) if parameter.curves else None
        if moved is not None and moved.unit == "B/s" and moved.better == "neither":
            yield parameter.name, LoadedPoint(case=case.case, bandwidth=moved, latency=case.main)
            return
