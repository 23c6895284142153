# SPDX-License-Identifier: Apache-2.0
"""Which model of concurrency serves a load at the least CPU time, and where a thread a connection is no longer enough.

A load is what all models of `serve/` were asked alike. Each of them is compared block by block with the cheapest, which
is first that of the pilot, and then whichever is proven cheaper than that. A model is good enough where the interval of
its ratio lies below the margin, and dearer where it lies above. Every verdict is at the confidence of verdicts by
itself: a hundred of them are a hundred answers, not one.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import Any

from steelyard.judge.cases import CaseFinding
from steelyard.judge.comparisons import Compared, compare_cases
from steelyard.judge.samples import CaseRuns
from steelyard.judge.stats.comparison import VERDICT_CONFIDENCE
from steelyard.records import Record, Scalar, Session, Value

QUESTION = "serve"
#: A model that takes no more than this share above the cheapest is good enough.
MARGIN = 0.1
#: The model of which is asked where it stops being so, and by what.
THREAD, ALONG = "serve/thread", "connections"
_METRIC = "cpu"
#: Fewer models are no choice.
_FEWEST = 3
#: How often another model may prove cheaper than the one that all are compared with.
_MOST_ROUNDS = 5
_NS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


class Standing(StrEnum):
    """How a model stands beside the cheapest."""

    CHEAPEST = "cheapest"
    WITHIN = "within"
    DEARER = "dearer"
    UNDECIDED = "undecided"

    @property
    def good_enough(self) -> bool:
        """Whether it is the cheapest or proven to be within the margin."""
        return self in {Standing.CHEAPEST, Standing.WITHIN}


class Served(Record, frozen=True, kw_only=True):
    """A model under a load: CPU time of a request, and its ratio to the cheapest one's with its interval."""

    probe: str
    title: str
    case: str
    cost_s: float
    standing: Standing
    ratio: float = 1.0
    low: float = 1.0
    high: float | None = 1.0


class Asked(Record, frozen=True, kw_only=True):
    """What sets a load apart from the others. ``quantity`` is in seconds where the parameter is a time."""

    name: str
    value: Scalar
    seconds: float | None = None


class Load(Record, frozen=True, kw_only=True):
    """A load and the models that served it, the cheapest first."""

    asked: tuple[Asked, ...]
    where: str
    served: tuple[Served, ...]

    def of(self, probe: str) -> Served | None:
        """The model by its probe; None if it did not serve this load."""
        return next((one for one in self.served if one.probe == probe), None)

    def value(self, name: str) -> Scalar | None:
        """What it asks by a name; None where all loads ask the same."""
        return next((one.value for one in self.asked if one.name == name), None)


class Threads(Record, frozen=True, kw_only=True):
    """A thread a connection under loads that differ in their connections alone, the fewest first."""

    asked: tuple[Asked, ...]
    at: tuple[tuple[int, Served], ...]

    @property
    def enough(self) -> int | None:
        """The most connections up to which it is good enough; None if it is not with the fewest."""
        kept = None
        for connections, served in self.at:
            if not served.standing.good_enough:
                break
            kept = connections
        return kept

    @property
    def dearer(self) -> int | None:
        """The fewest connections at which it is proven dearer."""
        return next((connections for connections, served in self.at if served.standing is Standing.DEARER), None)


class Models(Record, frozen=True, kw_only=True):
    """All loads of a session. ``alike``: what all ask. ``titles``: of the models, the cheapest over all first."""

    margin: float
    confidence: float
    alike: dict[str, Scalar]
    loads: tuple[Load, ...]
    titles: dict[str, str]
    threads: tuple[Threads, ...]


def models(
    session: Session, cases: Sequence[CaseFinding], runs: Sequence[CaseRuns], *, margin: float = MARGIN
) -> Models | None:
    """What a session says of the models; None where it has no load that several of them served, or is void."""
    groups = _loads(session, cases)
    if not groups:
        return None
    compared = _against_the_cheapest(session, groups, _pilot_costs(session, runs), margin)
    if compared is None:
        return None
    common = _common(cases)
    values = {name: {case.parameters[name] for group in groups for case in group} for name in common}
    varied = [name for name in common if len(values[name]) > 1]
    loads = tuple(_load(session, group, found, varied, margin) for group, found in zip(groups, compared, strict=True))
    return Models(
        margin=margin,
        confidence=VERDICT_CONFIDENCE,
        alike={name: next(iter(values[name])) for name in common if len(values[name]) == 1},
        loads=loads,
        titles=_titles(loads),
        threads=_threads(loads),
    )


# --- loads ------------------------------------------------------------------------------------------------------------


def _ours(cases: Sequence[CaseFinding]) -> list[CaseFinding]:
    """The cases of models that were offered one rate: what looked for its own, or was traced, was asked otherwise."""
    return [
        case
        for case in cases
        if case.probe.startswith(f"{QUESTION}/")
        and not case.control
        and not case.parameters.get("goal_us")
        and case.parameters.get("calls") != "counted"
        and case.parameters.get("arrivals") != "closed"
        and case.main.metric == _METRIC
    ]


