# SPDX-License-Identifier: Apache-2.0
"""What others have published: who said it, the figures that stand beside ours, and what they concluded wrongly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

import msgspec

from steelyard.records import CasePattern, Record

_T = TypeVar("_T", bound=Record)
#: Where a conclusion of a study went wrong.
Fault = Literal["work", "operation", "reading", "fact", "doubt"]


class About(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a study says of itself. ``id``: how it is cited, if not by the name of its folder; ``machine``: its own."""

    title: str
    year: int
    url: str
    machine: str
    id: str = ""
    authors: tuple[str, ...] = ()


class Source(About, frozen=True, kw_only=True):
    """Where figures, claims and tables come from. ``name``: of the study's folder."""

    name: str = ""

    @property
    def cited(self) -> str:
        """Authors and title."""
        return ", ".join([*self.authors, self.title])

    def is_meant_by(self, typed: str) -> bool:
        """Whether somebody who types this means it: its name, its id or the beginning of its id."""
        return self.name == typed or self.id.startswith(typed)


class PublishedFigure(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A figure from elsewhere, in base units. ``case`` is the pattern of the cases that it may stand beside.

    ``spread`` is one standard deviation. ``error`` says what is known to be wrong with the figure, ``corrected`` is the
    figure with that mended.
    """

    mechanism: str
    value: float
    unit: str
    case: str | None = None
    metric: str | None = None
    spread: float | None = None
    corrected: float | None = None
    error: str | None = None
    note: str | None = None

    def __post_init__(self) -> None:
        """Refuse what is not a case."""
        check_case(self.case)

    def times(self, value: float, unit: str) -> float | None:
        """A figure of ours over this one, corrected where it is known to be wrong; None if that is no number."""
        of = self.value if self.corrected is None else self.corrected
        return value / of if unit == self.unit and of > 0 and value > 0 else None


class SimulatedFigure(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A figure that a simulation gives, in base units. ``fitted``: its costs were chosen so that it does."""

    mechanism: str
    value: float
    unit: str
    fitted: bool


class Erratum(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that a study concluded in a section, what is so instead, and the cases that show it.

    ``metric``: which of their figures does, if it is not the main one.
    """

    section: str
    concluded: str
    so: str
    fault: Fault
    cases: tuple[str, ...] = ()
    metric: str | None = None

    def __post_init__(self) -> None:
        """Refuse what is not a case."""
        for case in self.cases:
            check_case(case)


class Published(Record, frozen=True, kw_only=True):
    """A published figure together with its source."""

    source: Source
    figure: PublishedFigure


def check_case(text: str | None) -> None:
    """Raise ValueError unless this is the pattern of a case, or nothing."""
    if text is not None and CasePattern.parse(text) is None:
        raise ValueError(f"{text!r} is not a case: write question/way[param=value,…]@placement")


def series(kind: type[_T]) -> Callable[[dict[str, Any]], list[_T]]:
    """A function that makes the records of an entry: one, or with ``each`` one for each of its rows.

    A row is a table. Its value under a key of the record replaces that of the entry; its value under any other key
    stands for ``{key}`` in the texts. The function raises msgspec.ValidationError.
    """

    def made(entry: dict[str, Any]) -> list[_T]:
        common = {key: value for key, value in entry.items() if key != "each"}
        found = []
        for row in msgspec.convert({"each": entry.get("each", [{}])}, _Series).each:
            fields = {**common, **{key: value for key, value in row.items() if key in kind.__struct_fields__}}
            texts = {key: str(value) for key, value in row.items() if key not in kind.__struct_fields__}
            for key in texts:
                if not any(f"{{{key}}}" in str(value) for value in fields.values()):
                    raise msgspec.ValidationError(f"`each` gives a {key}, and no text of the entry has {{{key}}}")
            found.append(msgspec.convert(put(fields, texts), kind))
        return found

    return made


class _Series(Record, frozen=True, kw_only=True):
    each: list[dict[str, Any]]


def put(what: Any, texts: Mapping[str, str]) -> Any:
    """A copy with these texts in place of ``{key}`` in all its texts."""
    match what:
        case str():
            for key, text in texts.items():
                what = what.replace(f"{{{key}}}", text)
            return what
        case dict():
            return {key: put(value, texts) for key, value in what.items()}
        case list():
            return [put(value, texts) for value in what]
    return what
