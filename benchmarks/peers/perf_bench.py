# SPDX-License-Identifier: Apache-2.0
"""`perf bench` of the kernel's tools (tools/perf/bench)."""

from __future__ import annotations

from benchmarks.peers import Peer

_CALLS = 1_000_000
_PIPE_ROUND_TRIPS = 50_000
_CROSS_ROUND_TRIPS = 5_000


def _pipe(name: str, case: str, round_trips: int, *options: str, target: tuple[float, float] | None = None) -> Peer:
    return Peer(
        name=name,
        case=case,
        metric="round_trip",
        command=("perf", "bench", "--format=simple", "sched", "pipe", "-l", str(round_trips), *options),
        figure=lambda printed: float(printed.split()[-1]) / round_trips,
        same="one int there and back through two pipes; perf's time has the start of the second task in it",
        target=target,
    )


PEERS = (
    Peer(
        name="perf bench syscall basic",
        case="call/syscall@same",
        metric="system_call",
        command=("perf", "bench", "--format=simple", "syscall", "basic", "-l", str(_CALLS)),
        figure=lambda printed: float(printed.split()[-1]) / _CALLS,
        same="getppid() in a loop",
        target=(0.97, 1.03),
    ),
    _pipe("perf bench sched pipe, one CPU", "switch/pipe[kind=process]@same", _PIPE_ROUND_TRIPS, target=(0.0, 1.0)),
    _pipe("perf bench sched pipe -T, one CPU", "switch/pipe[kind=thread]@same", _PIPE_ROUND_TRIPS, "-T"),
    # perf does not pin its two tasks apart: the scheduler may put both on one CPU, which is the other mode.
    _pipe("perf bench sched pipe, two CPUs", "switch/pipe[kind=process]@cross", _CROSS_ROUND_TRIPS),
)
