# SPDX-License-Identifier: Apache-2.0
"""hyperfine's JSON (`--export-json`): every time is a process of its own."""

from __future__ import annotations

from typing import Any

import msgspec

from steelyard.records import ForeignFile, ForeignSample

TOOL = "hyperfine"


class _Result(msgspec.Struct):
    command: str
    times: list[float] | None = None


class _File(msgspec.Struct):
    results: list[_Result]


def recognises(data: dict[str, Any]) -> bool:
    """Whether this is such a file."""
    return "results" in data and "benchmarks" not in data


def read(data: dict[str, Any], path: str) -> ForeignFile:
    """Wall time of each run of each command, in seconds."""
    file = msgspec.convert(data, _File)
    for result in file.results:
        if not result.times:
            raise ValueError(f"{result.command!r} has no times: export with --export-json, not as a summary")
    samples = (
        ForeignSample(
            name=result.command, unit="s", better="lower", runs=tuple(result.times or ()), processes_known=True
        )
        for result in file.results
    )
    return ForeignFile(path=path, tool=TOOL, samples=tuple(samples))
