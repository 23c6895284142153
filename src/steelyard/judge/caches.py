# SPDX-License-Identifier: Apache-2.0
"""The steps of the latency curve beside the cache sizes that the machine reports, and whether they agree."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from steelyard.judge.samples import CaseRuns
from steelyard.judge.stats.steps import Step, find_steps
from steelyard.records import Record

PROBE = "cache/latency"
_PARAMETER = "size"
#: Fewer sizes have no room for a level, a step and another level.
_FEWEST_SIZES = 6
_REPORTED = re.compile(r"(L\d)([dip]?) (\d+)([KMG])\b")
_FACTORS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class CacheStep(Record, frozen=True, kw_only=True):
    """A step of the curve: from which level of cost to which, and between which bytes the capacity lies.

    ``cache`` is the reported cache that it was taken for, of ``reported`` bytes; None where none is left for it.
    """

    before_s: float
    after_s: float
    smallest: float
    largest: float
    cache: str | None
    reported: int | None
    agrees: bool


class CacheLevels(Record, frozen=True, kw_only=True):
    """The steps of a session's curve, and the reported caches that have none.

    reported: whether the machine reports any. largest: the largest working set of the curve. virtual: the machine is
    told the whole size of the last cache, of which neighbours may hold a part.
    """

    steps: tuple[CacheStep, ...]
    missing: dict[str, int]
    agrees: bool
    reported: bool
    largest: int
    virtual: bool


def reported_caches(facts: Mapping[str, str]) -> dict[str, int]:
    """Bytes of the caches that hold data, by level, as the machine reports them."""
    return {
        f"{level}{kind}": int(number) * _FACTORS[factor]
        for level, kind, number, factor in _REPORTED.findall(facts.get("caches", ""))
        if kind != "i"
    }


def cache_levels(runs: Sequence[CaseRuns], facts: Mapping[str, str]) -> CacheLevels | None:
    """What the latency curve of these cases says of the caches; None without a curve."""
    curve = {
        size: one.sample(one.descriptor.metrics[0])
        for one in runs
        if one.planned.case.probe == PROBE
        and one.planned.case.variant is None
        and isinstance(size := one.planned.case.parameters.get(_PARAMETER), int)
    }
    there = {size: costs for size, costs in sorted(curve.items()) if np.isfinite(costs).any()}
    if len(there) < _FEWEST_SIZES:
        return None
    steps = find_steps(list(there), np.array(list(there.values())))
    reported = reported_caches(facts)
    taken = _taken_for(steps, reported)
    found = tuple(_cache_step(step, name, reported) for step, name in zip(steps, taken, strict=True))
    missing = {name: size for name, size in reported.items() if name not in taken}
    return CacheLevels(
        steps=found,
        missing=missing,
        agrees=bool(reported) and not missing and all(step.agrees for step in found),
        reported=bool(reported),
        largest=max(there),
        virtual=facts.get("hypervisor") == "yes",
    )


def _taken_for(steps: Sequence[Step], reported: Mapping[str, int]) -> list[str | None]:
    """The reported cache that each step stands for: first where the size fits, then the others in order of size."""
    names: list[str | None] = [
        next((name for name, size in reported.items() if step.smallest <= size <= step.largest), None) for step in steps
    ]
    for number in range(len(steps)):
        if names[number] is None:
            earlier = [reported[name] for name in names[:number] if name]
            later = [reported[name] for name in names[number + 1 :] if name]
            free = [
                name
                for name, size in reported.items()
                if name not in names and size > max(earlier, default=0) and size < min(later, default=1 << 62)
            ]
            names[number] = free[0] if free else None
    return names


def _cache_step(step: Step, name: str | None, reported: Mapping[str, int]) -> CacheStep:
    size = reported.get(name or "")
    return CacheStep(
        before_s=step.before,
        after_s=step.after,
        smallest=step.smallest,
        largest=step.largest,
        cache=name,
        reported=size,
        agrees=size is not None and step.smallest <= size <= step.largest,
    )
