# SPDX-License-Identifier: Apache-2.0
"""The session that a choice of a channel rests on: every channel that can, at every size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from steelyard.errors import SelectionError, UsageError
from steelyard.judge import choose
from steelyard.judge.choose import Load
from steelyard.judge.stats.planning import fewest_blocks
from steelyard.lab.planning import Planner, Question
from steelyard.lab.session import Lab
from steelyard.records import Case, Run, Session
from steelyard.settings import Settings

#: How long choosing a channel takes, unless it is said otherwise.
BUDGET = "90s"


def measure_channels(lab: Lab, load: Load, settings: Settings, output: Path | None) -> Session:
    """A session of the channels that can do what is asked; raises SelectionError if none can."""
    settings.check()
    described = {
        name: probe.descriptor
        for name, probe in lab.found.probes.items()
        if probe.descriptor.family == choose.FAMILY and name.startswith(f"{choose.QUESTION}/")
    }
    known = {name for descriptor in described.values() for name in descriptor.properties}
    if unknown := [name for name in load.needs if name not in known]:
        raise UsageError(f"--needs {unknown[0]}: no channel says that of itself; there are {', '.join(sorted(known))}")
    lacking = {name: choose.lacks(descriptor, load) for name, descriptor in described.items()}
    able = [name for name, reason in lacking.items() if reason is None]
    if not able:
        reasons = "; ".join(f"{name.partition('/')[2]} {reason}" for name, reason in lacking.items())
        raise SelectionError(f"no channel can do what is asked: {reasons}")
    params = [f"size={','.join(map(str, load.sizes))}", f"kind={load.between}"]
    cases = lab.select(able, params, [load.placement])
    settings = settings.with_budget(BUDGET)
    planner = Planner(_question(cases), settings, lab.messages)
    return lab.measure(lab.header(cases, settings), output, settings, planner=planner)


def _question(cases: Sequence[Case]) -> Question:
    """Which is the best channel at each size: those that were cheapest in the pilot are measured first."""
    by_probe: dict[str, list[str]] = {}
    for case in cases:
        by_probe.setdefault(case.probe, []).append(case.name)
    sizes = max(len(names) for names in by_probe.values())

    def units(pilots: Mapping[str, Run]) -> list[tuple[str, ...]]:
        ran = {
            probe: [name for name in names if _cost(pilots.get(name)) < math.inf] for probe, names in by_probe.items()
        }
        there = [names for names in ran.values() if names]
        ranked = sorted(there, key=lambda names: sum(math.log(_cost(pilots[name])) for name in names) / len(names))
        best = tuple(name for names in ranked[:2] for name in names)
        return [best, *map(tuple, ranked[2:])] if best else []

    return Question(
        one="channel beside the best one",
        many="channels beside the best one",
        units=units,
        blocks=lambda _: fewest_blocks(sizes),
    )


def _cost(run: Run | None) -> float:
    """Seconds of an operation in the pilot; infinite where it came to nothing."""
    costs = [value.wall_ns / value.operations for value in run.values] if run and run.status == "ok" else []
    return min(filter(None, costs), default=math.inf) / 1e9
