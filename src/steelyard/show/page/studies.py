# SPDX-License-Identifier: Apache-2.0
"""The tables of studies in their own shape, with what was simulated and what is measured now beside them."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.judge.tables import Entry, StudyTable
from steelyard.show.page.markup import Markup, fold, joined, listed, table, tag
from steelyard.units import format_quantity


def studies(tables: Sequence[StudyTable]) -> Markup:
    """Each folded under its title; empty where none of their cases was measured."""
    if not tables:
        return Markup()
    return joined([tag("h3", "Tables of studies, then and now"), *(_study(one) for one in tables)])


def _study(study: StudyTable) -> Markup:
    title = f"{study.title} ({study.source.title}, {study.source.year})"
    head = (study.rows_are, *(f"{column.era}: {column.head}" for column in study.columns))
    rows = [
        (row, *(_cell(column.entries[number]) for column in study.columns)) for number, row in enumerate(study.rows)
    ]
    fitted = any(entry is not None and entry.fitted for column in study.columns for entry in column.entries)
    notes = [*(["* a simulation was fitted to give it"] if fitted else []), *study.notes]
    return fold(title, table(head, rows, caption=title), *([listed(notes)] if notes else []))


def _cell(entry: Entry | None) -> str:
    if entry is None:
        return "–"
    return format_quantity(entry.value, entry.unit) + ("*" if entry.fitted else "")
