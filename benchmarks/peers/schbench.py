# SPDX-License-Identifier: Apache-2.0
"""`schbench` of Chris Mason: how long a worker takes to run that a message thread wakes by a futex."""

from __future__ import annotations

import re

from benchmarks.peers import Peer

_SECONDS = 4


def _quantile(printed: str, percent: str) -> float:
    """A percentile of the wake-ups, in seconds; the first table that is printed is theirs."""
    found = re.search(rf"^\W*{re.escape(percent)}th: (\d+)", printed, re.MULTILINE)
    if found is None:
        raise ValueError(f"schbench printed no {percent}th percentile: {printed!r}")
    return int(found[1]) * 1e-6


def _peer(metric: str, percent: str, target: tuple[float, float]) -> Peer:
    return Peer(
        name=f"schbench {metric}",
        case="wake/futex[load=none,loads=1,interval=1000,policy=other,nice=0,kind=thread]@same",
        metric=metric,
        # One message thread and one worker, which sleeps a millisecond between two messages and computes nothing.
        command=(
            *("schbench", "--message-threads", "1", "--threads", "1", "--operations", "0", "--no-locking"),
            *("--sleep_usec", "1000", "--runtime", str(_SECONDS), "--intervaltime", "1000"),
        ),
        figure=lambda printed: _quantile(printed, percent),
        same="a futex wakes a thread on the CPU of the one who wakes; schbench counts whole micro-seconds, leaves out "
        "those of none, and its worker has slept for a moment only, where ours has for a millisecond",
        prints_to="stderr",
        target=target,
        values=30,
    )


PEERS = (_peer("median", "50.0", (0.9, 1.1)), _peer("p99", "99.0", (0.75, 1.25)))
