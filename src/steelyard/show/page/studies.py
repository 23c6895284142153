# SPDX-License-Identifier: Apache-2.0
"""Figures and tables of studies in their own shape, with what was simulated and what is measured now beside them."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.judge.plots import Plot
from steelyard.judge.tables import StudyTable, TableColumn
from steelyard.show import figure_text
from steelyard.show.page import figures
from steelyard.show.page.markup import Markup, fold, joined, listed, table, tag


def studies(tables: Sequence[StudyTable], plots: Sequence[Plot]) -> Markup:
    """The figures in the open, each table folded under its title; empty where none of their cases was measured."""
    if not tables:
        return Markup()
    title = "Figures and tables of studies, then and now" if plots else "Tables of studies, then and now"
    folded = (fold(f"{one.title} ({one.source.cited}, {one.source.year})", study_table(one)) for one in tables)
    return joined([tag("h3", title), *(figures.curves(plot) for plot in plots), *folded])


def study_table(study: StudyTable) -> Markup:
    """A table of a study with what is to be said of it."""
    head = (study.rows_are, *(name for column in study.columns for name in _heads(column)))
    rows = [
        (row, *(cell for column in study.columns for cell in _cells(column, number)))
        for number, row in enumerate(study.rows)
    ]
    entries = [entry for column in study.columns for entry in column.entries if entry is not None]
    marks = {
        "* a simulation was fitted to give it": any(entry.fitted for entry in entries),
        "! known to be wrong: see the doubts": any(entry.error for entry in entries),
    }
    notes = [*(said for said, marked in marks.items() if marked), *study.notes]
    return joined([table(head, rows, caption=study.title), *([listed(notes)] if notes else [])])


def _heads(column: TableColumn) -> list[str]:
    return [f"{column.era}: {column.head}", *(["times"] if column.times else [])]


def _cells(column: TableColumn, number: int) -> list[str]:
    times = [figure_text.times(column.times[number])] if column.times else []
    return [figure_text.entry(column.entries[number]), *times]
