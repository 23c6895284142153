# SPDX-License-Identifier: Apache-2.0
"""A case over the sessions of each machine: medians in the order of time, where their level changed, and what else did.

Machines stand beside each other and are never joined to one series: a difference between machines is not a change.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import msgspec

from steelyard.judge.controls import controls, void_reason
from steelyard.judge.reasons import Reason, Why
from steelyard.judge.samples import CaseRuns, case_runs
from steelyard.judge.stats.changes import find_changes
from steelyard.judge.stats.checks import known
from steelyard.judge.stats.summary import summarise
from steelyard.records import Better, CasePattern, Record, Session

#: Sessions from which a change can be found at all: see `find_changes`.
FEWEST_SESSIONS = 8


class Past(Record, frozen=True, kw_only=True):
    """A case in one session. ``facts``: all of the header that may explain a change, and which program was run.

    ``title``: of its mechanism.
    """

    case: str
    title: str | None = None
    path: str
    id: str
    started: str
    machine_key: str
    machine: str
    facts: dict[str, str]
    metric: str
    unit: str
    better: Better
    n: int
    median: float
    low: float | None
    high: float | None
    void: Reason | None


class Difference(Record, frozen=True, kw_only=True):
    """Something that the headers on both sides of a change say differently."""

    what: str
    before: str
    after: str


class ChangePoint(Record, frozen=True, kw_only=True):
    """A change of level before session ``index`` of the machine's series; ``p_value`` has the search accounted for."""

    index: int
    before: float
    after: float
    ratio: float
    worse: bool
    p_value: float
    differences: tuple[Difference, ...]


class Series(Record, frozen=True, kw_only=True):
    """The case on one machine, oldest session first; void sessions are in it and take no part in the changes."""

    machine_key: str
    machine: str
    metric: str
    unit: str
    better: Better
    sessions: tuple[Past, ...]
    change_points: tuple[ChangePoint, ...] = msgspec.field(name="turns")
    caveats: tuple[Reason, ...]


class History(Record, frozen=True, kw_only=True):
    """A case on every machine that has measured it; ``margin``: changes smaller than this are left out.

    ``title``: of its mechanism, as its newest session has it.
    """

    case: str
    margin: float
    series: tuple[Series, ...]
    title: str | None = None


def cases_like(session: Session, text: str) -> tuple[str, ...]:
    """The cases of a session's plan that a name or a pattern stands for; a control only where nothing else fits."""
    planned = session.plan.cases if session.plan else ()
    if any(one.case.name == text for one in planned):
        return (text,)
    pattern = CasePattern.parse(text)
    fitting = [one for one in planned if pattern and pattern.matches(one.case)]
    return tuple(one.case.name for one in fitting if not one.control) or tuple(one.case.name for one in fitting)


def past(session: Session, case: str) -> Past | None:
    """The case in this session; None where it has no run that counts."""
    by_name = {runs.planned.case.name: runs for runs in case_runs(session)}
    runs = by_name.get(case)
    if runs is None:
        return None
    metric = runs.descriptor.metrics[0]
    sample = [number for number in runs.sample(metric).tolist() if math.isfinite(number)]
    if not sample:
        return None
    summary = summarise(sample)
    header = session.header
    return Past(
        case=case,
        title=runs.descriptor.title,
        path=session.path,
        id=header.id,
        started=header.started,
        machine_key=header.machine.key,
        machine=header.machine.facts.get("cpu", "unknown"),
        facts=_facts(session, runs),
        metric=metric.name,
        unit=metric.unit,
        better=metric.better,
        n=summary.n,
        median=summary.median,
        low=known(summary.low),
        high=known(summary.high),
        void=void_reason(controls(session, by_name)),
    )


def _facts(session: Session, runs: CaseRuns) -> dict[str, str]:
    """What may change between sessions of one machine, the case's own program first."""
    header = session.header
    ran = runs.counted[0]
    program = header.probes[runs.planned.case.probe].sha256[:12]
    own = {"probe program": program, "compiler": ran.compiler, "flags": ran.flags}
    return {**own, **header.machine.environment, **header.versions}


def history(case: str, pasts: Sequence[Past], margin: float = 0.0) -> History:
    """The case on each machine, those with the most sessions first. ``margin``: a fraction, 0.02 for 2 %."""
    by_machine: dict[str, list[Past]] = defaultdict(list)
    in_order = sorted(pasts, key=lambda one: (one.started, one.id))
    for one in in_order:
        by_machine[one.machine_key].append(one)
    series = [_series(sessions, margin) for sessions in by_machine.values()]
    return History(
        case=case,
        margin=margin,
        series=tuple(sorted(series, key=lambda one: -len(one.sessions))),
        title=in_order[-1].title if in_order else None,
    )


def _series(sessions: Sequence[Past], margin: float) -> Series:
    last = sessions[-1]
    counted = [
        number
        for number, one in enumerate(sessions)
        if one.void is None and (one.metric, one.unit) == (last.metric, last.unit)
    ]
    caveats = []
    if other := sum((one.metric, one.unit) != (last.metric, last.unit) for one in sessions):
        caveats.append(Reason(Why.OTHER_METRIC, n=other))
    if void := sum(one.void is not None for one in sessions):
        caveats.append(Reason(Why.VOID_SESSIONS, n=void))
    medians = [sessions[number].median for number in counted]
    change_points: list[ChangePoint] = []
    if len(counted) < FEWEST_SESSIONS:
        caveats.append(Reason(Why.FEW_SESSIONS, n=len(counted), needed=FEWEST_SESSIONS))
    elif min(medians) <= 0:
        caveats.append(Reason(Why.ZERO_MEDIAN))
    else:
        for change in find_changes(medians, least=margin):
            before, after = sessions[counted[change.index - 1]], sessions[counted[change.index]]
            change_points.append(
                ChangePoint(
                    index=counted[change.index],
                    before=change.before,
                    after=change.after,
                    ratio=change.ratio,
                    worse=last.better != "neither" and (change.ratio > 1) == (last.better == "lower"),
                    p_value=change.p_value,
                    differences=_differences(before.facts, after.facts),
                )
            )
    return Series(
        machine_key=last.machine_key,
        machine=last.machine,
        metric=last.metric,
        unit=last.unit,
        better=last.better,
        sessions=tuple(sessions),
        change_points=tuple(change_points),
        caveats=tuple(caveats),
    )


def _differences(before: dict[str, str], after: dict[str, str]) -> tuple[Difference, ...]:
    return tuple(
        Difference(what=name, before=before.get(name, "unknown"), after=after.get(name, "unknown"))
        for name in dict.fromkeys((*before, *after))
        if before.get(name, "unknown") != after.get(name, "unknown")
    )
