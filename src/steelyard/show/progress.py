# SPDX-License-Identifier: Apache-2.0
"""Progress with time to go on a terminal, plain lines in a log."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn

from steelyard.records import Run
from steelyard.units import format_duration

_LOG_EVERY_S = 10.0


class _Log:
    """A line now and then, and one for every failure and every leftover."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._stage = ""
        self._last = time.monotonic()
        self._runs = 0
        self._total = 0

    def begin(self, stage: str, seconds: float, runs: int) -> None:
        self._stage, self._runs, self._total = stage, 0, runs
        self._last = time.monotonic()
        self._console.print(f"{stage}: {runs} runs, about {format_duration(seconds)}", markup=False)

    def ran(self, run: Run, seconds_left: float) -> None:
        self._runs += 1
        report(self._console, run)
        if time.monotonic() - self._last >= _LOG_EVERY_S:
            self._last = time.monotonic()
            left = format_duration(seconds_left)
            self._console.print(f"{self._stage}: {self._runs} of {self._total} runs, about {left} to go", markup=False)


class _Bar:
    """A bar with the case at hand and the time to go."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._task: TaskID | None = None

    def begin(self, stage: str, seconds: float, runs: int) -> None:
        if self._task is not None:
            self._bars.remove_task(self._task)
        self._task = self._bars.add_task(stage, total=max(runs, 1), left=format_duration(seconds), case="")

    def ran(self, run: Run, seconds_left: float) -> None:
        if self._task is None:
            return
        report(self._bars.console, run)
        self._bars.update(self._task, advance=1, left=format_duration(seconds_left), case=run.case)


def report(console: Console, run: Run) -> None:
    """Say at once what went wrong with a run, or what it left behind."""
    if run.status != "ok":
        console.print(f"{run.case} {run.error}", style="yellow" if run.status == "skipped" else "red", markup=False)
    for leftover in run.leftovers:
        console.print(f"{run.case}: {leftover}", style="yellow", markup=False)


@contextmanager
def progress(console: Console, path: str) -> Iterator[_Log | _Bar]:
    """Progress for as long as the context lasts."""
    console.print(f"session: {path}", markup=False, soft_wrap=True)
    if not console.is_terminal:
        yield _Log(console)
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TextColumn("about {task.fields[left]} to go"),
        TextColumn("[dim]{task.fields[case]}", markup=True),
    )
    with Progress(*columns, console=console, transient=True) as bars:
        yield _Bar(bars)
