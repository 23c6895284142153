# SPDX-License-Identifier: Apache-2.0
"""`steelyard choose message`: which channel to take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from steelyard.cli import _output as output
from steelyard.cli._output import Margin, Measuring
from steelyard.errors import UsageError
from steelyard.judge import choose
from steelyard.keep import session as sessions
from steelyard.lab.choose import measure_channels
from steelyard.lab.session import Lab
from steelyard.settings import Settings
from steelyard.show import choose as shown
from steelyard.units import parse_bytes, parse_duration


def command(
    *,
    size: str = "200",
    between: Literal["processes", "threads"] = "processes",
    placement: Literal["same", "cross"] = "cross",
    needs: list[str] | None = None,
    goal: str | None = None,
    by: Literal["round_trip", "cpu", "p99"] = "round_trip",
    session: Path | None = None,
    margin: Margin = choose.MARGIN,
    settings: Measuring = Settings(),
    output_file: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    json: bool = False,
) -> None:
    """Say which channel to take for messages of these sizes, which is the runner-up, and where the answer changes.

    Every channel of this machine that can do what is asked is measured, in at most 90 seconds, one message going there
    and back at a time.

    Parameters
    ----------
    size
        Bytes of a message, or several sizes: ``200,64KiB``.
    between
        Who exchanges them.
    placement
        Whether both sides run on one CPU (``same``) or on two (``cross``).
    needs
        What the channel must have: ``boundaries=yes``, ``readers=several`` or another of the properties that the answer
        lists. May be repeated.
    goal
        A figure that must not be above a time: ``p99=50us``. What misses it comes last and is not recommended.
    by
        What is to be least: the round trip, the CPU time of both sides, or the 99th percentile.
    session
        Answer from this session instead of measuring.
    output_file
        Session file to write.
    json
        Print one object with all channels at every size.
    """
    figure, at_most = _goal(goal)
    load = choose.Load(
        sizes=tuple(dict.fromkeys(parse_bytes(text.strip()) for text in size.split(","))),
        between={"processes": "process", "threads": "thread"}[between],
        placement=placement,
        needs=dict(_pair("--needs", text, "boundaries=yes") for text in needs or []),
        by=by,
        goal=figure,
        at_most=at_most,
    )
    if session is None:
        lab = Lab(selectors=[f"{choose.QUESTION}/{choose.FAMILY}_*"], messages=output.Terminal())
        finished = measure_channels(lab, load, settings, output_file)
    else:
        finished = sessions.read(session)
    chosen = choose.choose(finished, load, margin=margin)
    if json:
        output.print_json(shown.as_json(chosen))
    else:
        shown.show(chosen, output.console())


def _pair(option: str, text: str, example: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise UsageError(f'{option} takes a name and a value, such as {example}, not "{text}"')
    return name, value


def _goal(text: str | None) -> tuple[str | None, float | None]:
    if text is None:
        return None, None
    name, value = _pair("--goal", text, "p99=50us")
    if name not in choose.FIGURES:
        raise UsageError(f"--goal {name}: the figures of a channel are {', '.join(choose.FIGURES)}")
    return name, parse_duration(value)
