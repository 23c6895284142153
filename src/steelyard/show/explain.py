# SPDX-License-Identifier: Apache-2.0
"""Costs taken apart: for people on a terminal, and as objects for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.judge.explain import Composite, Explanation, Explanations, Part, PartSeen, State, Sum
from steelyard.show import naming, reasons, void
from steelyard.show.console import Console, grid, words
from steelyard.units import format_interval, format_quantity

_STYLES = {
    State.EXPLAINED: "bold green",
    State.RESIDUAL: "bold green",
    State.LARGE_RESIDUAL: "bold yellow",
    State.OVER_EXPLAINED: "bold red",
    State.UNDECIDED: "bold yellow",
    State.INCOMPLETE: "dim",
}
_CAVEATS = 3
_NOTHING = "–"
METHOD = (
    "Each line is a median over the blocks of what it says, so the lines need not add up to the last digit. The "
    "residual is the whole less its parts within each block; parts of other sessions are added by their intervals "
    "(Zou and Donner)."
)


def show(findings: Explanations, console: Console) -> None:
    """Every cost with its parts and what is left, then what the session cannot say."""
    _head(findings, console)
    for explanation in findings.explained:
        _explanation(explanation, findings, console)
    for absent in findings.absent:
        console.print(words((absent.case, "cyan"), f" ({absent.composite}): {reasons.said(absent.reason)}"))
    _foot(findings, console)


def show_short(findings: Explanations, console: Console) -> None:
    """A line a composite: what of it is explained by this session, or what is missing."""
    _head(findings, console)
    numbers = ("cost", "explained", "residual")
    table = grid(("composite", "case", *numbers, ""), numbers)
    for one in findings.explained:
        explained, residual = (share(each) if each else _NOTHING for each in (one.explained, one.residual))
        cost = format_quantity(one.whole.value, one.unit)
        word = words(_short(one), style=_STYLES[one.state])
        table.add_row(
            words(one.composite, style="cyan"),
            naming.in_words(one.case, findings.titles),
            cost,
            explained,
            residual,
            word,
        )
    console.print(table)
    if findings.absent:
        names = ", ".join(absent.composite for absent in findings.absent)
        console.print(words(("not in the session: ", "dim"), (names, "cyan")))
    console.print()
    console.print(
        "`steelyard explain CASE` shows the parts, `steelyard explain CASE --measure` measures what it needs.",
        style="dim",
    )


def show_declarations(composites: Mapping[str, Composite], asked: str | None, console: Console) -> None:
    """What costs are said to be made of, without figures: there is no session yet."""
    console.print("No session was measured yet: these are the composites and their parts, without figures.")
    console.print()
    for name, composite in composites.items():
        console.print(words((name, "bold cyan"), f"  {composite.case}"))
        console.print(f"  {composite.made_of}")
        for part in composite.part:
            console.print(f"  {_declared(part)}", style="dim")
    console.print()
    whose, needs = (f"'{asked}'", "it needs") if asked else ("CASE", "a case needs")
    console.print(f"`steelyard explain {whose} --measure` measures what {needs}.", style="dim")


def _declared(part: Part) -> str:
    each = f" for each {part.per}" if part.per else ""
    less = f" less {part.less}" if part.less else ""
    return f"{part.times:g}{each}: {part.what} ({part.case}{less})"


def declared_as_json(composites: Mapping[str, Composite]) -> list[dict[str, Any]]:
    """One object a composite, as its file declares it, for whoever has no session yet."""
    return [{"composite": name, "state": "not measured", **reasons.builtins(one)} for name, one in composites.items()]


def as_json(findings: Explanations) -> list[dict[str, Any]]:
    """One object a cost, then one for each composite that the session says nothing of; figures in base units."""
    return [
        *({**reasons.builtins(one), "void": findings.void} for one in findings.explained),
        *({**reasons.builtins(one), "state": "not measured", "void": findings.void} for one in findings.absent),
    ]


def said(one: Explanation) -> str:
    """The verdict in a sentence."""
    match one.state:
        case State.INCOMPLETE:
            return f"{len(one.missing)} of {len(one.missing) + len(one.parts)} parts were not measured"
        case State.OVER_EXPLAINED:
            parts = f", {one.explained.share:.0%} of it," if one.explained else ""
            return (
                f"measured one by one the parts{parts} cost more than the whole: within it they overlap or share work"
            )
        case State.UNDECIDED if one.residual and one.residual.low is None:
            return f"{one.n} blocks are too few for an interval: 6 give the first"
        case State.UNDECIDED:
            return "the residual may be nothing, and may be large: more blocks would tell"
        case State.EXPLAINED:
            return "the residual cannot be told from nothing"
        case State.RESIDUAL:
            return "there is a residual that no part explains"
        case State.LARGE_RESIDUAL:
            return "much of the cost is in none of the parts"


def head(confidence: float) -> tuple[str, ...]:
    """Heads of what `rows` gives."""
    return ("made of", "times", "each", "together", f"{confidence:.0%} interval", "share")


def rows(one: Explanation) -> list[tuple[str, ...]]:
    """What, how often, each, together, the interval and the share: the parts, their sum, the residual and the whole."""
    sums = [("explained", one.explained), ("unexplained", one.residual), (one.metric, one.whole)]
    return [
        *(_part(part, one.unit) for part in one.parts),
        *((part.what, "", "not measured", "", "", "") for part in one.missing),
        *((name, "", "", *_cells(each, one.unit)) for name, each in sums if each),
    ]


def because(one: Explanation) -> list[str]:
    """Of each part why it is one, which case measured it, and in which session if that is another."""
    return [
        f"{part.what}: {part.because} ({part.label}{f', from {part.session}' if part.session else ''})"
        for part in one.parts
    ]


def _part(part: PartSeen, unit: str) -> tuple[str, ...]:
    interval = format_interval(part.low, part.high, part.cost, unit)
    together = format_quantity(part.cost, unit)
    return part.what, f"{part.times:.4g}", format_quantity(part.each, unit), together, interval, f"{part.share:.0%}"


def _cells(each: Sum, unit: str) -> tuple[str, ...]:
    return format_quantity(each.value, unit), format_interval(each.low, each.high, each.value, unit), share(each)


def share(each: Sum) -> str:
    """The share of the whole with its interval."""
    ends = ""
    if each.share_low is not None and each.share_high is not None:
        ends = f" [{each.share_low * 100:.0f}, {each.share_high * 100:.0f}]"
    return f"{each.share:.0%}{ends}"


def _short(one: Explanation) -> str:
    """The state in a word where one says enough."""
    return said(one) if one.state is State.INCOMPLETE else one.state.value


def _head(findings: Explanations, console: Console) -> None:
    console.print(f"{findings.cpu}, machine key {findings.machine_key}, {findings.started}", style="bold")
    console.print(f"{findings.path}, {findings.blocks} blocks", soft_wrap=True)
    void.show(findings.void, console)
    console.print()


def _explanation(one: Explanation, findings: Explanations, console: Console) -> None:
    called = naming.in_words(one.case, findings.titles)
    title: list[str | tuple[str, str]] = [] if called == one.case else [(called, "bold"), "  "]
    console.print(
        words(*title, (one.case, "bold cyan"), f"  {one.metric} ", (one.state.value.upper(), _STYLES[one.state]))
    )
    console.print(f"  {one.made_of}")
    first, *numbers = head(findings.confidence)
    table = grid((f"  {first}", *numbers), numbers)
    for name, *cells in rows(one):
        table.add_row(f"  {name}", *cells, style="" if any(part.what == name for part in one.parts) else "bold")
    console.print(table)
    console.print(f"  {said(one)}")
    for line in because(one):
        console.print(f"  {line}", style="dim")
    for missing in one.missing:
        console.print(f"  {missing.what}: {reasons.said(missing.reason)}")
    if one.missing:
        console.print(f"  `steelyard explain '{one.case}' --measure` measures all that it needs")
    if one.note:
        console.print(f"  {one.note}")
    for caveat in one.caveats[:_CAVEATS]:
        console.print(f"  caveat: {reasons.said(caveat)}", style="dim")
    if len(one.caveats) > _CAVEATS:
        console.print(f"  and {len(one.caveats) - _CAVEATS} more caveats, which --json prints", style="dim")
    console.print()


def _foot(findings: Explanations, console: Console) -> None:
    if findings.explained:
        console.print(METHOD, style="dim")
