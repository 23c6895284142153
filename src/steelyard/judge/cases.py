# SPDX-License-Identifier: Apache-2.0
"""One case of a session over all its runs: its figures, and every doubt about them."""

from __future__ import annotations

import math
from collections import Counter
from typing import Literal

import numpy as np

from steelyard.judge.energy import Energy, energies
from steelyard.judge.published import Published
from steelyard.judge.reasons import Fact, Missing, Reason, Said, Why
from steelyard.judge.samples import CaseRuns, FloatArray, runs_of
from steelyard.judge.stats.modes import LEAST_RATIO, find_modes
from steelyard.judge.stats.summary import subtract_overhead, summarise
from steelyard.judge.studies import Library
from steelyard.records import Better, Case, CasePattern, Loops, Metric, Placement, Record, Scalar, Session, Value

#: What is said of operations that were timed one by one: the metric, the share, what it means.
_TAILS = (
    ("p50", 0.5, "half of the operations take at most this, each timed by itself"),
    ("p99", 0.99, "99 % of the operations take at most this; from 1000 in a run on"),
    ("p99_9", 0.999, "99.9 % of the operations take at most this; from 10,000 in a run on"),
)

#: Above this share of the time a counter was there for all of it: its clock starts some nanoseconds early or late.
_WHOLE = 0.99


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
    real_switch: the metric that is the time of a switch that happened, where the probe tells it from an operation.
    title: of its mechanism, where the probe gives one.
    """

    case: str
    probe: str
    parameters: dict[str, Scalar]
    placement: Placement
    operation: str
    control: bool
    main: Figure
    others: tuple[Figure, ...]
    user_s: float | None
    system_s: float | None
    switches: float | None
    caveats: tuple[Said, ...]
    switched: float | None = None
    runtime: str = ""
    counters: tuple[Figure, ...] = ()
    loops: Loops | None = None
    real_switch: str | None = None
    title: str | None = None
    energy: tuple[Energy, ...] = ()

    @property
    def called(self) -> str:
        """The title of its mechanism, or the identifier where that has none."""
        return self.title or self.probe

    def figure(self, metric: str) -> Figure | None:
        """The figure of that metric, if the case has it."""
        return next((figure for figure in (self.main, *self.others) if figure.metric == metric), None)

    def is_meant_by(self, pattern: CasePattern) -> bool:
        """Whether the case is one that the pattern stands for; a variant is the same case under other conditions."""
        return "~" not in self.case and pattern.matches(
            Case(probe=self.probe, placement=self.placement, parameters=self.parameters)
        )

    @property
    def where(self) -> str:
        """Placement and variant, as at the end of the case's name."""
        variant = self.case.partition("~")[2]
        return f"@{self.placement}~{variant}" if variant else f"@{self.placement}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _figure(runs: CaseRuns, metric: Metric, overhead: tuple[str, FloatArray] | None, others: Library) -> Figure | None:
    """The figure of a metric; None if it was never to be had."""
    return _figure_of(runs.sample(metric), runs, metric, overhead, others)


def _tails(runs: CaseRuns, others: Library) -> list[Figure]:
    """The figures of operations that were timed one by one; none where none were, or too few."""
    metrics = [
        (Metric(name=name, unit="s", better="lower", over="", per="", doc=doc), share) for name, share, doc in _TAILS
    ]
    figures = (_figure_of(runs.tails(share), runs, metric, None, others) for metric, share in metrics)
    return [figure for figure in figures if figure]


def _figure_of(
    sample: FloatArray, runs: CaseRuns, metric: Metric, overhead: tuple[str, FloatArray] | None, others: Library
) -> Figure | None:
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
    """Both modes of a cost that has two. A share (unit 1) that is mostly 0 or mostly 1 is not a mixture of costs."""
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


def _unpinned(several: FloatArray) -> Reason:
    known = several[np.isfinite(several)]
    if known.size == 0:
        return Reason(Why.UNPINNED)
    if not known.any():
        return Reason(Why.UNPINNED_ON_ONE)
    return Reason(Why.UNPINNED_ON_SEVERAL, several=int(known.sum()), n=known.size)


