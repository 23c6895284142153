# SPDX-License-Identifier: Apache-2.0
"""The numbers that `fleet report` and `fleet compare` judge: of session files, or of a store."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from steelyard.errors import SessionFileError, UsageError
from steelyard.judge.fleet import FleetCase, FleetData, FleetMachine, gather
from steelyard.judge.reasons import Reason
from steelyard.keep import places as kept
from steelyard.keep.folder import Complain
from steelyard.keep.store import Store, is_store
from steelyard.records import Better
from steelyard.show import reasons


def numbers_of(
    places: Sequence[str], months: Sequence[str], complain: Complain
) -> tuple[FleetData, tuple[Reason, ...]]:
    """The numbers of these places, and what was left out. Of a store the months that are asked for, or its newest."""
    stores = [place for place in places if is_store(place)]
    if stores and len(places) > 1:
        raise UsageError(f"{stores[0]} is a store: give it alone, or `steelyard fleet pack` the others into it")
    if stores:
        return _of_store(stores[0], months), ()
    if months:
        raise UsageError("--month is for a store that `steelyard fleet pack` made")
    data, left_out = gather(kept.sessions(places, complain))
    if not len(data.owner):
        why = "; ".join(map(reasons.said, left_out[:3])) or "the lines above say why"
        raise SessionFileError(f"no session here can be judged: {why}")
    return data, left_out


def _of_store(place: str, months: Sequence[str]) -> FleetData:
    with Store(place) as store:
        there = store.months()
        if lacking := sorted(set(months) - set(there)):
            raise UsageError(f"{place} has no month {', '.join(lacking)}; it has {there[0]} to {there[-1]}")
        found = store.numbers(months or there[-1:])
    machines = [FleetMachine(name=node, key=key, about=about) for node, key, about in found.sessions]
    places = {machine: number for number, machine in enumerate(dict.fromkeys(machines))}
    cases = [
        FleetCase(name=name, unit=unit, better=msgspec.convert(better, Better), metric=metric)
        for name, unit, better, metric in found.cases
    ]
    numbers = np.full((len(machines), len(cases), int(found.block.max(initial=-1)) + 1), np.nan)
    numbers[found.session, found.case, found.block] = found.number
    owner = np.array([places[machine] for machine in machines], dtype=np.intp)
    return FleetData(tuple(places), tuple(cases), owner, numbers)
