# SPDX-License-Identifier: Apache-2.0
"""Files of other tools."""

from __future__ import annotations

from steelyard.nouns.base import Better, Record, Statistic


class ForeignSample(Record, frozen=True, kw_only=True):
    """A benchmark of another tool's file: one number a run, in base units.

    ``processes_known``: a run is a process; else the numbers are repetitions inside one process.
    ``values``: those that the number of each run stands for, by ``statistic``; empty where the file keeps none.
    ``caveats``: what the file says of this benchmark alone.
    """

    name: str
    unit: str
    better: Better
    runs: tuple[float, ...]
    processes_known: bool
    values: tuple[tuple[float, ...], ...] = ()
    statistic: Statistic = "median"
    caveats: tuple[str, ...] = ()


class ForeignFile(Record, frozen=True, kw_only=True):
    """What a file of another tool holds. ``facts`` are of the machine, by the names that `Machine` has for them."""

    path: str
    tool: str
    samples: tuple[ForeignSample, ...]
    caveats: tuple[str, ...] = ()
    facts: dict[str, str] = {}
    started: str | None = None
