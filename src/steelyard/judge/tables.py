# SPDX-License-Identifier: Apache-2.0
"""The tables of a study in its own shape: then (published), simulated, now (measured).

Columns of `then` and `simulated` name figures by their mechanism, those of `now` name cases; ``{row}`` stands for the
row. A study's curves are a table as well, whose rows stand somewhere on an axis: ``at`` says where, ``{at}`` stands for
it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from steelyard.judge.published import Published, SimulatedFigure, Source, check_case
from steelyard.records import CasePattern, Record

Era = Literal["then", "simulated", "now"]
#: Figure and unit by the case's name and by metric, its main metric first.
Measured = Mapping[str, Mapping[str, tuple[float, str]]]


class ColumnOutline(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A column as its study declares it.

    ``beside``: the head of the column of then that a column of ours is held against, if their heads differ.
    """

    head: str
    era: Era
    mechanism: str | None = None
    case: str | None = None
    cases: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    beside: str | None = None

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
            if column.beside is not None and self.held_against(column) is None:
                raise ValueError(f"column {column.head!r} is beside {column.beside!r}, which is no column of then")

    def cases(self, column: ColumnOutline) -> tuple[str, ...]:
        """The cases of a column of ours, in the order of the rows."""
        if column.case is None:
            return column.cases
        cases = [column.case.replace("{row}", row) for row in self.rows]
        return tuple(case.replace("{at}", str(at)) for case, at in zip(cases, self.at or self.rows, strict=True))

    def held_against(self, column: ColumnOutline) -> str | None:
        """The head of the column of then that a column is held against: that it names, its own, or the only one.

        A column of then is held against itself.
        """
        then = [one.head for one in self.column if one.era == "then"]
        wanted = column.beside or column.head
        return wanted if wanted in then else then[0] if len(then) == 1 and column.beside is None else None

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

    def over(self, then: Entry) -> float | None:
        """How many times the published figure this one is; None where that has no answer."""
        published = then.of.figure if isinstance(then.of, Published) else None
        return None if published is None else published.times(self.value, self.unit)


class TableColumn(Record, frozen=True, kw_only=True):
    """A column with its entries in the order of the rows; None where there is no figure.

    ``times``: of a column of ours, its figures over those of then, corrected where the study's are known to be wrong;
    empty where there is no such column.
    """

    head: str
    era: Era
    entries: tuple[Entry | None, ...]
    times: tuple[float | None, ...] = ()


class StudyTable(Record, frozen=True, kw_only=True):
    """A table as a study has it, each column of then followed by those of ours that are held against it.

    ``at``: where its rows stand, if it drew curves.
    """

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
        found = [(column, outline.held_against(column), self._entries(column, measured)) for column in outline.column]
        then = {column.head: own for column, _, own in found if column.era == "then"}
        # What is held against a column stands behind it, and last what is held against none.
        place = {head: number for number, head in enumerate(then)}
        columns = []
        for column, against, own in sorted(found, key=lambda one: place.get(one[1] or "", len(place))):
            if column.era != "now":
                columns.append(TableColumn(head=column.head, era=column.era, entries=own))
            elif any(own):
                times = _times(then.get(against or "", ()), own)
                columns.append(TableColumn(head=column.head, era=column.era, entries=own, times=times))
        said = (self.said,) if any(column.era == "simulated" for column in columns) else ()
        return StudyTable(
            title=outline.title,
            source=self.source,
            rows_are=outline.rows_are,
            rows=outline.rows,
            columns=tuple(columns),
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


def _times(theirs: Sequence[Entry | None], ours: Sequence[Entry | None]) -> tuple[float | None, ...]:
    return tuple(
        None if then is None or now is None else now.over(then) for then, now in zip(theirs, ours, strict=bool(theirs))
    )


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
