# SPDX-License-Identifier: Apache-2.0
"""The figures of others, beside ours: read from library/published/*.toml, one file a source."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TypeVar

import msgspec

from steelyard.errors import InstallationError
from steelyard.records import Case, CasePattern, Record

_T = TypeVar("_T")


class Source(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where figures come from."""

    id: str
    title: str
    year: int
    url: str
    machine: str


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


class _File(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    source: Source
    figure: tuple[PublishedFigure, ...] = ()


class Published(Record, frozen=True, kw_only=True):
    """A published figure together with its source."""

    source: Source
    figure: PublishedFigure


def read_all(folder: str, kind: type[_T]) -> dict[str, _T]:
    """The files of a folder of the library, by name. Raises InstallationError with the file and what is wrong in it."""
    there = resources.files("steelyard.judge.library") / folder
    found: dict[str, _T] = {}
    for path in sorted(there.iterdir(), key=lambda path: path.name):
        if path.name.endswith(".toml"):
            name = f"library/{folder}/{path.name}"
            try:
                found[name] = msgspec.toml.decode(path.read_bytes(), type=kind)
            except msgspec.DecodeError as error:
                raise InstallationError(f"{name}: {error}") from error
    return found


@cache
def library() -> tuple[Published, ...]:
    """Every published figure. Raises InstallationError with the file and the field that is wrong."""
    found: list[Published] = []
    for name, file in read_all("published", _File).items():
        for figure in file.figure:
            if figure.case is not None and CasePattern.parse(figure.case) is None:
                raise InstallationError(f"{name}: {figure.case!r} is no case")
            found.append(Published(source=file.source, figure=figure))
    return tuple(found)


@cache
def sources() -> dict[str, Source]:
    """Every source by its id, also one that gives no figure."""
    return {file.source.id: file.source for file in read_all("published", _File).values()}


def beside(case: Case, metric: str, main: str) -> tuple[Published, ...]:
    """The published figures that may stand beside a metric of a case; without a metric they mean the main one."""
    return tuple(
        published
        for published in library()
        if published.figure.case is not None
        and (published.figure.metric or main) == metric
        and (pattern := CasePattern.parse(published.figure.case)) is not None
        and pattern.matches(case)
    )
