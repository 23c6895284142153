# SPDX-License-Identifier: Apache-2.0
"""Price lists: all ways to do one thing, the best first."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from steelyard.judge.cases import CaseFinding
from steelyard.judge.comparisons import Compared, compare_cases
from steelyard.records import Better, Descriptor, Record, Session

#: Fewest probes of a question that make a price list.
_FEWEST = 3
#: Differences below this do not tell a way from the next one.
MARGIN = 0.02
#: More sizes than these are a sweep.
_MOST_SIZES = 4
#: Switches per operation, below which a way to switch did not do so.
_SWITCHES = 0.5


class PriceList(Record, frozen=True, kw_only=True):
    """All ways to do one thing: names of their cases, the best first.

    sizes: the parameters with a unit that are the same in all of them, as ``size=200``. where: their placement, which
    is empty for bytes, as these do not depend on it. runner_up: the second against the first, block by block; None
    where no block has both. All lists of a session are one family.
    """

    question: str
    unit: str
    cases: tuple[str, ...]
    sizes: tuple[str, ...] = ()
    where: str = ""
    runner_up: Compared | None = None


def _hardly_switches(case: CaseFinding) -> bool:
    return case.switched is not None and case.switched < _SWITCHES


def price_lists(session: Session, cases: Sequence[CaseFinding]) -> tuple[PriceList, ...]:
    """A list for every question that was answered in several ways, by the figure that each has first.

    A list has one placement and one size of whatever has a size in several probes; a probe without it stands in the
    lists of all sizes. A sweep of sizes is what curves are for: then there is a list of the first size alone.
    """
    groups: dict[tuple[str, str, Better, str], list[CaseFinding]] = defaultdict(list)
    for case in cases:
        if not case.control:
            unit = case.main.unit
            where = "" if unit == "B" else case.where
            groups[case.probe.split("/")[0], unit, case.main.better, where].append(case)
    found = tuple(
        PriceList(
            question=question,
            unit=unit,
            cases=tuple(
                case.case for case in sorted(ways, key=lambda case: case.main.median, reverse=better == "higher")
            ),
            sizes=sizes,
            where=where,
        )
        for (question, unit, better, where), members in groups.items()
        for sizes, ways in _by_size(session, members)
        if len({case.probe for case in ways}) >= _FEWEST
    )
    pairs = [(str(number), one.cases[0], one.cases[1]) for number, one in enumerate(found)]
    if not pairs or session.header.imported is not None:  # those runs were in no blocks
        return found
    compared = compare_cases(session, pairs, ("first", "second"), margin=MARGIN)
    verdicts = {int(case.case): case for case in compared.cases if compared.void is None}
    return tuple(msgspec.structs.replace(one, runner_up=verdicts.get(number)) for number, one in enumerate(found))


def _by_size(session: Session, cases: Sequence[CaseFinding]) -> Iterator[tuple[tuple[str, ...], list[CaseFinding]]]:
    """The sizes that these cases have, each with the cases that stand for their ways at it."""
    probes = {case.probe: session.header.probes[case.probe].descriptor for case in cases}
    with_unit = Counter(
        parameter.name
        for probe in probes.values()
        for parameter in probe.parameters
        if parameter.type == "integer" and parameter.unit not in (None, "1")
    )
    held = {
        case.case: tuple(f"{name}={value}" for name, value in case.parameters.items() if with_unit[name] > 1)
        for case in cases
    }
    sizes = [one for one in dict.fromkeys(held.values()) if not any(set(one) < set(other) for other in held.values())]
    for size in sizes[: len(sizes) if len(sizes) <= _MOST_SIZES else 1]:
        alike = [case for case in cases if set(held[case.case]) <= set(size)]
        yield size, _standing_for_ways(probes, alike)


def _standing_for_ways(probes: Mapping[str, Descriptor], cases: Sequence[CaseFinding]) -> list[CaseFinding]:
    """One case for each combination of a probe's choices, which are ways of their own.

    It is the first of them, or the first in which something switched if hardly anything did in those before it.
    """
    ways: dict[tuple[str, str], CaseFinding] = {}
    for case in cases:
        choices = " ".join(
            f"{one.name}={case.parameters[one.name]}"
            for one in probes[case.probe].parameters
            if one.type == "choice" and not one.built and one.name in case.parameters
        )
        before = ways.setdefault((case.probe, choices), case)
        if _hardly_switches(before) and not _hardly_switches(case):
            ways[case.probe, choices] = case
    return list(ways.values())
