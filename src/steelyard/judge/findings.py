# SPDX-License-Identifier: Apache-2.0
"""The judged session: all that a report may say. What is not in here is not shown."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec
import numpy as np

from steelyard.judge import studies
from steelyard.judge.caches import CacheLevels, cache_levels
from steelyard.judge.controls import Control, controls, void_reason
from steelyard.judge.knees import Knee, RatePoint, knees
from steelyard.judge.published import Published
from steelyard.judge.samples import CaseRuns, FloatArray, case_runs, runs_of
from steelyard.judge.stats.modes import LEAST_RATIO, find_modes
from steelyard.judge.stats.summary import subtract_overhead, summarise
from steelyard.judge.studies import Library
from steelyard.judge.tables import StudyTable
from steelyard.records import (
    Better,
    Descriptor,
    Disturbance,
    Loops,
    Metric,
    Parameter,
    Record,
    Scalar,
    Session,
    Skip,
    Value,
)

_CURVE_POINTS = 3
#: Switches per operation, below which a way to switch did not do so.
_SWITCHES = 0.5
#: Above this share of the time a counter was there for all of it: its clock starts some nanoseconds early or late.
_WHOLE = 0.99
#: Fewest probes of a question that make a price list.
_PRICES = 3
#: More sizes than these are a sweep.
_MOST_SIZES = 4


class Net(Record, frozen=True, kw_only=True):
    """A cost less its overhead. ``at_most``: it can't be told from zero, and only ``high`` may be said."""

    baseline: str
    median: float
    low: float | None
    high: float | None
    at_most: bool


class Mode(Record, frozen=True, kw_only=True):
    """One of two groups that the runs fall into; ``where`` their parties were, if that is what tells them apart."""

    median: float
    share: float
    where: Literal["one CPU", "several CPUs"] | None = None


class Figure(Record, frozen=True, kw_only=True):
    """A metric of a case over all its runs, in base units. ``low`` and ``high`` are None below six runs."""

    metric: str
    doc: str
    unit: str
    better: Better
    n: int
    median: float
    low: float | None
    high: float | None
    minimum: float
    p25: float
    p99: float
    net: Net | None = None
    modes: tuple[Mode, ...] = ()
    published: tuple[Published, ...] = ()


class CaseFinding(Record, frozen=True, kw_only=True):
    """All that may be said of one case. User and system time are per operation.

    switches: of the kernel, per operation. switched: those that the probe itself proved, per operation; None where it
    proves none because each operation is one. runtime: what compiled or ran the probe. counters: what the processor
    counted an operation, if it did. loops: of the function that was timed, where the build kept them.
    """

    case: str
    probe: str
    parameters: dict[str, Scalar]
    placement: str
    operation: str
    control: bool
    main: Figure
    others: tuple[Figure, ...]
    user_s: float | None
    system_s: float | None
    switches: float | None
    caveats: tuple[str, ...]
    switched: float | None = None
    runtime: str = ""
    counters: tuple[Figure, ...] = ()
    loops: Loops | None = None

    @property
    def where(self) -> str:
        """Placement and variant, as at the end of the case's name."""
        variant = self.case.partition("~")[2]
        return f"@{self.placement}~{variant}" if variant else f"@{self.placement}"


class Point(Record, frozen=True, kw_only=True):
    """A point of a curve."""

    x: int
    median: float
    low: float | None
    high: float | None


class Curve(Record, frozen=True, kw_only=True):
    """How the main metric grows with an integer parameter, all else fixed."""

    probe: str
    metric: str
    unit: str
    parameter: str
    fixed: str
    points: tuple[Point, ...]


class Cell(Record, frozen=True, kw_only=True):
    """One case of a matrix, with the published figure that may stand beside it."""

    median: float
    published: float | None = None