def _warm_up(runs: CaseRuns) -> Reason | None:
    """How the runs of a probe that warms up reached a steady state; None for other probes."""
    shapes = Counter(found.shape for run in runs.counted if (found := runs.warm_up(run)))
    if not shapes:
        return None
    counts = ", ".join(f"{count} {shape}" for shape, count in shapes.most_common())
    facts: dict[str, Fact] = {"n": len(runs.counted), "shapes": counts}
    unsteady = shapes["no steady state"]
    return Reason(Why.SHAPES_UNSTEADY, unsteady=unsteady, **facts) if unsteady else Reason(Why.SHAPES, **facts)


def unsteady(runs: CaseRuns) -> Missing:
    """Why a case that was measured has no number."""
    return Missing(subject=runs.planned.case.name, reason=Reason(Why.UNSTEADY, shapes=_warm_up(runs)))


def disturbed(runs: CaseRuns) -> list[Reason]:
    """That some of the runs that count were disturbed; nothing where none was."""
    disturbed = sum(bool(run.disturbed) for run in runs.counted)
    return [Reason(Why.DISTURBED, disturbed=disturbed, n=len(runs.counted))] if disturbed else []


def _caveats(runs: CaseRuns, main: Figure, session: Session) -> tuple[Said, ...]:
    said: list[Said] = list(dict.fromkeys(caveat for run in runs.counted for caveat in run.caveats))
    everything = runs_of(runs.planned.case.name, session.runs)
    case = runs.planned.case
    pins_itself = case.parameters.get("pinned", "no") != "no"
    if case.placement == "free" and not pins_itself and session.header.imported is None:
        said.append(_unpinned(_several_cpus(runs)))
    if shape := _warm_up(runs):
        said.append(shape)
    if main.low is None:
        said.append(Reason(Why.FEW_RUNS, n=main.n))
    if main.net is not None and main.net.high is not None and main.net.high < 0:
        said.append(Reason(Why.OVERHEAD_LARGER, baseline=main.net.baseline))
    said += [*_doubts_of_counters(runs), *disturbed(runs)]
    failed = sum(run.status == "failed" for run in everything)
    if failed:
        said.append(Reason(Why.FAILED_RUNS, failed=failed, n=len(everything)))
    return tuple(said)


def _doubts_of_counters(runs: CaseRuns) -> list[Reason]:
    """What the processor's counts leave out: the kernel, some events, or part of the time."""
    values = [value for run in runs.counted for value in run.values if value.counters]
    if not values:
        return []
    names = ", ".join(metric.name for metric in runs.counters)
    runs_of_users = [run for run in runs.counted if "user only" in run.counters]
    said = [Reason(Why.WITHOUT_KERNEL, counters=names, whose=run.counters) for run in runs_of_users]
    said += [Reason(Why.NOT_COUNTED, what=run.counters_absent) for run in runs.counted if run.counters_absent]
    shares = [
        counter.running_ns / counter.enabled_ns
        for value in values
        if value.counters
        for counter in value.counters.events.values()
        if counter.enabled_ns
    ]
    if shares and min(shares) < _WHOLE:
        said.append(Reason(Why.COUNTED_BY_TURNS, counters=names, share=min(shares)))
    return list(dict.fromkeys(said))


def judge_case(runs: CaseRuns, by_name: dict[str, CaseRuns], session: Session, others: Library) -> CaseFinding | None:
    """What may be said of a case; None if it never came to a number."""
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
        others=(*(figure for figure in figures[1:] if figure), *_tails(runs, others)),
        user_s=_per_operation(runs, "user"),
        system_s=_per_operation(runs, "system"),
        switches=_switches(runs),
        caveats=_caveats(runs, main, session),
        switched=_switched(runs),
        runtime=next((run.compiler for run in runs.counted), ""),
        counters=tuple(figure for metric in runs.counters if (figure := _figure(runs, metric, None, others))),
        loops=runs.loops,
        real_switch=next(
            (one.name for one in runs.descriptor.metrics if (one.per, one.unit) == ("switches", "s")), None
        ),
        title=runs.descriptor.title,
        energy=energies(runs, session.audits),
    )


def _switched(runs: CaseRuns) -> float | None:
    """Switches per operation by the probe's own proof: a count of switches divided by what was tried."""
    proofs = [metric for metric in runs.descriptor.metrics if metric.over == "switches" and metric.unit == "1"]
    numbers = runs.sample(proofs[0]) if proofs else np.array([])
    return float(np.nanmedian(numbers)) if np.isfinite(numbers).any() else None
