# SPDX-License-Identifier: Apache-2.0
"""Where a live machine lies on the measured curves.

They say what a switch costs by the number of contexts, and how long a sleeper takes to run by the number of busy tasks.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from steelyard.judge.cases import CaseFinding
from steelyard.judge.findings import Findings
from steelyard.judge.reasons import Missing, Reason, Said, Why, of
from steelyard.records import Observation, Record, Skip

#: The contexts at which the benchmark of 1998 was quoted.
BENCHMARK = 40
_FEWEST = 2  # a switch has one that leaves and one that comes
#: (contexts, cost in seconds), rising.
Points = list[tuple[int, float]]
_MAIN = "switch/yield kind=process"
#: What works beside a sleeper of wake/, and how many of it for each CPU.
_LOAD, _LOADS = "load", "loads"
_BUSY = "spin"
_TAIL = "p99"


class Placed(Record, frozen=True, kw_only=True):
    """What a switch costs on one curve, in seconds: on the average of the queue, at its 99 % point, at 40 contexts.

    ``title``: of its mechanism, empty where it has none. ``beyond``: 40 contexts, or the queue's 99 % point, lie
    outside of what was measured; the nearest end stands there.
    """

    curve: str
    title: str
    metric: str
    here: float
    at_p99: float
    at_benchmark: float
    beyond: bool


class Woken(Record, frozen=True, kw_only=True):
    """How long a sleeper takes to run on this machine, in seconds: half of the wake-ups at most, and 99 % of them.

    ``beyond``: the queue's 99 % point lies outside of what was measured. ``tail`` is None where it was not measured.
    """

    curve: str
    title: str
    here: float
    tail: float | None
    beyond: bool


class Placing(Record, frozen=True, kw_only=True):
    """An observation as it may be shown. Lengths are of the run queue over all CPUs, the running ones included.

    main: the curve by which the place is said. cpu_share: the share of the CPUs' time that switches take at its cost.
    """

    observation: Observation
    mean: float
    p50: int
    p90: int
    p99: int
    longest: int
    switches_per_s: float
    forks_per_s: float
    voluntary_per_s: float
    involuntary_per_s: float
    own_share: float
    session: str | None
    curves: tuple[Placed, ...]
    wakes: tuple[Woken, ...]
    main: Placed | None
    cpu_share: float | None
    skips: tuple[Skip | Missing, ...]


def quantile(lengths: Sequence[int], share: float) -> int:
    """The smallest length that this share of the samples does not exceed."""
    wanted, seen = share * sum(lengths), 0
    for length, count in enumerate(lengths):
        seen += count
        if seen >= wanted and seen > 0:
            return length
    return 0


def mean(lengths: Sequence[int]) -> float:
    """Mean length over the samples."""
    return sum(length * count for length, count in enumerate(lengths)) / max(1, sum(lengths))


def cost_at(points: Sequence[tuple[int, float]], contexts: float) -> float:
    """Cost on a curve of (contexts, cost) in rising order: straight between two points on logarithmic axes."""
    if contexts <= points[0][0]:
        return points[0][1]
    for (low, cost_low), (high, cost_high) in pairwise(points):
        if contexts <= high:
            part = math.log(contexts / low) / math.log(high / low)
            return math.exp((1 - part) * math.log(cost_low) + part * math.log(cost_high))
    return points[-1][1]


def place(observation: Observation, findings: Findings | None, *, why_not: str | None = None) -> Placing:
    """The observation with what it says, and its place on the curves of a session of the same machine, if there is one.

    ``why_not`` is the reason where there is no session at all.
    """
    curves, reason = _curves(observation, findings, why_not)
    titles = findings.titles if findings else {}
    lengths, seconds = observation.lengths, max(observation.seconds, 1e-9)
    placed = tuple(
        _placed(name, titles.get(name.partition(" ")[0], ""), metric, points, lengths, observation.cpus)
        for name, (metric, points) in curves.items()
    )
    main = next((curve for curve in placed if curve.curve == _MAIN), next(iter(placed), None))
    wakes = _wakes(observation, findings)
    switches_per_s = observation.switches / seconds
    return Placing(
        observation=observation,
        mean=mean(lengths),
        p50=quantile(lengths, 0.5),
        p90=quantile(lengths, 0.9),
        p99=quantile(lengths, 0.99),
        longest=max((length for length, count in enumerate(lengths) if count), default=0),
        switches_per_s=switches_per_s,
        forks_per_s=observation.forks / seconds,
        voluntary_per_s=observation.voluntary / seconds,
        involuntary_per_s=observation.involuntary / seconds,
        own_share=observation.own_cpu_s / seconds,
        session=findings.path if findings and (curves or wakes) else None,
        curves=placed,
        wakes=wakes,
        main=main,
        cpu_share=switches_per_s * main.here / observation.cpus if main else None,
        skips=(*observation.skips, *((Missing(subject="place on the curves", reason=reason),) if reason else ())),
    )


def _curves(
    observation: Observation, findings: Findings | None, why_not: str | None
) -> tuple[dict[str, tuple[str, Points]], Said | None]:
    """Curves by name with metric and points, or the reason why there are none."""
    if findings is None:
        return {}, why_not
    if findings.void:
        return {}, of(findings.path, Reason(Why.VOID, reason=findings.void))
    if findings.machine_key != observation.machine_key:
        here = Reason(Why.OF_ANOTHER_MACHINE, key=findings.machine_key, here=observation.machine_key)
        return {}, of(findings.path, here)
    found: dict[str, tuple[str, Points]] = {}
    groups: dict[str, list[CaseFinding]] = defaultdict(list)
    for case in findings.cases:
        if case.probe.startswith("switch/") and "contexts" in case.parameters and case.placement == "same":
            fixed = [f"{name}={value}" for name, value in case.parameters.items() if name != "contexts"]
            groups[" ".join([case.probe, *fixed])].append(case)
    for name, cases in groups.items():
        # Where a probe tells real switches from others, those are meant.
        metric = cases[0].real_switch or cases[0].main.metric
        points = sorted(
            (int(case.parameters["contexts"]), figure.median)
            for case in cases
            if (figure := case.figure(metric)) is not None and figure.median > 0 and figure.unit == "s"
        )
        points = [point for point in points if point[0] >= _FEWEST]
        if len(points) >= 2:
            found[name] = (metric, points)
    if not found:
        return {}, of(findings.path, Reason(Why.NO_CURVE_OF_SWITCHES))
    return found, None


def _placed(name: str, title: str, metric: str, points: Points, lengths: Sequence[int], cpus: int) -> Placed:
    def contexts(length: float) -> float:
        return max(_FEWEST, length / cpus)

    samples = sum(lengths)
    here = sum(count * cost_at(points, contexts(length)) for length, count in enumerate(lengths)) / max(1, samples)
    p99 = contexts(quantile(lengths, 0.99))
    return Placed(
        curve=name,
        title=title,
        metric=metric,
        here=here,
        at_p99=cost_at(points, p99),
        at_benchmark=cost_at(points, BENCHMARK),
        beyond=not points[0][0] <= p99 <= points[-1][0] or points[-1][0] < BENCHMARK,
    )


def _wakes(observation: Observation, findings: Findings | None) -> tuple[Woken, ...]:
    """Every kind of wake-up that was measured beside several numbers of busy tasks a CPU, on this machine."""
    if findings is None or findings.void or findings.machine_key != observation.machine_key:
        return ()
    groups: dict[str, list[CaseFinding]] = defaultdict(list)
    for case in findings.cases:
        beside = case.parameters.get(_LOAD)
        if case.probe.startswith("wake/") and case.placement == "same" and beside in ("none", _BUSY):
            fixed = [f"{name}={value}" for name, value in case.parameters.items() if name not in (_LOAD, _LOADS)]
            groups[" ".join([case.probe, *fixed])].append(case)
    lengths, cpus = observation.lengths, observation.cpus
    p99 = _with_sleeper(quantile(lengths, 0.99) / cpus)
    found = []
    for name, cases in groups.items():
        points = _by_load(cases, cases[0].main.metric)
        if len(points) < 2:
            continue
        tail = _by_load(cases, _TAIL)
        found.append(
            Woken(
                curve=name,
                title=findings.titles.get(cases[0].probe, ""),
                here=_on_average(points, lengths, cpus),
                tail=_on_average(tail, lengths, cpus) if len(tail) >= 2 else None,
                beyond=p99 > points[-1][0],
            )
        )
    return tuple(found)


def _with_sleeper(busy: float) -> float:
    """The tasks of a CPU when a sleeper wakes, itself included: 1 on an idle one, which has a logarithm."""
    return busy + 1


def _by_load(cases: Sequence[CaseFinding], metric: str) -> Points:
    """(tasks of the CPU with the sleeper, seconds), rising; several cases beside no load are one point, the first."""
    points: dict[int, float] = {}
    for case in cases:
        busy = int(case.parameters.get(_LOADS, 1)) if case.parameters[_LOAD] == _BUSY else 0
        figure = case.figure(metric)
        if figure is not None and figure.median > 0 and figure.unit == "s":
            points.setdefault(round(_with_sleeper(busy)), figure.median)
    return sorted(points.items())


def _on_average(points: Points, lengths: Sequence[int], cpus: int) -> float:
    costs = (count * cost_at(points, _with_sleeper(length / cpus)) for length, count in enumerate(lengths))
    return sum(costs) / max(1, sum(lengths))
