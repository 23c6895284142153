# SPDX-License-Identifier: Apache-2.0
"""Bare two-process loops (bare.c), built here: what our message probes add by proving their work."""

from __future__ import annotations

from pathlib import Path

from benchmarks.peers import Peer, compiled

_ROUND_TRIPS = 20_000
_MESSAGES = 20_000
_WAYS = {"pipe": "pipe", "unix": "unix_stream"}


def _latency(kind: str, program: str) -> Peer:
    return Peer(
        name=f"bare loop, {kind} round trip",
        case=f"message/latency_{_WAYS[kind]}[size=1,kind=process]@same",
        metric="round_trip",
        command=(program, "round_trip", kind, str(_ROUND_TRIPS)),
        figure=float,
        same="one byte there and back, unchecked",
        target=(0.0, 1.03),
    )


def _bandwidth(kind: str, size: int, program: str) -> Peer:
    return Peer(
        name=f"bare loop, {kind} of {size} B",
        case=f"message/bandwidth_{_WAYS[kind]}[size={size},kind=process]@same",
        metric="message",
        command=(program, "bandwidth", kind, str(size), str(_MESSAGES)),
        figure=float,
        same="messages one way, read in full, unchecked",
        target=(0.0, 1.03),
    )


_BARE = compiled(Path(__file__).with_suffix(".c"))
PEERS = (
    *(_latency(kind, _BARE) for kind in _WAYS),
    *(_bandwidth(kind, size, _BARE) for kind in _WAYS for size in (4096, 65536)),
)
