# SPDX-License-Identifier: Apache-2.0
"""Steelyard's figure over its peers' for the same operation, interleaved in one run: `python -m benchmarks.peers`.

A peer is a file of this folder that defines ``PEERS``; it is skipped with its reason where the program is missing.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """One operation that a peer measures as well.

    ``case`` is our case, ``metric`` its metric. ``command`` is the peer's command line, started on the CPUs of the
    case's placement with ``environment`` besides; ``figure`` reads from what it printed what our metric is, in its
    unit. ``same`` says in which way the operations are the same, and in which not. ``target`` is where our figure over
    the peer's should lie. ``values``: how many values a run of ours has; one that warms up needs many. ``needs``: the
    programs that the command starts. ``resolution``: in which steps the peer counts, so that its figure is known to
    half of one. Figures of one command and one case are of the same runs.
    """

    name: str
    case: str
    metric: str
    command: tuple[str, ...]
    figure: Callable[[str], float]
    same: str
    target: tuple[float, float] | None = None
    values: int = 15
    needs: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    prints_to: Literal["stdout", "stderr"] = "stdout"
    resolution: float = 0.0

    @property
    def runs(self) -> tuple[object, ...]:
        """What the runs of this figure are made by: figures for which it is the same share them."""
        return self.case, self.values, self.command, tuple(sorted(self.environment.items()))


def compiled(source: Path, *options: str) -> str:
    """The program of a C file of this folder, built once; named ``cc`` where there is no compiler to build it."""
    program = Path(tempfile.gettempdir()) / f"steelyard-{source.stem}-{source.stat().st_mtime_ns}"
    if not program.exists():
        built = subprocess.run(["cc", "-O2", "-o", str(program), str(source), *options], check=False)
        if built.returncode != 0:
            return "cc"
    return str(program)
