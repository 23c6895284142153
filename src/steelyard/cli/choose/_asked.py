# SPDX-License-Identifier: Apache-2.0
"""What the choices have in common: how a goal and a property are asked for, and how an answer is given."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from steelyard.cli import _output as output
from steelyard.errors import UsageError
from steelyard.judge import choose
from steelyard.judge.choose import Load
from steelyard.keep import session as sessions
from steelyard.lab.choose import measure_ways
from steelyard.lab.session import Lab
from steelyard.settings import Settings
from steelyard.show import choose as shown
from steelyard.units import parse_duration

#: Who exchanges messages or takes a lock.
Between = Literal["processes", "threads"]


def kind(between: Between) -> str:
    """One of them, as probes say it."""
    return {"processes": "process", "threads": "thread"}[between]


def needs(texts: list[str] | None) -> dict[str, str]:
    """``boundaries=yes`` texts as properties."""
    return dict(_pair("--needs", text, "boundaries=yes") for text in texts or [])


def goal(text: str | None) -> tuple[str | None, float | None]:
    """``p99=50us`` as a figure and seconds."""
    if text is None:
        return None, None
    name, value = _pair("--goal", text, "p99=50us")
    return name, parse_duration(value)


def check(load: Load) -> None:
    """Raise UsageError for a goal or an order by a figure that such a load does not have."""
    for option, name in (("--goal", load.goal), ("--by", load.by)):
        if name and name not in load.figures:
            raise UsageError(f"{option} {name}: the figures of a {load.noun} are {', '.join(load.figures)}")


def _pair(option: str, text: str, example: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise UsageError(f'{option} takes a name and a value, such as {example}, not "{text}"')
    return name, value


def answer(
    load: Load,
    session: Path | None,
    margin: float,
    settings: Settings,
    output_file: Path | None,
    *,
    json: bool,
) -> None:
    """Measure, unless there is a session, and say what to take."""
    check(load)
    if session is None:
        lab = Lab(selectors=[f"{load.question}/{load.family}_*"], messages=output.Terminal())
        finished = measure_ways(lab, load, settings, output_file)
    else:
        finished = sessions.read(session)
    chosen = choose.choose(finished, load, margin=margin)
    if json:
        output.print_json(shown.as_json(chosen))
    else:
        shown.show(chosen, output.console())
