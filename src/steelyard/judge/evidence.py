# SPDX-License-Identifier: Apache-2.0
"""The evidence that a session has for a claim: the figures of a case over its blocks, or why there are none."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steelyard.judge.claims import ClaimVerdict, Operand, Sweep
from steelyard.judge.controls import controls, void_reason
from steelyard.judge.reasons import Fact, Reason, Why
from steelyard.judge.samples import CaseRuns, FloatArray, case_runs
from steelyard.records import Case, CasePattern, Metric, Session


class NoAnswer(Exception):  # noqa: N818 - an answer, not an error: it ends in a finding
    """There is no evidence to judge by."""

    def __init__(self, verdict: ClaimVerdict, why: Why, **facts: Fact) -> None:
        super().__init__(why, facts)
        self.verdict = verdict
        self.reason = Reason(why, **facts)


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A figure over the blocks: one number a block, NaN where there is none."""

    runs: CaseRuns
    metric: Metric
    net: bool
    values: FloatArray

    @property
    def case(self) -> str:
        """The name of its case."""
        return self.runs.planned.case.name

    @property
    def doubts(self) -> tuple[str, ...]:
        """The caveats of the probe that concern this figure, each once."""
        return tuple(
            dict.fromkeys(
                caveat
                for run in self.runs.counted
                for caveat in run.caveats
                if self.metric.name in run.caveat_metrics.get(caveat, (self.metric.name,))
            )
        )


class Measured:
    """The figures of a session, or the reason why it has none."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.path = session.path
        counted = [runs for runs in case_runs(session) if runs.counted]
        self._by_name = {runs.planned.case.name: runs for runs in counted}
        # A variant is the same case under other conditions: a claim is about none of them.
        self._cases = [runs for runs in counted if runs.planned.case.variant is None]
        block_runs = [run for run in session.runs if run.role == "block"]
        self.blocks = max((run.block for run in block_runs), default=0)
        self.block_s = math.fsum(run.wall_s for run in block_runs) / max(1, self.blocks)
        self.cpus = len(session.header.machine.cpus)
        self.void = void_reason(controls(session, self._by_name))

    def cases(self, pattern: CasePattern) -> tuple[Case, ...]:
        """The cases that the pattern stands for, in the order of the plan."""
        return tuple(runs.planned.case for runs in self._cases if pattern.matches(runs.planned.case))

    def column(self, operand: Operand) -> Column:
        """The figure of the one case that the operand stands for."""
        found = self._matching(operand)
        if len(found) > 1:
            names = ", ".join(runs.planned.case.name for runs in found[:3])
            raise NoAnswer(ClaimVerdict.NOT_MEASURED, Why.SEVERAL_CASES, case=operand.case, n=len(found), names=names)
        column = self._column(found[0], operand)
        if not np.isfinite(column.values).any():
            raise NoAnswer(ClaimVerdict.NOT_MEASURED, Why.NEVER_HAPPENED, case=column.case, metric=column.metric.name)
        return column

    def sweep(self, sweep: Sweep) -> dict[int, Column]:
        """The figures by the parameter, rising; points without any figure are left out."""
        points: dict[int, Column] = {}
        for runs in self._matching(sweep.of):
            x = runs.planned.case.parameters.get(sweep.parameter)
            if not isinstance(x, int) or x < sweep.smallest or (sweep.largest is not None and x > sweep.largest):
                continue
            if x in points:
                raise NoAnswer(
                    ClaimVerdict.NOT_MEASURED, Why.A_CHOICE_LEFT, case=sweep.of.case, parameter=sweep.parameter, x=x
                )
            column = self._column(runs, sweep.of)
            if np.isfinite(column.values).any():
                points[x] = column
        return dict(sorted(points.items()))

    def _matching(self, operand: Operand) -> list[CaseRuns]:
        found = [runs for runs in self._cases if operand.pattern.matches(runs.planned.case)]
        if not found:
            raise self._absence(operand)
        if imported := self._session.header.imported:
            raise NoAnswer(ClaimVerdict.NOT_COMPARABLE, Why.IMPORTED, tool=imported.tool)
        return found

    def _absence(self, operand: Operand) -> NoAnswer:
        for skip in self._session.skips:
            if _stands_for(operand.pattern, skip.subject):
                return NoAnswer(ClaimVerdict.NOT_COMPARABLE, Why.OF_ONE, subject=skip.subject, said=skip.plain)
        for run in self._session.runs:
            if run.status == "failed" and _stands_for(operand.pattern, run.case):
                return NoAnswer(ClaimVerdict.NOT_MEASURED, Why.RUN_FAILED, case=run.case, error=run.error)
        return NoAnswer(ClaimVerdict.NOT_MEASURED, Why.NO_CASE, case=operand.case)

    def _column(self, runs: CaseRuns, operand: Operand) -> Column:
        metrics = (*runs.descriptor.metrics, *runs.counters)
        metric = next((metric for metric in metrics if operand.metric in (None, metric.name)), None)
        name = runs.planned.case.name
        if metric is None:
            raise NoAnswer(ClaimVerdict.NOT_MEASURED, Why.NO_METRIC, case=name, metric=operand.metric)
        values = runs.sample(metric)
        if operand.net:
            baseline = self._by_name.get(runs.planned.baseline or "")
            if baseline is None:
                raise NoAnswer(ClaimVerdict.NOT_MEASURED, Why.NO_OVERHEAD, case=name)
            values = values - baseline.sample(baseline.descriptor.metrics[0])
        return Column(runs, metric, operand.net, values)


def other_unit(column: Column, wanted: str) -> NoAnswer:
    """Its figures are in another unit than is needed."""
    metric = column.metric
    return NoAnswer(
        ClaimVerdict.NOT_MEASURED,
        Why.OTHER_UNIT,
        case=column.case,
        metric=metric.name,
        unit=metric.unit,
        wanted=wanted,
    )


def _stands_for(pattern: CasePattern, name: str) -> bool:
    """Whether a probe or a case by this name is, or contains, what the pattern asks for."""
    named = CasePattern.parse(name)
    return (
        named is not None
        and named.probe == pattern.probe
        and (pattern.placement is None or named.placement in (None, pattern.placement))
        and all(named.parameters.get(key, value) == value for key, value in pattern.parameters.items())
    )
