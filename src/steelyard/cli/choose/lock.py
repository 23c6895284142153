# SPDX-License-Identifier: Apache-2.0
"""`steelyard choose lock`: which lock to take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from steelyard.cli._output import Margin, Measuring
from steelyard.cli.choose import _asked as asked
from steelyard.errors import UsageError
from steelyard.judge import choose
from steelyard.settings import Settings
from steelyard.units import parse_duration


def command(
    *,
    contexts: int = 8,
    hold: str = "200ns",
    think: str = "2us",
    share_read: float = 0.0,
    between: asked.Between = "threads",
    placement: Literal["same", "free"] = "free",
    needs: list[str] | None = None,
    goal: str | None = None,
    by: Literal["each", "wait", "wait_p99", "cpu"] | None = None,
    session: Path | None = None,
    margin: Margin = choose.MARGIN,
    settings: Measuring = Settings(),
    output_file: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    json: bool = False,
) -> None:
    """Say which lock to take for contexts that share one, and which is the runner-up.

    Every lock of this machine that can do what is asked is measured, in at most 60 seconds, by contexts that do nothing
    but take it, hold it, give it back and think.

    Parameters
    ----------
    contexts
        How many take the lock.
    hold
        How long each holds it: ``200ns``.
    think
        How long each works between giving it back and taking it again.
    share_read
        Of the times that it is taken, the share that only reads, such as ``0.9``. Locks that let readers in together
        gain by it.
    between
        Who takes it.
    placement
        Whether all run on one CPU (``same``) or where the scheduler puts them (``free``).
    needs
        What the lock must have: ``fair=yes`` or another of the properties that the answer lists. May be repeated.
    goal
        A figure that must not be above a time: ``wait_p99=50us``. What may miss it comes last and is not recommended.
    by
        What is to be least: the time of a turn of all of them together (``each``), how long one waits for the lock, the
        99th percentile of that, or the CPU time of a turn.
    session
        Answer from this session instead of measuring.
    output_file
        Session file to write.
    json
        Print one object with all locks.
    """
    if not 0 <= share_read <= 1:
        raise UsageError(f"--share-read {share_read:g}: a share lies between 0 and 1, such as 0.9")
    figure, at_most = asked.goal(goal)
    load = choose.Locking(
        contexts=contexts,
        hold_ns=_ns(hold),
        think_ns=_ns(think),
        read_percent=round(100 * share_read),
        between=asked.kind(between),
        placement=placement,
        needs=asked.needs(needs),
        by=by or "",
        goal=figure,
        at_most=at_most,
    )
    asked.answer(load, session, margin, settings, output_file, json=json)


def _ns(text: str) -> int:
    """Nanoseconds; 0 may be said without a unit."""
    return 0 if text == "0" else round(parse_duration(text) * 1e9)
