# SPDX-License-Identifier: Apache-2.0
"""Studies, a folder each: what others published, claimed and concluded, as data that the tool holds against sessions.

A folder has `study.toml`, and other files where there is something to say in them. Those of the library are read here;
the folders of a user come as bytes, so that this part reads no others.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, NamedTuple, TypeVar

import msgspec

from steelyard.errors import StudyError
from steelyard.judge import claims
from steelyard.judge.claims import Claim, Named, Sourced
from steelyard.judge.published import About, Erratum, Published, PublishedFigure, SimulatedFigure, Source, series
from steelyard.judge.tables import Measured, Outline, StudyTable, Table
from steelyard.records import Case, CasePattern, Record

_T = TypeVar("_T")
#: The folders of studies by their place, whose last part is the study's name; in each the files by name.
Folders = Mapping[str, Mapping[str, bytes]]

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_FILES = ("study.toml", "figures.toml", "simulated.toml", "tables.toml", "claims.toml", "errata.toml")
#: Keys by which an entry is known to those who read of a mistake in it.
_KNOWN_BY = ("id", "mechanism", "title", "section")
_PLAIN = {
    "Object contains unknown field": "there is no key",
    "Object missing required field": "it lacks the key",
    "Expected": "expected",
    "`array`": "a list",
    "`object`": "a table",
}


class Mention(NamedTuple):
    """A case that an entry of a study names, with its metric if that is named too."""

    where: str
    case: str
    metric: str | None = None


class Study(Record, frozen=True, kw_only=True):
    """All that is known of a study. ``place``: of its folder. ``said``: what is to be said of its simulated figures.

    ``right``: what it got right, which is said before its errata.
    """

    place: str
    source: Source
    figures: tuple[PublishedFigure, ...] = ()
    said: str = ""
    simulated: tuple[SimulatedFigure, ...] = ()
    tables: tuple[Outline, ...] = ()
    claims: tuple[Claim, ...] = ()
    right: str = ""
    errata: tuple[Erratum, ...] = ()

    def mentions(self) -> Iterator[Mention]:
        """Every case that its files name."""
        for figure in self.figures:
            if figure.case:
                yield Mention(f"{self.place}/figures.toml: figure {figure.mechanism!r}", figure.case, figure.metric)
        for table in self.tables:
            for case in (case for column in table.column for case in table.cases(column)):
                yield Mention(f"{self.place}/tables.toml: table {table.title!r}", case)
        for claim in self.claims:
            for operand in claim.test.operands:
                yield Mention(f"{self.place}/claims.toml: claim {claim.id!r}", operand.case, operand.metric)
        for erratum in self.errata:
            for case in erratum.cases:
                yield Mention(f"{self.place}/errata.toml: erratum {erratum.section!r}", case, erratum.metric)


class Library:
    """Studies together: their claims, figures and tables. Raises StudyError where two contradict each other."""

    def __init__(self, studies: Sequence[Study]) -> None:
        _refuse_doubles((study.source.name, study.place) for study in studies)
        _refuse_doubles((study.source.id, f"{study.place}/study.toml") for study in studies)
        _refuse_doubles((claim.id, f"{study.place}/claims.toml") for study in studies for claim in study.claims)
        self.studies = tuple(studies)
        self.figures = tuple(
            Published(source=study.source, figure=figure) for study in studies for figure in study.figures
        )
        self.claims = tuple(
            Sourced(source=study.source, claim=claim, named=self._named(study, claim))
            for study in studies
            for claim in study.claims
        )
        self.tables = tuple(self._tables())
        self._beside: dict[str, list[tuple[CasePattern, Published]]] = {}
        for item in self.figures:
            if item.figure.case and (pattern := CasePattern.parse(item.figure.case)):
                self._beside.setdefault(pattern.probe, []).append((pattern, item))

    def beside(self, case: Case, metric: str, main: str) -> tuple[Published, ...]:
        """The published figures that may stand beside a metric of a case; without a metric they mean the main one."""
        return tuple(
            item
            for pattern, item in self._beside.get(case.probe, [])
            if (item.figure.metric or main) == metric and pattern.matches(case)
        )

    def tables_beside(self, measured: Measured) -> tuple[StudyTable, ...]:
        """The tables of which at least one case was measured."""
        found = (table.filled(measured) for table in self.tables)
        return tuple(table for table in found if any(column.era == "now" for column in table.columns))

    def _named(self, study: Study, claim: Claim) -> tuple[Named, ...]:
        """The figures that a claim about a simulation names: simulated before published, its own study's first."""
        if not isinstance(claim.test, claims.Simulated):
            return ()
        known: dict[str, Named] = {}
        for origin in ("simulated", "published"):
            for own in (study, *self.studies):
                for one in own.simulated if origin == "simulated" else own.figures:
                    named = Named(mechanism=one.mechanism, value=one.value, unit=one.unit, origin=origin)
                    known.setdefault(one.mechanism, named)
        for mechanism in claim.test.mechanisms:
            if mechanism not in known:
                raise StudyError(f"{study.place}/claims.toml: claim {claim.id!r}: no figure is called {mechanism!r}")
        return tuple(known[mechanism] for mechanism in claim.test.mechanisms)

    def _tables(self) -> Iterable[Table]:
        """Every table; the figures of its own study come before those that others have by the same name."""
        published = {
            study.place: {figure.mechanism: Published(source=study.source, figure=figure) for figure in study.figures}
            for study in self.studies
        }
        simulated = {study.place: {one.mechanism: one for one in study.simulated} for study in self.studies}
        for study in self.studies:
            for outline in study.tables:
                wanted = {
                    name
                    for column in outline.column
                    if column.era == "simulated"
                    for name in outline.mechanisms(column)
                }
                said = " ".join(one.said for one in self.studies if wanted & simulated[one.place].keys())
                table = Table(
                    source=study.source,
                    outline=outline,
                    published=ChainMap(published[study.place], *published.values()),
                    simulated=ChainMap(simulated[study.place], *simulated.values()),
                    said=said,
                )
                for head in table.without_figures():
                    raise StudyError(
                        f"{study.place}/tables.toml: table {outline.title!r}: column {head!r} has no figure in any row"
                    )
                yield table