def _common(cases: Sequence[CaseFinding]) -> list[str]:
    """The parameters that every model has, in their order."""
    ours = _ours(cases)
    return [name for name in ours[0].parameters if all(name in case.parameters for case in ours)] if ours else []


def _loads(session: Session, cases: Sequence[CaseFinding]) -> list[list[CaseFinding]]:
    """The cases of each load that several models served, one for each model; the loads by what they ask."""
    if session.header.imported is not None:  # its runs were in no blocks
        return []
    common = _common(cases)
    groups: dict[tuple[Any, ...], dict[str, CaseFinding]] = defaultdict(dict)
    for case in _ours(cases):
        groups[(case.where, *(case.parameters[name] for name in common))].setdefault(case.probe, case)
    return [
        list(group.values()) for _, group in sorted(groups.items(), key=lambda item: item[0]) if len(group) >= _FEWEST
    ]


def _pilot_costs(session: Session, runs: Sequence[CaseRuns]) -> dict[str, float]:
    """CPU time of a request in the pilot, by case."""
    found: dict[str, float] = {}
    by_name = {one.planned.case.name: one for one in runs}
    for run in session.runs:
        of = by_name.get(run.case)
        if of and run.role == "pilot" and run.status == "ok":
            found[run.case] = of.number(run, partial(Value.figure, metric=of.descriptor.metrics[0]))
    return found


# --- who is the cheapest ----------------------------------------------------------------------------------------------


def _against_the_cheapest(
    session: Session, groups: Sequence[Sequence[CaseFinding]], pilot: Mapping[str, float], margin: float
) -> list[tuple[str, dict[str, Compared]]] | None:
    """Of each load the cheapest case, and how the others compare with it; None if the session is void."""
    best = [min(group, key=lambda case: (pilot.get(case.case, math.inf), case.main.median)).case for group in groups]
    found: list[dict[str, Compared]] = [{} for _ in groups]
    again = set(range(len(groups)))
    for _ in range(_MOST_ROUNDS):
        pairs = [
            (case.case, best[number], case.case)
            for number in sorted(again)
            for case in groups[number]
            if case.case != best[number]
        ]
        compared = compare_cases(
            session, pairs, ("the cheapest", "the others"), margin=margin, metric=_METRIC, each_alone=True
        )
        if compared.void:
            return None
        by_case = {one.case: one for one in compared.cases}
        for number in sorted(again):
            found[number] = {case.case: by_case[case.case] for case in groups[number] if case.case in by_case}
        again = set()
        for number, others in enumerate(found):
            cheaper = [one for one in others.values() if one.high is not None and one.high < 1]
            if cheaper:
                best[number] = min(cheaper, key=lambda one: one.ratio).case
                again.add(number)
        if not again:
            break
    return list(zip(best, found, strict=True))


def _standing(compared: Compared, margin: float) -> Standing:
    if compared.high is not None and compared.high < 1 + margin:
        return Standing.WITHIN
    return Standing.DEARER if compared.low > 1 + margin else Standing.UNDECIDED


def _load(
    session: Session,
    group: Sequence[CaseFinding],
    found: tuple[str, Mapping[str, Compared]],
    varied: Sequence[str],
    margin: float,
) -> Load:
    best, others = found
    served = [
        Served(
            probe=case.probe,
            title=case.called,
            case=case.case,
            cost_s=case.main.median,
            standing=_standing(compared, margin) if compared else Standing.CHEAPEST,
            ratio=compared.ratio if compared else 1.0,
            low=compared.low if compared else 1.0,
            high=compared.high if compared else 1.0,
        )
        for case in group
        for compared in [others.get(case.case)]
        if compared or case.case == best
    ]
    first = group[0]
    return Load(
        asked=tuple(_asked(session, first, name) for name in varied),
        where=first.where,
        served=tuple(sorted(served, key=lambda one: (one.standing is not Standing.CHEAPEST, one.ratio))),
    )


def _asked(session: Session, case: CaseFinding, name: str) -> Asked:
    parameter = session.header.probes[case.probe].descriptor.parameter(name)
    value = case.parameters[name]
    scale = _NS.get(parameter.unit or "") if parameter else None
    return Asked(name=name, value=value, seconds=None if scale is None else float(value) * scale)


def _titles(loads: Sequence[Load]) -> dict[str, str]:
    """The models by their mean ratio: as a mean of logarithms, so that no load weighs more than another."""
    ratios: dict[str, list[float]] = defaultdict(list)
    titles: dict[str, str] = {}
    for load in loads:
        for one in load.served:
            ratios[one.probe].append(math.log(one.ratio))
            titles[one.probe] = one.title
    return {
        probe: titles[probe]
        for probe in sorted(ratios, key=lambda probe: math.fsum(ratios[probe]) / len(ratios[probe]))
    }


def _threads(loads: Sequence[Load]) -> tuple[Threads, ...]:
    groups: dict[tuple[Asked, ...], list[tuple[int, Served]]] = defaultdict(list)
    for load in loads:
        connections = load.value(ALONG)
        if (served := load.of(THREAD)) and connections is not None:
            rest = tuple(one for one in load.asked if one.name != ALONG)
            groups[rest].append((int(connections), served))
    return tuple(Threads(asked=asked, at=tuple(sorted(at, key=lambda point: point[0]))) for asked, at in groups.items())
