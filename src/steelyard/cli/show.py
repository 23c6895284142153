# SPDX-License-Identifier: Apache-2.0
"""`steelyard show`: print a session."""

from __future__ import annotations

from pathlib import Path

from steelyard.cli import _output as output
from steelyard.judge.findings import judge
from steelyard.keep import session as sessions
from steelyard.show import jsonview, machine_code, terminal


def command(
    session: Path | None = None,
    *,
    code: bool = False,
    json: bool = False,
) -> None:
    """Print the results of a session as tables and curves.

    Parameters
    ----------
    session
        Session file; the newest one of the sessions folder when left out.
    code
        Print what the compilers made of the loops that were timed instead, where the build kept it (``code/*``).
    json
        Print one object a case, in base units (seconds, bytes, bytes per second).
    """
    findings = judge(sessions.read(session or sessions.latest()))
    if json:
        output.print_json(jsonview.cases(findings))
    elif code:
        machine_code.show(findings, output.console())
    else:
        terminal.show(findings, output.console())
