# SPDX-License-Identifier: Apache-2.0
"""Which channel to take, on one screen and as an object for programs."""

from __future__ import annotations

import math
from typing import Any

from steelyard.judge.choose import FIGURES, Channel, Choice, Chosen
from steelyard.show import comparison, reasons, void
from steelyard.show.console import Console, grid, words
from steelyard.show.naming import PLACES
from steelyard.units import format_bytes, format_quantity

#: Channels of a size that are shown; `--json` has them all.
_MOST = 8
_HEADS = {"round_trip": "there and back", "p99": "p99", "p99_9": "p99.9", "cpu": "CPU of both"}


def show(chosen: Chosen, console: Console) -> None:
    """The answer at each size, the channels behind it, where it changes, and what was left out."""
    load = chosen.load
    who = "processes" if load.between == "process" else "threads"
    asked = "".join(f", {name}: {value}" for name, value in load.needs.items())
    if load.goal is not None and load.at_most is not None:
        asked += f", {_HEADS[load.goal]} at most {format_quantity(load.at_most, 's')}"
    console.print(words((f"messages between two {who} on {PLACES[load.placement]}{asked}", "bold")))
    console.print(words(f"{chosen.machine}, {chosen.cpus} CPUs, {chosen.blocks} blocks", style="dim"))
    void.show(chosen.void, console)
    for choice in chosen.choices:
        console.print()
        if chosen.void is None:
            console.print(words(f"{format_bytes(choice.size)}: ", (answer(choice, chosen), "bold")), soft_wrap=True)
        _channels(choice, console)
    _properties(chosen, console)
    for over in chosen.switch_overs if chosen.void is None else ():
        where = f"about {format_bytes(over.size)}" if over.size else "somewhere between these sizes"
        console.print(f"The answer changes at {where}: {over.below} below, {over.above} above.")
    if chosen.cannot:
        console.print()
        console.print("left out", style="bold")
        for way, reason in chosen.cannot.items():
            console.print(f"  {way}: {reason}", style="dim")
    console.print(f"session file: {chosen.path}", style="dim", soft_wrap=True)


def answer(choice: Choice, chosen: Chosen) -> str:
    """What to take at a size, in one sentence with the runner-up's verdict."""
    load = chosen.load
    if not choice.channels:
        return "no channel that can was measured"
    if not choice.able:
        best = choice.channels[0]
        return f"none meets the goal; {best.title} comes nearest, with {_time(best.misses)}"
    best, *others = choice.able
    if not others or choice.verdict is None:
        return f"take {best.title}, the only one"
    second, margin = others[0], chosen.margin
    match choice.verdict.verdict:
        case "different":
            times = choice.verdict.ratio
            return f"take {best.title}; {second.title} is next, at {times:.2f} times its {_HEADS[load.by]}"
        case "equivalent":
            return f"take {best.title} or {second.title}: they are equal within {100 * margin:g} %"
        case _:
            return (
                f"take {best.title}; whether {second.title} costs more is {comparison.verdict(choice.verdict, margin)}"
            )


def _channels(choice: Choice, console: Console) -> None:
    heads = [_HEADS[name] for name in FIGURES]
    table = grid(("channel", *heads, "probe"), heads, names={"channel": "", "probe": "dim"})
    for channel in choice.channels[:_MOST]:
        figures = (_time(channel.figures.get(name)) for name in FIGURES)
        table.add_row(
            words(channel.title, style="cyan" if channel.misses is None else "dim"),
            *figures,
            channel.way,
        )
    console.print(table)
    if len(choice.channels) > _MOST:
        rest: list[Channel] = list(choice.channels[_MOST:])
        console.print(f"  and {len(rest)} dearer: {', '.join(channel.title for channel in rest)}", style="dim")


def _properties(chosen: Chosen, console: Console) -> None:
    """What the channels of the answers can do, those of all sizes together."""
    shown = {channel.title: channel.properties for choice in chosen.choices for channel in choice.channels[:_MOST]}
    names = list(dict.fromkeys(name for properties in shown.values() for name in properties))
    if not names:
        return
    table = grid(("what they can", *names))
    for title, properties in shown.items():
        table.add_row(words(title, style="cyan"), *(properties.get(name, "") for name in names))
    console.print()
    console.print(table)


def _time(seconds: float | None) -> str:
    return "–" if seconds is None or not math.isfinite(seconds) else format_quantity(seconds, "s")


def as_json(chosen: Chosen) -> dict[str, Any]:
    """Everything, figures in base units."""
    made: dict[str, Any] = reasons.builtins(chosen)
    for one, choice in zip(made["choices"], chosen.choices, strict=True):
        one["recommended"] = choice.able[0].way if choice.able and chosen.void is None else None
        one["runner_up"] = choice.able[1].way if len(choice.able) > 1 and chosen.void is None else None
    return made
