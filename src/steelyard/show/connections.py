# SPDX-License-Identifier: Apache-2.0
"""What a connection takes, as a table: on a terminal, in a page and in the documentation."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.judge.connections import Held, Holder
from steelyard.show import markdown
from steelyard.show.console import Console, grid, lines
from steelyard.units import format_bytes

TITLE = "memory that a connection takes"
LEGEND = (
    "Resident memory of user space for each connection; a page that several processes share counts in parts. The "
    "kernel keeps more: sockets, and a kernel's stack for each thread. –: not measured, or not all can wait at once."
)
_STATES = ("idle", "in the wait")
#: Room that a column takes on a terminal, with the space after it.
_COLUMN = 13


def numbers(found: Sequence[Holder]) -> list[int]:
    """How many connections were open: the fewest first."""
    return sorted({held.connections for holder in found for held in holder.at})


def heads(columns: Sequence[int]) -> tuple[str, ...]:
    """The model, then each number of connections, idle and in the wait."""
    return ("model", *(f"{number} {state}" for number in columns for state in _STATES))


def rows(found: Sequence[Holder], columns: Sequence[int]) -> list[tuple[str, ...]]:
    """A row for each model."""
    return [(holder.title, *(cell for number in columns for cell in _cells(holder.among(number)))) for holder in found]


def _cells(held: Held | None) -> tuple[str, str]:
    if held is None:
        return "–", "–"
    return format_bytes(held.idle), "–" if held.waiting is None else format_bytes(held.waiting)


def show(found: Sequence[Holder], console: Console) -> None:
    """The table, in parts where the terminal is narrow; nothing where no session looked."""
    if not found:
        return
    console.print(f"{TITLE}, by how many are open", style="bold")
    columns = numbers(found)
    wide = max(len(holder.title) for holder in found) + 2 + _COLUMN * len(_STATES) * len(columns)
    for part in [columns] if wide <= console.width else [[number] for number in columns]:
        table = grid(show_header=False)
        for place in range(1 + len(_STATES) * len(part)):
            table.add_column(justify="right" if place else "left", no_wrap=True)
        table.add_row("", *(lines(str(number), state, style="dim") for number in part for state in _STATES))
        for row in rows(found, part):
            table.add_row(*row)
        console.print(table)
        console.print()
    console.print(LEGEND, style="dim")
    console.print()


def as_markdown(found: Sequence[Holder]) -> list[str]:
    """The lines of the table."""
    columns = numbers(found)
    names = heads(columns)
    cells = ([markdown.text(cell) for cell in row] for row in rows(found, columns))
    return [*markdown.table(names, cells, names[1:]), "", LEGEND]
