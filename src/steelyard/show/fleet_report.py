# SPDX-License-Identifier: Apache-2.0
"""Which machines of a fleet are unlike the others: a line for each that is, and what could have been found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from steelyard.judge.fleet import FleetFindings, GroupFindings, MachineFindings, Oddity
from steelyard.show import naming, reasons
from steelyard.show.console import Console, grid, words
from steelyard.units import format_change

_STYLES = {"different": "bold red", "equivalent": "green", "undecided": "yellow"}
_WHOLE = "all"


def oddity(one: Oddity, titles: Mapping[str, str]) -> str:
    """One oddity as a person would say it."""
    where = (
        "as a whole"
        if one.what == _WHOLE
        else f"in {naming.with_name(one.what, titles)}" + (f" ({one.cases} cases)" if one.cases > 1 else "")
    )
    most_of = naming.with_name(one.most, titles)
    if one.kind == "scatter":
        most = f", most in {most_of} ({one.most_ratio:.2g})" if one.most and one.most_ratio is not None else ""
        return f"its runs scatter {one.ratio:.2g} times as far {where}{most}"
    interval = "" if one.low is None or one.high is None else f" {_interval(one.low, one.high)}"
    most = f", most in {most_of} ({format_change(one.most_ratio)})" if one.most and one.most_ratio is not None else ""
    return f"{format_change(one.ratio)}{interval} {where}{most}"


def _interval(low: float, high: float) -> str:
    return f"[{format_change(low).removesuffix(' %')}, {format_change(high).removesuffix(' %')}]"


def _about(machine: MachineFindings, titles: Mapping[str, str]) -> str:
    if machine.oddities:
        return "; ".join(oddity(one, titles) for one in machine.oddities)
    if machine.suspicions:
        return (
            f"measure it again: {'; '.join(oddity(one, titles) for one in machine.suspicions)}, but not in two sessions"
        )
    return f"furthest off in {machine.furthest}: {format_change(machine.furthest_ratio)}" if machine.furthest else ""


def show(found: FleetFindings, console: Console, *, every: bool) -> None:
    """The groups of machines, one after the other. ``every``: also those of which there is nothing to say."""
    for group in found.groups:
        _show_group(group, found.titles, console, every=every)
    if len(found.groups) > 1:
        console.print("machines of different keys are other hardware: they stand beside each other, unranked")
        console.print()
    for line in map(reasons.said, found.left_out):
        console.print(f"left out: {line}", soft_wrap=True)
    console.print(
        f"{found.sessions} sessions; a machine is different when it is off by more than {100 * found.margin:g} % and "
        "further than the others predict; a healthy fleet has one accused in at most 5 % of reports, in up to 10 % "
        "where machines are often disturbed",
        soft_wrap=True,
    )


def _show_group(group: GroupFindings, titles: Mapping[str, str], console: Console, *, every: bool) -> None:
    counts = Counter(machine.verdict for machine in group.machines)
    said = ", ".join(f"{counts[name]} {name}" for name in ("different", "equivalent", "undecided") if counts[name])
    title = f"{len(group.machines)} machines of key {group.key}" + (f" ({group.about})" if group.about else "")
    console.print(words(f"{title}: {said}", style="bold"), soft_wrap=True)
    lines = [one for one in group.machines if every or one.oddities or one.suspicions]
    if lines:
        table = grid(("machine", "sessions", "verdict", "beside the others"), {"sessions"})
        for one in lines:
            verdict = words(one.verdict, style=_STYLES[one.verdict])
            table.add_row(one.name, str(one.sessions), verdict, _about(one, titles))
        console.print(table)
    console.print()
    numbers = ("cases", "machines lie apart by", "found nine times in ten from")
    spreads = grid(("family", *numbers), numbers)
    for family in group.families:
        least = "–" if family.found_from is None else f"{100 * family.found_from:.1f} %"
        spreads.add_row(family.family, str(family.cases), f"{100 * family.spread:.1f} %", least)
    console.print(spreads)
    for caveat in map(reasons.said, group.caveats):
        console.print(f"  caveat: {caveat}", style="yellow", soft_wrap=True)
    console.print()


def as_json(found: FleetFindings) -> list[dict[str, Any]]:
    """One object a machine, with its key."""
    return [{"key": group.key, **reasons.builtins(machine)} for group in found.groups for machine in group.machines]
