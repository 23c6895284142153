# SPDX-License-Identifier: Apache-2.0
"""From the runs of a session to samples: one number a run, one run a block. Values are never pooled over processes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np
import numpy.typing as npt

from steelyard.judge.stats.warmup import WarmUp, classify
from steelyard.records import Descriptor, Loops, Metric, PlannedCase, Run, Session, Statistic, Value, counter_metrics

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
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
        """One number a block, of any quantity of a value; of a run that warmed up, of its steady state.

        NaN for a run that reached none, and for all runs where not even half of them did: there is no number then.
        """
        if self.mostly_unsteady:
            return np.full(len(self.runs), np.nan)
        statistic = self.descriptor.statistic
        return np.array([np.nan if run is None else run_number(self._at_rest(run), of, statistic) for run in self.runs])

    def warm_up(self, run: Run) -> WarmUp | None:
        """The shape of a run's values by the main metric; None if the probe does not warm up or has no figures."""
        metric = self.descriptor.metrics[0]
        if not self.descriptor.warms_up:
            return None
        figures = [value.figure(metric) for value in run.values]
        costs = [1 / figure if metric.better == "higher" else figure for figure in figures if figure]
        return classify(costs) if costs and len(costs) == len(figures) and min(costs) > 0 else None

    @property
    def mostly_unsteady(self) -> bool:
        """Whether more than half of the runs that count reached no steady state."""
        shapes = [self.warm_up(run) for run in self.counted]
        return 2 * sum(found is not None and found.steady_from is None for found in shapes) > len(shapes) > 0

    def _at_rest(self, run: Run) -> Run:
        """The run with the values of its steady state alone; with none where it has no steady state."""
        found = self.warm_up(run)
        if found is None:
            return run
        values = () if found.steady_from is None else run.values[found.steady_from :]
        return msgspec.structs.replace(run, values=values)


def run_number(run: Run, of: Callable[[Value], float | None], statistic: Statistic) -> float:
    """The number that stands for a run: the lower quartile of its values for a pure CPU cost, else their median.

    NaN if no value has the quantity. Source of the choice: noise measured on shared virtual machines (a low quantile
    halves the spread of CPU costs, and hides waiting where waiting is the subject).
    """
    figures = [figure for value in run.values if (figure := of(value)) is not None]
    if not figures:
        return float("nan")
    return float(np.quantile(figures, 0.25 if statistic == "lower_quartile" else 0.5))


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
        CaseRuns(
            planned=planned,
            descriptor=session.header.probes[planned.case.probe].descriptor,
            kept_loops=session.header.probes[planned.case.probe].loops,
            runs=tuple(counting_run(attempts[planned.case.name, block]) for block in range(1, last_block + 1)),
        )
        for planned in session.plan.cases
    ]


def runs_of(case: str, runs: Sequence[Run]) -> list[Run]:
    """All runs of a case's blocks, with the disturbed and the failed ones."""
    return [run for run in runs if run.case == case and run.role == "block"]
