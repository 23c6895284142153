# SPDX-License-Identifier: Apache-2.0
"""Whether a session can be believed: what its controls say. A session whose controls fail is void and says so.

Every session carries the null probe, an identical copy of it, the null probe planted 5 % slower, and a sentinel first
and last. The limits are wide on purpose: a control that failed one good session in twenty would soon be ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from steelyard.judge.reasons import Reason, Said, Why, all_of, of
from steelyard.judge.samples import CaseRuns
from steelyard.judge.stats.checks import matched
from steelyard.judge.stats.comparison import Comparison, Verdict, compare_paired
from steelyard.judge.stats.interval import INTERVAL_CONFIDENCE
from steelyard.records import Case, Record, Session

#: Confidence at which a control must fail: one good session in a thousand.
_CONFIDENCE = 0.999
#: Difference of identical programs that does not matter: their processes differ in layout.
_MARGIN = 0.01
PLANTED = 1.05
#: Blocks from which the planted difference must be found; proving.py gives 90 % power at 20 blocks and 2 % noise.
_BLOCKS_TO_FIND = 20
#: Change of the machine's speed between first and last sentinel beyond which the session is void, and is doubtful.
_VOID_DRIFT = 1.5
_DOUBTFUL_DRIFT = 1.1

#: ``doubtful``: the session is not void; its levels drifted, and what is compared within blocks holds.
State = Literal["passed", "doubtful", "failed", "too few blocks to tell"]


class Control(Record, frozen=True, kw_only=True):
    """One control: what it should show and what it showed."""

    name: str
    state: State
    showed: Said


def _null(delay: int, copy: int) -> str:
    parameters: dict[str, int | str] = {"delay_percent": delay, "copy": copy}
    return Case(probe="null/null", placement="same", parameters=parameters).name


def _compare(by_name: Mapping[str, CaseRuns], a: str, b: str, confidence: float, margin: float) -> Comparison | None:
    if a not in by_name or b not in by_name:
        return None
    first, second = (by_name[name].sample(by_name[name].descriptor.metrics[0]) for name in (a, b))
    if not (np.isfinite(first) & np.isfinite(second)).any():
        return None
    return compare_paired(*matched(first, second), margin=margin, confidence=confidence)


def _identical(by_name: Mapping[str, CaseRuns]) -> Control | None:
    compared = _compare(by_name, _null(0, 0), _null(0, 1), _CONFIDENCE, _MARGIN)
    if compared is None:
        return None
    showed = Reason(Why.COPIES_DIFFER, ratio=compared.ratio, n=compared.n)
    if not np.isfinite(compared.high):
        # Without an interval at this confidence the control cannot fail, so it has not passed either.
        return Control(name="identical copies", state="too few blocks to tell", showed=showed)
    state: State = "failed" if compared.verdict is Verdict.DIFFERENT else "passed"
    return Control(name="identical copies", state=state, showed=showed)


def _planted(by_name: Mapping[str, CaseRuns]) -> Control | None:
    """Failed when the planted difference is surely another one, or is not found with enough blocks to find it."""
    strict = _compare(by_name, _null(0, 0), _null(5, 0), _CONFIDENCE, 0.0)
    usual = _compare(by_name, _null(0, 0), _null(5, 0), INTERVAL_CONFIDENCE, 0.0)
    if strict is None or usual is None:
        return None
    found = usual.low > 1.0
    elsewhere = strict.low > PLANTED * (1 + _MARGIN) or strict.high < PLANTED / (1 + _MARGIN)
    showed = Reason(Why.PLANTED, planted=PLANTED, ratio=usual.ratio, n=usual.n)
    if elsewhere or (not found and usual.n >= _BLOCKS_TO_FIND):
        return Control(name="planted difference", state="failed", showed=showed)
    return Control(name="planted difference", state="passed" if found else "too few blocks to tell", showed=showed)


def _sentinel(session: Session, by_name: Mapping[str, CaseRuns]) -> Control | None:
    runs = by_name.get(_null(0, 0))
    if runs is None:
        return None
    metric = runs.descriptor.metrics[0]
    ends: dict[bool, list[float]] = {False: [], True: []}
    for run in session.runs:
        if run.role == "sentinel" and run.status == "ok":
            ends[run.block > 0].append(runs.number(run, lambda v: v.figure(metric)))
    if not ends[False] or not ends[True]:
        return None
    # The least of each end: a neighbour that disturbed one run says nothing about the machine's speed.
    drift = min(ends[True]) / min(ends[False])
    change = max(drift, 1 / drift)
    state: State = "failed" if change > _VOID_DRIFT else "doubtful" if change > _DOUBTFUL_DRIFT else "passed"
    # Drift between blocks falls out of what is compared within them, until it is so large that nothing is sure.
    why = Why.LEVELS_DRIFTED if state == "doubtful" else Why.DRIFT
    return Control(name="sentinel", state=state, showed=Reason(why, ratio=drift))


def _timeless(session: Session, by_name: Mapping[str, CaseRuns]) -> bool:
    """Whether the null probe has a figure that no ratio can be taken of."""
    nulls = {name: runs for name in (_null(0, 0), _null(0, 1), _null(5, 0)) if (runs := by_name.get(name))}
    figures = (
        value.figure(nulls[run.case].descriptor.metrics[0])
        for run in session.runs
        if run.case in nulls and run.role != "pilot"
        for value in run.values
    )
    return any(figure is not None and figure <= 0 for figure in figures)


def controls(session: Session, by_name: Mapping[str, CaseRuns]) -> tuple[Control, ...]:
    """What the controls of a session say; those that it does not have are left out."""
    if _timeless(session, by_name):
        return (Control(name="null probe", state="failed", showed=Reason(Why.NO_TIME)),)
    found = (_identical(by_name), _planted(by_name), _sentinel(session, by_name))
    return tuple(control for control in found if control is not None)


def void_reason(found: tuple[Control, ...]) -> Reason | None:
    """Why the session is void; None if it is not."""
    return all_of([of(control.name, control.showed) for control in found if control.state == "failed"])
