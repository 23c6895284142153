# SPDX-License-Identifier: Apache-2.0
"""`steelyard explain`: a cost as a sum of measured simpler ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from steelyard.cli import _output as output
from steelyard.cli._output import Measuring
from steelyard.errors import SelectionError, UsageError
from steelyard.judge import explain
from steelyard.judge.explain import Composite
from steelyard.keep import session as sessions
from steelyard.lab.explain import measure_parts, of_the_same_machine
from steelyard.settings import Settings
from steelyard.show import explain as shown


def command(
    case: str | None = None,
    session: Path | None = None,
    *,
    parts: list[Path] | None = None,
    measure: bool = False,
    settings: Measuring = Settings(),
    output_file: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    json: bool = False,
) -> None:
    """Take a cost apart: what of it is system calls, switches, copies, and what is left unexplained.

    Parameters
    ----------
    case
        A case, a probe, a question or a way: ``switch/pipe``, ``message``. When left out: all composites, and which
        of them the session explains.
    session
        Session file; the newest one of the sessions folder when left out. Where there is none yet, what the composites
        are said to be made of is printed without figures.
    parts
        Another session of the same machine, for parts that the first one lacks. May be repeated.
    measure
        Measure exactly the cases that are needed, as a new session, and explain that. Only with it may it be said how
        to measure.
    output_file
        With --measure: session file to write; default: a new one in the sessions folder.
    json
        Print one object a cost, figures in base units (seconds, bytes).
    """
    composites = _meant(case) if case else dict(explain.library())
    if measure:
        if session or parts:
            raise UsageError("--measure makes a new session: leave SESSION and --parts away")
        here = measure_parts(composites, case, settings, output_file, output.Terminal())
    else:
        if settings != Settings() or output_file:
            raise UsageError("options that say how to measure go with --measure: give it too, or leave them away")
        if not (session or parts or sessions.newest()):
            _declare(composites, case, json)
            return
        here = sessions.read(session or sessions.latest())
    others = [of_the_same_machine(path, here) for path in parts or ()]
    found = explain.explain(here, composites, asked=case, others=others)
    if json:
        output.print_json(shown.as_json(found))
    elif case or measure:
        shown.show(found, output.console())
    else:
        shown.show_short(found, output.console())


def _meant(text: str) -> Mapping[str, Composite]:
    found = explain.meant(text)
    if not found:
        close = explain.nearest(text)
        hint = f"did you mean {' or '.join(close)}?" if close else "`steelyard explain` lists the composites"
        raise SelectionError(f'no composite is about "{text}"; {hint}')
    return found


def _declare(composites: Mapping[str, Composite], case: str | None, json: bool) -> None:
    """Print what costs are made of, where nothing was measured yet."""
    if json:
        output.print_json(shown.declared_as_json(composites))
    else:
        shown.show_declarations(composites, case, output.console())
