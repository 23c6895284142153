# SPDX-License-Identifier: Apache-2.0
"""From the runs of a session to samples: one number a run, one run a block. Values are never pooled over processes."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import msgspec
import numpy as np
import numpy.typing as npt

from steelyard.judge.stats.summary import quantile, summarise
from steelyard.judge.stats.warmup import WarmUp, classify
from steelyard.records import (
    Case,
    CaseNumbers,
    Descriptor,
    Loops,
    Metric,
    PlannedCase,
    Run,
    RunNumbers,
    Session,
    Statistic,
    Value,
    counter_metrics,
)

FloatArray = npt.NDArray[np.float64]

#: The histogram of operations that were timed one by one because the session asked for it.
ONE_BY_ONE = "operation"


@dataclass(frozen=True)
class CaseRuns:
    """The run of each block that counts for a case; None where the block has none."""

    planned: PlannedCase
    descriptor: Descriptor
    runs: tuple[Run | None, ...]
    kept_loops: Mapping[str, Loops] = field(default_factory=dict)

    @property
    def counted(self) -> tuple[Run, ...]:
        """The runs that count, in order of their blocks."""
        return tuple(run for run in self.runs if run is not None)

    @property
    def counters(self) -> tuple[Metric, ...]:
        """The metrics of what the processor counted in these runs; none where it counted nothing."""
        return counter_metrics(value for run in self.counted for value in run.values)

    @property
    def loops(self) -> Loops | None:
        """The loops of the function that was timed, as the build kept them; None where it kept none."""
        return next((self.kept_loops.get(run.timed) for run in self.counted), None)

    def sample(self, metric: Metric) -> FloatArray:
        """One number a block: NaN where the block has no run, or where what the metric divides by did not happen."""
        return self.numbers(lambda value: value.figure(metric))

    def numbers(self, of: Callable[[Value], float | None]) -> FloatArray:
        """One number a block, of any quantity of a value; NaN where the block has no run or the run no number."""
        return np.array([np.nan if run is None else self._number(run, of) for run in self.steady_runs])

    def tails(self, share: float) -> FloatArray:
        """One number a block: the quantile of the operations that its run timed one by one; NaN where it has none."""
        found = (_tail(run, share) if run else None for run in self.runs)
        return np.array([np.nan if number is None else number for number in found])

    def number(self, run: Run, of: Callable[[Value], float | None]) -> float:
        """The number of any run of the case, also of one that is in no block; NaN if it has none."""
        return self._number(self.steady(run), of)

    def _number(self, run: Run, of: Callable[[Value], float | None]) -> float:
        return number_of(map(of, run.values), self.descriptor.statistic)

    @cached_property
    def steady_runs(self) -> tuple[Run | None, ...]:
        """The run of each block that counts, with those of its values that count: see `steady`."""
        return tuple(None if run is None else self.steady(run) for run in self.runs)

    def steady(self, run: Run) -> Run:
        """A run with the values of its steady state alone; with all of a probe that does not warm up.

        With none where it reached no steady state, and where not even half of the runs that count did.
        """
        found = self.warm_up(run)
        if found is None and not self.mostly_unsteady:
            return run
        begin = None if found is None or self.mostly_unsteady else found.steady_from
        return msgspec.structs.replace(run, values=() if begin is None else run.values[begin:])

    def warm_up(self, run: Run) -> WarmUp | None:
        """The shape of a run's values by the main metric; None if the probe does not warm up or has no figures."""
        metric = self.descriptor.metrics[0]
        if not self.descriptor.warms_up:
            return None
        figures = [value.figure(metric) for value in run.values]
        costs = [1 / figure if metric.better == "higher" else figure for figure in figures if figure]
        return classify(costs) if costs and len(costs) == len(figures) and min(costs) > 0 else None

    @cached_property
    def mostly_unsteady(self) -> bool:
        """Whether more than half of the runs that count reached no steady state."""
        shapes = [self.warm_up(run) for run in self.counted]
        return 2 * sum(found is not None and found.steady_from is None for found in shapes) > len(shapes) > 0


def _tail(run: Run, share: float) -> float | None:
    timed = next((one for one in run.histograms if one.name == ONE_BY_ONE), None)
    return timed.quantile(share) if timed else None


