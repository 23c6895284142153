# SPDX-License-Identifier: Apache-2.0
"""The tables of studies, in their shape: the columns of then, simulated and now side by side, doubts below."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from steelyard.judge.tables import Column, Entry, StudyTable
from steelyard.units import format_quantity

_GAP = 2
_FITTED = "*"


def show(tables: Sequence[StudyTable], console: Console) -> None:
    """All tables, and below them what is to be said of them, once each."""
    for table in tables:
        _show(table, console)
        console.print()
    notes = list(dict.fromkeys(note for table in tables for note in table.notes))
    for note in notes:
        console.print(Text(note, style="dim"))
    if notes:
        console.print()


def _show(table: StudyTable, console: Console) -> None:
    """Columns wrap into several grids where the terminal is narrow, with the rows' names before each."""
    console.print(Text(f"{table.title} ({table.source.id}, {table.source.year})", style="bold"))
    first = max(len(table.rows_are), *(len(row) for row in table.rows))
    left = list(table.columns)
    while left:
        shown = [left.pop(0)]
        room = console.width - first - _GAP - _width(shown[0])
        while left and room >= _width(left[0]) + _GAP:
            room -= _width(left[0]) + _GAP
            shown.append(left.pop(0))
        console.print(_grid(table, shown))


def _head(column: Column) -> str:
    return f"{column.era}\n{column.head}"


def _width(column: Column) -> int:
    return max(*map(len, _head(column).split("\n")), *(len(_cell(entry)) for entry in column.entries))


def _grid(table: StudyTable, columns: list[Column]) -> Table:
    grid = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
    grid.add_column(f"\n{table.rows_are}", no_wrap=True)
    for column in columns:
        grid.add_column(_head(column), justify="right", no_wrap=True)
    for number, row in enumerate(table.rows):
        grid.add_row(row, *(Text(_cell(column.entries[number])) for column in columns))
    return grid


def _cell(entry: Entry | None) -> str:
    if entry is None:
        return "–"
    return format_quantity(entry.value, entry.unit) + (_FITTED if entry.fitted else "")
