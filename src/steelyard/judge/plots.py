# SPDX-License-Identifier: Apache-2.0
"""What is drawn of a judged session: its prices on one scale, its curves by family, and the figures of studies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, TypeVar

import msgspec

from steelyard.judge.answers import Amount, Answers
from steelyard.judge.cases import CaseFinding, Mode
from steelyard.judge.curves import FEWEST, Curve, way_of
from steelyard.judge.findings import Findings
from steelyard.judge.published import Published
from steelyard.judge.tables import StudyTable, TableColumn
from steelyard.records import Better, Record

_T = TypeVar("_T")

#: With fewer points a table says as much in less room.
FEWEST_POINTS = 12
#: Lines that a reader can follow at a time; more of them are shown in parts.
_MOST_LINES = 12

Kind = Literal["answers", "prices", "curves", "study"]
#: Why a plot has no bound.
Unbounded = Literal["neither end is better", "drawn among the others", "none is known", "as the study has it"]


class Bound(Record, frozen=True, kw_only=True):
    """What no figure of a plot can be better than, or below which the lab cannot see; ``x``: there alone.

    ``title`` and ``settings`` are of its case; of an overhead that has a figure at each x, without that parameter.
    """

    kind: Literal["best", "overhead"]
    title: str
    settings: tuple[str, ...]
    value: float
    x: int | None = None
    part: int = 0


class Spot(Record, frozen=True, kw_only=True):
    """A case in a plot. ``x`` is None on an axis of names. Two ``modes`` stand where one centre would mislead.

    ``title``: of its mechanism; ``settings``: its parameters as ``name=value``, its placement last.
    """

    case: str
    title: str
    settings: tuple[str, ...]
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
    """Cases that belong together. ``joined``: a line between them means something, for ``x`` is a quantity.

    ``title`` is that of its mechanism, or empty where all series are of one; ``settings`` set it apart from others of
    its title. Series of several parts that have both alike are one and the same to a reader.
    """

    title: str
    settings: tuple[str, ...] = ()
    group: str
    joined: bool
    spots: tuple[Spot, ...]
    reference_points: tuple[ReferencePoint, ...] = ()
    part: int = 0


class Plot(Record, frozen=True, kw_only=True):
    """What one figure shows. ``x`` is the parameter along the axis, None where the axis has names.

    subject: of curves the mechanism or the family, of a study its own title. metric: what is drawn, where it is not the
    main one. alike: the settings that all series have. parts: of more lines than can be followed the settings of each
    part, of which one is shown at a time. y: what is drawn, if all series say the same of it. source: of a study.
    ``bounds`` may be empty only with the reason in ``unbounded``. ``notes``: what is to be said of all of it.
    """

    id: str
    kind: Kind
    subject: str = ""
    metric: str | None = None
    alike: tuple[str, ...] = ()
    parts: tuple[tuple[str, ...], ...] = ()
    question: str = ""
    x: str | None = None
    x_unit: str | None = None
    y: str | None = None
    unit: str
    better: Better
    series: tuple[Series, ...]
    bounds: tuple[Bound, ...] = ()
    unbounded: Unbounded | None = None
    notes: tuple[str, ...] = ()
    source: str = ""

    @property
    def drawn(self) -> bool:
        """Whether it has points enough for a picture."""
        return self.kind == "study" or sum(len(series.spots) for series in self.series) >= FEWEST_POINTS


def _spot(case: CaseFinding, x: int | None, metric: str) -> Spot:
    figure = case.figure(metric) or case.main
    return Spot(
        case=case.case,
        title=case.called,
        settings=(*(f"{key}={value}" for key, value in case.parameters.items()), case.where),
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


def _grouped(members: Iterable[_T], key: Callable[[_T], str]) -> list[tuple[str, list[_T]]]:
    groups: dict[str, list[_T]] = defaultdict(list)
    for member in members:
        groups[key(member)].append(member)
    return list(groups.items())


# --- prices -----------------------------------------------------------------------------------------------------------


def of_answers(findings: Findings, answers: Answers, prefix: str) -> Plot | None:
    """The times that a first session answers on one scale, in its words; None where they are few."""
    by_name = {case.case: case for case in findings.cases}
    rows = [
        Series(
            title=price.what,
            group=group.title,
            joined=False,
            spots=tuple(
                _answered(by_name[amount.case], amount) for amount in price.amounts if amount and not amount.at_most
            ),
        )
        for group in answers.groups
        for price in group.prices
        if any(amount and amount.unit == "s" and not amount.at_most for amount in price.amounts)
    ]
    cases = [by_name[spot.case] for row in rows for spot in row.spots]
    if len(cases) < FEWEST_POINTS:
        return None
    return Plot(
        id=f"{prefix}answers-figure",
        kind="answers",
        unit="s",
        better="lower",
        series=tuple(rows),
        bounds=_best(cases, "lower"),
    )


def _answered(case: CaseFinding, amount: Amount) -> Spot:
    spot = _spot(case, None, case.main.metric)
    return msgspec.structs.replace(spot, value=amount.median, low=amount.low, high=amount.high, modes=())


def of_prices(findings: Findings, prefix: str) -> tuple[Plot, ...]:
    """All costs on one scale, and all rates on another: a row a mechanism, a spot a case, by question."""
    plots: list[Plot] = []
    for unit, better in dict.fromkeys((case.main.unit, case.main.better) for case in _ours(findings)):
        cases = [case for case in _ours(findings) if (case.main.unit, case.main.better) == (unit, better)]
        best = _best(cases, better)
        plots.append(
            Plot(
                id=f"{prefix}prices-{len(plots)}",
                kind="prices",
                unit=unit,
                better=better,
                series=tuple(_row(probe, members) for probe, members in _grouped(cases, lambda case: case.probe)),
                bounds=best,
                unbounded=None if best else "neither end is better",
            )
        )
    return tuple(plots)


def _best(cases: Sequence[CaseFinding], better: Better) -> tuple[Bound, ...]:
    """The best figure of all: what the others are seen against."""
    positive = [case for case in cases if case.main.median > 0]
    if not positive or better == "neither":
        return ()
    best = (min if better == "lower" else max)(positive, key=lambda case: case.main.median)
    spot = _spot(best, None, best.main.metric)
    return (Bound(kind="best", title=spot.title, settings=spot.settings, value=spot.value),)


def _row(probe: str, members: Sequence[CaseFinding]) -> Series:
    points = (point for case in members for point in _reference_points(case, None, case.main.metric))
    return Series(
        title=members[0].called,
        group=question_of(probe),
        joined=False,
        spots=tuple(_spot(case, None, case.main.metric) for case in members),
        reference_points=tuple(dict.fromkeys(points)),
    )


# --- curves -----------------------------------------------------------------------------------------------------------


def of_curves(findings: Findings, prefix: str) -> tuple[Plot, ...]:
    """A plot for each family of mechanisms and each parameter over which they were measured.

    A mechanism without a family is its own. A metric beside the main one has one plot for a whole question.
    """
    groups: dict[tuple[str, str, str, str, str], list[Curve]] = defaultdict(list)
    for curve in findings.curves:
        whose, metric = ("", curve.metric) if curve.beside else (curve.family or curve.probe, "")
        groups[question_of(curve.probe), whose, curve.parameter, metric, curve.unit].append(curve)
    return tuple(
        _curve_plot(findings, members, f"{prefix}curve-{number}") for number, members in enumerate(groups.values())
    )


def _curve_plot(findings: Findings, curves: Sequence[Curve], name: str) -> Plot:
    first = curves[0]
    by_name = {case.case: case for case in findings.cases}
    alike = tuple(word for word in first.settings if all(word in one.settings for one in curves))
    parts = _apart(curves)
    alone = len({curve.probe for curve in curves}) == 1
    series = tuple(
        _series(by_name, curve, alone, {*alike, *words}, number)
        for number, (words, members) in enumerate(parts)
        for curve in members
    )
    docs = {curve.doc for curve in curves}
    bounds = tuple(
        bound for number, (_, members) in enumerate(parts) for bound in _overheads(by_name, curves, members, number)
    )
    weighed = any(by_name[point.case].main.net for curve in curves for point in curve.points)
    return Plot(
        id=name,
        kind="curves",
        subject=first.called if alone else "" if first.beside else first.family or "",
        metric=first.metric if first.beside else None,
        alike=alike,
        parts=tuple(words for words, _ in parts) if len(parts) > 1 else (),
        question=question_of(first.probe),
        x=first.parameter,
        x_unit=first.parameter_unit,
        y=first.doc if len(docs) == 1 else None,
        unit=first.unit,
        better=first.better,
        series=series,
        bounds=bounds,
        unbounded=None if bounds else "drawn among the others" if weighed else "none is known",
    )


def _apart(curves: Sequence[Curve]) -> list[tuple[tuple[str, ...], list[Curve]]]:
    """Parts of what is too much to follow: by where the parties run, else by the choice that has the fewest values.

    Each with the settings that make it a part.
    """
    if len(curves) <= _MOST_LINES:
        return [((), list(curves))]
    choices = [dict(word.split("=", 1) for word in curve.held) for curve in curves]
    shared = [key for key in choices[0] if all(key in held for held in choices)]
    values = {key: {held[key] for held in choices} for key in shared}
    split = min((key for key in shared if len(values[key]) > 1), key=lambda key: len(values[key]), default=None)
    if len({curve.where for curve in curves}) > 1:
        parts = _grouped(curves, lambda curve: curve.where)
    elif split is not None:
        parts = _grouped(curves, lambda curve: next(word for word in curve.held if word.startswith(f"{split}=")))
    else:
        return [((), list(curves))]
    return [((word, *more), part) for word, members in parts for more, part in _apart(members)]


def _series(by_name: Mapping[str, CaseFinding], curve: Curve, alone: bool, said: set[str], part: int) -> Series:
    """A curve under the title of its mechanism and what sets it apart in its part of the plot."""
    at = [(by_name[point.case], point.x) for point in curve.points]
    return Series(
        title="" if alone else curve.title or way_of(curve.probe, None if curve.beside else curve.family),
        settings=tuple(word for word in curve.settings if word not in said),
        group=curve.probe,
        joined=True,
        spots=tuple(_spot(case, x, curve.metric) for case, x in at),
        reference_points=tuple(point for case, x in at for point in _reference_points(case, x, curve.metric)),
        part=part,
    )


def _overheads(
    by_name: Mapping[str, CaseFinding], curves: Sequence[Curve], members: Sequence[Curve], part: int
) -> tuple[Bound, ...]:
    """The overheads that were weighed with the curves of a part, unless they are curves of the plot themselves."""
    drawn = {point.case for curve in curves for point in curve.points}
    found: dict[str, Bound] = {}
    for curve in members:
        for case in (by_name[point.case] for point in curve.points):
            net = None if curve.beside else case.main.net
            overhead = by_name.get(net.baseline) if net and net.baseline not in drawn else None
            if overhead is not None:
                found[overhead.case] = _overhead(overhead, curve.parameter, part)
    return tuple(found.values())


def _overhead(case: CaseFinding, parameter: str, part: int) -> Bound:
    """One that has the same parameter is as long as the curve, under one name."""
    others = (f"{key}={value}" for key, value in case.parameters.items() if key != parameter)
    at = int(case.parameters[parameter]) if parameter in case.parameters else None
    return Bound(
        kind="overhead", title=case.called, settings=(*others, case.where), value=case.main.median, x=at, part=part
    )


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
        kind="study",
        subject=table.title,
        source=f"{table.source.id}, {table.source.year}",
        x=table.rows_are,
        x_unit=table.at_unit,
        y=first.main.doc,
        unit=first.main.unit,
        better=first.main.better,
        series=tuple(
            Series(
                title=head,
                group=table.title,
                joined=True,
                spots=tuple(_spot(case, x, case.main.metric) for case, x in ours.get(head, [])),
                reference_points=theirs.get(head, ()),
            )
            for head in dict.fromkeys([*theirs, *ours])
        ),
        notes=table.notes,
        unbounded="as the study has it",
    )


def _measured(table: StudyTable, column: TableColumn, by_name: dict[str, CaseFinding]) -> list[tuple[CaseFinding, int]]:
    points = zip(column.entries, table.at, strict=True)
    return [(by_name[entry.of], x) for entry, x in points if entry is not None and isinstance(entry.of, str)]


def _published(table: StudyTable, column: TableColumn) -> tuple[ReferencePoint, ...]:
    points = zip(column.entries, table.at, strict=True)
    return tuple(
        _reference_point(entry.of, x) for entry, x in points if entry is not None and isinstance(entry.of, Published)
    )