def number_of(figures: Iterable[float | None], statistic: Statistic) -> float:
    """The number that stands for a run: the lower quartile of its values for a pure CPU cost, else their median.

    NaN if no value has a figure. Source of the choice: noise measured on shared virtual machines (a low quantile
    halves the spread of CPU costs, and hides waiting where waiting is the subject).
    """
    there = sorted(figure for figure in figures if figure is not None)
    return quantile(there, 0.25 if statistic == "lower_quartile" else 0.5) if there else math.nan


def _disturbance(run: Run) -> float:
    return (run.foreign_share or 0.0) + (run.steal_share or 0.0)


def counting_run(attempts: Iterable[Run]) -> Run | None:
    """The attempt that counts: the first that was not disturbed, else the least disturbed; None if all failed.

    Chosen by what others did to the machine, never by the figure itself.
    """
    good = sorted((run for run in attempts if run.status == "ok"), key=lambda run: run.attempt)
    if not good:
        return None
    return next((run for run in good if not run.disturbed), min(good, key=_disturbance))


def case_runs(session: Session) -> list[CaseRuns]:
    """The runs that count for each case of the session's plan, in the plan's order."""
    if session.plan is None:
        return []
    attempts: dict[tuple[str, int], list[Run]] = defaultdict(list)
    last_block = 0
    for run in session.runs:
        if run.role == "block":
            attempts[run.case, run.block].append(run)
            last_block = max(last_block, run.block)
    return [
        _case_runs(session, planned, [counting_run(attempts[planned.case.name, n]) for n in range(1, last_block + 1)])
        for planned in session.plan.cases
    ]


def _case_runs(session: Session, planned: PlannedCase, runs: Iterable[Run | None]) -> CaseRuns:
    facts = session.header.probes[planned.case.probe]
    return CaseRuns(planned=planned, descriptor=facts.descriptor, runs=tuple(runs), kept_loops=facts.loops)


def numbers(session: Session) -> list[CaseNumbers]:
    """The numbers of every run of a session: also of those that do not count, and of cases that the pilot left out."""
    header = session.header
    found = {runs.planned.case.name: runs for runs in case_runs(session)}
    known: dict[str, tuple[Case, bool]] = {case.name: (case, False) for case in header.selection}
    known |= {case.name: (case, True) for case in header.controls}
    known |= {name: (runs.planned.case, runs.planned.control) for name, runs in found.items()}
    placed: dict[str, list[tuple[int, Run]]] = defaultdict(list)
    for place, run in enumerate(session.runs):
        placed[run.case].append((place, run))
    made = []
    for name, (case, control) in known.items():
        unplanned = PlannedCase(case=case, operations=0, values=0, run_s=0.0, control=control)
        runs = found.get(name) or _case_runs(session, unplanned, ())
        made.append(_case_numbers(runs, placed[name], planned=name in found))
    return made


def _case_numbers(runs: CaseRuns, placed: Sequence[tuple[int, Run]], *, planned: bool) -> CaseNumbers:
    metrics, statistic = (*runs.descriptor.metrics, *runs.counters), runs.descriptor.statistic
    counted = {id(run): steady for run, steady in zip(runs.runs, runs.steady_runs, strict=True) if run and steady}
    made = []
    for place, run in placed:
        steady = counted.get(id(run)) or runs.steady(run)
        figures = tuple(value.figure(metrics[0]) for value in run.values)
        kept = figures[len(figures) - len(steady.values) :]
        main = number_of(kept, statistic)
        others = (number_of((value.figure(metric) for value in steady.values), statistic) for metric in metrics[1:])
        made.append(RunNumbers(place=place, counts=id(run) in counted, numbers=(main, *others), figures=figures))
    sample = [number for run in made if run.counts and math.isfinite(number := run.numbers[0])]
    return CaseNumbers(
        case=runs.planned.case,
        control=runs.planned.control,
        planned=planned,
        metrics=metrics,
        runs=tuple(made),
        disturbed=sum(bool(run.disturbed) for run in runs.counted),
        summary=summarise(sample) if sample else None,
    )


def runs_of(case: str, runs: Sequence[Run]) -> list[Run]:
    """All runs of a case in blocks, disturbed and failed ones included."""
    return [run for run in runs if run.case == case and run.role == "block"]
