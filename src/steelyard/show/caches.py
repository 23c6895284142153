# SPDX-License-Identifier: Apache-2.0
"""The steps of the latency curve beside the cache sizes that the machine reports, in words."""

from __future__ import annotations

from steelyard.judge.caches import CacheLevels, CacheStep
from steelyard.units import format_bytes, format_quantity


def sentences(levels: CacheLevels) -> list[str]:
    """One for each step, and one for each cache that has none."""
    if not levels.reported:
        return ["the machine reports no cache sizes to compare with", *(_place(step) for step in levels.steps)]
    said = [_sentence(step, levels) for step in levels.steps]
    for name, size in levels.missing.items():
        why = "; larger working sets would show it" if 2 * size > levels.largest else ""
        said.append(f"{name}: the machine reports {format_bytes(size)}, and no step was found for it{why}")
    return said


def _sentence(step: CacheStep, levels: CacheLevels) -> str:
    if step.cache is None or step.reported is None:
        return f"{_place(step)}: no cache is reported for this step; address translation or a neighbour may cause it"
    word = f"{step.cache}: the machine reports {format_bytes(step.reported)}, and the curve says {_between(step)}"
    if step.agrees:
        return f"{word}: they agree"
    shared = step.reported > step.largest and step is levels.steps[-1] and levels.virtual
    why = "; a virtual machine is told the whole size, and neighbours may hold the rest" if shared else ""
    return f"{word}: they do not agree{why}"


def _place(step: CacheStep) -> str:
    return f"a step at {_between(step)}"


def _between(step: CacheStep) -> str:
    ends = f"{format_bytes(step.smallest)} to {format_bytes(step.largest)}"
    before, after = (format_quantity(cost, "s") for cost in (step.before_s, step.after_s))
    return f"{ends} ({before} a load below, {after} above)"
