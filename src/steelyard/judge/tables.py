# SPDX-License-Identifier: Apache-2.0
"""The tables of a study in its own shape: then (published), simulated, now (measured).

Columns of `then` and `simulated` name figures by their mechanism, those of `now` name cases; ``{row}`` stands for the
row. A study's curves are a table as well, whose rows stand somewhere on an axis: ``at`` says where, ``{at}`` stands for
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from steelyard.judge.published import Published, SimulatedFigure, Source, check_case
from steelyard.records import CasePattern, Record

Era = Literal["then", "simulated", "now"]
#: Figure and unit by the case's name and by metric, its main metric first.
Measured = Mapping[str, Mapping[str, tuple[float, str]]]


class ColumnOutline(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A column as its study declares it."""

    head: str
    era: Era
    mechanism: str | None = None
    case: str | None = None
    cases: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a column that says both or neither of what it is filled with."""
        if (self.era == "now") != (self.mechanism is None) or (self.era == "now") != bool(self.case or self.cases):
            raise ValueError(f"column {self.head!r}: `now` names a case or cases, the others a mechanism")


class Outline(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table as its study declares it."""

    title: str
    rows_are: str
    rows: tuple[str, ...]
    column: tuple[ColumnOutline, ...]
    note: str | None = None
    at: tuple[int, ...] = ()
    at_unit: str = "1"

    def __post_init__(self) -> None:
        """Refuse columns of another length than the rows, and what is no case."""
        rows = len(self.rows)
        if self.at and len(self.at) != rows:
            raise ValueError(f"it has {rows} rows, and `at` places {len(self.at)}")
        for column in self.column:
            if any(len(given) not in (0, rows) for given in (column.cases, column.metrics)):
                raise ValueError(f"it has {rows} rows, and column {column.head!r} another number of entries")
            for case in self.cases(column):
                check_case(case)

    def cases(self, column: ColumnOutline) -> tuple[str, ...]:
        """The cases of a column of ours, in the order of the rows."""
        if column.case is None:
            return column.cases
        cases = [column.case.replace("{row}", row) for row in self.rows]
        return tuple(case.replace("{at}", str(at)) for case, at in zip(cases, self.at or self.rows, strict=True))

    def mechanisms(self, column: ColumnOutline) -> tuple[str, ...]:
        """The mechanisms of a column of others, in the order of the rows."""
        return tuple((column.mechanism or "").replace("{row}", row) for row in self.rows)


class Entry(Record, frozen=True, kw_only=True):
    """One cell. ``fitted``: a simulation was made to give it. ``of``: the published figure or the case behind it."""

    value: float
    unit: str
    fitted: bool = False
    of: Published | str | None = None

    @property
    def error(self) -> str | None:
        """What is known to be wrong with it, if somebody else published it."""
        return self.of.figure.error if isinstance(self.of, Published) else None


class TableColumn(Record, frozen=True, kw_only=True):
    """A column with its entries in the order of the rows; None where there is no figure."""

    head: str
    era: Era
    entries: tuple[Entry | None, ...]


class StudyTable(Record, frozen=True, kw_only=True):
    """A table as a study has it, with our own columns beside its. ``at``: where its rows stand, if it drew curves."""

    title: str
    source: Source
    rows_are: str
    rows: tuple[str, ...]
    columns: tuple[TableColumn, ...]
    notes: tuple[str, ...]
    at: tuple[int, ...] = ()
    at_unit: str = "1"


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table of a study with the figures that it may name. ``said``: what is to be said of those simulated."""

    source: Source
    outline: Outline
    published: Mapping[str, Published]
    simulated: Mapping[str, SimulatedFigure]
    said: str

    def without_figures(self) -> list[str]:
        """The heads of the columns of others that have no figure in any row."""
        return [
            column.head for column in self.outline.column if column.era != "now" and not any(self._entries(column, {}))
        ]

    def filled(self, measured: Measured) -> StudyTable:
        """The table without columns of ours of which nothing was measured."""
        outline = self.outline
        found = [
            TableColumn(head=column.head, era=column.era, entries=self._entries(column, measured))
            for column in outline.column
        ]
        columns = tuple(column for column in found if column.era != "now" or any(column.entries))
        said = (self.said,) if any(column.era == "simulated" for column in columns) else ()
        return StudyTable(
            title=outline.title,
            source=self.source,
            rows_are=outline.rows_are,
            rows=outline.rows,
            columns=columns,
            notes=(*said, *((outline.note,) if outline.note else ())),
            at=outline.at,
            at_unit=outline.at_unit,
        )

    def _entries(self, column: ColumnOutline, measured: Measured) -> tuple[Entry | None, ...]:
        match column.era:
            case "now":
                metrics = column.metrics or [None] * len(self.outline.rows)
                cases = zip(self.outline.cases(column), metrics, strict=True)
                return tuple(_ours(case, metric, measured) for case, metric in cases)
            case "simulated":
                return tuple(_simulated(self.simulated.get(name)) for name in self.outline.mechanisms(column))
            case "then":
                return tuple(_theirs(self.published.get(name)) for name in self.outline.mechanisms(column))


def _simulated(figure: SimulatedFigure | None) -> Entry | None:
    return None if figure is None else Entry(value=figure.value, unit=figure.unit, fitted=figure.fitted)


def _theirs(found: Published | None) -> Entry | None:
    return None if found is None else Entry(value=found.figure.value, unit=found.figure.unit, of=found)


def _ours(pattern: str, metric: str | None, measured: Measured) -> Entry | None:
    """The figure of the one case that a pattern stands for: what it leaves out must leave no choice."""
    found = [pattern] if pattern in measured else [name for name in measured if _stands_for(pattern, name)]
    if len(found) != 1:
        return None
    figures = measured[found[0]]
    figure = figures.get(metric) if metric else next(iter(figures.values()), None)
    return None if figure is None else Entry(value=figure[0], unit=figure[1], of=found[0])


def _stands_for(pattern: str, name: str) -> bool:
    wanted, there = CasePattern.parse(pattern), CasePattern.parse(name)
    return (
        wanted is not None
        and there is not None
        and (wanted.probe, wanted.placement) == (there.probe, there.placement)
        and wanted.parameters.items() <= there.parameters.items()
    )
