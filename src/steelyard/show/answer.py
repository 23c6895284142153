# SPDX-License-Identifier: Apache-2.0
"""The answer to a query, and what may be asked: as tables, CSV and JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from steelyard.show.console import Console, grid, words
from steelyard.show.visible import json_text

#: Rows that a terminal shows; files have them all.
_MOST_ROWS = 1000


class _Column(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def doc(self) -> str: ...


class _View(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def row(self) -> str: ...

    @property
    def columns(self) -> Sequence[_Column]: ...


def show(columns: Sequence[str], rows: Sequence[Sequence[Any]], console: Console) -> None:
    """A table, and how many rows it leaves out."""
    table = grid()
    for number, name in enumerate(columns):
        numeric = any(isinstance(row[number], int | float) for row in rows)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows[:_MOST_ROWS]:
        table.add_row(*(_cell(item) for item in row))
    console.print(table)
    if len(rows) > _MOST_ROWS:
        console.print(f"{len(rows) - _MOST_ROWS} more rows: write them all with --format csv -o FILE")


def show_views(views: Sequence[_View], console: Console) -> None:
    """Every view with its columns."""
    for view in views:
        console.print(words((view.name, "bold"), f"  a row is {view.row}"))
        table = grid(show_header=False, padding=(0, 2, 0, 2))
        for column in view.columns:
            table.add_row(words(column.name, style="cyan"), column.doc)
        console.print(table)
        console.print()


def as_csv(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Comma-separated values with a head; nothing for null, full precision for numbers."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_exact(item) for item in row] for row in rows)
    return text.getvalue()


def as_json(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """One object a row, in a list."""
    objects = [dict(zip(columns, map(_json_ready, row), strict=True)) for row in rows]
    return json_text(objects)


def _json_ready(item: Any) -> Any:
    try:
        return msgspec.to_builtins(item)
    except TypeError:
        return str(item)


def _exact(item: Any) -> str:
    if item is None:
        return ""
    return repr(item) if isinstance(item, float) else _text(item)


def _cell(item: Any) -> str:
    if item is None:
        return "–"
    return f"{item:.6g}" if isinstance(item, float) else _text(item)


def _text(item: Any) -> str:
    if isinstance(item, dict):
        return " ".join(f"{key}={value}" for key, value in item.items())
    return str(item)
