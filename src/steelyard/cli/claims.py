# SPDX-License-Identifier: Apache-2.0
"""`steelyard claims`: hold what is said elsewhere against a session."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from steelyard.cli import _output as output
from steelyard.judge.verdicts import judge_claims
from steelyard.keep import session as sessions
from steelyard.show import claims


def command(
    session: Path | None = None,
    *,
    short: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Say which published statements hold on this machine, which fail, and where they were wrong.

    Parameters
    ----------
    session
        Session file; the newest one of the sessions folder when left out.
    short
        Print a line for each claim that the session answers, without the evidence.
    json
        Print one object a claim, figures in base units (seconds, bytes, bytes per second).
    """
    findings = judge_claims(sessions.read(session or sessions.latest()))
    if json:
        output.print_json(claims.objects(findings))
    elif short:
        claims.show_short(findings, output.console())
    else:
        claims.show(findings, output.console())