class Matrix(Record, frozen=True, kw_only=True):
    """Several ways of one family (``bandwidth_pipe``, ``bandwidth_tcp`` …) by one parameter, as studies print them."""

    family: str
    metric: str
    unit: str
    parameter: str
    fixed: str
    ways: tuple[str, ...]
    rows: dict[int, dict[str, Cell]]


class PriceList(Record, frozen=True, kw_only=True):
    """All ways to do one thing: names of their cases, the best first.

    sizes: the parameters with a unit that are the same in all of them, as ``size=200``. where: their placement, which
    is empty for bytes, as these do not depend on it.
    """

    question: str
    unit: str
    cases: tuple[str, ...]
    sizes: tuple[str, ...] = ()
    where: str = ""


class Findings(Record, frozen=True, kw_only=True):
    """A session as it may be shown."""

    path: str
    started: str
    seed: int
    machine_key: str
    machine: dict[str, str]
    environment: dict[str, str]
    complete: bool
    void: str | None
    controls: tuple[Control, ...]
    blocks: int
    wall_s: float | None
    timed_share: float | None
    cases: tuple[CaseFinding, ...]
    curves: tuple[Curve, ...]
    matrices: tuple[Matrix, ...]
    skips: tuple[Skip, ...]
    failures: dict[str, str]
    leftovers: dict[str, tuple[str, ...]]
    disturbances: tuple[Disturbance, ...]
    runs: int
    disturbed_runs: int
    tables: tuple[StudyTable, ...] = ()
    prices: tuple[PriceList, ...] = ()
    knees: tuple[Knee, ...] = ()
    caches: CacheLevels | None = None

    @property
    def known_wrong(self) -> tuple[Published, ...]:
        """The figures of others that stand in it and have a known error."""
        beside = [item for case in self.cases for item in case.main.published]
        of_tables = [entry.of for table in self.tables for column in table.columns for entry in column.entries if entry]
        there = [*beside, *(of for of in of_tables if isinstance(of, Published))]
        return tuple(dict.fromkeys(item for item in there if item.figure.error))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _figure(runs: CaseRuns, metric: Metric, overhead: tuple[str, FloatArray] | None, others: Library) -> Figure | None:
    """The figure of a metric; None if it was never to be had."""
    sample = runs.sample(metric)
    there = sample[np.isfinite(sample)]
    if there.size == 0:
        return None
    summary = summarise(there)
    return Figure(
        metric=metric.name,
        doc=metric.doc,
        unit=metric.unit,
        better=metric.better,
        n=summary.n,
        median=summary.median,
        low=_finite(summary.low),
        high=_finite(summary.high),
        minimum=summary.minimum,
        p25=summary.p25,
        p99=summary.p99,
        net=_net(sample, *overhead) if overhead else None,
        modes=_modes_by_cpus(runs, sample, metric) or _modes(there, metric),
        published=others.beside(runs.planned.case, metric.name, runs.descriptor.metrics[0].name),
    )


def _modes(sample: FloatArray, metric: Metric) -> tuple[Mode, ...]:
    """Both modes of a cost that has two. A share (unit 1) that is mostly 0 or mostly 1 is no mixture of costs."""
    if metric.unit == "1" or sample.min() <= 0:
        return ()
    found = find_modes(sample)
    return () if found is None else tuple(Mode(median=mode.median, share=mode.share) for mode in found)


def _several_cpus(runs: CaseRuns) -> FloatArray:
    """Of each run, whether its parties were on several CPUs (1) or shared one (0); NaN if its probe does not say."""
    cpus = runs.numbers(lambda value: value.quantity("cpus"))
    return np.where(np.isfinite(cpus), cpus > 1, np.nan)


