# SPDX-License-Identifier: Apache-2.0
"""The tables of a study in its own shape: then (published), simulated, now (measured). From library/tables/*.toml.

Columns of `then` and `simulated` name figures of library/published and library/simulated by their mechanism, those of
`now` name cases; ``{row}`` stands for the row. What a simulation says is generated from it, see library/simulated.
A study's curves are a table as well, whose rows stand somewhere on an axis: ``at`` says where, ``{at}`` stands for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Literal

from steelyard.errors import InstallationError
from steelyard.judge import published
from steelyard.judge.published import Source
from steelyard.records import CasePattern, Record

Era = Literal["then", "simulated", "now"]


class SimulatedFigure(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A figure that a simulation gives, in base units. ``fitted``: its costs were chosen so that it does."""

    mechanism: str
    value: float
    unit: str
    fitted: bool


class _Simulated(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    source: str
    said: str
    figure: tuple[SimulatedFigure, ...]


class _ColumnSpec(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    head: str
    era: Era
    mechanism: str | None = None
    case: str | None = None
    cases: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.era == "now") != (self.mechanism is None) or (self.era == "now") != bool(self.case or self.cases):
            raise ValueError(f"column {self.head!r}: `now` names a case or cases, the others a mechanism")


class _Table(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    title: str
    rows_are: str
    rows: tuple[str, ...]
    column: tuple[_ColumnSpec, ...]
    note: str | None = None
    at: tuple[int, ...] = ()
    at_unit: str = "1"


class _File(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    source: str
    table: tuple[_Table, ...]


class Entry(Record, frozen=True, kw_only=True):
    """One cell. ``fitted``: a simulation was made to give it. ``of``: the published figure or the case behind it."""

    value: float
    unit: str
    fitted: bool = False
    of: published.Published | str | None = None

    @property
    def error(self) -> str | None:
        """What is known to be wrong with it, if somebody else published it."""
        return self.of.figure.error if isinstance(self.of, published.Published) else None


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


Measured = Mapping[str, Mapping[str, tuple[float, str]]]


def beside(measured: Measured) -> tuple[StudyTable, ...]:
    """The tables of which at least one case was measured.

    measured: figure and unit by the case's name and by metric, its main metric first.
    """
    found = (_filled(table, source, measured) for source, table in library())
    return tuple(table for table in found if any(column.era == "now" for column in table.columns))


def _filled(table: _Table, source: Source, measured: Measured) -> StudyTable:
    """The table without columns of ours of which nothing was measured."""
    filled = (
        TableColumn(
            head=column.head,
            era=column.era,
            entries=tuple(_entry(table, column, number, measured) for number in range(len(table.rows))),
        )
        for column in table.column
    )
    columns = tuple(column for column in filled if column.era != "now" or any(column.entries))
    said = (_simulations()[1],) if any(column.era == "simulated" for column in columns) else ()
    notes = (*said, *((table.note,) if table.note else ()))
    return StudyTable(
        title=table.title,
        source=source,
        rows_are=table.rows_are,
        rows=table.rows,
        columns=columns,
        notes=notes,
        at=table.at,
        at_unit=table.at_unit,
    )


def _entry(table: _Table, column: _ColumnSpec, number: int, measured: Measured) -> Entry | None:
    if column.era == "now":
        found = _measured(_case(table, column, number), measured)
        if found is None:
            return None
        case, figures = found
        figure = figures.get(column.metrics[number]) if column.metrics else next(iter(figures.values()), None)
        return None if figure is None else Entry(value=figure[0], unit=figure[1], of=case)
    mechanism = (column.mechanism or "").replace("{row}", table.rows[number])
    if column.era == "simulated":
        simulated = _simulations()[0].get(mechanism)
        if simulated is None:
            return None
        return Entry(value=simulated.value, unit=simulated.unit, fitted=simulated.fitted)
    known = _published().get(mechanism)
    return None if known is None else Entry(value=known.figure.value, unit=known.figure.unit, of=known)


def cases_of(table: _Table, column: _ColumnSpec) -> tuple[str, ...]:
    """The cases of a column of ours, in the order of the rows."""
    return tuple(_case(table, column, number) for number in range(len(table.rows))) if column.era == "now" else ()


def _case(table: _Table, column: _ColumnSpec, number: int) -> str:
    if column.case is None:
        return column.cases[number]
    case = column.case.replace("{row}", table.rows[number])
    return case.replace("{at}", str(table.at[number])) if table.at else case


def _measured(case: str, measured: Measured) -> tuple[str, Mapping[str, tuple[float, str]]] | None:
    """The one case that a pattern stands for, with its figures: what it leaves out must leave no choice."""
    if case in measured:
        return case, measured[case]
    found = [name for name in measured if _stands_for(case, name)]
    return (found[0], measured[found[0]]) if len(found) == 1 else None


def _stands_for(pattern: str, name: str) -> bool:
    wanted, there = CasePattern.parse(pattern), CasePattern.parse(name)
    return (
        wanted is not None
        and there is not None
        and (wanted.probe, wanted.placement) == (there.probe, there.placement)
        and wanted.parameters.items() <= there.parameters.items()
    )


@cache
def _published() -> dict[str, published.Published]:
    return {item.figure.mechanism: item for item in published.library()}


@cache
def _simulations() -> tuple[dict[str, SimulatedFigure], str]:
    """Every simulated figure by its mechanism, and what is to be said of them."""
    files = published.read_all("simulated", _Simulated)
    figures = {figure.mechanism: figure for file in files.values() for figure in file.figure}
    return figures, " ".join(file.said for file in files.values())


@cache
def library() -> tuple[tuple[Source, _Table], ...]:
    """Every table with its source. Raises InstallationError with the file and what is wrong in it."""
    sources = published.sources()
    found: list[tuple[Source, _Table]] = []
    for name, file in published.read_all("tables", _File).items():
        source = sources.get(file.source)
        if source is None:
            raise InstallationError(f"{name}: no file in library/published has the source {file.source!r}")
        for table in file.table:
            _check(table, name)
            found.append((source, table))
    return tuple(found)


def _check(table: _Table, name: str) -> None:
    if table.at and len(table.at) != len(table.rows):
        raise InstallationError(f"{name}: {table.title!r} has {len(table.rows)} rows, and `at` places {len(table.at)}")
    for column in table.column:
        if any(len(given) not in (0, len(table.rows)) for given in (column.cases, column.metrics)):
            raise InstallationError(f"{name}: {table.title!r} has {len(table.rows)} rows, column {column.head!r} not")
        if column.era != "now" and not any(_entry(table, column, number, {}) for number in range(len(table.rows))):
            raise InstallationError(f"{name}: column {column.head!r} of {table.title!r} has no figure in any row")
        for case in cases_of(table, column):
            if CasePattern.parse(case) is None:
                raise InstallationError(f"{name}: {case!r} is no case")
