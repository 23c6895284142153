# SPDX-License-Identifier: Apache-2.0
"""Which channel to take for messages of these sizes: the cheapest that can do what is asked, by a session's prices.

What a channel can do is a property in its probe's descriptor; what it costs is measured. At each size the cheapest and
the runner-up are compared block by block, all sizes being one family. Between two sizes with different answers both
costs are taken to be straight lines on logarithmic scales, which says about where they cross.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from steelyard.judge.comparisons import Compared, compare_cases, metric_of
from steelyard.judge.controls import controls, void_reason
from steelyard.judge.curves import way_of
from steelyard.judge.reasons import Reason
from steelyard.judge.samples import CaseRuns, case_runs
from steelyard.judge.stats.summary import middle
from steelyard.records import Descriptor, Placement, Record, Session

#: Differences below this choose nothing.
MARGIN = 0.05
#: Channels are measured by the probes of this family, each message going there and back.
QUESTION, FAMILY = "message", "latency"
#: The metrics that a channel may be chosen by: the first is the default.
BY = ("round_trip", "cpu", "p99")
#: The figures of a channel that are shown.
FIGURES = ("round_trip", "p99", "p99_9", "cpu")


class Load(Record, frozen=True, kw_only=True):
    """What messages there will be. Sizes are in bytes, ``at_most`` is in seconds.

    between: "process" or "thread". needs: properties that the channel must have. by: the metric to be least. goal: the
    metric that has to be ``at_most`` a figure.
    """

    sizes: tuple[int, ...]
    between: str
    placement: Placement
    needs: Mapping[str, str] = {}
    by: str = BY[0]
    goal: str | None = None
    at_most: float | None = None


class Channel(Record, frozen=True, kw_only=True):
    """A channel at one size: figures in seconds by metric, None for what it does not have.

    way: its identifier, as ``latency_pipe``; title: what people call it. misses: by which figure it misses the goal;
    None where it meets it, or there is none.
    """

    way: str
    title: str
    case: str
    properties: dict[str, str]
    figures: dict[str, float | None]
    misses: float | None = None


class Choice(Record, frozen=True, kw_only=True):
    """The channels at one size, the best first: those that meet the goal, then the others.

    verdict: the runner-up against the best, None where there is no second one that meets the goal.
    """

    size: int
    channels: tuple[Channel, ...]
    verdict: Compared | None = None

    @property
    def able(self) -> tuple[Channel, ...]:
        """Those that meet the goal."""
        return tuple(channel for channel in self.channels if channel.misses is None)


class SwitchOver(Record, frozen=True, kw_only=True):
    """Below about this size one channel is cheaper, above it the other; None where their costs do not cross."""

    below: str
    above: str
    size: int | None


class Chosen(Record, frozen=True, kw_only=True):
    """What a session says of a load. ``cannot``: by channel, what it lacks of what is asked, or why it has no price."""

    path: str
    machine: str
    cpus: str
    blocks: int
    load: Load
    choices: tuple[Choice, ...]
    switch_overs: tuple[SwitchOver, ...]
    cannot: dict[str, str]
    margin: float
    void: Reason | None


def lacks(descriptor: Descriptor, load: Load) -> str | None:
    """What a channel lacks of what is asked; None if it can."""
    kind, size = descriptor.parameter("kind"), descriptor.parameter("size")
    if kind is None or load.between not in kind.choices:
        return f"is not between {'processes' if load.between == 'process' else 'threads'}"
    if load.placement not in descriptor.placements:
        return "makes no sense on one CPU" if load.placement == "same" else "is not measured there"
    largest = max(load.sizes)
    if size is None or (size.maximum is not None and largest > size.maximum):
        return f"is not measured with messages of {largest} bytes"
    for name, wanted in load.needs.items():
        if wanted not in (has := descriptor.properties.get(name, "not known")).split(" or "):
            return f"{name}: {has}, not {wanted}"
    return None


def choose(session: Session, load: Load, *, margin: float = MARGIN) -> Chosen:
    """The best channel at each size, and where the answer changes."""
    by_name = {runs.planned.case.name: runs for runs in case_runs(session)}
    cannot: dict[str, str] = {}
    able: dict[str, CaseRuns] = {}
    for name, facts in session.header.probes.items():
        if facts.descriptor.family == FAMILY and name.startswith(f"{QUESTION}/"):
            way = way_of(name)
            if reason := lacks(facts.descriptor, load):
                cannot[way] = reason
    for name, runs in by_name.items():
        case = runs.planned.case
        right = (case.parameters.get("kind"), case.placement) == (load.between, load.placement)
        if runs.descriptor.family == FAMILY and right and way_of(case.probe) not in cannot:
            able[name] = runs
    found = [Choice(size=size, channels=_ranked(able.values(), size, load)) for size in load.sizes]
    pairs = [(str(one.size), one.able[0].case, one.able[1].case) for one in found if len(one.able) > 1]
    compared = compare_cases(session, pairs, ("best", "runner-up"), margin=margin, metric=load.by)
    verdicts = {case.case: case for case in compared.cases}
    choices = tuple(Choice(size=one.size, channels=one.channels, verdict=verdicts.get(str(one.size))) for one in found)
    for skip in session.skips:
        probe, _, rest = skip.subject.partition("[")
        way = way_of(probe)
        if (
            probe.startswith(f"{QUESTION}/{FAMILY}_")
            and way not in cannot
            and (f"kind={load.between}" in rest or not rest)
        ):
            cannot[way] = skip.reason
    return Chosen(
        path=session.path,
        machine=session.header.machine.facts.get("cpu", "a machine"),
        cpus=session.header.machine.facts.get("logical cpus", "?"),
        blocks=session.blocks,
        load=load,
        choices=choices,
        switch_overs=tuple(_switch_overs(choices, load.by)),
        cannot=cannot,
        margin=margin,
        void=void_reason(controls(session, by_name)),
    )


def _ranked(able: Iterable[CaseRuns], size: int, load: Load) -> tuple[Channel, ...]:
    channels = [
        Channel(
            way=way_of(runs.planned.case.probe),
            title=runs.descriptor.title or way_of(runs.planned.case.probe),
            case=runs.planned.case.name,
            properties=runs.descriptor.properties,
            figures=figures,
            misses=_missed(figures, load),
        )
        for runs in able
        if runs.planned.case.parameters.get("size") == size
        for figures in [{name: _figure(runs, name) for name in dict.fromkeys((*FIGURES, load.by))}]
    ]
    there = [channel for channel in channels if channel.figures[load.by] is not None]
    return tuple(sorted(there, key=lambda one: (one.misses is not None, one.figures[load.by])))


def _figure(runs: CaseRuns, name: str) -> float | None:
    metric = metric_of(runs, name)
    sample = runs.sample(metric) if metric else np.array([])
    there = sample[np.isfinite(sample)]
    return middle(there) if there.size else None


def _missed(figures: Mapping[str, float | None], load: Load) -> float | None:
    if load.goal is None or load.at_most is None:
        return None
    figure = figures.get(load.goal)
    return math.inf if figure is None else figure if figure > load.at_most else None


def _switch_overs(choices: Sequence[Choice], by: str) -> Iterable[SwitchOver]:
    answered = [choice for choice in choices if choice.able]
    for small, large in pairwise(sorted(answered, key=lambda choice: choice.size)):
        below, above = small.able[0].way, large.able[0].way
        if below != above:
            size = _crossing(small, large, below, above, by)
            yield SwitchOver(below=small.able[0].title, above=large.able[0].title, size=size)


def _crossing(small: Choice, large: Choice, below: str, above: str, by: str) -> int | None:
    """Where straight lines on logarithmic scales cross; None if one of the channels has no price at both sizes."""
    costs = [{channel.way: channel.figures[by] or 0.0 for channel in choice.able} for choice in (small, large)]
    if any(not cost.get(way) for cost in costs for way in (below, above)):
        return None
    gaps = [math.log(cost[above] / cost[below]) for cost in costs]
    share = gaps[0] / (gaps[0] - gaps[1]) if gaps[0] > 0 > gaps[1] else None
    return None if share is None else round(math.exp(math.log(small.size) + share * math.log(large.size / small.size)))