def _modes_by_cpus(runs: CaseRuns, sample: FloatArray, metric: Metric) -> tuple[Mode, ...]:
    """Both modes of runs that nobody pinned, the cheaper first, where the runs say which of them had one CPU."""
    if metric.unit == "1":
        return ()
    several = _several_cpus(runs)
    there = np.isfinite(sample) & np.isfinite(several)
    one, more = sample[there & (several == 0)], sample[there & (several == 1)]
    if one.size == 0 or more.size == 0:
        return ()
    modes = (
        Mode(median=float(np.median(one)), share=float(one.size / there.sum()), where="one CPU"),
        Mode(median=float(np.median(more)), share=float(more.size / there.sum()), where="several CPUs"),
    )
    lower, upper = sorted(modes, key=lambda mode: mode.median)
    return (lower, upper) if upper.median >= LEAST_RATIO * lower.median else ()


def _net(sample: FloatArray, baseline: str, overhead: FloatArray) -> Net | None:
    if not np.isfinite(sample - overhead).any():
        return None
    net = subtract_overhead(sample, overhead)
    return Net(
        baseline=baseline,
        median=net.median,
        low=_finite(net.low),
        high=_finite(net.high),
        at_most=net.may_be_zero,
    )


def _per_operation(runs: CaseRuns, quantity: str) -> float | None:
    def of(value: Value) -> float | None:
        spent = value.quantity(quantity)
        return None if spent is None else spent / value.operations

    numbers = runs.numbers(of)
    return float(np.nanmedian(numbers)) if np.isfinite(numbers).any() else None


def _switches(runs: CaseRuns) -> float | None:
    """Switches of the kernel per operation; None where contexts are processes that live on, for theirs are unknown."""

    def of(value: Value) -> float | None:
        if value.user_ns is None or value.voluntary is None:
            return None
        return (value.voluntary + (value.involuntary or 0)) / value.operations

    numbers = runs.numbers(of)
    return float(np.nanmedian(numbers)) if np.isfinite(numbers).any() else None


def _unpinned(several: FloatArray) -> str:
    known = several[np.isfinite(several)]
    if known.size == 0:
        return "unpinned: a mixture of one CPU and several"
    if not known.any():
        return "unpinned, and yet on one CPU in all runs"
    return f"unpinned: a mixture of one CPU and several; {known.sum():.0f} of {known.size} runs were on several"


def _warm_up(runs: CaseRuns) -> str | None:
    """In which ways the runs of a probe that warms up came to rest, in a sentence; None for other probes."""
    shapes = Counter(found.shape for run in runs.counted if (found := runs.warm_up(run)))
    if not shapes:
        return None
    said = ", ".join(f"{count} {shape}" for shape, count in shapes.most_common())
    lost = shapes["no steady state"]
    without = f"; {'one' if lost == 1 else lost} without a steady state {'has' if lost == 1 else 'have'} no number"
    return f"shape of its {len(runs.counted)} runs: {said}{without if lost else ''}"


def _unsteady(runs: CaseRuns) -> Skip:
    """Why a case that was measured has no number."""
    shape = _warm_up(runs)
    reason = f"no number, as most runs came to no steady state ({shape}): give longer ones (--values, --target)"
    return Skip(subject=runs.planned.case.name, reason=reason)


def _caveats(runs: CaseRuns, main: Figure, session: Session) -> tuple[str, ...]:
    said = list(dict.fromkeys(caveat for run in runs.counted for caveat in run.caveats))
    everything = runs_of(runs.planned.case.name, session.runs)
    if runs.planned.case.placement == "free" and session.header.imported is None:
        said.append(_unpinned(_several_cpus(runs)))
    if shape := _warm_up(runs):
        said.append(shape)
    if main.low is None:
        said.append(f"{main.n} {'run' if main.n == 1 else 'runs'}: at least 6 are needed for an interval at 95 %")
    if main.net is not None and main.net.high is not None and main.net.high < 0:
        said.append(f"its overhead {main.net.baseline} measures larger than itself: do not subtract it here")
    said += _doubts_of_counters(runs)
    disturbed = sum(bool(run.disturbed) for run in runs.counted)
    if disturbed:
        said.append(f"{disturbed} of {len(runs.counted)} runs were disturbed, also when repeated")
    failed = sum(run.status == "failed" for run in everything)
    if failed:
        said.append(f"{failed} of {len(everything)} runs failed")
    return tuple(said)


