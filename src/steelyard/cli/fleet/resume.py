# SPDX-License-Identifier: Apache-2.0
"""`steelyard fleet resume`: do only what is missing."""

from __future__ import annotations

from pathlib import Path

from steelyard.cli.fleet.run import drive
from steelyard.errors import UsageError
from steelyard.keep.fleet import FleetFolder


def command(folder: Path, *, start_within: str = "24h", node_wait: str = "1m", poll: str | None = None) -> None:
    """Go on with a fleet: measure the sessions that are missing, and wait for those that are on their way.

    Parameters
    ----------
    folder
        Folder of the fleet.
    start_within
        How long a job may stay in the queue until it is taken back.
    node_wait
        How long a node may be down or drained until what is queued for it is taken back.
    poll
        How often the backend is asked.
    """
    fleet = FleetFolder(folder.absolute())
    fleet.plan()
    order = fleet.order()
    if order is None:
        raise UsageError(
            f"{folder} was not begun by `steelyard fleet run`: start `steelyard fleet node` where it lacks"
        )
    drive(fleet, order, start_within=start_within, node_wait=node_wait, poll=poll)
