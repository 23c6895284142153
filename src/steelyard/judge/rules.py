# SPDX-License-Identifier: Apache-2.0
"""Twelve rules for reporting performance, each with a check of a report against it.

Source of the rules: Hoefler & Belli 2015, Scientific Benchmarking of Parallel Computing Systems, SC '15,
doi:10.1145/2807591.2807644; their wording here is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from steelyard.judge.cases import CaseFinding
from steelyard.judge.comparisons import Compared
from steelyard.judge.plots import Plot, Series
from steelyard.judge.report import Judged, Method, Report
from steelyard.records import Record

SOURCE = "Hoefler & Belli 2015, Scientific Benchmarking of Parallel Computing Systems, SC '15"

#: What a reader must know of a machine to place its figures.
_FACTS = ("cpu", "logical cpus", "memory")
_ENVIRONMENT = ("kernel",)
#: Enough to see that a rule is broken; a session of 300 cases without intervals would fill pages.
_MOST_SAID = 5


class RuleOutcome(Record, frozen=True, kw_only=True):
    """One rule and what was found: ``broken`` says where the report does not keep it; ``kept_by`` how it does."""

    number: int
    asks: str
    kept_by: str
    broken: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReportRule:
    """What is asked, how a report keeps it, and what finds where it does not."""

    number: int
    asks: str
    kept_by: str
    broken: Callable[[Report], Iterator[str]]


def check(report: Report) -> tuple[RuleOutcome, ...]:
    """The report held against every rule."""
    return tuple(
        RuleOutcome(number=rule.number, asks=rule.asks, kept_by=rule.kept_by, broken=_some(list(rule.broken(report))))
        for rule in RULES
    )


def _some(said: list[str]) -> tuple[str, ...]:
    more = len(said) - _MOST_SAID
    return (*said[:_MOST_SAID], *([f"and {more} more"] if more > 0 else []))


# --- what the checks look at ------------------------------------------------------------------------------------------


def _cases(report: Report) -> Iterator[tuple[Judged, CaseFinding]]:
    for judged in report.sessions:
        for case in judged.findings.cases:
            yield judged, case


def _plots(report: Report) -> Iterator[Plot]:
    for judged in report.sessions:
        yield from judged.plots


def _series(judged: Judged) -> Iterator[Series]:
    for plot in judged.plots:
        yield from plot.series


def _ratios(report: Report) -> Iterator[tuple[str, Compared]]:
    for comparison in report.comparisons:
        for case in comparison.cases:
            yield comparison.a, case


def _method(report: Report, of: str) -> Method | None:
    return next((method for method in report.methods if method.of == of), None)


# --- the rules --------------------------------------------------------------------------------------------------------


def _base_case(report: Report) -> Iterator[str]:
    for base, case in _ratios(report):
        if not base or not case.a > 0:
            yield f"{case.case}: a ratio of {case.ratio:.3g} without its base or the base's own figure"
    for judged in report.sessions:
        for finding in judged.claims.findings:
            seen = tuple(figure.case for figure in finding.figures)
            for one in finding.ranges:
                if one.over is not None and not one.over.startswith(seen):
                    yield f"claim {finding.claim.id}: over {one.over}, whose own figure is not given"


def _subsets(report: Report) -> Iterator[str]:
    for judged in report.sessions:
        findings = judged.findings
        said = {case.case for case in findings.cases} | {name for name, why in findings.failures.items() if why}
        for skip in findings.skips:
            if skip.reason:
                said.add(skip.subject)
            else:
                yield f"{skip.subject}: left out without a reason"
        for name in judged.planned:
            if name not in said and name.partition("@")[0].partition("[")[0] not in said:
                yield f"{name}: planned, and neither shown nor said why not"


def _means(report: Report) -> Iterator[str]:
    allowed = {"cost": {"median", "arithmetic mean"}, "rate": {"median", "harmonic mean"}}
    for of, centres in allowed.items():
        method = _method(report, of)
        if method is None:
            yield f"no method is given for a {of}"
        elif method.centre not in centres:
            yield f"a {of} is summarised by its {method.centre}"


def _averaged_ratios(report: Report) -> Iterator[str]:
    method = _method(report, "ratio")
    if method is None:
        yield "no method is given for a ratio"
    elif method.centre in {"arithmetic mean", "harmonic mean"}:
        yield f"ratios are summarised by their {method.centre}"


def _intervals(report: Report) -> Iterator[str]:
    for judged, case in _cases(report):
        if case.main.low is None or case.main.high is None:
            yield f"{case.case} ({judged.label}): no interval from {case.main.n} runs"


def _normality(report: Report) -> Iterator[str]:
    for method in report.methods:
        if method.assumes_normal and not method.normality:
            yield f"the interval of a {method.of} takes it for normal, and nobody has looked"


def _comparison(report: Report) -> Iterator[str]:
    for comparison in report.comparisons:
        edge = 1 + comparison.margin
        for case in comparison.cases:
            beyond = case.low > edge or (case.high is not None and case.high < 1 / edge)
            if case.verdict == "different" and not beyond:
                yield f"{case.case}: called different, and its interval does not lie beyond the margin"
            if case.verdict == "equivalent" and not (
                case.low >= 1 / edge and case.high is not None and case.high <= edge
            ):
                yield f"{case.case}: called equivalent, and its interval does not lie within the margin"


def _centre(report: Report) -> Iterator[str]:
    for judged in report.sessions:
        shown = {(spot.case, spot.modes) for series in _series(judged) for spot in series.spots}
        for case in judged.findings.cases:
            main = case.main
            if not main.minimum <= main.p25 <= main.p99:
                yield f"{case.case} ({judged.label}): a centre without its lower and upper end"
            if main.modes and not case.control and (case.case, main.modes) not in shown:
                yield f"{case.case} ({judged.label}): one centre for two modes"


def _documented(report: Report) -> Iterator[str]:
    for judged in report.sessions:
        findings, setup = judged.findings, judged.setup
        missing = [name for name in _FACTS if not findings.machine.get(name)]
        missing += [name for name in _ENVIRONMENT if not findings.environment.get(name)]
        missing += [] if setup.command else ["the command"]
        missing += [] if setup.versions else ["the versions"]
        yield from (f"{judged.label}: {name} is not said" for name in missing)
        techniques = {technique.probe: technique for technique in setup.techniques}
        for case in findings.cases:
            technique = techniques.get(case.probe)
            varied = {} if technique is None else technique.factors
            for name, value in case.parameters.items():
                if value not in varied.get(name, ()):
                    yield f"{case.case}: {name}={value} is not among the levels that are documented"


def _measuring(report: Report) -> Iterator[str]:
    for judged in report.sessions:
        if not judged.setup.order:
            yield f"{judged.label}: the order of runs is not said"
        techniques = {technique.probe: technique for technique in judged.setup.techniques}
        for probe in dict.fromkeys(case.probe for case in judged.findings.cases):
            technique = techniques.get(probe)
            if technique is None or not technique.operation or not technique.statistic or not technique.placements:
                yield f"{probe}: what was timed, where, or what stands for a run is not said"


def _bounds(report: Report) -> Iterator[str]:
    for plot in _plots(report):
        if not plot.bounds and not plot.unbounded:
            yield f"figure {plot.id}: neither a bound nor why there is none"


def _lines(report: Report) -> Iterator[str]:
    for plot in _plots(report):
        for series in plot.series:
            if series.joined and (plot.x is None or any(spot.x is None for spot in series.spots)):
                yield f"figure {plot.id}: {series.group} is joined by a line between names"
    for judged in report.sessions:
        drawn = {spot.case for series in _series(judged) for spot in series.spots}
        for case in judged.findings.cases:
            if not case.control and case.case not in drawn:
                yield f"{case.case} ({judged.label}): in no figure and in no table"


RULES = (
    ReportRule(
        1,
        "A ratio names its base, and the base's own cost stands beside it.",
        "Every ratio is shown with both sides in their own unit.",
        _base_case,
    ),
    ReportRule(
        2,
        "What is left out is said, and why.",
        "Every planned case is shown, or stands among failures and skips with its reason.",
        _subsets,
    ),
    ReportRule(
        3,
        "Costs may be summarised by the arithmetic mean, rates only by the harmonic one.",
        "Both are summarised by the median of the runs, which is the same run for a cost and for its rate.",
        _means,
    ),
    ReportRule(
        4,
        "Ratios are not averaged: summarise the costs that they are made of.",
        "A ratio is of one case only; there is no average over cases.",
        _averaged_ratios,
    ),
    ReportRule(
        5,
        "A figure that varies comes with an interval, one that does not is said to be deterministic.",
        "Every median has its 95 % interval from 6 runs on.",
        _intervals,
    ),
    ReportRule(
        6,
        "Normality is not assumed unless it was looked into.",
        "Intervals of figures come from order statistics, which assume no shape.",
        _normality,
    ),
    ReportRule(
        7,
        "What varies is compared by a sound test.",
        "A verdict follows from an interval against a margin, with the error of all verdicts together held (Holm).",
        _comparison,
    ),
    ReportRule(
        8,
        "Mean or median only where they say what matters; tails where those do.",
        "Minimum, lower quartile and 99th percentile stand beside each median; a mixture is shown by its modes.",
        _centre,
    ),
    ReportRule(
        9,
        "All that was varied and the whole setup are documented.",
        "Machine, kernel, versions, command, seed and the levels of each parameter are part of the page.",
        _documented,
    ),
    ReportRule(
        10,
        "How times of parallel parts were taken, synchronised and summarised is said.",
        "Each mechanism states its operation, its placements and what stands for a run.",
        _measuring,
    ),
    ReportRule(
        11,
        "Upper bounds of performance are shown where there are any.",
        "Figures show the overhead that was weighed or the best way measured, or say that no bound is known.",
        _bounds,
    ),
    ReportRule(
        12,
        "Plots show enough, and lines join only what may be interpolated.",
        "Every case is drawn, or in a table where points are few; lines join only points along a quantity.",
        _lines,
    ),
)
