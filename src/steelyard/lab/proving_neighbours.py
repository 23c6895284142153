# SPDX-License-Identifier: Apache-2.0
"""The sessions behind the error rates of neighbours: cases beside a sleeper, and beside one that shares their CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from steelyard.errors import SelectionError
from steelyard.judge.proving_neighbours import ProvedNeighbours, rates
from steelyard.lab.messages import Messages
from steelyard.lab.neighbours import measure_beside
from steelyard.lab.session import Lab
from steelyard.measure import catalog, plan
from steelyard.measure.neighbours import conditions
from steelyard.records import Case, Session
from steelyard.settings import Settings

#: What no case should suffer from, and what every case on one CPU has to: each has half of the CPU then.
_SLEEPING, _PLANTED = "sleeper", "syscall@same"
#: Length of a value there: one that ends within a time slice, of some milliseconds, would see nothing of a neighbour.
_LONG = "20ms"
#: An effect of that size needs few cases.
_PLANTED_SHARE = 5
_USES = {"cpu", "sched", "ipc"}


def prove(seed: int, cases: int, messages: Messages) -> ProvedNeighbours:
    """The rates over so many cases, of as many mechanisms as there are; raises SelectionError where there are fewer."""
    lab = Lab(messages=messages)
    chosen = _chosen(lab, cases)
    with TemporaryDirectory(prefix="steelyard-prove-") as folder:
        settings = Settings(seed=seed, values=5, quick=True)

        def measured(neighbour: str, beside: Sequence[Case], settings: Settings) -> Session:
            path = Path(folder) / f"{neighbour}.session.jsonl"
            return measure_beside(lab, beside, conditions([neighbour]), settings, path, repays=False)

        sleeping = measured(_SLEEPING, chosen, settings)
        some = chosen[: max(1, len(chosen) // _PLANTED_SHARE)]
        return rates(seed, sleeping, measured(_PLANTED, some, replace(settings, target=_LONG, blocks=10)))


def _chosen(lab: Lab, cases: int) -> list[Case]:
    """Cases on one CPU of programs that start at once, the most telling first."""
    quick = [
        name
        for name, probe in lab.found.probes.items()
        if "same" in probe.descriptor.placements
        and set(probe.descriptor.uses) <= _USES
        and probe.descriptor.metrics[0].over == "wall"  # CPU time does not grow where a CPU is shared
        and not probe.descriptor.warms_up
        and not catalog.needs_interpreter(probe.path)
        and not name.startswith("null/")
    ]
    found = plan.most_telling_first(lab.select(quick, [], ["same"], brief=True)) if quick else []
    if len(found) < cases:
        raise SelectionError(f"--cases {cases}: there are {len(found)} cases for it here: ask for as many at most")
    return found[:cases]
