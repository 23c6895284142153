# SPDX-License-Identifier: Apache-2.0
"""google/benchmark's JSON: repetitions of one process (`--benchmark_repetitions`), no process level."""

from __future__ import annotations

from typing import Any

import msgspec

from steelyard.records import ForeignFile, ForeignSample

TOOL = "google/benchmark"
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


class _Benchmark(msgspec.Struct):
    name: str
    real_time: float = 0.0
    time_unit: str = "ns"
    run_type: str = "iteration"
    run_name: str | None = None
    error_occurred: bool = False


class _File(msgspec.Struct):
    benchmarks: list[_Benchmark]


def recognises(data: dict[str, Any]) -> bool:
    """Whether this is such a file."""
    return "benchmarks" in data and "context" in data


def read(data: dict[str, Any], path: str) -> ForeignFile:
    """Real time of each repetition; aggregates that the tool computed itself are passed over."""
    file = msgspec.convert(data, _File)
    runs: dict[str, list[float]] = {}
    for benchmark in file.benchmarks:
        if benchmark.run_type == "iteration" and not benchmark.error_occurred:
            seconds = benchmark.real_time * _SECONDS[benchmark.time_unit]
            runs.setdefault(benchmark.run_name or benchmark.name, []).append(seconds)
    samples = (
        ForeignSample(name=name, unit="s", better="lower", runs=tuple(costs), processes_known=False)
        for name, costs in runs.items()
    )
    return ForeignFile(path=path, tool=TOOL, samples=tuple(samples))
