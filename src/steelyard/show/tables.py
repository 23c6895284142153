# SPDX-License-Identifier: Apache-2.0
"""The tables of studies, in their shape: the columns of then, simulated and now side by side, doubts below.

Below the columns of a table that the study drew as curves stand those, on one scale.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from steelyard.judge.tables import StudyTable, TableColumn
from steelyard.show import figure_text, steps
from steelyard.show.console import Console, lines

_GAP = 2
_CURVE = "log scale"


def show(tables: Sequence[StudyTable], console: Console) -> None:
    """All tables, and below them what is to be said of them, once each."""
    for table in tables:
        _show(table, console)
        console.print()
    notes = list(dict.fromkeys(note for table in tables for note in table.notes))
    for note in notes:
        console.print(note, style="dim")
    if notes:
        console.print()


def _show(table: StudyTable, console: Console) -> None:
    """Columns wrap into several grids where the terminal is narrow, with the rows' names before each."""
    console.print(f"{table.title} ({table.source.id}, {table.source.year})", style="bold")
    first = max(len(table.rows_are), len(_CURVE) if table.at else 0, *(len(row) for row in table.rows))
    left = list(table.columns)
    while left:
        shown = [left.pop(0)]
        room = console.width - first - _GAP - _width(shown[0])
        while left and room >= _width(left[0]) + _GAP:
            room -= _width(left[0]) + _GAP
            shown.append(left.pop(0))
        console.print(_grid(table, shown))


def _head(column: TableColumn) -> Text:
    return lines(column.era, column.head)


def _width(column: TableColumn) -> int:
    cells = [column.era, column.head, *map(figure_text.entry, column.entries)]
    return max(len(column.entries), *map(len, cells))


def _grid(table: StudyTable, columns: list[TableColumn]) -> Table:
    grid = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
    grid.add_column(lines("", table.rows_are), no_wrap=True)
    for column in columns:
        grid.add_column(_head(column), justify="right", no_wrap=True)
    for number, row in enumerate(table.rows):
        grid.add_row(row, *(figure_text.entry(column.entries[number]) for column in columns))
    if table.at:
        scale = [entry.value for column in table.columns for entry in column.entries if entry is not None]
        curves = ([entry.value if entry else None for entry in column.entries] for column in columns)
        grid.add_row(_CURVE, *(steps.of(curve, scale) for curve in curves))
    return grid
