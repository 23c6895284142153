# SPDX-License-Identifier: Apache-2.0
"""The tables of studies, in their shape: the columns of then, simulated and now side by side, doubts below.

Behind a column of ours stands how many times the published figures it is.

Below the columns of a table that the study drew as curves stand those, on one scale.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from steelyard.judge.tables import StudyTable, TableColumn
from steelyard.show import figure_text, steps
from steelyard.show.console import Console, grid, lines

_GAP = 2
_CURVE = "log scale"
_TIMES = "times"
#: What the sign behind a published figure says.
WRONG = "! marks a published figure with a known error; times are of the corrected one, where there is one."


def show(tables: Sequence[StudyTable], console: Console) -> None:
    """All tables, and below them what is to be said of them, once each."""
    for table in tables:
        _show(table, console)
        console.print()
    notes = list(dict.fromkeys(note for table in tables for note in table.notes))
    if any(entry.error for table in tables for column in table.columns for entry in column.entries if entry):
        notes.append(WRONG)
    for note in notes:
        console.print(note, style="dim")
    if notes:
        console.print()


def _show(table: StudyTable, console: Console) -> None:
    """Columns wrap into several grids where the terminal is narrow, with the rows' names before each."""
    console.print(f"{table.title} ({table.source.id}, {table.source.year})", style="bold")
    first = max(len(table.rows_are), len(_CURVE) if table.at else 0, *(len(row) for row in table.rows))
    left = _groups(table.columns)
    while left:
        shown = left.pop(0)
        room = console.width - first - _GAP - _wide(shown)
        while left and room >= _wide(left[0]) + _GAP:
            room -= _wide(left[0]) + _GAP
            shown += left.pop(0)
        console.print(_grid(table, shown))


def _groups(columns: Sequence[TableColumn]) -> list[list[TableColumn]]:
    """A column of then with those of ours that are held against it; any other by itself."""
    groups: list[list[TableColumn]] = []
    for column in columns:
        if column.times and groups:
            groups[-1].append(column)
        else:
            groups.append([column])
    return groups


def _wide(columns: Sequence[TableColumn]) -> int:
    return sum(map(_width, columns)) + _GAP * (len(columns) - 1)


def _head(column: TableColumn) -> Text:
    return lines(column.era, column.head)


def _width(column: TableColumn) -> int:
    """Of a column with its figures and, if it has them, its times; a curve takes a sign a row."""
    figures = max(len(column.entries), *map(len, [column.era, column.head, *map(figure_text.entry, column.entries)]))
    return figures + (_GAP + max(len(_TIMES), *map(len, map(figure_text.times, column.times))) if column.times else 0)


def _grid(table: StudyTable, columns: list[TableColumn]) -> Table:
    made = grid()
    made.add_column(lines("", table.rows_are), no_wrap=True)
    for column in columns:
        made.add_column(_head(column), justify="right", no_wrap=True)
        if column.times:
            made.add_column(lines("", _TIMES), justify="right", no_wrap=True, style="dim")
    for number, row in enumerate(table.rows):
        made.add_row(row, *(cell for column in columns for cell in _cells(column, number)))
    if table.at:
        scale = [entry.value for column in table.columns for entry in column.entries if entry is not None]
        curves = ([entry.value if entry else None for entry in column.entries] for column in columns)
        drawn = (steps.of(curve, scale) for curve in curves)
        made.add_row(_CURVE, *(cell for one, curve in zip(columns, drawn, strict=True) for cell in _beside(one, curve)))
    return made


def _cells(column: TableColumn, number: int) -> list[str]:
    figure = figure_text.entry(column.entries[number])
    return [figure, figure_text.times(column.times[number])] if column.times else [figure]


def _beside(column: TableColumn, curve: str) -> list[str]:
    """A curve in a row of its own; there is none of times."""
    return [curve, ""] if column.times else [curve]
