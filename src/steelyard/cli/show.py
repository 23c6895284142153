# SPDX-License-Identifier: Apache-2.0
"""`steelyard show`: print a session."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from steelyard.cli import _output as output
from steelyard.cli._screen import show_session
from steelyard.judge.findings import Findings, judge
from steelyard.keep import session as sessions
from steelyard.lab import studies
from steelyard.show import machine_code
from steelyard.show import session as shown


def command(
    session: Path | None = None,
    *,
    all_: Annotated[bool, Parameter(name="--all")] = False,
    code: bool = False,
    among: Path | None = None,
    json: bool = False,
) -> None:
    """Print what a session found: one screen of a first session, tables and curves of another one.

    Parameters
    ----------
    session
        Session file; the newest one of the sessions folder when left out.
    all_
        Print every figure and every doubt, however many lines they are.
    code
        Print what the compilers made of the loops that were timed instead, where the build kept it (``code/*``).
    among
        Print where each figure lies among those of a gallery instead: a folder of published sessions.
    json
        Print one object a case, in base units (seconds, bytes, bytes per second).
    """
    kept = sessions.read(session or sessions.latest())
    findings = judge(kept, studies.library())
    if among is not None:
        _show_among(findings, among, json=json)
    elif json:
        output.print_json(shown.as_json(findings))
    elif code:
        machine_code.show(findings, output.console())
    elif all_:
        shown.show(findings, output.console(), whole=True)
    else:
        show_session(kept, findings)


def _show_among(findings: Findings, folder: Path, *, json: bool) -> None:
    """Where a session lies in a gallery."""
    from steelyard.judge.gallery import among
    from steelyard.lab import gallery
    from steelyard.show import gallery as words

    found = among(findings, gallery.read(folder, output.complain))
    if json:
        output.print_json(words.as_json(found))
    else:
        words.show(findings, found, output.console())
