# SPDX-License-Identifier: Apache-2.0
"""`steelyard observe`: where on the measured curves this machine lives."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from steelyard.cli import _output as output
from steelyard.errors import SessionFileError
from steelyard.judge import placing
from steelyard.judge.findings import Findings, judge
from steelyard.keep import session as sessions
from steelyard.lab.output import for_a_command
from steelyard.measure import machine
from steelyard.measure import observe as live
from steelyard.show import observe as shown
from steelyard.units import parse_duration

_DEFAULT_S = 60.0


def command(
    *run: str,
    duration: Annotated[str | None, Parameter(name="--for")] = None,
    every: str = "10ms",
    session: Path | None = None,
    record: Path | None = None,
    json: bool = False,
) -> None:
    """Watch the run queue, switches and forks of this machine, and say what a switch costs where it lives.

    Parameters
    ----------
    run
        A command to watch the machine beside, after ``--``; its exit code becomes ours.
    duration
        How long to watch; 60 s, or until the command ends. An interruption ends it early.
    every
        Mean time between two looks at the run queue.
    session
        Session with the measured curves; the newest one of the sessions folder when left out.
    record
        Write a recording into this file, which `steelyard simulate` replays: every switch of every task where the
        kernel's tracepoints may be read (root, and tracefs mounted), else how long the run queue is at each look.
    json
        Print the same as JSON.
    """
    seconds = parse_duration(duration) if duration else None if run else _DEFAULT_S
    every_s = parse_duration(every)
    findings, why_not = _measured(session)
    seen = live.observe(
        seconds=seconds,
        every_s=every_s,
        command=run,
        trace=record,
        machine_key=machine.survey().key,
        words=for_a_command(beside_data=json),
    )
    placed = placing.place(seen, findings, why_not=why_not)
    if json:
        output.print_json(placed)
    else:
        shown.show(placed, output.console())
    if seen.command_status:
        sys.exit(seen.command_status if seen.command_status > 0 else 128 - seen.command_status)


def _measured(session: Path | None) -> tuple[Findings | None, str | None]:
    """The judged session, or the reason why there is none; one that was named must be there."""
    if session is not None:
        return judge(sessions.read(session)), None
    try:
        return judge(sessions.read(sessions.latest())), None
    except SessionFileError as error:
        return None, str(error)
