# SPDX-License-Identifier: Apache-2.0
"""A machine, what disturbs it and what it can't measure, on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.records import Disturbance, Machine, Skip
from steelyard.show.console import Console, grid
from steelyard.show.doubts import show_disturbances, show_skips


def show(machine: Machine, disturbances: Sequence[Disturbance], skips: Sequence[Skip], console: Console) -> None:
    """The machine, what disturbs it and what it can't measure."""
    table = grid(show_header=False, title="machine")
    table.add_row("key", machine.key)
    for name, fact in {**machine.facts, **machine.environment}.items():
        table.add_row(name, fact)
    console.print(table)
    console.print()
    show_disturbances(disturbances, console)
    show_skips(skips, console)
