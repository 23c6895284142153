# SPDX-License-Identifier: Apache-2.0
"""How much more several threads or processes do than one, for each probe that was measured over their number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from steelyard.judge.samples import CaseRuns
from steelyard.judge.stats.checks import known
from steelyard.judge.stats.scaling import Answer, Estimate, fit_scaling
from steelyard.records import Record, Value

#: The parameter that says how many share the work; and the one that does where each of its contexts had a CPU.
PARAMETER, CONTEXTS = "threads", "contexts"
#: What those are that share it, by the parameter `kind` of probes that have contexts.
_KINDS = {"thread": "threads", "process": "processes"}


class Estimated(Record, frozen=True, kw_only=True):
    """A number with its interval; None for what the data cannot give, or for infinity."""

    value: float | None
    low: float | None
    high: float | None


class Scales(Record, frozen=True, kw_only=True):
    """The scaling of one probe, all else the same.

    work: what ``threads`` of them do, the most that were measured, over what one does in the same time. who: what they
    are, as a plural. contention, coherence and best: of the universal scalability law (stats/scaling.py); None where
    fewer than three numbers were measured or no such law explains them.
    """

    probe: str
    title: str
    fixed: tuple[str, ...]
    threads: int
    who: str = "threads"
    work: Estimated
    answer: Answer
    contention: Estimated | None = None
    coherence: Estimated | None = None
    best: Estimated | None = None


def scalings(runs: Sequence[CaseRuns]) -> tuple[Scales, ...]:
    """One for each group of cases that differ in nothing but how many share the work, from one on."""
    groups: dict[tuple[str, tuple[str, ...]], dict[int, CaseRuns]] = defaultdict(dict)
    for one in runs:
        case = one.planned.case
        name = PARAMETER if PARAMETER in case.parameters else CONTEXTS
        sharers = case.parameters.get(name)
        if case.variant is None and isinstance(sharers, int) and (name == PARAMETER or _have_a_cpu_each(one, sharers)):
            rest = (f"{key}={value}" for key, value in case.parameters.items() if key != name)
            groups[case.probe, (*rest, f"@{case.placement}")][sharers] = one
    found = (_scales(fixed, dict(sorted(cases.items()))) for (_, fixed), cases in groups.items())
    return tuple(one for one in found if one)


def _have_a_cpu_each(runs: CaseRuns, contexts: int) -> bool:
    """Else they take turns, or do one after the other what only one may do at a time."""
    return {value.lanes for run in runs.counted for value in run.values} == {contexts}


def _scales(fixed: tuple[str, ...], cases: Mapping[int, CaseRuns]) -> Scales | None:
    times = np.array([one.numbers(_seconds) for one in cases.values()])
    if 1 not in cases or len(cases) == 1 or np.isnan(times).any(axis=0).all():
        return None
    scaling = fit_scaling([*cases], times)
    share, law = scaling.efficiency, scaling.law
    first = cases[1]
    return Scales(
        probe=first.planned.case.probe,
        title=first.descriptor.title or first.planned.case.probe,
        fixed=fixed,
        threads=scaling.largest,
        who=_KINDS.get(str(first.planned.case.parameters.get("kind")), "threads"),
        work=_estimated(share, scaling.largest),
        answer=scaling.answer,
        contention=_estimated(law.contention) if law else None,
        coherence=_estimated(law.coherence) if law else None,
        best=_estimated(law.best) if law else None,
    )


def _seconds(value: Value) -> float | None:
    """Of the wall, whatever the probe's own metric is: a cost of each lane would not fall where all share the work."""
    return value.wall_ns / value.operations / 1e9 if value.wall_ns and value.operations else None


def _estimated(of: Estimate, times: int = 1) -> Estimated:
    low, high = of.interval.low, of.interval.high
    return Estimated(value=known(of.value * times), low=known(low * times), high=known(high * times))
