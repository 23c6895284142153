# SPDX-License-Identifier: Apache-2.0
"""The figures of others, beside ours: read from library/published/*.toml, one file a source."""

from __future__ import annotations

from functools import cache
from importlib import resources

import msgspec

from steelyard.errors import InstallationError
from steelyard.records import Case, CasePattern, Record


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
    figure: tuple[PublishedFigure, ...]


class Published(Record, frozen=True, kw_only=True):
    """A published figure together with its source."""

    source: Source
    figure: PublishedFigure


@cache
def library() -> tuple[Published, ...]:
    """Every published figure. Raises InstallationError with the file and the field that is wrong."""
    found: list[Published] = []
    folder = resources.files("steelyard.judge.library") / "published"
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        if not path.name.endswith(".toml"):
            continue
        try:
            file = msgspec.toml.decode(path.read_bytes(), type=_File)
        except msgspec.DecodeError as error:
            raise InstallationError(f"library/published/{path.name}: {error}") from error
        for figure in file.figure:
            if figure.case is not None and CasePattern.parse(figure.case) is None:
                raise InstallationError(f"library/published/{path.name}: {figure.case!r} is no case")
            found.append(Published(source=file.source, figure=figure))
    return tuple(found)


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
