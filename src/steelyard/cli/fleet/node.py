# SPDX-License-Identifier: Apache-2.0
"""`steelyard fleet node`: the part of a fleet that runs on a machine. Whole sessions leave it, or none."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from steelyard.cli import _output as output
from steelyard.errors import Interrupted, UsageError
from steelyard.keep import fleet
from steelyard.keep.fleet import FleetFolder
from steelyard.lab.node import Part, measure_part
from steelyard.lab.signals import ended_in_order
from steelyard.measure import backends
from steelyard.records import FleetPlan
from steelyard.settings import Settings
from steelyard.units import parse_duration

_STDOUT = "-"
#: A machine of a fleet does not wait for ever, as a person at one may.
_LOCK_WAIT_S = 1800.0


def command(
    plan: Annotated[str, Parameter(allow_leading_hyphen=True)],
    *,
    to: Annotated[str, Parameter(allow_leading_hyphen=True)],
    node: str | None = None,
    session: int | None = None,
    lock_wait: str | None = None,
    idle_wait: str = "2m",
    even_if_busy: bool = False,
) -> int | None:
    """Measure one session of a plan on this machine and bring it into the folder of its fleet.

    What `steelyard fleet run` starts on every node. It stands alone as well: in a batch script of your own, or over
    ssh. One session measures on a machine at a time, whoever started it; a session that is there already is not
    measured again. Exit codes: 0 the session is there; 71 it is there, and some of its cases failed; 69 nothing could
    be measured here; 74 no room for it; 75 the machine is not free; 78 this is another version than the plan's.

    Parameters
    ----------
    plan
        File of the plan; ``-`` reads it from standard input.
    to
        Folder of the fleet, on a file system that all machines share; ``-`` writes the session to standard output, for
        `steelyard fleet collect`.
    node
        Name of this machine in its fleet. Default: what Slurm calls it, else its host name.
    session
        Which of this machine's sessions it is. Default: the task of a Slurm array, else 1.
    lock_wait
        How long to wait while another session measures on this machine. Default: what the plan says (``--wait``,
        ``--no-wait``), else half an hour.
    idle_wait
        How long to wait for this machine to be idle.
    even_if_busy
        Measure although others use the machine; the session says so.
    """
    here = backends.here(os.environ)
    what = _read(plan)
    part = Part(
        plan=what,
        folder=None if to == _STDOUT else FleetFolder(Path(to).absolute()),
        token=fleet.token_of(node or here.node, session or here.number or 1),
        here=here,
        lock_wait_s=parse_duration(lock_wait) if lock_wait else _planned_wait_s(what.settings),
        idle_wait_s=None if even_if_busy else parse_duration(idle_wait),
    )
    try:
        with ended_in_order():
            measure_part(part, output.Terminal())
    except Interrupted as stopped:
        return stopped.exit_code
    return None


def _planned_wait_s(settings: Settings) -> float:
    return _LOCK_WAIT_S if settings.wait_s is None else settings.wait_s


def _read(plan: str) -> FleetPlan:
    if plan == _STDOUT:
        return fleet.read_plan(sys.stdin.buffer.read(), "standard input")
    try:
        return fleet.read_plan(Path(plan).read_bytes(), plan)
    except OSError as error:
        raise UsageError(f"{plan} cannot be read: {error.strerror}") from error
