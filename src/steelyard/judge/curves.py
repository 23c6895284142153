# SPDX-License-Identifier: Apache-2.0
"""How figures change with an integer parameter: curves of one probe, and matrices of the ways of one family."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from steelyard.judge.cases import CaseFinding
from steelyard.records import Better, Record, Session

#: Fewer points are not a curve, and fewer ways not a matrix.
FEWEST = 3


#: A title, then settings.
Way = tuple[str, ...]


class Point(Record, frozen=True, kw_only=True):
    """A point of a curve."""

    x: int
    case: str
    median: float
    low: float | None
    high: float | None


class Curve(Record, frozen=True, kw_only=True):
    """How a metric of one probe grows with an integer parameter. ``held``: what is the same in all points.

    ``beside``: the metric is one that its probe has drawn over this parameter beside its main one.
    """

    probe: str
    metric: str
    doc: str
    unit: str
    better: Better
    parameter: str
    where: str
    points: tuple[Point, ...]
    held: tuple[str, ...] = ()
    parameter_unit: str | None = None
    family: str | None = None
    beside: bool = False
    title: str | None = None

    @property
    def called(self) -> str:
        """The title of its mechanism, or the identifier where that has none."""
        return self.title or self.probe

    @property
    def settings(self) -> tuple[str, ...]:
        """All that is the same in its points: parameters as ``name=value``, then the placement."""
        return (*self.held, self.where)


class Cell(Record, frozen=True, kw_only=True):
    """One case of a matrix, with the published figure that may stand beside it."""

    median: float
    published: float | None = None


class Matrix(Record, frozen=True, kw_only=True):
    """Several ways of one family (``message/bandwidth``) by one parameter, as studies print them.

    Each of ``ways`` is the title of a mechanism, or its name within the family, with the settings that set it apart.
    """

    family: str
    metric: str
    unit: str
    parameter: str
    settings: tuple[str, ...]
    ways: tuple[Way, ...]
    rows: dict[int, dict[Way, Cell]]


def way_of(probe: str, family: str | None = None) -> str:
    """The name of a probe within its question, or within its family."""
    way = probe.partition("/")[2]
    return way if family is None else way.removeprefix(f"{family}_")


def find_curves(session: Session, cases: Sequence[CaseFinding]) -> tuple[Curve, ...]:
    """The curves of the main metric of each probe, and of those that it has drawn beside it."""
    groups: dict[tuple[str, str, str, tuple[str, ...], str], dict[int, CaseFinding]] = defaultdict(dict)
    for case in cases:
        for parameter in () if case.control else session.header.probes[case.probe].descriptor.parameters:
            if parameter.type == "integer" and parameter.name in case.parameters:
                held = tuple(f"{key}={value}" for key, value in case.parameters.items() if key != parameter.name)
                for metric in (case.main.metric, *parameter.curves):
                    if case.figure(metric) is not None:
                        points = groups[case.probe, parameter.name, metric, held, case.where]
                        points[int(case.parameters[parameter.name])] = case
    return tuple(
        _curve(session, parameter, metric, held, dict(sorted(points.items())))
        for (_, parameter, metric, held, _), points in groups.items()
        if len(points) >= FEWEST
    )


def _curve(session: Session, name: str, metric: str, held: tuple[str, ...], cases: dict[int, CaseFinding]) -> Curve:
    first = next(iter(cases.values()))
    descriptor = session.header.probes[first.probe].descriptor
    parameter = descriptor.parameter(name)
    figures = {x: figure for x, case in cases.items() if (figure := case.figure(metric))}
    of = next(iter(figures.values()))
    return Curve(
        probe=first.probe,
        family=descriptor.family,
        title=descriptor.title,
        metric=metric,
        doc=of.doc,
        unit=of.unit,
        better=of.better,
        parameter=name,
        parameter_unit=parameter.unit if parameter else None,
        held=held,
        where=first.where,
        beside=parameter is not None and metric in parameter.curves,
        points=tuple(
            Point(x=x, case=cases[x].case, median=figure.median, low=figure.low, high=figure.high)
            for x, figure in figures.items()
        ),
    )


def find_matrices(session: Session, cases: Sequence[CaseFinding]) -> tuple[Matrix, ...]:
    """A matrix for every family of ways that share their main metric, by their first integer parameter that varies."""
    families: dict[str, list[CaseFinding]] = defaultdict(list)
    for case in cases:
        family = session.header.probes[case.probe].descriptor.family
        if family is not None and not case.control:
            families[f"{case.probe.partition('/')[0]}/{family}"].append(case)
    groups: dict[tuple[str, str, str, tuple[str, ...]], list[tuple[Way, int, CaseFinding]]] = defaultdict(list)
    for family, members in families.items():
        # A parameter that only some ways have (SEM_UNDO, say) belongs to the way, not to what all have in common, and
        # need not be said where it has one value.
        common = set.intersection(*(set(member.parameters) for member in members))
        varied = {
            (case.probe, key)
            for case in members
            for key in set(case.parameters) - common
            if len({other.parameters[key] for other in members if other.probe == case.probe}) > 1
        }
        several = {name for name in common if len({case.parameters[name] for case in members}) > 1}
        for case in members:
            parameters = session.header.probes[case.probe].descriptor.parameters
            integers = [p.name for p in parameters if p.type == "integer" and p.name in common]
            swept = next((name for name in integers if name in several), integers[0] if integers else None)
            if swept is not None:
                own = [f"{key}={value}" for key, value in case.parameters.items() if (case.probe, key) in varied]
                name = (case.title or way_of(case.probe, family.partition("/")[2]), *own)
                held = [f"{key}={value}" for key, value in case.parameters.items() if key in common and key != swept]
                groups[family, case.main.metric, swept, (*held, case.where)].append(
                    (name, int(case.parameters[swept]), case)
                )
    return tuple(
        _matrix(family, metric, parameter, settings, members)
        for (family, metric, parameter, settings), members in groups.items()
        if len({name for name, _, _ in members}) >= FEWEST
    )


def _matrix(
    family: str, metric: str, parameter: str, settings: tuple[str, ...], members: Sequence[tuple[Way, int, CaseFinding]]
) -> Matrix:
    rows: dict[int, dict[Way, Cell]] = {x: {} for x in sorted({x for _, x, _ in members})}
    for name, x, case in members:
        beside = next((item.figure.value for item in case.main.published), None)
        rows[x][name] = Cell(median=case.main.median, published=beside)
    ways = tuple(dict.fromkeys(name for name, _, _ in members))
    unit = members[0][2].main.unit
    return Matrix(family=family, metric=metric, unit=unit, parameter=parameter, settings=settings, ways=ways, rows=rows)
