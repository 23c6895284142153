# SPDX-License-Identifier: Apache-2.0
"""pyperf's JSON, version 1.0: a run is a process with its values (pyperf documentation, API, "JSON format")."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from steelyard.records import Better, ForeignFile, ForeignSample

TOOL = "pyperf"
_UNITS = {"second": ("s", "lower"), "byte": ("B", "lower"), "integer": ("1", "neither")}


class _Run(msgspec.Struct):
    values: list[float] = []


class _Benchmark(msgspec.Struct):
    runs: list[_Run]
    metadata: dict[str, Any] = {}


class _File(msgspec.Struct):
    benchmarks: list[_Benchmark]
    metadata: dict[str, Any] = {}


def recognises(data: dict[str, Any]) -> bool:
    """Whether this is such a file."""
    return "benchmarks" in data and str(data.get("version", "")).startswith("1") and "context" not in data


def read(data: dict[str, Any], path: str) -> ForeignFile:
    """One number a process: the median of its values; calibration runs without values are passed over."""
    file = msgspec.convert(data, _File, strict=False)
    return ForeignFile(path=path, tool=TOOL, samples=tuple(_sample(benchmark, file) for benchmark in file.benchmarks))


def _sample(benchmark: _Benchmark, file: _File) -> ForeignSample:
    metadata = {**file.metadata, **benchmark.metadata}
    unit, better = _UNITS[str(metadata.get("unit", "second"))]
    runs = tuple(float(np.median(run.values)) for run in benchmark.runs if run.values)
    if not runs:
        raise ValueError(f"benchmark {metadata.get('name', '?')} has no values")
    direction: Better = "lower" if better == "lower" else "neither"
    return ForeignSample(
        name=str(metadata.get("name", "benchmark")), unit=unit, better=direction, runs=runs, processes_known=True
    )
