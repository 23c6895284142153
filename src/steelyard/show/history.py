# SPDX-License-Identifier: Apache-2.0
"""The history of a case: a table with a curve on a terminal, a drawing for a page, objects for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from steelyard.judge.history import ChangePoint, History, Past, Series
from steelyard.show import reasons
from steelyard.show.console import Console, grid, words
from steelyard.show.page.markup import Markup, tag
from steelyard.units import format_change, format_interval, format_quantity

_BLOCKS = "▁▂▃▄▅▆▇█"
_CURVE_WIDTH = 72
#: Sessions that a terminal lists; the curve and the changes are of all.
_MOST_SESSIONS = 40


def show(found: History, console: Console) -> None:
    """The case on every machine that has measured it."""
    console.print(f"{found.title} ({found.case})" if found.title else found.case, style="bold")
    for series in found.series:
        console.print()
        _series(series, console)
    if len(found.series) > 1:
        console.print()
        console.print("machines are shown beside each other and are not ranked")
    console.print()
    console.print(f"changes smaller than {100 * found.margin:g} % are left out; a flat series has one in at most 5 %")


def _series(series: Series, console: Console) -> None:
    console.print(f"machine {series.machine_key}, {series.machine}: {len(series.sessions)} sessions, {series.metric}")
    console.print(f"  {sparkline([one.median for one in series.sessions])}", style="cyan")
    _change_points(series, console)
    numbers = ("median", "95 % interval", "n")
    table = grid(("", "started", *numbers, "session"), numbers)
    changed = {change.index: change for change in series.change_points}
    for number, one in list(enumerate(series.sessions))[-_MOST_SESSIONS:]:
        mark = words("void", style="red") if one.void else _mark(changed.get(number))
        table.add_row(
            mark,
            words(one.started[:16].replace("T", " ")),
            format_quantity(one.median, one.unit),
            format_interval(one.low, one.high, one.median, one.unit, "–"),
            str(one.n),
            words(one.path.rpartition("/")[2]),
        )
    console.print(table)
    if len(series.sessions) > _MOST_SESSIONS:
        console.print(f"  and {len(series.sessions) - _MOST_SESSIONS} older ones: --json has them all")
    for caveat in map(reasons.said, series.caveats):
        console.print(f"  {caveat}", style="yellow")


def _change_points(series: Series, console: Console) -> None:
    for change in series.change_points:
        one = series.sessions[change.index]
        style = "bold red" if change.worse else "bold"
        console.print(
            words(f"  {one.started[:16].replace('T', ' ')}: {change_in_words(change, one.unit)}", style=style)
        )
        for difference in change.differences:
            console.print(
                f"    {difference.what}: {difference.before} → {difference.after}",
                soft_wrap=True,
            )
        if not change.differences:
            console.print("    the headers on both sides are alike")


def change_in_words(change: ChangePoint, unit: str) -> str:
    """``1.00 µs → 1.20 µs (+20.0 %), p = 0.001``."""
    levels = f"{format_quantity(change.before, unit)} → {format_quantity(change.after, unit)}"
    chance = "p < 0.0001" if change.p_value < 1e-4 else f"p = {change.p_value:.2g}"
    return f"{levels} ({format_change(change.ratio)}), {chance}"


def _mark(change: ChangePoint | None) -> Text:
    if change is None:
        return words()
    return words("▲" if change.ratio > 1 else "▼", style="red" if change.worse else "bold")


def sparkline(numbers: Sequence[float]) -> str:
    """Numbers as a row of blocks between their least and their greatest; the median of several where there are many."""
    width = min(len(numbers), _CURVE_WIDTH)
    parts = [numbers[k * len(numbers) // width : (k + 1) * len(numbers) // width] for k in range(width)]
    middles = [sorted(part)[len(part) // 2] for part in parts]
    low, high = min(middles), max(middles)
    if low == high:
        return _BLOCKS[0] * width
    return "".join(_BLOCKS[round((one - low) / (high - low) * (len(_BLOCKS) - 1))] for one in middles)


# --- for a page -------------------------------------------------------------------------------------------------------

_WIDTH, _HEIGHT = 760.0, 250.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 78.0, 14.0, 26.0, 30.0


class _Scale:
    """Where a session and a figure are in the drawing."""

    def __init__(self, series: Series) -> None:
        ends = [end for one in series.sessions for end in (one.low, one.median, one.high) if end is not None]
        self.low, self.high = min(ends), max(ends)
        if self.low == self.high:
            self.low, self.high = self.low * 0.99, self.high * 1.01 or 1.0
        self._step = (_WIDTH - _LEFT - _RIGHT) / max(1, len(series.sessions))

    def x(self, number: float) -> float:
        return _LEFT + (number + 0.5) * self._step

    def y(self, figure: float) -> float:
        return _TOP + (self.high - figure) / (self.high - self.low) * (_HEIGHT - _TOP - _BOTTOM)


def drawing(series: Series) -> Markup:
    """The medians with their intervals in the order of the sessions, the levels between changes, and the changes."""
    scale = _Scale(series)
    parts = [*_axis(series, scale), *_levels(series, scale)]
    parts += [_point(one, number, scale) for number, one in enumerate(series.sessions)]
    changes = {0: "no change of level found", 1: "1 change of level"}
    found = changes.get(len(series.change_points), f"{len(series.change_points)} changes of level")
    label = f"{len(series.sessions)} sessions, {found}: the table below has the figures"
    box = f"0 0 {_WIDTH:.0f} {_HEIGHT:.0f}"
    return tag("svg", *parts, viewBox=box, role="img", aria_label=label, class_="history")


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return tag("line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", class_=kind)


def _words(x: float, y: float, words: str, anchor: str, kind: str | None = None) -> Markup:
    return tag("text", words, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, class_=kind)


def _axis(series: Series, scale: _Scale) -> list[Markup]:
    """Three levels with their figures, and the days of the first and the last session."""
    unit, parts = series.unit, []
    for figure in (scale.low, (scale.low + scale.high) / 2, scale.high):
        y = scale.y(figure)
        parts.append(_line(_LEFT, y, _WIDTH - _RIGHT, y, "grid"))
        parts.append(_words(_LEFT - 8, y + 4, format_quantity(figure, unit), "end"))
    days = [one.started[:10] for one in series.sessions]
    parts.append(_words(_LEFT, _HEIGHT - 8, days[0], "start"))
    if days[-1] != days[0]:
        parts.append(_words(_WIDTH - _RIGHT, _HEIGHT - 8, days[-1], "end"))
    return parts


def _levels(series: Series, scale: _Scale) -> list[Markup]:
    parts = []
    ends = [*(change.index for change in series.change_points), len(series.sessions)]
    for change, end in zip(series.change_points, ends[1:], strict=True):
        x, kind = scale.x(change.index - 0.5), "worse" if change.worse else "change"
        parts.append(_line(x, _TOP - 8, x, _HEIGHT - _BOTTOM, kind))
        parts.append(_line(x, scale.y(change.after), scale.x(end - 0.5), scale.y(change.after), "level"))
        anchor = "end" if x > _WIDTH * 0.8 else "start"
        parts.append(
            _words(x + (-5 if anchor == "end" else 5), _TOP - 12, format_change(change.ratio), anchor, f"{kind} mark")
        )
    if series.change_points:
        first = series.change_points[0]
        y = scale.y(first.before)
        parts.append(_line(scale.x(-0.5), y, scale.x(first.index - 0.5), y, "level"))
    return parts


def _point(one: Past, number: int, scale: _Scale) -> Markup:
    x = scale.x(number)
    interval = format_interval(one.low, one.high, one.median, one.unit, "–")
    about = f"{one.started[:16].replace('T', ' ')}: {format_quantity(one.median, one.unit)} {interval}"
    parts = [tag("title", f"{about}, void: {reasons.said(one.void)}" if one.void else about)]
    if one.low is not None and one.high is not None:
        parts.append(_line(x, scale.y(one.low), x, scale.y(one.high), "interval"))
    circle = tag(
        "circle", cx=f"{x:.1f}", cy=f"{scale.y(one.median):.1f}", r="3.5", class_="void-point" if one.void else None
    )
    return tag("g", *parts, circle)


# --- for programs -----------------------------------------------------------------------------------------------------


def as_json(found: History) -> dict[str, Any]:
    """One object a machine, figures in base units; a change names the session that it lies before."""
    return {
        "case": found.case,
        "title": found.title,
        "margin": found.margin,
        "machines": [
            {
                **reasons.builtins(series),
                "turns": [
                    {**reasons.builtins(change), "session": series.sessions[change.index].path}
                    for change in series.change_points
                ],
            }
            for series in found.series
        ],
    }
