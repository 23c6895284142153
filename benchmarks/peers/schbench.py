# SPDX-License-Identifier: Apache-2.0
"""`schbench` of Chris Mason: how long a worker takes to run that a message thread wakes by a futex."""

from __future__ import annotations

import re

from benchmarks.peers import Peer

_SECONDS = 3
#: A message thread on the first CPU and its worker on another one: schbench's own way to say so.
_APART = ("--message-cpus", "auto", "--worker-cpus", "auto")


def _quantile(printed: str, percent: str) -> float:
    """A percentile of the wake-ups, in seconds; the first table that is printed is theirs."""
    found = re.search(rf"^\W*{re.escape(percent)}th: (\d+)", printed, re.MULTILINE)
    if found is None:
        raise ValueError(f"schbench printed no {percent}th percentile: {printed!r}")
    return int(found[1]) * 1e-6


def _peer(metric: str, percent: str, placement: str, target: tuple[float, float]) -> Peer:
    return Peer(
        name=f"schbench {metric}, {placement}",
        case=f"wake/futex[load=none,loads=1,interval=1000,policy=other,nice=0,kind=thread,by=request]@{placement}",
        metric=metric,
        # One message thread and one worker, which sleeps a millisecond between two messages and computes nothing.
        command=(
            *("schbench", "--message-threads", "1", "--threads", "1", "--operations", "0", "--no-locking"),
            *("--sleep_usec", "1000", "--runtime", str(_SECONDS), "--intervaltime", "1000"),
            *(_APART if placement == "cross" else ()),
        ),
        figure=lambda printed: _quantile(printed, percent),
        same="a thread that has slept for a millisecond asks another one to be woken, which does it by a futex; "
        "schbench counts the difference of two clocks of whole micro-seconds, and leaves out those of none",
        prints_to="stderr",
        target=target,
        values=30,
        resolution=1e-6,
    )


PEERS = tuple(
    _peer(metric, percent, placement, target)
    for placement in ("same", "cross")
    for metric, percent, target in (("median", "50.0", (0.9, 1.1)), ("p99", "99.0", (0.75, 1.25)))
)
