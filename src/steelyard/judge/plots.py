# SPDX-License-Identifier: Apache-2.0
"""What is drawn of a judged session: its prices on one scale, its curves, and the figures of studies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from steelyard.judge.cases import CaseFinding, Mode
from steelyard.judge.curves import FEWEST, Curve, way_of
from steelyard.judge.findings import Findings
from steelyard.judge.published import Published
from steelyard.judge.tables import StudyTable, TableColumn
from steelyard.records import Better, Record

_T = TypeVar("_T")

#: Fewest ways of a family that share a plot.
_FAMILY = 3
#: Lines that a plot can have before a reader loses them.
_MOST_LINES = 8


class Bound(Record, frozen=True, kw_only=True):
    """What no figure of a plot can be better than, or below which the lab cannot see; ``x``: there alone."""

    name: str
    value: float
    x: int | None = None


class Spot(Record, frozen=True, kw_only=True):
    """A case in a plot. ``x`` is None on an axis of names. Two ``modes`` stand where one centre would mislead."""

    case: str
    label: str
    placement: str
    x: int | None
    value: float
    low: float | None
    high: float | None
    n: int
    modes: tuple[Mode, ...] = ()


class ReferencePoint(Record, frozen=True, kw_only=True):
    """A figure of somebody else beside ours. ``error`` is what is known to be wrong with it."""

    x: int | None
    value: float
    mechanism: str
    source: str
    error: str | None


class Series(Record, frozen=True, kw_only=True):
    """Cases that belong together. ``joined``: a line between them means something, for ``x`` is a quantity."""

    name: str
    group: str
    joined: bool
    spots: tuple[Spot, ...]
    reference_points: tuple[ReferencePoint, ...] = ()


class Plot(Record, frozen=True, kw_only=True):
    """What one figure shows. ``x`` is the parameter along the axis, None where the axis has names.

    ``bounds`` may be empty only with the reason in ``unbounded``. ``notes``: what is to be said of all of it.
    """

    id: str
    title: str
    question: str
    x: str | None
    x_unit: str | None
    y: str
    unit: str
    better: Better
    series: tuple[Series, ...]
    bounds: tuple[Bound, ...] = ()
    unbounded: str | None = None
    notes: tuple[str, ...] = ()


def _spot(case: CaseFinding, x: int | None, metric: str) -> Spot:
    figure = case.figure(metric) or case.main
    return Spot(
        case=case.case,
        label=" ".join([*(f"{key}={value}" for key, value in case.parameters.items()), case.where]),
        placement=case.placement,
        x=x,
        value=figure.median,
        low=figure.low,
        high=figure.high,
        n=figure.n,
        modes=figure.modes,
    )


def _reference_points(case: CaseFinding, x: int | None, metric: str) -> tuple[ReferencePoint, ...]:
    figure = case.figure(metric) or case.main
    return tuple(_reference_point(item, x) for item in figure.published if item.figure.unit == figure.unit)


def _reference_point(item: Published, x: int | None) -> ReferencePoint:
    return ReferencePoint(
        x=x,
        value=item.figure.value,
        mechanism=item.figure.mechanism,
        source=f"{item.source.id}, {item.source.year}",
        error=item.figure.error,
    )


def _ours(findings: Findings) -> list[CaseFinding]:
    return [case for case in findings.cases if not case.control]


def question_of(probe: str) -> str:
    """The question that a probe answers; what other tools measured has none."""
    question, slash, _ = probe.partition("/")
    return question if slash else "imported"


def _title(unit: str, better: Better) -> str:
    if unit == "B" and better == "lower":
        return "How much memory one takes"
    return {"lower": "What one operation costs", "higher": "How much goes through"}.get(better, "What was counted")


def of_prices(findings: Findings, prefix: str) -> tuple[Plot, ...]:
    """All costs on one scale, and all rates on another: a row a mechanism, a spot a case, by question."""
    plots: list[Plot] = []
    for unit, better in dict.fromkeys((case.main.unit, case.main.better) for case in _ours(findings)):
        cases = [case for case in _ours(findings) if (case.main.unit, case.main.better) == (unit, better)]
        best = _best(cases, better)
        rows = [_row(probe, members) for probe, members in _grouped(cases, lambda case: case.probe)]
        plots.append(
            Plot(
                id=f"{prefix}prices-{len(plots)}",
                title=_title(unit, better),
                question="",
                x=None,
                x_unit=None,
                y="cost of one operation" if unit == "s" else "figure",
                unit=unit,
                better=better,
                series=tuple(rows),
                bounds=best,
                unbounded=None if best else "neither end of this scale is better",
            )
        )
    return tuple(plots)


def _best(cases: Sequence[CaseFinding], better: Better) -> tuple[Bound, ...]:
    """The best figure of all: what the others are seen against."""
    positive = [case for case in cases if case.main.median > 0]
    if not positive or better == "neither":
        return ()
    best = (min if better == "lower" else max)(positive, key=lambda case: case.main.median)
    return (Bound(name=f"the best here: {best.case}", value=best.main.median),)


def _row(probe: str, members: Sequence[CaseFinding]) -> Series:
    return Series(
        name=probe,
        group=question_of(probe),
        joined=False,
        spots=tuple(_spot(case, None, case.main.metric) for case in members),
        reference_points=tuple(
            dict.fromkeys(point for case in members for point in _reference_points(case, None, case.main.metric))
        ),
    )


def _grouped(members: Iterable[_T], key: Callable[[_T], str]) -> list[tuple[str, list[_T]]]:
    groups: dict[str, list[_T]] = defaultdict(list)
    for member in members:
        groups[key(member)].append(member)
    return list(groups.items())


def of_curves(findings: Findings, prefix: str) -> tuple[Plot, ...]:
    """A plot for each probe and swept parameter; ways of one family that share both, as `message/latency_*`, in one."""
    groups: dict[tuple[str, str, str], list[Curve]] = defaultdict(list)
    for curve in findings.curves:
        groups[_subject(curve, findings.curves), curve.parameter, curve.metric].append(curve)
    parts = [(subject, together) for (subject, _, _), members in groups.items() for together in _apart(members)]
    return tuple(
        _curve_plot(findings, subject, members, f"{prefix}curve-{number}")
        for number, (subject, members) in enumerate(parts)
    )


def _subject(curve: Curve, curves: Iterable[Curve]) -> str:
    """The family of a probe if several ways of it are drawn, else the probe; every way for a metric beside the main."""
    question = curve.probe.partition("/")[0]
    if curve.beside:
        return f"{question}/*"
    ways = {one.probe for one in curves if one.family == curve.family and one.probe.startswith(f"{question}/")}
    return f"{question}/{curve.family}_*" if curve.family and len(ways) >= _FAMILY else curve.probe


def _apart(curves: Sequence[Curve]) -> list[list[Curve]]:
    """Too many curves for one plot in several: by where their parties run, else by the choice that has the fewest."""
    if len(curves) <= _MOST_LINES:
        return [list(curves)]
    choices = [dict(word.split("=", 1) for word in curve.held) for curve in curves]
    shared = [key for key in choices[0] if all(key in held for held in choices)]
    values = {key: {held[key] for held in choices} for key in shared}
    split = min((key for key in shared if len(values[key]) > 1), key=lambda key: len(values[key]), default=None)
    if len({curve.where for curve in curves}) > 1:
        parts = _grouped(curves, lambda curve: curve.where)
    elif split is not None:
        parts = _grouped(curves, lambda curve: next(word for word in curve.held if word.startswith(f"{split}=")))
    else:
        return [list(curves)]
    return [part for _, members in parts for part in _apart(members)]


def _curve_plot(findings: Findings, subject: str, curves: Sequence[Curve], name: str) -> Plot:
    first = curves[0]
    by_name = {case.case: case for case in findings.cases}
    metric = f" {first.metric}" if first.beside else ""
    bounds = _overheads(by_name, curves)
    alike = [word for word in (*first.held, first.where) if all(word in (*one.held, one.where) for one in curves)]
    return Plot(
        id=name,
        title=", ".join([f"{subject}{metric} by {first.parameter}", *([" ".join(alike)] if alike else [])]),
        question=question_of(first.probe),
        x=first.parameter,
        x_unit=first.parameter_unit,
        y=first.doc,
        unit=first.unit,
        better=first.better,
        series=tuple(_series(by_name, curve, subject, alike) for curve in curves),
        bounds=bounds,
        unbounded=None if bounds else "no overhead is subtracted and no limit of the machine is known for it",
    )


def _series(by_name: Mapping[str, CaseFinding], curve: Curve, subject: str, alike: Sequence[str]) -> Series:
    """A curve under the name of what sets it apart in its plot."""
    way = [] if subject == curve.probe else [way_of(curve.probe, None if curve.beside else curve.family)]
    own = [word for word in (*curve.held, curve.where) if word not in alike]
    at = [(by_name[point.case], point.x) for point in curve.points]
    return Series(
        name=" ".join([*way, *own]) or curve.probe,
        group=curve.probe,
        joined=True,
        spots=tuple(_spot(case, x, curve.metric) for case, x in at),
        reference_points=tuple(point for case, x in at for point in _reference_points(case, x, curve.metric)),
    )


def _overheads(by_name: Mapping[str, CaseFinding], curves: Sequence[Curve]) -> tuple[Bound, ...]:
    """The overheads that were weighed with these curves: no cost can lie below its own."""
    found: dict[str, Bound] = {}
    for curve in curves:
        for case in (by_name[point.case] for point in curve.points):
            net = None if curve.beside else case.main.net
            overhead = by_name.get(net.baseline) if net else None
            if overhead is not None:
                found[overhead.case] = _overhead(overhead, curve.parameter)
    return tuple(found.values())


def _overhead(case: CaseFinding, parameter: str) -> Bound:
    """One that has the same parameter is as long as the curve, under one name."""
    if parameter not in case.parameters:
        return Bound(name=f"overhead: {case.case}", value=case.main.median)
    others = ",".join(f"{key}={value}" for key, value in case.parameters.items() if key != parameter)
    name = f"overhead: {case.probe}{f'[{others}]' if others else ''}{case.where}"
    return Bound(name=name, value=case.main.median, x=int(case.parameters[parameter]))


# --- what studies have drawn ------------------------------------------------------------------------------------------


def of_studies(findings: Findings, prefix: str) -> tuple[Plot, ...]:
    """The figures of studies, in their own shape with our curves beside theirs."""
    by_name = {case.case: case for case in findings.cases}
    drawn = [table for table in findings.tables if table.at]
    plots = [_study(table, by_name, f"{prefix}study-{number}") for number, table in enumerate(drawn)]
    return tuple(plot for plot in plots if plot is not None)


def _study(table: StudyTable, by_name: dict[str, CaseFinding], name: str) -> Plot | None:
    """None where too few points of every curve were measured to make one."""
    ours = {column.head: _measured(table, column, by_name) for column in table.columns if column.era == "now"}
    theirs = {column.head: _published(table, column) for column in table.columns if column.era == "then"}
    if max(map(len, ours.values()), default=0) < FEWEST:
        return None
    first = next(case for points in ours.values() for case, _ in points)
    return Plot(
        id=name,
        title=f"{table.title} ({table.source.id}, {table.source.year})",
        question="",
        x=table.rows_are,
        x_unit=table.at_unit,
        y=first.main.doc,
        unit=first.main.unit,
        better=first.main.better,
        series=tuple(
            Series(
                name=head,
                group=table.title,
                joined=True,
                spots=tuple(_spot(case, x, case.main.metric) for case, x in ours.get(head, [])),
                reference_points=theirs.get(head, ()),
            )
            for head in dict.fromkeys([*theirs, *ours])
        ),
        notes=table.notes,
        unbounded="it is drawn as the study has it, which subtracts no overhead",
    )


def _measured(table: StudyTable, column: TableColumn, by_name: dict[str, CaseFinding]) -> list[tuple[CaseFinding, int]]:
    points = zip(column.entries, table.at, strict=True)
    return [(by_name[entry.of], x) for entry, x in points if entry is not None and isinstance(entry.of, str)]


def _published(table: StudyTable, column: TableColumn) -> tuple[ReferencePoint, ...]:
    points = zip(column.entries, table.at, strict=True)
    return tuple(
        _reference_point(entry.of, x) for entry, x in points if entry is not None and isinstance(entry.of, Published)
    )
