# SPDX-License-Identifier: Apache-2.0
"""What a live process did and what that costs, on a terminal."""

from __future__ import annotations

from steelyard.judge.price import Priced, PricedPart, PriceOf
from steelyard.show import void
from steelyard.show.console import Console, grid, words
from steelyard.show.doubts import show_skips
from steelyard.units import counted, format_duration, format_quantity

_MOST_WORDS = 60


def show(priced: Priced, console: Console) -> None:
    """The answer, then each part with its count, price and share."""
    did = priced.effort
    command = " ".join(did.command)[:_MOST_WORDS]
    tasks = counted(did.tasks, "thread")
    console.print(words((f"{command} (process {did.pid}, {tasks}), {format_duration(did.seconds)}", "bold")))
    void.show(priced.void, console)
    if priced.void is None:
        for sentence in sentences(priced):
            console.print(words(sentence), soft_wrap=True)
    console.print()
    numbers = ["count", "a second", "price", "share of its CPU", *(["price there"] if priced.on else [])]
    table = grid(["what it did", *numbers, "by the case"], numbers)
    for part in priced.parts:
        there = [_price(part.there)] if priced.on else []
        table.add_row(
            part.what, *_counted(part), _price(part.price), _share(part), *there, words(part.case, style="dim")
        )
    console.print(table)
    console.print(
        "each is a lower bound: what a system call does in the kernel, and a switch to the caches, comes on top",
        style="dim",
    )
    console.print(
        f"prices of {priced.session}{f', there of {priced.on}' if priced.on else ''}", style="dim", soft_wrap=True
    )
    show_skips(priced.skips, console)


def sentences(priced: Priced) -> list[str]:
    """What a person came for: the share of the switches, what it would be otherwise, and how much all of it is."""
    did = priced.effort
    if did.cpu_s <= 0:
        return ["It used no CPU time while it was counted."]
    on_cpu = f"{did.cpu_s / max(did.seconds, 1e-9):.2f} CPUs"
    waiting = priced.parts[0]
    said = []
    if priced.waiting_share is not None and waiting.a_second is not None:
        said.append(
            f"It keeps {on_cpu} busy: {_percent(priced.waiting_share)} of that goes into {waiting.a_second:,.0f} "
            "waits a second, each a switch and a wake-up."
        )
        if priced.instead:
            kinds = ", ".join(f"{_percent(one.share)} as {one.what}" for one in priced.instead)
            said.append(f"The same switches would be {kinds}.")
    if priced.share is not None:
        unknown = [part.what for part in priced.parts if part.share is None and not part.within]
        but = f", without {', '.join(unknown)}" if unknown else ""
        said.append(f"All that was counted is at least {_percent(priced.share)} of its CPU time{but}.")
    if priced.there is not None:
        said.append(f"On {priced.on} the same would cost {priced.there:.2f} times as much.")
    return said


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share >= 0.001 else "less than 0.1 %"


def _counted(part: PricedPart) -> tuple[str, str]:
    if part.count is None or part.a_second is None:
        return "not counted", ""
    return f"{part.count:,}", f"{part.a_second:,.1f}"


def _price(price: PriceOf | None) -> str:
    if price is None:
        return "–"
    if price.seconds > 0:
        return format_quantity(price.seconds, "s")
    return "–" if price.high is None else f"at most {format_quantity(max(0.0, price.high), 's')}"


def _share(part: PricedPart) -> str:
    return "" if part.share is None else _percent(part.share)
