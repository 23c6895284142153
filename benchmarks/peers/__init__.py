# SPDX-License-Identifier: Apache-2.0
"""Steelyard's figure over its peers' for the same operation, interleaved in one run: `python -m benchmarks.peers`.

A peer is a file of this folder that defines ``PEERS``; it is skipped with its reason where the program is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """One operation that a peer measures as well.

    ``case`` is our case, ``metric`` its metric. ``command`` is the peer's command line, started on the CPUs of the
    case's placement; ``seconds`` reads the seconds of one operation from what it printed. ``same`` says in which way
    the operations are the same, and in which not. ``target`` is where our figure over the peer's should lie.
    ``values``: how many values a run of ours has; one that warms up needs many.
    """

    name: str
    case: str
    metric: str
    command: tuple[str, ...]
    seconds: Callable[[str], float]
    same: str
    target: tuple[float, float] | None = None
    values: int = 15
