# SPDX-License-Identifier: Apache-2.0
"""Joules an operation, in words for a terminal and a page."""

from __future__ import annotations

from collections.abc import Iterable

from steelyard.judge.cases import CaseFinding
from steelyard.judge.energy import Energy
from steelyard.show import naming
from steelyard.units import format_interval, format_quantity

TITLE = "energy of one operation, less what idle takes"
_DOMAINS = {"package": "the packages", "dram": "the memory"}


def sentences(cases: Iterable[CaseFinding]) -> list[str]:
    """One a case that has an energy: of each domain, and how much of the time lies in batches."""
    return [
        f"{naming.of_case(case)}: {', '.join(map(_energy, case.energy))}; {case.energy[0].timed:.0%} of its time in "
        "batches"
        for case in cases
        if case.energy and not case.control
    ]


def _energy(found: Energy) -> str:
    whose = f"in {_DOMAINS.get(found.domain, found.domain)} (idle {format_quantity(found.idle_w, 'W')})"
    if found.high is None:
        return f"~{format_quantity(found.median, 'J')} {whose}"
    if found.high <= 0:
        return f"less than idle takes {whose}"
    if found.at_most:
        return f"at most {format_quantity(found.high, 'J')} {whose}"
    ends = format_interval(found.low, found.high, found.median, "J")
    return f"{format_quantity(found.median, 'J')} {ends} {whose}"
