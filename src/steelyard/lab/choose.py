# SPDX-License-Identifier: Apache-2.0
"""The session that a choice rests on: every way that can do what is asked, at every point of the load."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from steelyard.errors import SelectionError, UsageError
from steelyard.judge import choose
from steelyard.judge.choose import Load, Locking, Messages
from steelyard.judge.curves import way_of
from steelyard.judge.samples import number_of
from steelyard.judge.stats.planning import fewest_blocks
from steelyard.lab.planning import Planner, Question, with_operations
from steelyard.lab.session import Lab
from steelyard.measure import conduct, plan
from steelyard.records import Case, Descriptor, Plan, PlannedCase, Run, Session
from steelyard.settings import Settings
from steelyard.show import reasons

#: How long choosing takes, unless it is said otherwise.
BUDGETS = {"message": "90s", "lock": "60s"}
#: Messages of a run that have a p99.9: it takes 10,000 of them.
_MESSAGES_OF_A_RUN = 10_500
#: Longest value at a rate, in seconds; of how many a run may consist of where a budget is short.
_LONGEST_VALUE_S = 0.05
_VALUES = 5
#: Long enough for every context to lose its CPU some times, perhaps with the lock.
_LOCK_VALUE = "50ms"
#: A run of 10 such values has the 1000 messages that a p99 takes.
LEAST_RATE = 2000


def measure_ways(lab: Lab, load: Load, settings: Settings, output: Path | None) -> Session:
    """A session of the ways that can do what is asked; raises SelectionError if none can."""
    settings.check()
    described = {
        name: probe.descriptor
        for name, probe in lab.found.probes.items()
        if probe.descriptor.family == load.family and name.startswith(f"{load.question}/")
    }
    known = {name for descriptor in described.values() for name in descriptor.properties}
    if unknown := [name for name in load.needs if name not in known]:
        raise UsageError(
            f"--needs {unknown[0]}: no {load.noun} says that of itself; there are {', '.join(sorted(known))}"
        )
    values = {name: dict.fromkeys(str(point[name]) for point in load.points) for name in load.points[0]}
    able = able_among(described, load)
    cases = lab.select(able, [f"{name}={','.join(of)}" for name, of in values.items()], [load.placement])
    settings = settings.with_budget(BUDGETS[load.question])
    question = _question(cases, described, load)
    planner: conduct.Planner = Planner(question, settings, lab.messages)
    if settings.target is None:
        settings = replace(settings, target=_target(load))
        if isinstance(load, Messages) and load.rate is not None:
            planner = partial(_with_tails, planner, question)
    return lab.measure(lab.header(cases, settings), output, settings, planner=planner)


def able_among(described: Mapping[str, Descriptor], load: Load) -> list[str]:
    """The probes that can do what is asked; raises SelectionError with what each lacks if none can."""
    lacking = {name: choose.lacks(descriptor, load) for name, descriptor in described.items()}
    able = [name for name, reason in lacking.items() if reason is None]
    if able:
        return able
    said = {name: reasons.said(reason) for name, reason in lacking.items() if reason is not None}
    every = list(dict.fromkeys(said.values()))
    why = "; ".join(f"{way_of(name)} {each}" for name, each in said.items()) or "none is installed"
    raise SelectionError(f"no {load.noun} can do what is asked: {f'each {every[0]}' if len(every) == 1 else why}")


def _target(load: Load) -> str | None:
    """How long a value is to be."""
    if isinstance(load, Locking):
        return _LOCK_VALUE
    if not isinstance(load, Messages) or load.rate is None:
        return None
    return f"{max(1, round(1e3 * min(_MESSAGES_OF_A_RUN / _VALUES / load.rate, _LONGEST_VALUE_S)))}ms"


def _with_tails(
    planner: conduct.Planner,
    question: Question,
    cases: Sequence[PlannedCase],
    pilots: Mapping[str, Run],
    left_s: float | None,
) -> Plan:
    """The best two have runs that are long enough for a p99.9, if that leaves half of the time to the others."""
    best = question.units(pilots)[:1]
    names = {name for unit in best for name in unit}
    longer = [with_operations(case, _MESSAGES_OF_A_RUN) if case.case.name in names else case for case in cases]
    fits = left_s is None or plan.as_many_as_fit(longer, best, left_s / 2, question.blocks)[1] > 0
    return planner(longer if fits else cases, pilots, left_s)


def _question(cases: Sequence[Case], described: Mapping[str, Descriptor], load: Load) -> Question:
    """Which is the best at each point: those that were best in the pilot are measured first."""
    by_probe: dict[str, list[Case]] = {}
    for case in cases:
        by_probe.setdefault(case.probe, []).append(case)
    points = max(len(found) for found in by_probe.values())

    def cost(case: Case, pilots: Mapping[str, Run]) -> float:
        """The CPU time in the pilot where that chooses, else the main figure; infinite where it came to nothing."""
        run, of = pilots.get(case.name), described[case.probe]
        if run is None or run.status != "ok":
            return math.inf
        # Another figure that chooses is a tail, and a pilot is too short for one.
        metric = next((one for one in of.metrics if one.name == load.chosen_by == "cpu"), of.metrics[0])
        found = number_of([value.figure(metric) for value in run.values], of.statistic)
        return found if found > 0 else math.inf

    def units(pilots: Mapping[str, Run]) -> list[tuple[str, ...]]:
        costs = {probe: [cost(case, pilots) for case in found] for probe, found in by_probe.items()}
        mean = {probe: sum(map(math.log, found)) / len(found) for probe, found in costs.items() if found}
        ranked = [
            [case.name for case, one in zip(by_probe[probe], costs[probe], strict=True) if one < math.inf]
            for probe in sorted(mean, key=mean.__getitem__)
        ]
        there = [names for names in ranked if names]
        best = tuple(name for names in there[:2] for name in names)
        return [best, *map(tuple, there[2:])] if best else []

    return Question(
        one=f"{load.noun} beside the best one",
        many=f"{load.noun}s beside the best one",
        units=units,
        blocks=lambda _: fewest_blocks(points),
    )
