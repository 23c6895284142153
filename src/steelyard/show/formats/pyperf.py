# SPDX-License-Identifier: Apache-2.0
"""pyperf's JSON, version 1.0: a run is a process with its values.

Source: pyperf documentation, API, "JSON format". Written with all values of every process and, in keys of our own that
pyperf passes on, which statistic of them stands for the run: reading it again gives the same samples. The controls do
not go along, so a comparison of two such files can no longer divide out what the machine did between them. pyperf takes
more for worse: a rate would be judged upside down, and is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from steelyard.judge.imported import one_number_each
from steelyard.judge.ledger import CaseEntry, Ledger, RunEntry
from steelyard.records import Better, ForeignFile, ForeignSample, Statistic
from steelyard.show import reasons
from steelyard.show.formats._moments import iso_or_none, of_epoch
from steelyard.show.visible import json_text

_T = TypeVar("_T")
TOOL = "pyperf"
_UNITS: dict[str, tuple[str, Better]] = {
    "second": ("s", "lower"),
    "byte": ("B", "lower"),
    "integer": ("1", "neither"),
}
_NAMES = {"s": "second", "B": "byte"}
#: What pyperf calls the facts of a machine.
_FACTS = {"cpu_model_name": "cpu", "cpu_count": "logical cpus", "platform": "kernel"}
_STATISTIC = "steelyard_statistic"
_STATISTICS: dict[str, Statistic] = {"median": "median", "lower_quartile": "lower_quartile"}


class _Run(msgspec.Struct):
    values: list[float] = []
    metadata: dict[str, Any] = {}


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
    # What all runs have in common stands on the file, the rest on the benchmark or the run.
    runs = [{**file.metadata, **b.metadata, **run.metadata} for b in file.benchmarks for run in b.runs]
    dates = sorted(date for run in runs if (date := iso_or_none(run.get("date"))))
    return ForeignFile(
        path=path,
        tool=TOOL,
        samples=tuple(_sample(benchmark, file) for benchmark in file.benchmarks),
        facts={fact: str(run[name]) for run in runs[:1] for name, fact in _FACTS.items() if name in run},
        started=dates[0] if dates else None,
    )


def _sample(benchmark: _Benchmark, file: _File) -> ForeignSample:
    metadata = {**file.metadata, **benchmark.metadata}
    for run in benchmark.runs[:1]:
        metadata |= run.metadata
    unit, better = _one_of(_UNITS, metadata, "unit", "second")
    statistic = _one_of(_STATISTICS, metadata, _STATISTIC, "median")
    values = tuple(tuple(run.values) for run in benchmark.runs if run.values)
    if not values:
        raise ValueError(f"benchmark {metadata.get('name', '?')} has no values")
    return ForeignSample(
        name=str(metadata.get("name", "benchmark")),
        unit=unit,
        better=better,
        runs=one_number_each(values, statistic),
        processes_known=True,
        values=values,
        statistic=statistic,
    )


def _one_of(known: Mapping[str, _T], metadata: Mapping[str, Any], name: str, default: str) -> _T:
    word = str(metadata.get(name, default))
    if word not in known:
        raise ValueError(f"its {name} is {word[:40]!r}, and only {', '.join(known)} are known")
    return known[word]


def why_not(entry: CaseEntry) -> str | None:
    """Why a case cannot be written."""
    if entry.main.unit not in _NAMES or entry.main.better != "lower":
        return f"pyperf knows costs in seconds and bytes, and this is in {entry.main.unit}"
    return None


def export(ledger: Ledger) -> str:
    """Every process with all its values."""
    facts = {**ledger.findings.machine, **ledger.findings.environment}
    said = {
        "steelyard_version": ledger.version,
        "steelyard_session": ledger.id,
        "steelyard_machine": ledger.findings.machine_key,
        "steelyard_void": reasons.said_if(ledger.findings.void) or "no",
        **{name: facts[fact] for name, fact in _FACTS.items() if fact in facts},
    }
    # pyperf refuses metadata that are empty or have more than one line.
    common: dict[str, str | int] = {name: " ".join(value.split()) for name, value in said.items() if value.strip()}
    if facts.get("logical cpus", "").isdecimal():
        common["cpu_count"] = int(facts["logical cpus"])
    data = {
        "version": "1.0",
        "metadata": common,
        "benchmarks": [_benchmark(entry) for entry in ledger.cases],
    }
    return json_text(data, indent=1)


def _benchmark(entry: CaseEntry) -> dict[str, Any]:
    return {
        "metadata": {
            "name": entry.case.name,
            "unit": _NAMES[entry.main.unit],
            "description": entry.finding.operation,
            _STATISTIC: entry.statistic,
        },
        "runs": [_run(run) for run in entry.runs],
    }


def _run(run: RunEntry) -> dict[str, Any]:
    metadata: dict[str, Any] = {"loops": max(1, run.operations), "steelyard_block": run.block}
    if run.started:
        # pyperf takes a moment without a zone to be local; ours are in UTC, and say so by their key only.
        metadata["date"] = of_epoch(run.started).strftime("%Y-%m-%d %H:%M:%S.%f")
        metadata["duration"] = run.duration_s
    if run.peak_rss_bytes:
        metadata["mem_max_rss"] = run.peak_rss_bytes
    if run.cpus:
        metadata["cpu_affinity"] = ",".join(map(str, run.cpus))
    if run.disturbed:
        metadata["steelyard_disturbed"] = "; ".join(run.disturbed)
    return {"metadata": metadata, "values": list(run.values)}