def _doubts_of_counters(runs: CaseRuns) -> list[str]:
    """What the processor's counts leave out: the kernel, some events, or part of the time."""
    values = [value for run in runs.counted for value in run.values if value.counters]
    if not values:
        return []
    names = ", ".join(metric.name for metric in runs.counters)
    said = [f"{names}: {run.counters}, without the kernel" for run in runs.counted if "user only" in run.counters]
    said += [f"not counted: {run.counters_absent}" for run in runs.counted if run.counters_absent]
    shares = [
        counter.running_ns / counter.enabled_ns
        for value in values
        if value.counters
        for counter in value.counters.events.values()
        if counter.enabled_ns
    ]
    if shares and min(shares) < _WHOLE:
        said.append(f"{names}: counted by turns, some for {min(shares):.0%} of the time, and scaled")
    return list(dict.fromkeys(said))


def _case(runs: CaseRuns, by_name: dict[str, CaseRuns], session: Session, others: Library) -> CaseFinding | None:
    baseline = by_name.get(runs.planned.baseline or "")
    overhead = (baseline.planned.case.name, baseline.sample(baseline.descriptor.metrics[0])) if baseline else None
    figures = [
        _figure(runs, metric, overhead if number == 0 else None, others)
        for number, metric in enumerate(runs.descriptor.metrics)
    ]
    main = figures[0]
    if main is None:
        return None
    case = runs.planned.case
    return CaseFinding(
        case=case.name,
        probe=case.probe,
        parameters=case.parameters,
        placement=case.placement,
        operation=runs.descriptor.operation,
        control=runs.planned.control,
        main=main,
        others=tuple(figure for figure in figures[1:] if figure),
        user_s=_per_operation(runs, "user"),
        system_s=_per_operation(runs, "system"),
        switches=_switches(runs),
        caveats=_caveats(runs, main, session),
        switched=_switched(runs),
        runtime=next((run.compiler for run in runs.counted), ""),
        counters=tuple(figure for metric in runs.counters if (figure := _figure(runs, metric, None, others))),
        loops=runs.loops,
    )


def _switched(runs: CaseRuns) -> float | None:
    """Switches per operation by the probe's own proof: a count of switches divided by what was tried."""
    proofs = [metric for metric in runs.descriptor.metrics if metric.over == "switches" and metric.unit == "1"]
    numbers = runs.sample(proofs[0]) if proofs else np.array([])
    return float(np.nanmedian(numbers)) if np.isfinite(numbers).any() else None


def _hardly_switches(case: CaseFinding) -> bool:
    return case.switched is not None and case.switched < _SWITCHES


def _price_lists(session: Session, cases: Sequence[CaseFinding]) -> tuple[PriceList, ...]:
    """A list for every question that was answered in several ways, by the figure that each has first.

    A list has one placement and one size of whatever has a size in several probes; a probe without it stands in the
    lists of all sizes. A sweep of sizes is what curves are for: then there is a list of the first size alone.
    """
    groups: dict[tuple[str, str, Better, str], list[CaseFinding]] = defaultdict(list)
    for case in cases:
        if not case.control:
            unit = case.main.unit
            where = "" if unit == "B" else case.where
            groups[case.probe.split("/")[0], unit, case.main.better, where].append(case)
    return tuple(
        PriceList(
            question=question,
            unit=unit,
            cases=tuple(
                case.case for case in sorted(ways, key=lambda case: case.main.median, reverse=better == "higher")
            ),
            sizes=sizes,
            where=where,
        )
        for (question, unit, better, where), members in groups.items()
        for sizes, ways in _by_size(session, members)
        if len({case.probe for case in ways}) >= _PRICES
    )


