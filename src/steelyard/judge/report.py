# SPDX-License-Identifier: Apache-2.0
"""What a report says: judged sessions, how they compare, what is drawn, and all that it takes to repeat them.

`show` draws it and adds nothing; `rules` holds it against the rules of scientific benchmarking.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from steelyard.judge import error_rates, studies
from steelyard.judge.comparisons import Comparisons, compare_sessions
from steelyard.judge.explain import Explanations, explain
from steelyard.judge.explain import library as composites
from steelyard.judge.findings import CaseFinding, Findings, Mode, by_other_metrics, judge
from steelyard.judge.proving import ProofTable
from steelyard.judge.published import Published
from steelyard.judge.stats.comparison import CONFIDENCE
from steelyard.judge.studies import Library
from steelyard.judge.tables import StudyTable, TableColumn
from steelyard.judge.verdicts import ClaimFindings, judge_claims
from steelyard.records import Better, Record, Scalar, Session

_T = TypeVar("_T")
Kind = Literal["cost", "rate", "count", "ratio"]
Centre = Literal["median", "arithmetic mean", "harmonic mean", "geometric mean"]

_CURVE_POINTS = 3
_FAMILY = 3
#: Lines that a plot can have before a reader loses them.
_MOST_LINES = 8


class Method(Record, frozen=True, kw_only=True):
    """How figures of one kind are summarised. ``normality`` says how it was looked into, where an interval needs it."""

    of: Kind
    centre: Centre
    how: str
    interval: str
    assumes_normal: bool = False
    normality: str | None = None


#: What `stats` does, in words.
METHODS = (
    Method(
        of="cost",
        centre="median",
        how="median of the runs' numbers, one number a process; a run's number is the lower quartile of its values "
        "where the cost is pure CPU time, else their median",
        interval="two order statistics of the sample, exact for any distribution; from 6 runs on",
    ),
    Method(
        of="rate",
        centre="median",
        how="median of the runs' rates, which is the rate of the median run",
        interval="two order statistics of the sample, exact for any distribution; from 6 runs on",
    ),
    Method(
        of="count",
        centre="median",
        how="median of the runs' counts or shares, each a total divided by a total",
        interval="two order statistics of the sample, exact for any distribution; from 6 runs on",
    ),
    Method(
        of="ratio",
        centre="median",
        how="of one case to itself in another session, divided by what the sentinel changed; never averaged over cases",
        interval="of both medians and of both sentinels, widened for what differs between sessions of one program",
    ),
)


_ORDER = "every block runs each case once, in a fresh process, one at a time, in an order drawn anew from the seed"
_IMPORTED = "imported from another tool: its runs were in no blocks"


class Technique(Record, frozen=True, kw_only=True):
    """How one mechanism was measured: what an operation is, what was varied, with what it was compiled."""

    probe: str
    question: str
    operation: str
    statistic: str
    source: str
    factors: dict[str, tuple[Scalar, ...]]
    placements: tuple[str, ...]
    compilers: tuple[str, ...]
    sha256: str


class Setup(Record, frozen=True, kw_only=True):
    """What it takes to repeat a session. ``order`` says how the runs were put in order and kept apart."""

    command: str
    seed: int
    versions: dict[str, str]
    blocks: int
    target_s: float
    values: int
    order: str
    techniques: tuple[Technique, ...]


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


class Ghost(Record, frozen=True, kw_only=True):
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
    ghosts: tuple[Ghost, ...] = ()


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


class Judged(Record, frozen=True, kw_only=True):
    """One session of a report. ``prefix`` stands before the ids of its figures and sections."""

    label: str
    prefix: str
    findings: Findings
    planned: tuple[str, ...]
    claims: ClaimFindings
    explanations: Explanations
    setup: Setup
    prices: tuple[Plot, ...]
    curves: tuple[Plot, ...]
    studies: tuple[Plot, ...] = ()

    @property
    def plots(self) -> tuple[Plot, ...]:
        """All that is drawn of the session."""
        return (*self.prices, *self.curves, *self.studies)


class Report(Record, frozen=True, kw_only=True):
    """Everything that a report may say. ``apart``: labels of sessions on other machines, which are not ranked."""

    confidence: float
    sessions: tuple[Judged, ...]
    comparisons: tuple[Comparisons, ...]
    apart: tuple[str, ...]
    methods: tuple[Method, ...]
    proof: ProofTable


def report(sessions: Sequence[Session], *, margin: float = 0.02, library: Library | None = None) -> Report:
    """The report of one session, or of several: the first is what those of the same machine are compared with.

    ``library``: the studies that they stand beside, if not those that come with the tool.
    """
    others = library or studies.library()
    first = sessions[0]
    same = [session for session in sessions[1:] if session.header.machine.key == first.header.machine.key]
    letters = [chr(ord("A") + number) if len(sessions) > 1 else "" for number in range(len(sessions))]
    judged = tuple(_judged(session, letter, others) for session, letter in zip(sessions, letters, strict=True))
    return Report(
        confidence=CONFIDENCE,
        sessions=judged,
        comparisons=tuple(compare_sessions(first, session, margin=margin) for session in same),
        apart=tuple(one.label for one in judged if one.findings.machine_key != first.header.machine.key),
        methods=METHODS,
        proof=error_rates.measured(),
    )


def _judged(session: Session, letter: str, others: Library) -> Judged:
    findings = judge(session, others)
    prefix = f"{letter.lower()}-" if letter else ""
    return Judged(
        label=f"session {letter}".strip(),
        prefix=prefix,
        findings=findings,
        planned=tuple(planned.case.name for planned in session.plan.cases) if session.plan else (),
        claims=judge_claims(session, others.claims),
        explanations=explain(session, composites()),
        setup=_setup(session, findings),
        prices=_prices(findings, prefix),
        curves=_curves(session, findings, prefix),
        studies=_studies(findings, prefix),
    )


# --- how it was done --------------------------------------------------------------------------------------------------


def _setup(session: Session, findings: Findings) -> Setup:
    header = session.header
    planned = {item.case.probe for item in session.plan.cases} if session.plan else set()
    command = shlex.join(["steelyard", *header.command])
    if "--seed" not in header.command:
        command += f" --seed {header.seed}"
    return Setup(
        command=command,
        seed=header.seed,
        versions=header.versions,
        blocks=findings.blocks,
        target_s=header.target_ns / 1e9,
        values=header.values,
        order=_IMPORTED if header.imported else _ORDER,
        techniques=tuple(_technique(session, probe) for probe in header.probes if probe in planned),
    )


def _technique(session: Session, probe: str) -> Technique:
    header = session.header
    descriptor = header.probes[probe].descriptor
    planned = [item.case for item in session.plan.cases if item.case.probe == probe] if session.plan else []
    names = {case.name for case in planned}
    compilers = dict.fromkeys(
        f"{run.compiler} {run.flags}".strip() for run in session.runs if run.case in names and run.compiler
    )
    return Technique(
        probe=probe,
        question=descriptor.question,
        operation=descriptor.operation,
        statistic=descriptor.statistic.replace("_", " "),
        source=descriptor.source,
        factors={
            parameter.name: tuple(
                dict.fromkeys(case.parameters[parameter.name] for case in planned if parameter.name in case.parameters)
            )
            for parameter in descriptor.parameters
        },
        placements=tuple(dict.fromkeys(case.placement for case in planned)),
        compilers=tuple(compilers),
        sha256=header.probes[probe].sha256,
    )


# --- what is drawn ----------------------------------------------------------------------------------------------------


def _spot(case: CaseFinding, label: str, x: int | None) -> Spot:
    main = case.main
    return Spot(
        case=case.case,
        label=label,
        placement=case.placement,
        x=x,
        value=main.median,
        low=main.low,
        high=main.high,
        n=main.n,
        modes=main.modes,
    )


def _ghosts(case: CaseFinding, x: int | None) -> tuple[Ghost, ...]:
    return tuple(_ghost(item, x) for item in case.main.published if item.figure.unit == case.main.unit)


def _ghost(item: Published, x: int | None) -> Ghost:
    return Ghost(
        x=x,
        value=item.figure.value,
        mechanism=item.figure.mechanism,
        source=f"{item.source.id}, {item.source.year}",
        error=item.figure.error,
    )


def _ours(findings: Findings) -> list[CaseFinding]:
    return [case for case in findings.cases if not case.control]


def question_of(case: CaseFinding) -> str:
    """The question that a case answers; what other tools measured has none."""
    question, slash, _ = case.probe.partition("/")
    return question if slash else "imported"


def _variant(case: CaseFinding) -> str:
    """What sets a case apart from others of its probe."""
    return " ".join([*(f"{key}={value}" for key, value in case.parameters.items()), case.where])


def _prices(findings: Findings, prefix: str) -> tuple[Plot, ...]:
    """All costs on one scale, and all rates on another: a row a mechanism, a spot a case, by question."""
    titles = {"lower": "What one operation costs", "higher": "How much goes through"}
    plots: list[Plot] = []
    for unit, better in dict.fromkeys((case.main.unit, case.main.better) for case in _ours(findings)):
        cases = [case for case in _ours(findings) if (case.main.unit, case.main.better) == (unit, better)]
        best = _best(cases, better)
        rows = [_row(probe, members) for probe, members in _grouped(cases, lambda case: case.probe)]
        plots.append(
            Plot(
                id=f"{prefix}prices-{len(plots)}",
                title=titles.get(better, "What was counted"),
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
        group=question_of(members[0]),
        joined=False,
        spots=tuple(_spot(case, _variant(case), None) for case in members),
        ghosts=tuple(dict.fromkeys(ghost for case in members for ghost in _ghosts(case, None))),
    )


def _grouped(members: Iterable[_T], key: Callable[[_T], str]) -> list[tuple[str, list[_T]]]:
    groups: dict[str, list[_T]] = defaultdict(list)
    for member in members:
        groups[key(member)].append(member)
    return list(groups.items())


@dataclass(frozen=True, slots=True)
class _Line:
    """The cases of one probe along one parameter. ``held``: what is the same in all of them, word by word."""

    probe: str
    parameter: str
    held: tuple[str, ...]
    cases: tuple[CaseFinding, ...]

    @property
    def where(self) -> str:
        return self.cases[0].where


def _curves(session: Session, findings: Findings, prefix: str) -> tuple[Plot, ...]:
    """A plot for each probe and swept parameter; ways of one family that share both, as `message/latency_*`, in one."""
    lines = _lines(session, findings)
    plots: dict[tuple[str, str, str], list[_Line]] = defaultdict(list)
    for line in lines:
        subject = _every_way(line) if _beside_the_main(session, line) else _subject(line.probe, lines)
        plots[subject, line.parameter, line.cases[0].main.metric].append(line)
    parts = [(subject, together) for (subject, _, _), members in plots.items() for together in _apart(members)]
    return tuple(
        _curve_plot(session, findings, subject, members, f"{prefix}curve-{number}")
        for number, (subject, members) in enumerate(parts)
    )


def _beside_the_main(session: Session, line: _Line) -> bool:
    """Whether a line is of a metric that its probe has drawn beside the main one: all ways then share a plot."""
    parameter = session.header.probes[line.probe].descriptor.parameter(line.parameter)
    return parameter is not None and line.cases[0].main.metric in parameter.curves


def _every_way(line: _Line) -> str:
    return f"{question_of(line.cases[0])}/*"


def _lines(session: Session, findings: Findings) -> list[_Line]:
    found: dict[tuple[str, str, str, tuple[str, ...]], list[CaseFinding]] = defaultdict(list)
    for case in _ours(findings):
        for parameter in session.header.probes[case.probe].descriptor.parameters:
            if parameter.type == "integer":
                held = [f"{key}={value}" for key, value in case.parameters.items() if key != parameter.name]
                for seen in (case, *by_other_metrics(case, parameter)):
                    found[case.probe, parameter.name, seen.main.metric, (*held, case.where)].append(seen)
    return [
        _Line(probe, parameter, held, tuple(sorted(cases, key=lambda case: int(case.parameters[parameter]))))
        for (probe, parameter, _, held), cases in found.items()
        if len(cases) >= _CURVE_POINTS
    ]


def _apart(lines: Sequence[_Line]) -> list[list[_Line]]:
    """Too many lines for one plot in several: by where their parties run, else by the choice that has the fewest."""
    if len(lines) <= _MOST_LINES:
        return [list(lines)]
    choices = [dict(word.split("=", 1) for word in line.held[:-1]) for line in lines]
    shared = [key for key in choices[0] if all(key in held for held in choices)]
    values = {key: {held[key] for held in choices} for key in shared}
    split = min((key for key in shared if len(values[key]) > 1), key=lambda key: len(values[key]), default=None)
    if len({line.where for line in lines}) > 1:
        parts = _grouped(lines, lambda line: line.where)
    elif split is not None:
        parts = _grouped(lines, lambda line: next(word for word in line.held if word.startswith(f"{split}=")))
    else:
        return [list(lines)]
    return [part for _, members in parts for part in _apart(members)]


def _subject(probe: str, lines: Iterable[_Line]) -> str:
    """The family of a probe if several of it are drawn, else the probe."""
    family, underscore, _ = probe.partition("_")
    ways = {line.probe for line in lines if line.probe.startswith(f"{family}_")}
    return f"{family}_*" if underscore and len(ways) >= _FAMILY else probe


def _curve_plot(session: Session, findings: Findings, subject: str, lines: Sequence[_Line], name: str) -> Plot:
    first = lines[0].cases[0]
    parameter = lines[0].parameter
    metric = f" {first.main.metric}" if _beside_the_main(session, lines[0]) else ""
    described = session.header.probes[first.probe].descriptor.parameter(parameter)
    bounds = _overheads(findings, lines)
    alike = [word for word in lines[0].held if all(word in line.held for line in lines)]
    return Plot(
        id=name,
        title=", ".join([f"{subject}{metric} by {parameter}", *([" ".join(alike)] if alike else [])]),
        question=question_of(first),
        x=parameter,
        x_unit=described.unit if described else None,
        y=first.main.doc,
        unit=first.main.unit,
        better=first.main.better,
        series=tuple(_series(line, subject, alike) for line in lines),
        bounds=bounds,
        unbounded=None if bounds else "no overhead is subtracted and no limit of the machine is known for it",
    )


def _series(line: _Line, subject: str, alike: Sequence[str]) -> Series:
    """A line under the name of what sets it apart in its plot."""
    mark = next((mark for mark in "_/" if subject.endswith(f"{mark}*")), None)
    way = [line.probe.partition(mark)[2]] if mark else []
    own = [word for word in line.held if word not in alike]
    at = [(case, int(case.parameters[line.parameter])) for case in line.cases]
    return Series(
        name=" ".join([*way, *own]) or line.probe,
        group=line.probe,
        joined=True,
        spots=tuple(_spot(case, _variant(case), x) for case, x in at),
        ghosts=tuple(ghost for case, x in at for ghost in _ghosts(case, x)),
    )


def _overheads(findings: Findings, lines: Sequence[_Line]) -> tuple[Bound, ...]:
    """The overheads that were weighed with these lines: no cost can lie below its own."""
    by_name = {case.case: case for case in findings.cases}
    found: dict[str, Bound] = {}
    for line in lines:
        for case in line.cases:
            overhead = by_name.get(case.main.net.baseline) if case.main.net else None
            if overhead is not None:
                found[overhead.case] = _overhead(overhead, line.parameter)
    return tuple(found.values())


def _overhead(case: CaseFinding, parameter: str) -> Bound:
    """One that has the same parameter is as long as the line, under one name."""
    if parameter not in case.parameters:
        return Bound(name=f"overhead: {case.case}", value=case.main.median)
    others = ",".join(f"{key}={value}" for key, value in case.parameters.items() if key != parameter)
    name = f"overhead: {case.probe}{f'[{others}]' if others else ''}{case.where}"
    return Bound(name=name, value=case.main.median, x=int(case.parameters[parameter]))


# --- what studies have drawn ------------------------------------------------------------------------------------------


def _studies(findings: Findings, prefix: str) -> tuple[Plot, ...]:
    """The figures of studies, in their own shape with our curves beside theirs."""
    by_name = {case.case: case for case in findings.cases}
    drawn = [table for table in findings.tables if table.at]
    plots = [_study(table, by_name, f"{prefix}study-{number}") for number, table in enumerate(drawn)]
    return tuple(plot for plot in plots if plot is not None)


def _study(table: StudyTable, by_name: dict[str, CaseFinding], name: str) -> Plot | None:
    """None where too few points of every curve were measured to make one."""
    ours = {column.head: _measured(table, column, by_name) for column in table.columns if column.era == "now"}
    theirs = {column.head: _published(table, column) for column in table.columns if column.era == "then"}
    if max(map(len, ours.values())) < _CURVE_POINTS:
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
                spots=tuple(_spot(case, _variant(case), x) for case, x in ours.get(head, [])),
                ghosts=theirs.get(head, ()),
            )
            for head in dict.fromkeys([*theirs, *ours])
        ),
        notes=table.notes,
        unbounded="it is drawn as the study has it, which subtracts no overhead",
    )


def _measured(table: StudyTable, column: TableColumn, by_name: dict[str, CaseFinding]) -> list[tuple[CaseFinding, int]]:
    points = zip(column.entries, table.at, strict=True)
    return [(by_name[entry.of], x) for entry, x in points if entry is not None and isinstance(entry.of, str)]


def _published(table: StudyTable, column: TableColumn) -> tuple[Ghost, ...]:
    points = zip(column.entries, table.at, strict=True)
    return tuple(_ghost(entry.of, x) for entry, x in points if entry is not None and isinstance(entry.of, Published))
