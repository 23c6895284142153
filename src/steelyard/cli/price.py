# SPDX-License-Identifier: Apache-2.0
"""`steelyard price`: what the switches, system calls and faults of a live process cost."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from steelyard.cli import _output as output
from steelyard.errors import UsageError
from steelyard.judge import price as judging
from steelyard.keep import session as sessions
from steelyard.lab.output import for_a_command
from steelyard.lab.price import prices
from steelyard.measure import effort, machine
from steelyard.show import price as shown
from steelyard.units import parse_duration


def command(
    *process: str,
    duration: Annotated[str, Parameter(name="--for")] = "10s",
    session: Path | None = None,
    on: Path | None = None,
    json: bool = False,
) -> None:
    """Count what a live process does, and say what share of its CPU time that is at this machine's prices.

    Parameters
    ----------
    process
        The PID of a process, or a command to start, after ``--``; its exit code becomes ours. Children count as well.
    duration
        How long to count; a command that ends sooner is counted to its end.
    session
        Session with the prices. Left out: the newest one if it has them all, else they are measured first, in 8 s.
    on
        Session of another machine, kernel or compiler: what the same doings cost there.
    json
        Print one object with counts, prices and shares.
    """
    if not process:
        raise UsageError("say which process: its PID, or a command after --, such as `steelyard price -- make`")
    seconds = parse_duration(duration)
    is_pid = len(process) == 1 and process[0].isdecimal()
    elsewhere = None if on is None else sessions.read(on)
    paid = prices(session, output.Terminal())
    counted = effort.count(
        pid=int(process[0]) if is_pid else None,
        command=() if is_pid else process,
        seconds=seconds,
        machine_key=machine.survey().key,
        words=for_a_command(beside_data=json),
    )
    priced = judging.price(counted, paid, elsewhere)
    if json:
        output.print_json(priced)
    else:
        shown.show(priced, output.console())
    if counted.status:
        sys.exit(counted.status if counted.status > 0 else 128 - counted.status)
