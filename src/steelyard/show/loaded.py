# SPDX-License-Identifier: Apache-2.0
"""Latency by bandwidth, in words and rows for a terminal and a page."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.judge.loaded import Loaded
from steelyard.show import figure_text, naming
from steelyard.show.console import Console, grid
from steelyard.units import format_quantity

TITLE = "latency by the bandwidth of others"
HEADS = ("bandwidth of the others", "latency", "95 % interval")


def title(found: Loaded) -> str:
    """What the curve is of."""
    return f"{naming.called(found.title, found.fixed)}: {TITLE}"


def rows(found: Loaded) -> list[tuple[str, str, str]]:
    """A row a point, the least bandwidth first."""
    return [
        (
            format_quantity(point.bandwidth.median, "B/s"),
            format_quantity(point.latency.median, "s"),
            figure_text.interval(point.latency),
        )
        for point in found.points
    ]


def sentence(found: Loaded) -> str:
    """``at 18.2 GB/s a load takes 1.47 times (1.44 to 1.50) as long as at 0.1 GB/s``."""
    first, last = (format_quantity(found.points[end].bandwidth.median, "B/s") for end in (0, -1))
    if found.most is None:
        return f"no block has both {first} and {last}"
    low, high = found.most.low, found.most.high
    ends = "too few blocks for an interval" if low <= 0 or high is None else f"{low:.3g} to {high:.3g}"
    return f"at {last} it takes {found.most.ratio:.3g} times ({ends}) as long as at {first}"


def show(curves: Sequence[Loaded], console: Console) -> None:
    """A table a curve, with what the most load does."""
    for found in curves:
        console.print(title(found), style="bold")
        table = grid(HEADS, HEADS)
        for row in rows(found):
            table.add_row(*row)
        console.print(table)
        console.print(sentence(found), style="dim")
        console.print()
