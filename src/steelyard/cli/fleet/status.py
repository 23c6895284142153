# SPDX-License-Identifier: Apache-2.0
"""`steelyard fleet status`: how far a fleet is."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from steelyard.cli import _output as output
from steelyard.cli.fleet._driving import headers, tokens_of
from steelyard.errors import EngineError
from steelyard.keep import fleet
from steelyard.keep.fleet import FleetFolder
from steelyard.measure import engines
from steelyard.measure.engines import Unreachable
from steelyard.records import FleetJob, FleetOrder, Standing
from steelyard.show import fleet as shown


def command(folder: Path, *, json: Annotated[bool, Parameter(negative="")] = False) -> None:
    """Show which sessions are there, which are on their way and how far, and which are not and why.

    Parameters
    ----------
    folder
        Folder of the fleet; other commands may work on it meanwhile.
    json
        Print one object a session.
    """
    found = look(FleetFolder(folder.absolute()))
    if json:
        output.print_json(shown.as_json(found))
    else:
        shown.show_status(found, headers(FleetFolder(folder.absolute()).delivered()), output.console())


def look(folder: FleetFolder) -> list[Standing]:
    """Where every session stands that was ordered, is there, or was spoken of."""
    folder.plan()
    order = folder.order()
    jobs = {} if order is None else _jobs(order)
    delivered, words = folder.delivered(), folder.words()
    ordered = [] if order is None else tokens_of(order)
    others = sorted({*delivered, *words} - set(ordered))
    return fleet.standings([*ordered, *others], delivered, words, jobs, {}, now=time.time())


def _jobs(order: FleetOrder) -> dict[str, FleetJob]:
    """What the engine says; nothing where it cannot be asked, and then the words of the nodes must do."""
    try:
        return engines.engine(order).jobs()
    except (EngineError, Unreachable):
        return {}
