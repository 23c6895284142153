# SPDX-License-Identifier: Apache-2.0
"""`steelyard fleet collect`: sessions that came as the output of jobs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from steelyard.cli import _output as output
from steelyard.errors import IncompleteError, SessionFileError, UsageError
from steelyard.keep import fleet
from steelyard.keep.fleet import FleetFolder
from steelyard.units import counted


def command(folder: Path, *outputs: Path, plan: Path | None = None) -> None:
    """Bring the sessions in the output of jobs into the folder of their fleet, each whole or not at all.

    For machines that share no file system: `ssh n1 steelyard fleet node - --to - < plan.json | steelyard fleet collect
    fleet --plan plan.json`.

    Parameters
    ----------
    folder
        Folder of the fleet.
    outputs
        Files with the output of jobs; standard input when left out.
    plan
        Plan of the fleet, which makes the folder where there is none yet.
    """
    into = FleetFolder(folder.absolute())
    if plan is not None:
        try:
            into.begin(fleet.read_plan(plan.read_bytes(), str(plan)))
        except OSError as error:
            raise UsageError(f"{plan} cannot be read: {error.strerror}") from error
    into.plan()
    new = there = wrong = 0
    for found in fleet.unframe(_lines(outputs)):
        try:
            fresh = into.deliver(found.token, found.whole())
        except SessionFileError as error:
            wrong += 1
            output.complain(str(error))
        else:
            new += fresh
            there += not fresh
    output.say(f"{counted(new, 'new session')} brought in, {there} there already")
    if wrong:
        raise IncompleteError(f"{wrong} left out: measure {'it' if wrong == 1 else 'them'} again")
    if not new and not there:
        raise IncompleteError("there is no session in this output: look at what the job said")


def _lines(outputs: tuple[Path, ...]) -> Iterator[str]:
    if not outputs:
        yield from sys.stdin
    for path in outputs:
        try:
            with path.open(errors="replace") as file:
                yield from file
        except OSError as error:
            output.complain(f"{path} cannot be read: {error.strerror}")
