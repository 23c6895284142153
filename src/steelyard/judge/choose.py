# SPDX-License-Identifier: Apache-2.0
"""Which way to take for a load that is described: the best that can do what is asked, by a session's figures.

What a way can do is a property in its probe's descriptor; what it costs is measured. At each size the best and the
runner-up are compared block by block, all sizes being one family. Between two sizes with different answers both
costs are taken to be straight lines on logarithmic scales, which says about where they cross.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import ClassVar

import numpy as np

from steelyard.judge.comparisons import Compared, compare_cases, metric_of
from steelyard.judge.controls import controls, void_reason
from steelyard.judge.curves import way_of
from steelyard.judge.reasons import Reason, Said, Why
from steelyard.judge.samples import CaseRuns, FloatArray, case_runs
from steelyard.judge.stats.comparison import VERDICT_CONFIDENCE
from steelyard.judge.stats.interval import INTERVAL_CONFIDENCE
from steelyard.judge.stats.summary import median_interval, middle
from steelyard.records import Case, Descriptor, Parameter, Placement, Record, Scalar, Session

#: Differences below this choose nothing.
MARGIN = 0.05
#: A way keeps up with a rate that is at most this share of what it could do: beyond it the queue grows for ever.
_KEEPS_UP = 0.98


class Load(Record, frozen=True, kw_only=True):
    """What is to be done, and what the way has to have. ``at_most`` is in seconds.

    between: "process" or "thread". needs: properties that it must have. by: the metric to be least, empty for the one
    that fits the load. goal: the metric that has to be ``at_most`` a figure.
    """

    #: What one chooses, and the question of its probes.
    noun: ClassVar[str]
    question: ClassVar[str]

    between: str = "process"
    placement: Placement = "cross"
    needs: Mapping[str, str] = {}
    by: str = ""
    goal: str | None = None
    at_most: float | None = None

    @property
    def family(self) -> str:
        """The family of the probes that measure it."""
        raise NotImplementedError

    @property
    def figures(self) -> tuple[str, ...]:
        """The metrics that are shown, of which one may be the goal."""
        raise NotImplementedError

    @property
    def points(self) -> tuple[dict[str, Scalar], ...]:
        """The parameters of what is measured, once for each answer."""
        raise NotImplementedError

    @property
    def chosen_by(self) -> str:
        """The metric to be least."""
        return self.by or self.figures[0]


class Messages(Load, frozen=True, kw_only=True):
    """Messages of some sizes, in bytes; one after the other, or so many a second at times of their own."""

    noun = "channel"
    question = "message"

    sizes: tuple[int, ...]
    rate: int | None = None

    @property
    def family(self) -> str:
        """Each message goes there and back."""
        return "latency" if self.rate is None else "paced"

    @property
    def figures(self) -> tuple[str, ...]:
        """The time of a message; at a rate with what it had to wait."""
        return ("round_trip" if self.rate is None else "response", "p99", "p99_9", "cpu")

    @property
    def points(self) -> tuple[dict[str, Scalar], ...]:
        """One for each size."""
        at: dict[str, Scalar] = (
            {"kind": self.between} if self.rate is None else {"kind": self.between, "rate": self.rate}
        )
        return tuple({"size": size, **at} for size in self.sizes)

    @property
    def chosen_by(self) -> str:
        """Where a goal says what is fast enough at a rate, the CPU time decides."""
        return self.by or ("cpu" if self.rate is not None and self.goal is not None else self.figures[0])


class Locking(Load, frozen=True, kw_only=True):
    """Contexts that take one lock, hold it, and think before they take it again; times in nanoseconds.

    read_percent: of the times that it is taken, how many only read.
    """

    noun = "lock"
    question = "lock"

    contexts: int
    hold_ns: int
    think_ns: int
    read_percent: int = 0

    @property
    def family(self) -> str:
        """Locks that are held for a while."""
        return "held"

    @property
    def figures(self) -> tuple[str, ...]:
        """The time between two pieces of work of all contexts, and how long one waits for the lock."""
        return ("each", "wait", "wait_p99", "cpu")

    @property
    def points(self) -> tuple[dict[str, Scalar], ...]:
        """There is one."""
        names = ("contexts", "hold_ns", "think_ns", "read_percent")
        return ({"kind": self.between, **{name: getattr(self, name) for name in names}},)


class Way(Record, frozen=True, kw_only=True):
    """A way at one point of the load: figures in seconds by metric, None for what it does not have.

    way: its identifier, as ``latency_pipe``; title: what people call it. misses: by which figure it misses the goal, or
    may miss it; None where it is sure to meet it, or there is none. head_room: how often the rate it could do.
    """

    way: str
    title: str
    case: str
    properties: dict[str, str]
    figures: dict[str, float | None]
    misses: float | None = None
    head_room: float | None = None

    @property
    def able(self) -> bool:
        """Whether it meets the goal and keeps up."""
        return self.misses is None and (self.head_room is None or self.head_room * _KEEPS_UP > 1)


class Choice(Record, frozen=True, kw_only=True):
    """The ways at one point, the best first: those that meet the goal, then the others.

    size: of a message, None where the load has no sizes. verdict: the runner-up against the best, None where there is
    no second one that meets the goal.
    """

    size: int | None = None
    ways: tuple[Way, ...]
    verdict: Compared | None = None

    @property
    def able(self) -> tuple[Way, ...]:
        """Those that meet the goal."""
        return tuple(way for way in self.ways if way.able)


class SwitchOver(Record, frozen=True, kw_only=True):
    """Below about this size one way is cheaper, above it the other; None where their costs do not cross."""

    below: str
    above: str
    size: int | None


class Chosen(Record, frozen=True, kw_only=True):
    """What a session says of a load. ``cannot``: by way, what it lacks of what is asked, or why it has no price."""

    path: str
    machine: str
    cpus: str
    blocks: int
    load: Load
    choices: tuple[Choice, ...]
    switch_overs: tuple[SwitchOver, ...]
    cannot: dict[str, Said]
    margin: float
    void: Reason | None


def lacks(descriptor: Descriptor, load: Load) -> Reason | None:
    """What a way lacks of what is asked; None if it can."""
    if load.placement not in descriptor.placements:
        return Reason(Why.NOT_ON_ONE_CPU if load.placement == "same" else Why.NOT_PLACED_THERE)
    for point in load.points:
        for name, wanted in point.items():
            if reason := _beyond(descriptor.parameter(name), name, wanted):
                return reason
    for name, wanted_property in load.needs.items():
        if wanted_property not in (has := descriptor.properties.get(name, "not known")).split(" or "):
            return Reason(Why.HAS_NOT, what=name, has=has, wanted=wanted_property)
    return None


def _beyond(parameter: Parameter | None, name: str, wanted: Scalar) -> Reason | None:
    if name == "kind" and (parameter is None or wanted not in parameter.choices):
        return Reason(Why.NOT_BETWEEN_PROCESSES if wanted == "process" else Why.NOT_BETWEEN_THREADS)
    low, high = (None, None) if parameter is None else (parameter.minimum, parameter.maximum)
    if parameter is None or (
        isinstance(wanted, int) and not (low or 0) <= wanted <= (math.inf if high is None else high)
    ):
        if name == "size":
            return Reason(Why.NOT_OF_THIS_SIZE, size=wanted)
        return Reason(Why.NOT_MEASURED_AT, parameter=name, value=wanted)
    return None


def choose(session: Session, load: Load, *, margin: float = MARGIN, alpha: float = 1 - VERDICT_CONFIDENCE) -> Chosen:
    """The best way at each point, and where the answer changes. ``alpha``: the error rate of all verdicts together."""
    by_name = {runs.planned.case.name: runs for runs in case_runs(session)}
    prefix = f"{load.question}/"
    descriptors = {name: facts.descriptor for name, facts in session.header.probes.items() if name.startswith(prefix)}
    family = {name: descriptor for name, descriptor in descriptors.items() if descriptor.family == load.family}
    cannot: dict[str, Said] = {way_of(name): reason for name, of in family.items() if (reason := lacks(of, load))}
    able = [
        runs
        for runs in by_name.values()
        if runs.planned.case.probe in family and way_of(runs.planned.case.probe) not in cannot
    ]
    found = [Choice(size=_size(point), ways=_ranked(able, point, load)) for point in load.points]
    pairs = [(str(place), one.able[0].case, one.able[1].case) for place, one in enumerate(found) if len(one.able) > 1]
    compared = compare_cases(session, pairs, ("best", "runner-up"), margin=margin, alpha=alpha, metric=load.chosen_by)
    verdicts = {int(case.case): case for case in compared.cases}
    choices = tuple(
        Choice(size=one.size, ways=one.ways, verdict=verdicts.get(place)) for place, one in enumerate(found)
    )
    for skip in session.skips:
        probe, _, rest = skip.subject.partition("[")
        way = way_of(probe)
        ours = probe in family or probe.startswith(f"{prefix}{load.family}_")
        if ours and way not in cannot and (f"kind={load.between}" in rest or "kind=" not in rest):
            cannot[way] = skip.reason.removeprefix(f"{probe}: ")
    return Chosen(
        path=session.path,
        machine=session.header.machine.facts.get("cpu", "a machine"),
        cpus=session.header.machine.facts.get("logical cpus", "?"),
        blocks=session.blocks,
        load=load,
        choices=choices,
        switch_overs=tuple(_switch_overs(choices, load.chosen_by)),
        cannot=cannot,
        margin=margin,
        void=void_reason(controls(session, by_name)),
    )


def _size(point: Mapping[str, Scalar]) -> int | None:
    return int(point["size"]) if "size" in point else None


def _at(case: Case, point: Mapping[str, Scalar], load: Load) -> bool:
    return case.placement == load.placement and all(case.parameters.get(name) == value for name, value in point.items())


def _ranked(able: Iterable[CaseRuns], point: Mapping[str, Scalar], load: Load) -> tuple[Way, ...]:
    ways = [_way(runs, point, load) for runs in able if _at(runs.planned.case, point, load)]
    there = [way for way in ways if way.figures[load.chosen_by] is not None]
    return tuple(sorted(there, key=lambda way: (not way.able, way.figures[load.chosen_by])))


def _way(runs: CaseRuns, point: Mapping[str, Scalar], load: Load) -> Way:
    case = runs.planned.case
    way = way_of(case.probe)
    rate, round_trip, share = point.get("rate"), figure_of(runs, "round_trip"), figure_of(runs, "of_rate")
    head_room = 1 / (int(rate) * round_trip) if rate and round_trip else None
    if rate and share is not None and share < _KEEPS_UP:
        head_room = share if head_room is None else min(share, head_room)
    return Way(
        way=way,
        title=runs.descriptor.title or way,
        case=case.name,
        properties=runs.descriptor.properties,
        figures={name: figure_of(runs, name) for name in dict.fromkeys((*load.figures, load.chosen_by))},
        misses=_missed(runs, load),
        head_room=head_room,
    )


def sample_of(runs: CaseRuns, name: str) -> FloatArray:
    """The finite numbers of a metric; none where the case does not have it."""
    metric = metric_of(runs, name)
    sample: FloatArray = runs.sample(metric) if metric else np.array([])
    there: FloatArray = sample[np.isfinite(sample)]
    return there


def figure_of(runs: CaseRuns, name: str) -> float | None:
    """The median of a metric; None where the case does not have it."""
    there = sample_of(runs, name)
    return middle(there) if there.size else None


def _missed(runs: CaseRuns, load: Load) -> float | None:
    """The figure that is not sure to be low enough: the upper end of its interval has to be."""
    if load.goal is None or load.at_most is None:
        return None
    there = sample_of(runs, load.goal)
    if not there.size:
        return math.inf
    interval = median_interval(there, INTERVAL_CONFIDENCE)
    highest = interval.high if interval.bounded else float(there.max())
    return None if highest <= load.at_most else highest


def _switch_overs(choices: Sequence[Choice], by: str) -> Iterable[SwitchOver]:
    answered = [choice for choice in choices if choice.able and choice.size is not None]
    for small, large in pairwise(sorted(answered, key=lambda choice: choice.size or 0)):
        below, above = small.able[0].way, large.able[0].way
        if below != above:
            size = _crossing(small, large, below, above, by)
            yield SwitchOver(below=small.able[0].title, above=large.able[0].title, size=size)


def _crossing(small: Choice, large: Choice, below: str, above: str, by: str) -> int | None:
    """Where straight lines on logarithmic scales cross; None if one of the ways has no price at both sizes."""
    costs = [{way.way: way.figures[by] or 0.0 for way in choice.able} for choice in (small, large)]
    if small.size is None or large.size is None or any(not cost.get(way) for cost in costs for way in (below, above)):
        return None
    gaps = [math.log(cost[above] / cost[below]) for cost in costs]
    share = gaps[0] / (gaps[0] - gaps[1]) if gaps[0] > 0 > gaps[1] else None
    return None if share is None else round(math.exp(math.log(small.size) + share * math.log(large.size / small.size)))