def _by_size(session: Session, cases: Sequence[CaseFinding]) -> Iterator[tuple[tuple[str, ...], list[CaseFinding]]]:
    """The sizes that these cases have, each with the cases that stand for their ways at it."""
    probes = {case.probe: session.header.probes[case.probe].descriptor for case in cases}
    with_unit = Counter(
        parameter.name
        for probe in probes.values()
        for parameter in probe.parameters
        if parameter.type == "integer" and parameter.unit not in (None, "1")
    )
    held = {
        case.case: tuple(f"{name}={value}" for name, value in case.parameters.items() if with_unit[name] > 1)
        for case in cases
    }
    sizes = [one for one in dict.fromkeys(held.values()) if not any(set(one) < set(other) for other in held.values())]
    for size in sizes[: len(sizes) if len(sizes) <= _MOST_SIZES else 1]:
        alike = [case for case in cases if set(held[case.case]) <= set(size)]
        yield size, _standing_for_ways(probes, alike)


def _standing_for_ways(probes: Mapping[str, Descriptor], cases: Sequence[CaseFinding]) -> list[CaseFinding]:
    """One case for each combination of a probe's choices, which are ways of their own.

    It is the first of them, or the first in which something switched if hardly anything did in those before it.
    """
    ways: dict[tuple[str, str], CaseFinding] = {}
    for case in cases:
        choices = " ".join(
            f"{one.name}={case.parameters[one.name]}"
            for one in probes[case.probe].parameters
            if one.type == "choice" and not one.built and one.name in case.parameters
        )
        before = ways.setdefault((case.probe, choices), case)
        if _hardly_switches(before) and not _hardly_switches(case):
            ways[case.probe, choices] = case
    return list(ways.values())


def by_other_metrics(case: CaseFinding, parameter: Parameter) -> list[CaseFinding]:
    """The case once for each metric that is drawn over this parameter beside the main one, with that as its main."""
    figures = {figure.metric: figure for figure in case.others}
    return [msgspec.structs.replace(case, main=figures[name]) for name in parameter.curves if name in figures]


def _curves(session: Session, cases: Sequence[CaseFinding]) -> tuple[Curve, ...]:
    groups: dict[tuple[str, str, str, str], list[CaseFinding]] = defaultdict(list)
    for case in cases:
        if case.control:
            continue
        for parameter in session.header.probes[case.probe].descriptor.parameters:
            if parameter.type == "integer":
                rest = [f"{key}={value}" for key, value in case.parameters.items() if key != parameter.name]
                for seen in (case, *by_other_metrics(case, parameter)):
                    groups[case.probe, parameter.name, seen.main.metric, " ".join([*rest, case.where])].append(seen)
    return tuple(
        Curve(
            probe=probe,
            metric=members[0].main.metric,
            unit=members[0].main.unit,
            parameter=parameter,
            fixed=fixed,
            points=tuple(
                Point(
                    x=int(member.parameters[parameter]),
                    median=member.main.median,
                    low=member.main.low,
                    high=member.main.high,
                )
                for member in sorted(members, key=lambda member: int(member.parameters[parameter]))
            ),
        )
        for (probe, parameter, _, fixed), members in groups.items()
        if len(members) >= _CURVE_POINTS
    )


def _rate_points(cases: Sequence[CaseFinding]) -> Iterator[RatePoint]:
    """What became of the rates that servers were offered; a rate of 0 is none."""
    for case in cases:
        rate = case.parameters.get("rate")
        if case.control or not isinstance(rate, int) or rate == 0:
            continue
        figures = {figure.metric: figure.median for figure in case.others}
        rest = [f"{key}={value}" for key, value in case.parameters.items() if key != "rate"]
        yield RatePoint(
            probe=case.probe,
            fixed=" ".join([*rest, case.where]),
            rate=rate,
            answered=figures.get("of_rate"),
            latency_s=figures.get("p50"),
        )


