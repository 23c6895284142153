# SPDX-License-Identifier: Apache-2.0
"""A figure in words, alike on a terminal and on a page."""

from __future__ import annotations

from steelyard.judge.cases import Figure
from steelyard.judge.curves import Cell
from steelyard.judge.knees import Knee
from steelyard.judge.scalings import Estimated, Scales
from steelyard.judge.tables import Entry
from steelyard.show import naming
from steelyard.units import format_interval, format_quantity

#: Names that are known by a shorter one.
_SHORT = {"instructions_per_cycle": "IPC"}


def interval(figure: Figure) -> str:
    """Empty below six runs, which is a caveat of its own."""
    return format_interval(figure.low, figure.high, figure.median, figure.unit)


def counter(figure: Figure) -> str:
    """The name of what the processor counted, short enough for the head of a column."""
    return _SHORT.get(figure.metric, figure.metric).replace("_", " ")


def net(figure: Figure) -> str:
    """The cost less its overhead: what may be zero is at most so much."""
    less = figure.net
    if less is None:
        return ""
    if less.high is None or less.low is None:
        return f"~{format_quantity(less.median, figure.unit)}"
    if less.high < 0:
        return "see caveats"
    if less.at_most:
        return f"at most {format_quantity(less.high, figure.unit)}"
    return (
        f"{format_quantity(less.median, figure.unit)} {format_interval(less.low, less.high, less.median, figure.unit)}"
    )


def published(figure: Figure) -> str:
    """What was published elsewhere, with its year; ``!`` marks a known error."""
    return ", ".join(
        f"{format_quantity(item.figure.value, item.figure.unit)} ({item.source.year}){'!' if item.figure.error else ''}"
        for item in figure.published[:2]
    )


def cell(of: Cell | None, unit: str) -> tuple[str, ...]:
    """A cell of a matrix: our figure, and the published one in brackets."""
    if of is None:
        return ()
    ours = format_quantity(of.median, unit)
    return (ours,) if of.published is None else (ours, f"({format_quantity(of.published, unit)})")


def entry(of: Entry | None) -> str:
    """An entry of a study's table: ``*`` marks what a simulation was fitted to, ``!`` what is known to be wrong."""
    if of is None:
        return "–"
    return format_quantity(of.value, of.unit) + ("*" if of.fitted else "") + ("!" if of.error else "")


def times(value: float | None) -> str:
    """How many times a published figure ours is: ``×0.043``, ``×3.2``, ``×120``; nothing where there is none."""
    if value is None:
        return ""
    places = next((places for places, least in ((0, 9.95), (1, 0.995), (2, 0.0995)) if value >= least), None)
    return f"×{value:.2g}" if places is None else f"×{value:.{places}f}"


def knee(found: Knee) -> str:
    """Up to which rate a server keeps up, in words."""
    who = f"{found.title} ({naming.settings(found.fixed.split())})"
    if found.kept is None:
        return f"{who}: not even {found.lost} requests a second" if found.lost else f"{who}: no rate could be offered"
    lost = f"not with {found.lost}" if found.lost else "the highest rate that could be offered"
    return f"{who}: keeps up with {found.kept} requests a second, {lost}"


def scaling(found: Scales) -> str:
    """How much more several threads or processes do than one, in words."""
    what = f"{found.title} ({naming.settings(found.fixed)})"
    said = [f"{what}: {found.threads} {found.who} do {_estimated(found.work, '.2f')} times the work of one"]
    if found.contention and found.coherence:
        said.append(f"contention {_estimated(found.contention, '.3f')}, coherence {_estimated(found.coherence, '.2g')}")
    if found.best and found.best.value is not None:
        said.append(f"most work by {_estimated(found.best, '.0f')} {found.who}")
    return "; ".join(said)


def _estimated(of: Estimated, digits: str) -> str:
    """A number with its interval: ``1.96 (1.90 to 1.99)``, ``12 (9 or more)``."""
    value = "no end" if of.value is None else format(of.value, digits)
    if of.low is None or (of.high is None and not of.low):
        return f"{value} (too few blocks for an interval)"
    return f"{value} ({of.low:{digits}} {'or more' if of.high is None else f'to {of.high:{digits}}'})"
