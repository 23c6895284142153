# SPDX-License-Identifier: Apache-2.0
"""Progress with time to go on a terminal, plain lines in a log."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn

from steelyard.records import Run
from steelyard.show import naming
from steelyard.show.console import Console
from steelyard.units import counted, format_duration

_LOG_EVERY_S = 30.0


class _Count:
    """Runs of a stage.

    A repeat of a disturbed run is not one of the runs that were planned; and while there is time left,
    blocks are added to the plan.
    """

    def __init__(self, planned: int = 0) -> None:
        self._planned, self._first, self._again, self._disturbed = planned, 0, 0, 0

    def add(self, run: Run) -> None:
        if run.attempt > 1:
            self._again += 1
        else:
            self._first += 1

    def repeat(self, runs: int) -> None:
        self._disturbed = self._again + runs

    @property
    def done(self) -> int:
        return self._first

    @property
    def total(self) -> int:
        """At least 1, as a bar has a length."""
        return max(self._planned, self._first, 1)

    def __str__(self) -> str:
        left = self._disturbed - self._again
        again = f", {self._again} repeated" if self._again else ""
        if left > 0:
            again = f", repeating {counted(left, 'disturbed run')}"
        return f"{self._first} of {self.total}{again}"


def _to_go(seconds: float) -> str:
    """How long it will take, where that is known."""
    return f", about {format_duration(seconds)} to go" if seconds else ""


class _Trouble:
    """Says at once what went wrong with a run, or what it left behind; why runs are skipped, once for each reason."""

    def __init__(self, console: Console, titles: Mapping[str, str]) -> None:
        self._console, self._titles = console, titles
        self._reasons: set[str] = set()

    def say(self, run: Run) -> None:
        probe = run.case.partition("[")[0].partition("@")[0]
        reason = (run.error or "").removeprefix(f"{probe}: ")
        known = run.status == "skipped" and reason in self._reasons
        if run.status != "ok" and not known:
            style = "yellow" if run.status == "skipped" else "red"
            self._console.print(f"{self._named(run)} {run.error}", style=style, soft_wrap=True)
        if run.status == "skipped":
            self._reasons.add(reason)
        for leftover in run.leftovers:
            self._console.print(f"{self._named(run)}: {leftover}", style="yellow", soft_wrap=True)

    def _named(self, run: Run) -> str:
        return naming.with_name(run.case, self._titles)


class _Log:
    """A line now and then, and one for every failure and every leftover."""

    def __init__(self, console: Console, titles: Mapping[str, str]) -> None:
        self._console = console
        self._trouble = _Trouble(console, titles)
        self._stage = ""
        self._last = time.monotonic()
        self._count = _Count()

    def begin(self, stage: str, seconds: float, runs: int) -> None:
        self._stage, self._count = stage, _Count(runs)
        self._last = time.monotonic()
        self._console.print(f"{stage}: {runs} runs{f', about {format_duration(seconds)}' if seconds else ''}")

    def ran(self, run: Run, seconds_left: float) -> None:
        self._count.add(run)
        self._trouble.say(run)
        if time.monotonic() - self._last >= _LOG_EVERY_S:
            self._last = time.monotonic()
            self._console.print(f"{self._stage}: runs {self._count}{_to_go(seconds_left)}")

    def repeating(self, runs: int) -> None:
        self._count.repeat(runs)


class _Bar:
    """A bar with the case at hand and the time to go."""

    def __init__(self, bars: Progress, console: Console, titles: Mapping[str, str]) -> None:
        self._bars, self._titles, self._trouble = bars, titles, _Trouble(console, titles)
        self._task: TaskID | None = None
        self._count = _Count()

    def begin(self, stage: str, seconds: float, runs: int) -> None:
        if self._task is not None:
            self._bars.remove_task(self._task)
        self._count = _Count(runs)
        left = _to_go(seconds)
        self._task = self._bars.add_task(stage, total=self._count.total, count=str(self._count), left=left, case="")

    def repeating(self, runs: int) -> None:
        self._count.repeat(runs)
        if self._task is not None:
            self._bars.update(self._task, count=str(self._count))

    def ran(self, run: Run, seconds_left: float) -> None:
        if self._task is None:
            return
        self._trouble.say(run)
        self._count.add(run)
        count, left = self._count, _to_go(seconds_left)
        case = naming.in_words(run.case, self._titles)
        self._bars.update(self._task, completed=count.done, total=count.total, count=str(count), left=left, case=case)


@contextmanager
def progress(console: Console, path: str, titles: Mapping[str, str]) -> Iterator[_Log | _Bar]:
    """Progress for as long as the context lasts; ``titles`` are those of mechanisms, by probe."""
    console.print(f"session: {path}", soft_wrap=True)
    if not console.is_terminal:
        yield _Log(console, titles)
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[count]}{task.fields[left]}", markup=False),
        TextColumn("{task.fields[case]}", style="dim", markup=False),
    )
    with Progress(*columns, console=console, transient=True) as bars:
        yield _Bar(bars, console, titles)
