# SPDX-License-Identifier: Apache-2.0
"""A session as numbers, one for each run that counts, beside its findings: what an export writes."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import partial

from steelyard.judge.cases import CaseFinding
from steelyard.judge.findings import Findings, judge
from steelyard.judge.samples import CaseRuns, case_runs
from steelyard.judge.stats.checks import known
from steelyard.records import Case, Histogram, Metric, Record, Session, Statistic, Value


class RunEntry(Record, frozen=True, kw_only=True):
    """A run that counts. ``numbers``: the figure of each metric that it has, in base units, the main one always.

    ``values``: the main figure of each value that counts, without those of a warm-up; ``wall_s`` and ``cpu_s`` are per
    operation, ``cpu_s`` None if not known. ``duration_s`` is the whole process's; 0 in an imported session, where it is
    not known.
    """

    block: int
    attempt: int
    order: int
    started: float
    duration_s: float
    operations: int
    numbers: dict[str, float]
    values: tuple[float, ...]
    wall_s: float
    cpu_s: float | None
    peak_rss_bytes: int
    cpus: tuple[int, ...]
    disturbed: tuple[str, ...]
    histograms: tuple[Histogram, ...] = ()


class CaseEntry(Record, frozen=True, kw_only=True):
    """A case with its runs, in the order of their blocks, and what may be said of it."""

    case: Case
    statistic: Statistic
    metrics: tuple[Metric, ...]
    finding: CaseFinding
    runs: tuple[RunEntry, ...]

    @property
    def main(self) -> Metric:
        """The main metric."""
        return self.metrics[0]


class Ledger(Record, frozen=True, kw_only=True):
    """A judged session with its numbers."""

    id: str
    version: str
    processes_known: bool
    findings: Findings
    cases: tuple[CaseEntry, ...]


class Moments(Record, frozen=True, kw_only=True):
    """Some numbers in short, as other tools give them; the deviation of a single number is not known."""

    mean: float
    median: float
    stddev: float | None


def moments(numbers: Sequence[float]) -> Moments:
    """Mean, median and standard deviation of at least one number."""
    several = len(numbers) > 1
    return Moments(
        mean=statistics.fmean(numbers),
        median=statistics.median(numbers),
        stddev=statistics.stdev(numbers) if several else None,
    )


def ledger(session: Session) -> Ledger:
    """The numbers of a session and of its controls."""
    findings = judge(session)
    found = {finding.case: finding for finding in findings.cases}
    imported = session.header.imported
    return Ledger(
        id=session.header.id,
        version=session.header.versions.get("steelyard", ""),
        processes_known=imported is None or imported.processes_known,
        findings=findings,
        cases=tuple(
            _entry(runs, found[runs.planned.case.name])
            for runs in case_runs(session)
            if runs.planned.case.name in found
        ),
    )


def _entry(runs: CaseRuns, finding: CaseFinding) -> CaseEntry:
    metrics = (*runs.descriptor.metrics, *runs.counters)
    samples = {metric.name: runs.sample(metric).tolist() for metric in metrics}
    wall_s = runs.numbers(partial(_per_operation, "wall")).tolist()
    cpu_s = runs.numbers(partial(_per_operation, "cpu")).tolist()
    made = []
    for place, run in enumerate(runs.steady_runs):
        numbers = {name: sample[place] for name, sample in samples.items() if math.isfinite(sample[place])}
        if run is None or metrics[0].name not in numbers:
            continue
        made.append(
            RunEntry(
                block=run.block,
                attempt=run.attempt,
                order=run.order,
                started=run.started,
                duration_s=run.wall_s,
                operations=run.operations,
                numbers=numbers,
                values=tuple(figure for value in run.values if (figure := value.figure(metrics[0])) is not None),
                wall_s=wall_s[place],
                cpu_s=known(cpu_s[place]),
                peak_rss_bytes=run.peak_rss_bytes,
                cpus=run.cpus,
                disturbed=run.disturbed,
                histograms=run.histograms,
            )
        )
    return CaseEntry(
        case=runs.planned.case, statistic=runs.descriptor.statistic, metrics=metrics, finding=finding, runs=tuple(made)
    )


def _per_operation(quantity: str, value: Value) -> float | None:
    spent = value.quantity(quantity)
    return None if spent is None else spent / value.operations
