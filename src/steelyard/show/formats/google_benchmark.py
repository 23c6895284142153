# SPDX-License-Identifier: Apache-2.0
"""google/benchmark's JSON: repetitions of one process (`--benchmark_repetitions`), no process level.

Written with one repetition a run, as ``tools/compare.py`` reads it (its fields: google/benchmark, docs/user_guide.md,
"Output Formats"). The file has no place for processes, so a key of the context says that a repetition is one; without
it, a comparison allows for how processes differ. The values inside a run are lost. A rate becomes a counter beside the
time of an operation, and only that time is read again.
"""

from __future__ import annotations

from typing import Any

import msgspec

from steelyard.judge.ledger import CaseEntry, Ledger, RunEntry, moments
from steelyard.records import ForeignFile, ForeignSample
from steelyard.show.formats._moments import iso_or_none
from steelyard.show.visible import json_text

TOOL = "google/benchmark"
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
#: Our key of the context; google/benchmark passes on what `--benchmark_context` adds.
_REPETITION = "steelyard_repetition"
_COUNTERS = {"B/s": "bytes_per_second"}


class _Benchmark(msgspec.Struct):
    name: str
    real_time: float = 0.0
    time_unit: str = "ns"
    run_type: str = "iteration"
    run_name: str | None = None
    error_occurred: bool = False


class _File(msgspec.Struct):
    benchmarks: list[_Benchmark]
    context: dict[str, Any] = {}


def recognises(data: dict[str, Any]) -> bool:
    """Whether this is such a file."""
    return "benchmarks" in data and "context" in data


def read(data: dict[str, Any], path: str) -> ForeignFile:
    """Real time of each repetition; aggregates that the tool computed itself are passed over."""
    file = msgspec.convert(data, _File)
    runs: dict[str, list[float]] = {}
    for benchmark in file.benchmarks:
        if benchmark.run_type == "iteration" and not benchmark.error_occurred:
            if benchmark.time_unit not in _SECONDS:
                unit = benchmark.time_unit[:40]
                raise ValueError(f"{benchmark.name!r} is in {unit!r}, and only {', '.join(_SECONDS)} are known")
            seconds = benchmark.real_time * _SECONDS[benchmark.time_unit]
            runs.setdefault(benchmark.run_name or benchmark.name, []).append(seconds)
    processes = file.context.get(_REPETITION) == "process"
    samples = (
        ForeignSample(name=name, unit="s", better="lower", runs=tuple(costs), processes_known=processes)
        for name, costs in runs.items()
    )
    facts = {"logical cpus": str(file.context["num_cpus"])} if "num_cpus" in file.context else {}
    return ForeignFile(
        path=path, tool=TOOL, samples=tuple(samples), facts=facts, started=iso_or_none(file.context.get("date"))
    )


def why_not(entry: CaseEntry) -> str | None:
    """Why a case cannot be written."""
    if entry.main.unit != "s" and not all(run.wall_s > 0 for run in entry.runs):
        return f"it is in {entry.main.unit}, and how long an operation took is not known"
    return None


def export(ledger: Ledger) -> str:
    """A repetition a run, then the aggregates that the tool itself would add."""
    facts = ledger.findings.machine
    context: dict[str, Any] = {
        "date": ledger.findings.started,
        "host_name": ledger.findings.machine_key,
        "executable": "steelyard",
        "num_cpus": int(facts["logical cpus"]) if facts.get("logical cpus", "").isdecimal() else 0,
        "mhz_per_cpu": 0,
        "cpu_scaling_enabled": False,
        "caches": [],
        "load_avg": [],
        "library_version": ledger.version,
        "library_build_type": "release",
        "json_schema_version": 1,
        _REPETITION: "process" if ledger.processes_known else "unknown",
        "steelyard_cpu": facts.get("cpu", ""),
        "steelyard_session": ledger.id,
        "steelyard_void": ledger.findings.void or "no",
    }
    benchmarks = [line for family, entry in enumerate(ledger.cases) for line in _lines(family, entry)]
    return json_text({"context": context, "benchmarks": benchmarks})


def _lines(family: int, entry: CaseEntry) -> list[dict[str, Any]]:
    unit = _time_unit(min(_real_s(entry, run) for run in entry.runs))
    common = {
        "family_index": family,
        "per_family_instance_index": 0,
        "run_name": entry.case.name,
        "repetitions": len(entry.runs),
        "threads": 1,
        "time_unit": unit,
    }
    repetitions = [
        {
            "name": entry.case.name,
            **common,
            "run_type": "iteration",
            "repetition_index": number,
            "iterations": run.operations,
            **_times(entry, run, unit),
        }
        for number, run in enumerate(entry.runs)
    ]
    return repetitions + _aggregates(entry, common, unit)


def _aggregates(entry: CaseEntry, common: dict[str, Any], unit: str) -> list[dict[str, Any]]:
    """Mean, median and standard deviation of the repetitions."""
    if len(entry.runs) < 2:
        return []
    real = moments([_real_s(entry, run) / _SECONDS[unit] for run in entry.runs])
    cpu = moments([(run.cpu_s or 0.0) / _SECONDS[unit] for run in entry.runs])
    return [
        {
            "name": f"{entry.case.name}_{name}",
            **common,
            "run_type": "aggregate",
            "aggregate_name": name,
            "aggregate_unit": "time",
            "iterations": len(entry.runs),
            "real_time": getattr(real, name),
            "cpu_time": getattr(cpu, name),
        }
        for name in ("mean", "median", "stddev")
    ]


def _real_s(entry: CaseEntry, run: RunEntry) -> float:
    """Seconds an operation: the main figure if it is a time."""
    return run.numbers[entry.main.name] if entry.main.unit == "s" else run.wall_s


def _time_unit(seconds: float) -> str:
    return next((unit for unit in ("s", "ms", "us") if seconds >= _SECONDS[unit]), "ns")


def _times(entry: CaseEntry, run: RunEntry, unit: str) -> dict[str, float]:
    """Times and counters. CPU time is 0 where the probe cannot tell it: the field may not be absent."""
    times = {
        "real_time": _real_s(entry, run) / _SECONDS[unit],
        "cpu_time": (run.cpu_s or 0.0) / _SECONDS[unit],
    }
    counters = {
        _COUNTERS.get(metric.unit, metric.name): run.numbers[metric.name]
        for metric in entry.metrics
        if metric.name in run.numbers and (metric != entry.main or metric.unit != "s")
    }
    return {**counters, **times}
