# SPDX-License-Identifier: Apache-2.0
"""A selection beside neighbours: each case alone, and once more for each condition that ``--beside`` names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from steelyard.errors import UsageError
from steelyard.lab.planning import Planner, each_pair, enough_blocks
from steelyard.lab.session import Lab
from steelyard.measure.machine import cpus_beside, cpus_for
from steelyard.measure.neighbours import Wanted, Where, neighbour
from steelyard.records import Case, Session, Variant
from steelyard.settings import Settings
from steelyard.units import counted


@dataclass(frozen=True, slots=True)
class Beside:
    """What is to be measured: the cases alone and beside neighbours, the variants, and the group of each case."""

    cases: tuple[Case, ...]
    variants: tuple[Variant, ...]
    groups: Mapping[str, str]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Each case beside neighbours: its name alone, and its own."""
        return [(self.groups[case.name], case.name) for case in self.cases if case.variant]


def beside(lab: Lab, cases: Sequence[Case], conditions: Mapping[str, Sequence[Wanted]]) -> Beside:
    """These cases alone and beside neighbours. A case that leaves no CPU shares its own, if nothing else was said."""
    variants: dict[str, Variant] = {}
    measured: list[Case] = []
    groups: dict[str, str] = {}
    crowded: dict[str, None] = {}
    for case in cases:
        measured.append(case)
        groups[case.name] = case.name
        for text, wanted in conditions.items():
            places = [one.where or _place(case, lab.host.cpus) for one in wanted]
            if any(one.where is None and place == "same" for one, place in zip(wanted, places, strict=True)):
                crowded[f"@{case.placement}"] = None
            variant = _variant(lab, text, wanted, places)
            variants[variant.label] = variant
            other = msgspec.structs.replace(case, variant=variant.label)
            measured.append(other)
            groups[other.name] = case.name
    if crowded:
        lab.messages.say(
            f"{', '.join(crowded)} leaves none of {counted(len(lab.host.cpus), 'CPU')} to a neighbour: there it works "
            "on the same"
        )
    return Beside(tuple(measured), tuple(variants.values()), groups)


def measure_beside(
    lab: Lab,
    cases: Sequence[Case],
    conditions: Mapping[str, Sequence[Wanted]],
    settings: Settings,
    output: Path | None,
    *,
    repays: bool = True,
) -> Session:
    """Measure these cases alone and beside neighbours, in the same blocks, with blocks enough to compare each pair.

    ``repays``: see conduct.Work.
    """
    wanted = beside(lab, cases, conditions)
    question = each_pair(wanted.pairs)
    settings = enough_blocks(question, settings, len(wanted.pairs), settings.planned_blocks or 0, lab.messages)
    header = lab.header(wanted.cases, settings, wanted.variants)
    planner = Planner(question, settings, lab.messages)
    return lab.measure(header, output, settings, groups=wanted.groups, planner=planner, repays=repays)


def _place(case: Case, allowed: tuple[int, ...]) -> Where:
    run = cpus_for(case.placement, allowed)
    return "other" if cpus_beside("other", run, allowed) else "same"


def _variant(lab: Lab, text: str, wanted: Sequence[Wanted], places: Sequence[Where]) -> Variant:
    parts = [part.partition("@")[0] for part in text.split("+")]
    label = "+".join(f"{part}@same" if place == "same" else part for part, place in zip(parts, places, strict=True))
    neighbours = tuple(neighbour(one, place, lab.found) for one, place in zip(wanted, places, strict=True))
    if len({one.case.name for one in neighbours}) < len(neighbours):
        raise UsageError(f"--beside {text}: two neighbours are the same: give them two sizes, or leave one away")
    return Variant(label=f"beside {label}", beside=neighbours)
