# SPDX-License-Identifier: Apache-2.0
"""hyperfine's JSON (`--export-json`): every time is a process of its own.

Read as hyperfine 1 writes it, and as hyperfine 2 does (``schema_version`` 2: a list of measurements instead of times).
Written as hyperfine 1, with one time a run, in seconds an operation, where hyperfine itself has the seconds of a
command. The values inside a run are lost, and so is what the session says of itself: the file has no place for it. Only
times fit.
"""

from __future__ import annotations

from typing import Any

import msgspec

from steelyard.judge.ledger import CaseEntry, Ledger, moments
from steelyard.records import ForeignFile, ForeignSample
from steelyard.show.formats._moments import iso_or_none
from steelyard.show.visible import json_text

TOOL = "hyperfine"


class _Quantity(msgspec.Struct):
    value: float
    unit: str


class _Measurement(msgspec.Struct):
    time_wall_clock: _Quantity


class _Result(msgspec.Struct):
    command: str
    name: str | None = None
    times: list[float] | None = None
    measurements: list[_Measurement] = []


class _Metadata(msgspec.Struct):
    start_time: str | None = None


class _File(msgspec.Struct):
    results: list[_Result]
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


def recognises(data: dict[str, Any]) -> bool:
    """Whether this is such a file."""
    return "results" in data and "benchmarks" not in data


def read(data: dict[str, Any], path: str) -> ForeignFile:
    """Wall time of each run of each command, in seconds."""
    file = msgspec.convert(data, _File)
    samples = (
        ForeignSample(
            name=result.name or result.command, unit="s", better="lower", runs=_times(result), processes_known=True
        )
        for result in file.results
    )
    return ForeignFile(path=path, tool=TOOL, samples=tuple(samples), started=iso_or_none(file.metadata.start_time))


def _times(result: _Result) -> tuple[float, ...]:
    if any(measurement.time_wall_clock.unit != "second" for measurement in result.measurements):
        raise ValueError(f"{result.command!r} has wall times in another unit than seconds")
    times = result.times or [measurement.time_wall_clock.value for measurement in result.measurements]
    if not times:
        raise ValueError(f"{result.command!r} has no times: export with --export-json, not as a summary")
    return tuple(times)


def why_not(entry: CaseEntry) -> str | None:
    """Why a case cannot be written."""
    return None if entry.main.unit == "s" else f"hyperfine knows times, and this is in {entry.main.unit}"


def export(ledger: Ledger) -> str:
    """A result a case, in the fields of hyperfine's own export."""
    return json_text({"results": [_result(entry) for entry in ledger.cases]})


def _result(entry: CaseEntry) -> dict[str, Any]:
    times = [run.numbers[entry.main.name] for run in entry.runs]
    found = moments(times)
    return {
        "command": entry.case.name,
        "mean": found.mean,
        "stddev": found.stddev,
        "median": found.median,
        "user": entry.finding.user_s or 0.0,
        "system": entry.finding.system_s or 0.0,
        "min": min(times),
        "max": max(times),
        "times": times,
        "memory_usage_byte": [run.peak_rss_bytes for run in entry.runs],
        "exit_codes": [0] * len(times),
        "parameters": {name: str(value) for name, value in entry.case.parameters.items()},
    }