def _matrices(session: Session, cases: Sequence[CaseFinding]) -> tuple[Matrix, ...]:
    """A matrix for every family of ways that shares its main metric and its first integer parameter."""
    families: dict[str, list[CaseFinding]] = defaultdict(list)
    for case in cases:
        family, underscore, _ = case.probe.partition("_")
        if underscore and not case.control:
            families[family].append(case)
    groups: dict[tuple[str, str, str, str], list[tuple[str, int, CaseFinding]]] = defaultdict(list)
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
        for case in members:
            parameters = session.header.probes[case.probe].descriptor.parameters
            swept = next((p.name for p in parameters if p.type == "integer" and p.name in common), None)
            if swept is not None:
                name, fixed = _place_in_matrix(case, common, varied, swept)
                groups[family, case.main.metric, swept, fixed].append((name, int(case.parameters[swept]), case))
    return tuple(
        _matrix(family, metric, parameter, fixed, members)
        for (family, metric, parameter, fixed), members in groups.items()
        if len({name for name, _, _ in members}) >= _CURVE_POINTS
    )


def _place_in_matrix(case: CaseFinding, common: set[str], varied: set[tuple[str, str]], swept: str) -> tuple[str, str]:
    """Name of the column, and what is the same in the whole matrix."""
    way = case.probe.partition("_")[2]
    own = [f"{key}={value}" for key, value in case.parameters.items() if (case.probe, key) in varied]
    fixed = [f"{key}={value}" for key, value in case.parameters.items() if key in common and key != swept]
    return " ".join([way, *own]), " ".join([*fixed, case.where])


def _matrix(
    family: str, metric: str, parameter: str, fixed: str, members: Sequence[tuple[str, int, CaseFinding]]
) -> Matrix:
    rows: dict[int, dict[str, Cell]] = {x: {} for x in sorted({x for _, x, _ in members})}
    for name, x, case in members:
        beside = next((item.figure.value for item in case.main.published), None)
        rows[x][name] = Cell(median=case.main.median, published=beside)
    ways = tuple(dict.fromkeys(name for name, _, _ in members))
    unit = members[0][2].main.unit
    return Matrix(family=family, metric=metric, unit=unit, parameter=parameter, fixed=fixed, ways=ways, rows=rows)


def judge(session: Session, library: Library | None = None) -> Findings:
    """Everything that may be said of a session, beside what these studies say, or those that come with the tool."""
    others = library or studies.library()
    all_runs = case_runs(session)
    by_name = {runs.planned.case.name: runs for runs in all_runs}
    cases = [finding for runs in all_runs if (finding := _case(runs, by_name, session, others))]
    checks = controls(session, by_name)
    block_runs = [run for run in session.runs if run.role == "block"]
    end = session.end
    return Findings(
        path=session.path,
        started=session.header.started,
        seed=session.header.seed,
        machine_key=session.header.machine.key,
        machine=session.header.machine.facts,
        environment=session.header.machine.environment,
        complete=end is not None,
        void=void_reason(checks),
        controls=checks,
        blocks=end.blocks if end else max((run.block for run in block_runs), default=0),
        wall_s=end.wall_s if end else None,
        timed_share=end.timed_s / end.wall_s if end and end.wall_s else None,
        cases=tuple(cases),
        curves=_curves(session, cases),
        matrices=_matrices(session, cases),
        tables=others.tables_beside(
            {
                case.case: {figure.metric: (figure.median, figure.unit) for figure in (case.main, *case.others)}
                for case in cases
            }
        ),
        prices=_price_lists(session, cases),
        knees=knees(_rate_points(cases)),
        caches=cache_levels(all_runs, session.header.machine.facts),
        skips=(*session.skips, *(_unsteady(runs) for runs in all_runs if runs.mostly_unsteady)),
        failures={run.case: run.error or "" for run in session.runs if run.status == "failed"},
        leftovers={run.case: run.leftovers for run in session.runs if run.leftovers},
        disturbances=tuple(
            dict.fromkeys(disturbance for audit in session.audits for disturbance in audit.disturbances)
        ),
        runs=len(session.runs),
        disturbed_runs=sum(bool(run.disturbed) for run in block_runs),
    )
