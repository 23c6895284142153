# SPDX-License-Identifier: Apache-2.0
"""Memory that a model of `serve/` holds for a connection: of one that is idle, and of one on which a request waits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from steelyard.judge.cases import CaseFinding
from steelyard.judge.models import ALONG, QUESTION
from steelyard.records import Record

_IDLE, _WAITING = "idle_connection", "waiting_connection"


class Held(Record, frozen=True, kw_only=True):
    """Bytes that each of so many open connections takes; ``waiting`` is None where not all of them can wait at once."""

    connections: int
    idle: float
    waiting: float | None = None


class Holder(Record, frozen=True, kw_only=True):
    """A model with what it holds for a connection, the fewest connections first."""

    probe: str
    title: str
    at: tuple[Held, ...]

    def among(self, connections: int) -> Held | None:
        """What one takes of so many; None where that was not measured."""
        return next((held for held in self.at if held.connections == connections), None)


def holders(cases: Iterable[CaseFinding]) -> tuple[Holder, ...]:
    """The models of a session that looked at memory in the wait.

    Those of the most connections come first, and of these the one that takes the least for each. Of several loads with
    one number of connections the first one counts: connections are opened before any load.
    """
    found: dict[str, dict[int, Held]] = defaultdict(dict)
    titles: dict[str, str] = {}
    for case in cases:
        idle, waiting = case.figure(_IDLE), case.figure(_WAITING)
        if case.probe.startswith(f"{QUESTION}/") and case.parameters.get("held") == "waiting" and idle is not None:
            connections = int(case.parameters[ALONG])
            held = Held(connections=connections, idle=idle.median, waiting=waiting.median if waiting else None)
            found[case.probe].setdefault(connections, held)
            titles[case.probe] = case.called
    made = (
        Holder(probe=probe, title=titles[probe], at=tuple(at[number] for number in sorted(at)))
        for probe, at in found.items()
    )
    return tuple(sorted(made, key=lambda holder: (-holder.at[-1].connections, holder.at[-1].idle)))
