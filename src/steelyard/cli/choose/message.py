# SPDX-License-Identifier: Apache-2.0
"""`steelyard choose message`: which channel to take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from steelyard.cli._output import Margin, Measuring
from steelyard.cli.choose import _asked as asked
from steelyard.errors import UsageError
from steelyard.judge import choose
from steelyard.lab.choose import LEAST_RATE
from steelyard.settings import Settings
from steelyard.units import parse_bytes, parse_rate


def command(
    *,
    size: str = "200",
    rate: str | None = None,
    between: asked.Between = "processes",
    placement: Literal["same", "cross"] = "cross",
    needs: list[str] | None = None,
    goal: str | None = None,
    by: Literal["round_trip", "response", "cpu", "p99"] | None = None,
    session: Path | None = None,
    margin: Margin = choose.MARGIN,
    settings: Measuring = Settings(),
    output_file: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    json: bool = False,
) -> None:
    """Say which channel to take for messages of these sizes, which is the runner-up, and where the answer changes.

    Every channel of this machine that can do what is asked is measured, in at most 90 seconds, each message going there
    and back: one after the other, or at a rate.

    Parameters
    ----------
    size
        Bytes of a message, or several sizes: ``200,64KiB``.
    rate
        Messages a second, ``50k/s``, at times drawn at random: what has to wait for the one before it counts as slow.
        Left out, each message leaves when the one before it is back.
    between
        Who exchanges them.
    placement
        Whether both sides run on one CPU (``same``) or on two (``cross``).
    needs
        What the channel must have: ``boundaries=yes``, ``readers=several`` or another of the properties that the answer
        lists. May be repeated.
    goal
        A figure that must not be above a time: ``p99=50us``. What may miss it comes last and is not recommended.
    by
        What is to be least: ``round_trip``, at a rate ``response``, the CPU time of both sides, or the 99th percentile.
        Default: the first; at a rate with a goal the CPU time.
    session
        Answer from this session instead of measuring.
    output_file
        Session file to write.
    json
        Print one object with all channels at every size.
    """
    figure, at_most = asked.goal(goal)
    load = choose.Messages(
        sizes=tuple(dict.fromkeys(parse_bytes(text.strip()) for text in size.split(","))),
        rate=None if rate is None else _rate(rate),
        between=asked.kind(between),
        placement=placement,
        needs=asked.needs(needs),
        by=by or "",
        goal=figure,
        at_most=at_most,
    )
    asked.answer(load, session, margin, settings, output_file, json=json)


def _rate(text: str) -> int:
    rate = round(parse_rate(text))
    if rate < LEAST_RATE:
        raise UsageError(
            f"--rate {text}: so few messages a second never wait for each other; leave --rate away, or give "
            f"{LEAST_RATE}/s or more"
        )
    return rate
