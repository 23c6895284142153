# SPDX-License-Identifier: Apache-2.0
"""A session as it is published: a small file that holds listed fields and nothing else."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any

import msgspec

from steelyard.nouns.base import Better, Block, Count, Positive, Reading, Record, Whole

#: The version of the file that is written. A reader of every older one stays.
PUBLISHED_VERSION = 1

# `\A` and `\Z`, because `$` also matches before a newline at the end.
_Name = Annotated[str, msgspec.Meta(pattern=r"\A[a-z0-9_]{1,48}\Z")]
_ProbeName = Annotated[str, msgspec.Meta(pattern=r"\A[a-z0-9_]{1,48}/[a-z0-9_]{1,48}\Z")]
_CaseName = Annotated[
    str,
    msgspec.Meta(
        pattern=r"\A[a-z0-9_]{1,48}/[a-z0-9_]{1,48}"
        r"(\[[a-z0-9_]+=[A-Za-z0-9_.+:-]+(,[a-z0-9_]+=[A-Za-z0-9_.+:-]+)*\])?@(same|cross|free)\Z",
        max_length=300,
    ),
]
_FactName = Annotated[str, msgspec.Meta(pattern=r"\A[a-z/ ]{1,40}\Z")]
_Words = Annotated[str, msgspec.Meta(pattern=r"\A[ -~…]*\Z", max_length=1500)]
_Unit = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9/ _%]{1,16}\Z")]
_Sha256 = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]
_Version = Annotated[str, msgspec.Meta(pattern=r"\A(\d{1,5}(\.\d{1,5}){0,2}((a|b|rc|\.dev|\.post)\d{1,5})?)?\Z")]
#: What a cloud calls a kind of machine, such as ``m7i.large`` or ``Standard_D4s_v5``.
Instance = Annotated[str, msgspec.Meta(pattern=r"\A([A-Za-z0-9][A-Za-z0-9._-]{0,39})?\Z")]
#: US dollars for an hour of the machine.
Price = Annotated[float, msgspec.Meta(gt=0, le=1e6)]


class _Strict(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A record that holds its own fields and no other: what is not listed is not published."""


class PublishedMetric(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What a figure counts in, and which way is better."""

    unit: _Unit
    better: Better


class PublishedFigure(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The median of so many runs, with its 95 % interval; no ends below six runs. ``modes``: how many groups runs form.

    A figure of two modes is a mixture: its median lies in one of them, or between.
    """

    n: Positive
    median: Reading
    low: Reading | None
    high: Reading | None
    modes: Annotated[int, msgspec.Meta(ge=1, le=2)] = 1


class PublishedCase(_Strict, frozen=True, kw_only=True):
    """A case with the figure of each metric. ``net``: the main one less its overhead."""

    case: _CaseName
    figures: Annotated[dict[_Name, PublishedFigure], msgspec.Meta(min_length=1, max_length=40)]
    net: PublishedFigure | None = None
    compiler: _Words = ""
    flags: _Words = ""


class PublishedProbe(_Strict, frozen=True, kw_only=True):
    """A mechanism: what people call it, what one operation is, its metrics with the main one first, its program."""

    probe: _ProbeName
    title: _Words = ""
    operation: _Words
    sha256: _Sha256
    main: _Name
    metrics: Annotated[dict[_Name, PublishedMetric], msgspec.Meta(min_length=1, max_length=40)]


class PublishedControl(_Strict, frozen=True, kw_only=True):
    """What a control of the session showed, in one word or in few."""

    name: _Words
    state: _Words


class Publication(_Strict, frozen=True, kw_only=True, tag="published session", tag_field="type"):
    """A published session. ``date`` is in UTC; ``facts`` are those of the machine and its settings that are listed.

    ``digest``: the SHA-256 of all other fields as JSON with sorted keys, without white space and beyond ASCII escaped,
    as Python's ``json.dumps(fields, sort_keys=True, separators=(",", ":"))`` writes it.
    """

    version: Positive
    digest: _Sha256
    steelyard: _Version
    date: Annotated[str, msgspec.Meta(pattern=r"\A[1-4]\d{3}-[01]\d-[0-3]\d\Z")]
    seed: Whole
    blocks: Block
    runs: Count
    disturbed_runs: Count
    facts: Annotated[dict[_FactName, _Words], msgspec.Meta(max_length=40)]
    instance: Instance = ""
    usd_an_hour: Price | None = None
    controls: Annotated[tuple[PublishedControl, ...], msgspec.Meta(max_length=10)]
    probes: Annotated[tuple[PublishedProbe, ...], msgspec.Meta(min_length=1, max_length=1000)]
    cases: Annotated[tuple[PublishedCase, ...], msgspec.Meta(min_length=1, max_length=10_000)]

    @property
    def checksum(self) -> str:
        """What the digest has to be."""
        fields = {name: value for name, value in msgspec.to_builtins(self).items() if name != "digest"}
        return hashlib.sha256(_json(fields).encode()).hexdigest()

    @property
    def text(self) -> str:
        """The file: a line a field, and in lists a line an item."""
        lines = []
        for name, value in sorted(msgspec.to_builtins(self).items()):
            several = isinstance(value, list | tuple)
            written = "[\n  " + ",\n  ".join(map(_json, value)) + "\n ]" if several else _json(value)
            lines.append(f" {_json(name)}: {written}")
        return "{\n" + ",\n".join(lines) + "\n}\n"


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
