# SPDX-License-Identifier: Apache-2.0
"""Joules an operation: what the machine took during the runs of a case, less what it takes while it is idle.

The energy is that of the whole process, from its start to its end, over all operations that it did; ``timed`` says
which share of that time lies in its batches. What idle takes is known from a few looks before the session, and its
uncertainty is added to the interval.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.judge.samples import CaseRuns
from steelyard.judge.stats.interval import INTERVAL_CONFIDENCE
from steelyard.judge.stats.summary import median_interval, summarise
from steelyard.records import Audit, Record, Run

#: Of the warm-up that a run with a fixed number of operations begins with (docs/reference/protocol.md).
_WARM_UP_SHARE = 8


class Energy(Record, frozen=True, kw_only=True):
    """Joules an operation in one domain, with its interval, whose ends are None where they are not known.

    ``at_most``: it can't be told from zero, and only ``high`` may be said. idle_w: the watts that were subtracted.
    """

    domain: str
    n: int
    median: float
    low: float | None
    high: float | None
    at_most: bool
    idle_w: float
    timed: float


def energies(runs: CaseRuns, audits: Sequence[Audit]) -> tuple[Energy, ...]:
    """One a domain that was counted, while idle and during runs; none where none was."""
    idle = next((audit.idle_w for audit in audits if audit.idle_w), {})
    found = (_energy(domain, watts, runs.counted) for domain, watts in idle.items() if watts)
    return tuple(one for one in found if one)


def _energy(domain: str, watts: Sequence[float], runs: Sequence[Run]) -> Energy | None:
    counted = [run for run in runs if domain in run.energy_j and run.values]
    if not counted:
        return None
    operations = np.array([_operations(run) for run in counted])
    seconds = np.array([run.wall_s for run in counted]) / operations
    idle_w = float(np.median(watts))
    net = np.array([run.energy_j[domain] for run in counted]) / operations - idle_w * seconds
    summary, of_idle = summarise(net), median_interval(np.array(watts), INTERVAL_CONFIDENCE)
    bounded = of_idle.bounded and np.isfinite(summary.low) and np.isfinite(summary.high)
    second = float(np.median(seconds))
    low = summary.low - (of_idle.high - idle_w) * second if bounded else None
    high = summary.high + (idle_w - of_idle.low) * second if bounded else None
    return Energy(
        domain=domain,
        n=len(counted),
        median=summary.median,
        low=low,
        high=high,
        at_most=low is not None and low <= 0,
        idle_w=idle_w,
        timed=float(np.median([min(1.0, run.timed_s / run.wall_s) for run in counted if run.wall_s > 0] or [0.0])),
    )


def _operations(run: Run) -> float:
    """All operations of a process: of its values, of its warm-up, and of the batches that were counted again."""
    timed = sum(value.operations for value in run.values)
    counted = sum(value.counters.operations for value in run.values if value.counters)
    return timed + counted + 1 + run.operations // _WARM_UP_SHARE
