# SPDX-License-Identifier: Apache-2.0
"""Comparisons on a terminal: a row a case, the verdict in words."""

from __future__ import annotations

from typing import Any

from steelyard.judge.comparisons import Compared, Comparisons
from steelyard.show import naming, reasons, void
from steelyard.show.console import Console, grid, words
from steelyard.units import counted, format_change, format_duration, format_quantity

_STYLES = {"different": "bold", "equivalent": "green", "undecided": "yellow"}


def interval(case: Compared) -> str:
    """The interval of the change, in percent; a dash where there are too few blocks for one."""
    if case.low <= 0 or case.high is None:
        return "–"
    return f"[{format_change(case.low).removesuffix(' %')}, {format_change(case.high).removesuffix(' %')}]"


def verdict(case: Compared, margin: float) -> str:
    """The verdict as a person would say it; of an undecided one, what is missing."""
    match case.verdict:
        case "different":
            return f"different by {format_change(case.ratio)} {interval(case)}"
        case "equivalent":
            return f"equivalent within {100 * margin:g} %"
        case _ if case.more_blocks is not None and case.more_minutes is not None:
            more = counted(case.more_blocks, "more block")
            return f"undecided: {more}, about {format_duration(60 * case.more_minutes)}"
        case _ if case.more_blocks is not None:
            each = " of each" if case.counted == "runs" else ""
            return f"undecided: {case.more_blocks} more {case.counted}{each}"
        case _ if case.tells_from is not None and case.counted == "runs":
            return f"undecided: here only differences from {100 * case.tells_from:.1f} % on can be told"
        case _ if case.tells_from is not None:
            return f"undecided: too near the margin of {100 * margin:g} % for any number of {case.counted}"
        case _:
            return "undecided"


def show(found: Comparisons, console: Console) -> None:
    """A table of all cases, then what was left out and every doubt."""
    console.print(f"a: {found.a}", soft_wrap=True)
    console.print(f"b: {found.b}", soft_wrap=True)
    if found.metric:
        console.print(f"by {found.metric}")
    void.show(found.void, console)
    numbers = ("a", "b", "b against a", "interval", "n")
    table = grid(("case", *numbers, "verdict"), numbers)
    for case in found.cases:
        table.add_row(
            naming.with_name(case.case, found.titles),
            format_quantity(case.a, case.unit),
            format_quantity(case.b, case.unit),
            format_change(case.ratio),
            interval(case),
            str(case.n),
            words(verdict(case, found.margin), style=_STYLES[case.verdict]),
        )
    console.print(table)
    for title, lines in (("left out", found.left_out), ("caveats", found.caveats)):
        if lines:
            console.print(title, style="bold")
            for line in map(reasons.said, lines):
                console.print(f"  {line}")
    if apart := [naming.with_name(case.case, found.titles) for case in found.cases if case.medians_disagree]:
        console.print(
            f"{', '.join(apart)}: the medians point the other way than the ratio, which is the middle of the ratios of "
            "single blocks: the machine changed between blocks, so believe the ratio"
        )
    if found.kind == "sessions":
        console.print(_overlaps(found))
    confidence = f"{100 * found.confidence:.3g} %"
    console.print(
        words(f"margin {100 * found.margin:g} %; all {len(found.cases)} verdicts together hold at {confidence} (Holm)")
    )


def _overlaps(found: Comparisons) -> str:
    """How many medians' intervals overlap, of all cases and of those pinned to one CPU."""
    known = [case for case in found.cases if case.overlap is not None]
    pinned = [case for case in known if case.case.endswith("@same")]
    return (
        f"the 95 % intervals of both sessions overlap in {sum(bool(case.overlap) for case in known)} of {len(known)} "
        f"cases; of those on one CPU in {sum(bool(case.overlap) for case in pinned)} of {len(pinned)}"
    )


def as_json(found: Comparisons) -> list[dict[str, Any]]:
    """One object a case."""
    return [
        {
            "case": case.case,
            "metric": case.metric,
            "unit": case.unit,
            "a": case.a,
            "b": case.b,
            "n": case.n,
            "verdict": case.verdict,
            "ratio": case.ratio,
            "low": case.low,
            "high": case.high,
            "margin": found.margin,
            "worse": case.worse,
            "overlap": case.overlap,
            "more_blocks": case.more_blocks,
            "more_seconds": None if case.more_minutes is None else 60 * case.more_minutes,
            "void": found.void,
            "caveats": list(found.caveats),
        }
        for case in found.cases
    ]
