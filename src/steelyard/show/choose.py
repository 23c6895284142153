# SPDX-License-Identifier: Apache-2.0
"""Which way to take, on one screen and as an object for programs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from steelyard.judge.choose import Choice, Chosen, Load, Locking, Messages
from steelyard.judge.model import Serving
from steelyard.judge.reasons import Said
from steelyard.show import comparison, reasons, void
from steelyard.show.console import Console, grid, words
from steelyard.show.naming import PLACES
from steelyard.units import counted, format_bytes, format_quantity

#: Ways at a point that are shown; `--json` has them all.
_MOST = 8
_HEADS = {
    "round_trip": "there and back",
    "response": "response time",
    "p50": "p50",
    "p99": "p99",
    "p999": "p99.9",
    "p99_9": "p99.9",
    "each": "a turn",
    "wait": "wait",
    "wait_p99": "wait p99",
}


def show(chosen: Chosen, console: Console) -> None:
    """The answer at each point, the ways behind it, where it changes, and what was left out."""
    load = chosen.load
    asked = "".join(f", {name}: {value}" for name, value in load.needs.items())
    if load.goal is not None and load.at_most is not None:
        asked += f", {_head(load.goal, load)} at most {format_quantity(load.at_most, 's')}"
    console.print(words((f"{described(load)}{asked}", "bold")), soft_wrap=True)
    console.print(words(f"{chosen.machine}, {chosen.cpus} CPUs, {chosen.blocks} blocks", style="dim"))
    void.show(chosen.void, console)
    for choice in chosen.choices:
        console.print()
        if chosen.void is None:
            console.print(words(f"{_where(choice)}", (answer(choice, chosen), "bold")), soft_wrap=True)
        ways(choice, load, console)
    _properties(chosen, console)
    for over in chosen.switch_overs if chosen.void is None else ():
        where = f"at about {format_bytes(over.size)}" if over.size else "somewhere between these sizes"
        console.print(f"The answer changes {where}: {over.below} below, {over.above} above.")
    left_out(chosen.cannot, console)
    console.print(f"session file: {chosen.path}", style="dim", soft_wrap=True)


def left_out(cannot: Mapping[str, Said], console: Console) -> None:
    """What was not considered, and why."""
    if not cannot:
        return
    console.print()
    console.print("left out", style="bold")
    for way, reason in cannot.items():
        console.print(f"  {way}: {reasons.said(reason)}", style="dim")


def described(load: Load) -> str:
    """The load in words."""
    where = f", {PLACES['free']}" if load.placement == "free" else f" on {PLACES[load.placement]}"
    contexts = "processes" if load.between == "process" else "threads"
    match load:
        case Messages(rate=None):
            sizes = " and ".join(format_bytes(size) for size in load.sizes)
            return f"messages of {sizes} between two {contexts}{where}"
        case Messages(rate=rate):
            sizes = " and ".join(format_bytes(size) for size in load.sizes)
            return f"{rate:,} messages of {sizes} a second between two {contexts}{where}"
        case Locking():
            hold, think = (format_quantity(time / 1e9, "s") for time in (load.hold_ns, load.think_ns))
            reads = f", {load.read_percent} % only to read" if load.read_percent else ""
            return f"{load.contexts} {contexts} that hold a lock for {hold} and think for {think}{reads}{where}"
        case Serving():
            goal = "" if load.at_most is None else f"; p99 at most {_time(load.at_most)}"
            waits = f", waits {_time(load.wait_us / 1e6)}" if load.wait_us else ""
            return (
                f"{load.rate:,} requests a second over {load.connections:,} connections, each works "
                f"{_time(load.work_ns / 1e9)}{waits}, on {counted(load.cores, 'CPU')}{goal}"
            )
        case _:
            raise TypeError(load)


def _head(figure: str, load: Load) -> str:
    if figure == "cpu":
        return {"message": "CPU of both", "lock": "CPU a turn"}.get(load.question, "CPU a request")
    return _HEADS[figure]


def _where(choice: Choice) -> str:
    return "" if choice.size is None else f"{format_bytes(choice.size)}: "


def answer(choice: Choice, chosen: Chosen) -> str:
    """What to take at a point, in one sentence with the runner-up's verdict."""
    load = chosen.load
    if not choice.ways:
        return f"no {load.noun} that can was measured"
    if not choice.able:
        missing = [(way.misses, way.title) for way in choice.ways if way.misses is not None]
        if not missing:
            room, nearest = max((way.head_room or 0.0, way.title) for way in choice.ways)
            return f"none keeps up; {nearest} comes nearest, with {room:.2f} times the rate"
        misses, nearest = min(missing)
        if not math.isfinite(misses):
            return f"whether any meets the goal is not known: no {load.goal} could be measured"
        return f"none is sure to meet the goal; {nearest} comes nearest, with {_time(misses)}"
    best, *others = choice.able
    if not others or choice.verdict is None:
        return f"take {best.title}, the only one{_that_is_able(choice, load)}"
    second, margin = others[0], chosen.margin
    match choice.verdict.verdict:
        case "different":
            times = choice.verdict.ratio
            return f"take {best.title}; {second.title} is next, at {times:.2f} times its {_head(load.chosen_by, load)}"
        case "equivalent":
            return f"take {best.title} or {second.title}: they are equal within {100 * margin:g} %"
        case _:
            undecided = comparison.verdict(choice.verdict, margin)
            return f"take {best.title}{_at_worst(choice)}; whether {second.title} costs more is {undecided}"


def _that_is_able(choice: Choice, load: Load) -> str:
    """What the others lack, where there are others."""
    if len(choice.ways) < 2:
        return ""
    return " that keeps up" if load.goal is None else " that is sure to meet the goal"


def _at_worst(choice: Choice) -> str:
    """What it costs to be wrong: how much more than the runner-up the recommended way may take."""
    low = choice.verdict.low if choice.verdict else 0.0
    worst = round(100 * (1 / low - 1)) if 0 < low < 1 else 0
    return f", which costs at worst {worst} % more than the next" if worst else ""


def ways(choice: Choice, load: Load, console: Console) -> None:
    """The table of a point."""
    numbers = [_head(name, load) for name in load.figures]
    paced = any(way.head_room is not None for way in choice.ways)
    missing = any(way.misses is not None for way in choice.ways)
    may_be = f"{_head(load.goal, load)} may be" if load.goal is not None else ""
    more = [*(["could do"] if paced else []), *([may_be] if missing else [])]
    table = grid([load.noun, *numbers, *more, "probe"], [*numbers, *more], names={load.noun: "", "probe": "dim"})
    for way in choice.ways[:_MOST]:
        table.add_row(
            words(way.title, style="cyan" if way.able else "dim"),
            *(_time(way.figures.get(name)) for name in load.figures),
            *(["" if way.head_room is None else f"{way.head_room:.1f} times"] if paced else []),
            *(["" if way.misses is None else _time(way.misses)] if missing else []),
            way.way,
        )
    console.print(table)
    if len(choice.ways) > _MOST:
        rest = choice.ways[_MOST:]
        console.print(f"  and {len(rest)} dearer: {', '.join(way.title for way in rest)}", style="dim")


def _properties(chosen: Chosen, console: Console) -> None:
    """What the ways of the answers can do, those of all points together."""
    shown = {way.title: way.properties for choice in chosen.choices for way in choice.ways[:_MOST]}
    names = list(dict.fromkeys(name for properties in shown.values() for name in properties))
    if not names:
        return
    table = grid(["what they can", *names])
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
