# SPDX-License-Identifier: Apache-2.0
"""`cyclictest` of rt-tests: how late a timer wakes who waits for it."""

from __future__ import annotations

import itertools
import re

from benchmarks.peers import Peer

_WAKE_UPS = 3000
#: Micro-seconds up to which cyclictest counts; a longer wake-up is only in its maximum.
_COUNTED_US = 20_000
_BUCKET = re.compile(r"^(\d{6}) (\d+)$", re.MULTILINE)


def _quantile(printed: str, share: float) -> float:
    """The time that so many wake-ups did not exceed, in seconds: the middle of its micro-second."""
    buckets = [(int(us), int(times)) for us, times in _BUCKET.findall(printed)]
    wanted = share * sum(times for _, times in buckets)
    sums = itertools.accumulate(times for _, times in buckets)
    us = next(us for (us, _), so_far in zip(buckets, sums, strict=True) if so_far >= wanted)
    return (us + 0.5) * 1e-6


def _peer(metric: str, share: float, policy: str, target: tuple[float, float]) -> Peer:
    priority = () if policy == "other" else ("--priority=1",)
    return Peer(
        name=f"cyclictest {metric}, {policy}",
        case=f"wake/timer[load=none,loads=1,interval=1000,policy={policy},nice=0,slack=50000]@same",
        metric=metric,
        command=(
            *("cyclictest", "--quiet", "--default-system", f"--policy={policy}", *priority),
            *("--interval=1000", f"--loops={_WAKE_UPS}", f"--histogram={_COUNTED_US}"),
        ),
        figure=lambda printed: _quantile(printed, share),
        same="CLOCK_MONOTONIC, absolute timers a millisecond apart; cyclictest counts whole micro-seconds",
        target=target,
        values=30,
        resolution=1e-6,
    )


PEERS = (
    _peer("median", 0.5, "other", (0.9, 1.1)),
    _peer("p99", 0.99, "other", (0.75, 1.25)),
    _peer("median", 0.5, "fifo", (0.9, 1.1)),
    _peer("p99", 0.99, "fifo", (0.75, 1.25)),
)
