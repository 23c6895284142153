# SPDX-License-Identifier: Apache-2.0
"""Comparisons as Markdown, for a comment on a change."""

from __future__ import annotations

from steelyard.judge.comparisons import Compared, Comparisons
from steelyard.show.comparison import interval, percent, verdict
from steelyard.units import format_quantity


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _row(case: Compared, margin: float) -> str:
    cells = (
        f"`{case.case}`",
        format_quantity(case.a, case.unit),
        format_quantity(case.b, case.unit),
        f"{percent(case.ratio)} {interval(case)}",
        ("**worse**: " if case.worse else "") + verdict(case, margin),
    )
    return f"| {' | '.join(_cell(cell) for cell in cells)} |"


def comparisons(found: Comparisons) -> str:
    """A table with what differs first, and the doubts below it."""
    order = {"different": 0, "undecided": 1, "equivalent": 2}
    cases = sorted(found.cases, key=lambda case: (not case.worse, order[case.verdict]))
    lines = [f"a: `{found.a}`, b: `{found.b}`, margin {100 * found.margin:g} %", ""]
    if found.void:
        lines += [f"**VOID, do not use these verdicts: {found.void}**", ""]
    lines += ["| case | a | b | b against a | verdict |", "| --- | ---: | ---: | ---: | --- |"]
    lines += [_row(case, found.margin) for case in cases]
    lines += [""] + [f"- {line}" for line in (*found.left_out, *found.caveats)]
    return "\n".join(lines).rstrip() + "\n"
