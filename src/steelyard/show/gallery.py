# SPDX-License-Identifier: Apache-2.0
"""A session among the machines of a gallery, on a terminal and as objects for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steelyard.judge.findings import Findings
from steelyard.judge.gallery import Among
from steelyard.show import figure_text, naming, void
from steelyard.show.console import Console, grid, words
from steelyard.units import counted, format_quantity

#: Which way is better, in the word for what lies below.
_BELOW = {"lower": ("cheaper", "dearer"), "higher": ("less", "more"), "neither": ("less", "more")}
_NUMBERS = ("here", "95 % interval", "in the gallery")


def show(findings: Findings, found: Sequence[Among], console: Console) -> None:
    """A line a case: what it costs here, between what and what it lies in the gallery, and among how many machines."""
    void.show(findings.void, console)
    if not found:
        console.print("no machine of the gallery has a case of this session", soft_wrap=True)
        return
    table = grid(["what", *_NUMBERS, "this machine is"], _NUMBERS)
    for one in found:
        table.add_row(
            naming.of_case(one.case),
            format_quantity(one.case.main.median, one.case.main.unit),
            figure_text.interval(one.case.main),
            _range(one),
            words(said(one)),
        )
    console.print(table)
    console.print(
        "alike: the intervals overlap, or one of them is not known, so that nothing tells the machines apart; else a "
        "compiler, a kernel or a setting may differ as well as the machine",
        style="dim",
        soft_wrap=True,
    )


def _range(of: Among) -> str:
    ends = [format_quantity(end, of.case.main.unit) for end in (of.least, of.most)]
    return ends[0] if of.machines == 1 else " to ".join(ends)


def said(of: Among) -> str:
    """Where a case lies among the machines: ``cheaper than 2, like 1, dearer than 3``."""
    below, above = _BELOW[of.case.main.better]
    parts = [
        (below, "than", len(of.above)),
        ("alike", "with", len(of.overlapping)),
        (above, "than", len(of.below)),
    ]
    return ", ".join(f"{word} {joint} {counted(number, 'machine')}" for word, joint, number in parts if number)


def as_json(found: Sequence[Among]) -> list[dict[str, Any]]:
    """An object a case, in base units; machines by their names."""
    return [
        {
            "case": one.case.case,
            "metric": one.case.main.metric,
            "unit": one.case.main.unit,
            "median": one.case.main.median,
            "low": one.case.main.low,
            "high": one.case.main.high,
            "gallery": {"machines": one.machines, "least": one.least, "most": one.most},
            "below": one.below,
            "above": one.above,
            "overlapping": one.overlapping,
        }
        for one in found
    ]