@cache
def library() -> Library:
    """The studies that come with the tool."""
    there = resources.files("steelyard.judge.library") / "studies"
    return Library(
        [
            read(f"library/studies/{folder.name}", {file.name: file.read_bytes() for file in folder.iterdir()})
            for folder in sorted(there.iterdir(), key=lambda folder: folder.name)
        ]
    )


def with_others(folders: Folders) -> Library:
    """The studies that come with the tool, and those in these folders. Raises StudyError for the first mistake."""
    return Library([*library().studies, *(read(place, files) for place, files in folders.items())])


def read(place: str, files: Mapping[str, bytes]) -> Study:
    """A study from the files of its folder. Raises StudyError with the file, the entry and the key that is wrong."""
    name = place.rpartition("/")[2]
    if not _NAME.fullmatch(name):
        raise StudyError(f"{place}: {name!r} is no name of a study: use a-z, 0-9 and -, as in linux-ipc")
    if "study.toml" not in files:
        raise StudyError(f"{place} has no study.toml, which gives title, year, url and machine of the study")
    for file in files:
        if file.endswith(".toml") and file not in _FILES:
            raise StudyError(f"{place}/{file} is no file of a study: there are {', '.join(_FILES)}")
    about = _decoded(f"{place}/study.toml", files, About)
    of_figures = _decoded(f"{place}/figures.toml", files, _Figures)
    of_simulated = _decoded(f"{place}/simulated.toml", files, _Simulated)
    of_tables = _decoded(f"{place}/tables.toml", files, _Tables)
    of_claims = _decoded(f"{place}/claims.toml", files, _Claims)
    of_errata = _decoded(f"{place}/errata.toml", files, _Errata)
    if of_errata.erratum and not of_errata.right:
        raise StudyError(f"{place}/errata.toml: it lacks the key `right`, what the study got right")
    study = Study(
        place=place,
        source=Source(**{**msgspec.structs.asdict(about), "id": about.id or name, "name": name}),
        figures=_entries(f"{place}/figures.toml: figure", of_figures.figure, series(PublishedFigure)),
        said=of_simulated.said,
        simulated=_entries(f"{place}/simulated.toml: figure", of_simulated.figure, series(SimulatedFigure)),
        tables=_entries(f"{place}/tables.toml: table", of_tables.table, series(Outline)),
        claims=_entries(f"{place}/claims.toml: claim", of_claims.claim, claims.expand),
        right=of_errata.right,
        errata=_entries(f"{place}/errata.toml: erratum", of_errata.erratum, series(Erratum)),
    )
    _refuse_doubles((figure.mechanism, f"{place}/figures.toml") for figure in study.figures)
    return study


class _Figures(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    figure: tuple[dict[str, Any], ...] = ()


class _Simulated(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    said: str = ""
    figure: tuple[dict[str, Any], ...] = ()


class _Tables(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    table: tuple[dict[str, Any], ...] = ()


class _Claims(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    claim: tuple[dict[str, Any], ...] = ()


class _Errata(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    right: str = ""
    erratum: tuple[dict[str, Any], ...] = ()


def _decoded(where: str, files: Mapping[str, bytes], kind: type[_T]) -> _T:
    try:
        return msgspec.toml.decode(files.get(where.rpartition("/")[2], b""), type=kind)
    except msgspec.ValidationError as error:
        raise StudyError(f"{where}: {plain(error)}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StudyError(f"{where} is no TOML: {error}") from error


def _entries(
    where: str, entries: Iterable[dict[str, Any]], make: Callable[[dict[str, Any]], Iterable[_T]]
) -> tuple[_T, ...]:
    """What the entries of a file stand for. A mistake is said with the entry's name, or its number if it has none."""
    found: list[_T] = []
    for number, entry in enumerate(entries, start=1):
        try:
            found += make(entry)
        except msgspec.ValidationError as error:
            name = next((entry[key] for key in _KNOWN_BY if key in entry), number)
            raise StudyError(f"{where} {name!r}: {plain(error)}") from error
    return tuple(found)


def plain(error: msgspec.ValidationError) -> str:
    """What is wrong in the words of those who write the file, for whom an object is a table and a field a key."""
    said, _, path = str(error).partition(" - at `$")
    for theirs, plain in _PLAIN.items():
        said = said.replace(theirs, plain)
    key = path.strip("`.")
    return f"{key}: {said}" if key else said


def _refuse_doubles(names: Iterable[tuple[str, str]]) -> None:
    """Raise StudyError if a name comes twice, with both places."""
    seen: dict[str, str] = {}
    for name, place in names:
        if name in seen:
            raise StudyError(f"{place}: {name!r} is there already, in {seen[name]}: choose another name")
        seen[name] = place
