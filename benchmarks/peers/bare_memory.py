# SPDX-License-Identifier: Apache-2.0
"""A second method for cache/core_transfer and cache/latency: loops of bare_memory.c, written apart from the probes."""

from __future__ import annotations

from pathlib import Path

from benchmarks.peers import Peer, compiled

_TURNS = 1_000_000
#: Bytes, and loads enough for about a tenth of a second.
_LOADS = {16_384: 50_000_000, 1_048_576: 20_000_000, 134_217_728: 2_000_000}
_AGREE = (0.9, 1.1)


def _transfer(by: str, program: str) -> Peer:
    return Peer(
        name=f"bare turns by {by}",
        case=f"cache/core_transfer[by={by},pair=placed]@cross",
        metric="transfer",
        command=(program, "transfer", by, str(_TURNS)),
        figure=float,
        same="two threads take turns at one word; the median of 15 stretches",
        target=_AGREE,
    )


def _chase(size: int, loads: int, program: str) -> Peer:
    return Peer(
        name=f"bare chase, {size} B",
        case=f"cache/latency[size={size}]@same",
        metric="load",
        command=(program, "chase", str(size), str(loads)),
        figure=float,
        same="loads that wait for each other over all lines at random, on huge pages; a lower quartile as well",
        target=_AGREE,
    )


_BARE = compiled(Path(__file__).with_suffix(".c"), "-pthread")
PEERS = (
    *(_transfer(by, _BARE) for by in ("store", "exchange")),
    *(_chase(size, loads, _BARE) for size, loads in _LOADS.items()),
)
