# SPDX-License-Identifier: Apache-2.0
"""A fleet while it is measured: how far it is, and a line for everything that goes otherwise than it should."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import msgspec
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

from steelyard.records import Header, TokenStatus
from steelyard.show.console import Console, grid, words
from steelyard.units import format_duration

#: In a log: how often something new is said, and that there is nothing new.
_LOG_EVERY_S = 10.0
_LOG_ANYWAY_S = 120.0
_STYLES = {"delivered": "green", "measuring": "bold", "silent": "yellow", "failed": "red", "missing": "yellow"}
_ORDER = ("delivered", "measuring", "waiting", "silent", "queued", "failed", "missing")


def summary(found: Sequence[TokenStatus]) -> str:
    """``5 of 9 sessions are there; 1 measuring, 3 queued``."""
    counts = Counter(str(one.state) for one in found)
    rest = ", ".join(f"{counts[state]} {state}" for state in _ORDER[1:] if counts[state])
    return f"{counts['delivered']} of {len(found)} sessions are there" + (f"; {rest}" if rest else "")


def _doing(one: TokenStatus) -> str:
    """How far a session is that is being measured, else what is said of it."""
    if one.state == "measuring":
        return f"{one.done} of {one.of} runs, about {format_duration(one.left_s)} to go"
    return one.said


class Board:
    """Shows how a fleet goes: a bar on a terminal, a line now and then in a log."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._told: dict[str, str] = {}
        self._attempts: dict[str, int] = {}
        self._away = False
        self._logged = -_LOG_ANYWAY_S
        self._logged_text = ""
        self._bar = Progress(
            SpinnerColumn(),
            BarColumn(),
            TextColumn("{task.description}", markup=False),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("", total=None)

    def __enter__(self) -> Self:
        """Begin to show."""
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Take the bar away."""
        self._bar.stop()

    def show(self, found: Sequence[TokenStatus]) -> None:
        """Say what is new."""
        for one in found:
            self._tell(one)
        there = sum(one.state == "delivered" for one in found)
        busy = next((one for one in found if one.state == "measuring"), None)
        text = summary(found) + (f"; {busy.token}: {_doing(busy)}" if busy else "")
        if self._console.is_terminal:
            self._bar.update(self._task, completed=there, total=max(1, len(found)), description=text)
        elif time.monotonic() - self._logged >= (_LOG_ANYWAY_S if text == self._logged_text else _LOG_EVERY_S):
            self._logged, self._logged_text = time.monotonic(), text
            self._line(text)

    def _tell(self, one: TokenStatus) -> None:
        if one.attempts > max(1, self._attempts.get(one.token, 1)):
            self._line(f"{one.token}: begun again, attempt {one.attempts}", "yellow")
        self._attempts[one.token] = max(one.attempts, self._attempts.get(one.token, 0))
        if one.state not in ("silent", "failed", "missing") or not one.said:
            return
        # What is wrong with a node is said once, not for each of its sessions.
        about, verb = (one.node, "left out") if one.state == "missing" else (one.token, str(one.state))
        line = f"{about}: {verb}: {one.said}"
        told = verb if one.state == "silent" else line  # its minutes grow, and are said once
        if self._told.get(about) != told:
            self._told[about] = told
            self._line(line, _STYLES[one.state])

    def _line(self, text: str, style: str = "") -> None:
        self._console.print(text, style=style, soft_wrap=True)

    def away(self, why: str) -> None:
        """The backend does not answer."""
        if not self._away:
            self._line(f"{why}; what was placed goes on, and it will be asked again", "yellow")
        self._away = True

    def back(self) -> None:
        """The backend answers again."""
        if self._away:
            self._line("it answers again")
        self._away = False

    def end(self, found: Sequence[TokenStatus], headers: Mapping[str, Header]) -> None:
        """The last lines: other hardware, and how many sessions there are."""
        for line in other_hardware(headers):
            self._line(line, "yellow")
        self._line(summary(found))


def other_hardware(headers: Mapping[str, Header]) -> list[str]:
    """A line for every node whose machine key is not that of most: what of it is other."""
    keys = Counter(header.machine.key for header in headers.values())
    if len(keys) < 2:
        return []
    usual = next(header.machine for header in headers.values() if header.machine.key == keys.most_common(1)[0][0])
    lines = {}
    for token, header in headers.items():
        machine = header.machine
        node = header.placed.node if header.placed else token
        if machine.key != usual.key and node not in lines:
            facts = [f"{name} {fact}" for name, fact in machine.facts.items() if usual.facts.get(name) != fact]
            lines[node] = f"{node}: other hardware, judged apart: {', '.join(facts)} (machine key {machine.key})"
    return list(lines.values())


def show_status(found: Sequence[TokenStatus], headers: Mapping[str, Header], console: Console) -> None:
    """Where every session stands; those that are there only by their number."""
    rest = [one for one in found if one.state != "delivered"]
    if rest:
        table = grid(("session", "state", "attempts", ""), {"attempts"})
        for one in rest:
            state = words(one.state, style=_STYLES.get(one.state, ""))
            table.add_row(one.token, state, str(one.attempts), _doing(one))
        console.print(table)
        console.print()
    for line in other_hardware(headers):
        console.print(line, soft_wrap=True)
    console.print(summary(found))


def as_json(found: Sequence[TokenStatus]) -> list[dict[str, Any]]:
    """One object a session."""
    return [msgspec.to_builtins(one) for one in found]
