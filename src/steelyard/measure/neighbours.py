# SPDX-License-Identifier: Apache-2.0
"""Neighbours by name: what works beside a run, from a text such as ``memory=64MiB@same``."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Literal

import msgspec

from steelyard.errors import SelectionError, UsageError
from steelyard.measure import catalog, protocol
from steelyard.records import Case, CasePattern, Neighbour
from steelyard.units import parse_bytes

Where = Literal["other", "same"]
_FORM = "--beside takes NAME, NAME=SIZE or a case, behind it perhaps @same or @other, several at once joined by +"
#: A name or a case without its placement, a size, and the CPUs.
_TEXT = re.compile(r"(?P<what>[a-z0-9_]+(?:/[a-z0-9_]+(?:\[[^\]]*\])?)?)(?:=(?P<size>\w+))?(?:@(?P<where>same|other))?")
#: What parts neighbours and conditions, except within the brackets of a case.
_OUTSIDE = r"(?![^\[]*\])"


#: Languages whose support can work for others: docs/reference/protocol.md, Neighbours.
_LANGUAGES = ("c", "cpp")


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A neighbour with a short name: its case, what it does in words, and the parameter that is its size."""

    case: str
    does: str
    size: str | None = None


@functools.cache
def known() -> dict[str, Entry]:
    """The neighbours with a short name."""
    text = (resources.files("steelyard.measure") / "neighbours.toml").read_bytes()
    return msgspec.toml.decode(text, type=dict[str, Entry])


class Wanted(msgspec.Struct, frozen=True):
    """A neighbour as it was asked for: ``where`` is None where nothing was said."""

    pattern: CasePattern
    does: str
    where: Where | None


def conditions(texts: Sequence[str]) -> dict[str, tuple[Wanted, ...]]:
    """What the texts of ``--beside`` ask for: by its own text each condition, whose neighbours work together."""
    parts = [part for text in texts for part in re.split("," + _OUTSIDE, text)]
    return {part: tuple(map(_wanted, re.split(r"\+" + _OUTSIDE, part))) for part in parts}


def probes_of(wanted: Mapping[str, Sequence[Wanted]]) -> list[str]:
    """The probes that work as neighbours."""
    return list(dict.fromkeys(one.pattern.probe for condition in wanted.values() for one in condition))


def _wanted(text: str) -> Wanted:
    match = _TEXT.fullmatch(text)
    if match is None:
        raise UsageError(f'{_FORM}; "{text}" is none of these')
    name, size = match["what"], match["size"]
    entry = known().get(name)
    if entry is None and "/" not in name:
        close = difflib.get_close_matches(name, known(), n=1)
        hint = f"did you mean {close[0]}?" if close else f"there is {', '.join(known())}, and every probe in C or C++"
        raise UsageError(f'--beside: no neighbour is called "{name}"; {hint}')
    pattern = CasePattern.parse(entry.case if entry else name)
    if pattern is None:
        raise UsageError(f'{_FORM}; "{text}" is none of these')
    if size is not None:
        if entry is None or entry.size is None:
            raise UsageError(f"--beside: {name} has no size: leave ={size} away")
        pattern = msgspec.structs.replace(
            pattern, parameters={**pattern.parameters, entry.size: str(parse_bytes(size))}
        )
    where: Where | None = "same" if match["where"] == "same" else "other" if match["where"] else None
    return Wanted(pattern=pattern, does=entry.does if entry else f"runs {name}", where=where)


def case_of(wanted: Wanted, found: catalog.Catalog) -> Case:
    """The case of a neighbour, with a default for what was not said; raises SelectionError where it can't be one."""
    name = wanted.pattern.probe
    if name not in found.probes:
        why = next((skip.plain for skip in found.skips if skip.subject == name), "there is no probe of that name")
        raise SelectionError(f"--beside: {name} cannot work here: {why}")
    language = catalog.languages(catalog.probe_folders()).get(name, "c")  # of a user's own it is not known
    if language not in _LANGUAGES:
        raise SelectionError(f"--beside: {name} is written in {language}, and a neighbour in C or C++: name another")
    descriptor = found.probes[name].descriptor
    if "same" not in descriptor.placements:
        raise SelectionError(f"--beside: {name} needs several CPUs, and a neighbour has one: name another")
    given = wanted.pattern.parameters
    if unknown := next((key for key in given if descriptor.parameter(key) is None), None):
        raise SelectionError(f"--beside: {name} has no parameter {unknown!r}")
    try:
        parameters = {
            one.name: protocol.parse_parameter(descriptor, one.name, given[one.name])
            if one.name in given
            else one.sweep[0]
            for one in descriptor.parameters
        }
    except ValueError as error:
        raise SelectionError(f"--beside: {error}") from error
    return Case(probe=name, placement="same", parameters=parameters)


def neighbour(wanted: Wanted, where: Where, found: catalog.Catalog) -> Neighbour:
    """The neighbour that was asked for, on these CPUs."""
    return Neighbour(case=case_of(wanted, found), where=where, does=wanted.does)
