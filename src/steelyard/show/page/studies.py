# SPDX-License-Identifier: Apache-2.0
"""Figures and tables of studies in their own shape, with what was simulated and what is measured now beside them."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.judge.plots import Plot
from steelyard.judge.tables import StudyTable
from steelyard.show import figure_text
from steelyard.show.page import figures
from steelyard.show.page.markup import Markup, fold, joined, listed, table, tag


def studies(tables: Sequence[StudyTable], plots: Sequence[Plot]) -> Markup:
    """The figures in the open, each table folded under its title; empty where none of their cases was measured."""
    if not tables:
        return Markup()
    title = "Figures and tables of studies, then and now" if plots else "Tables of studies, then and now"
    return joined([tag("h3", title), *(figures.curves(plot) for plot in plots), *(_study(one) for one in tables)])


def _study(study: StudyTable) -> Markup:
    title = f"{study.title} ({study.source.cited}, {study.source.year})"
    head = (study.rows_are, *(f"{column.era}: {column.head}" for column in study.columns))
    rows = [
        (row, *(figure_text.entry(column.entries[number]) for column in study.columns))
        for number, row in enumerate(study.rows)
    ]
    entries = [entry for column in study.columns for entry in column.entries if entry is not None]
    marks = {
        "* a simulation was fitted to give it": any(entry.fitted for entry in entries),
        "! known to be wrong: see the doubts": any(entry.error for entry in entries),
    }
    notes = [*(said for said, marked in marks.items() if marked), *study.notes]
    return fold(title, table(head, rows, caption=title), *([listed(notes)] if notes else []))
