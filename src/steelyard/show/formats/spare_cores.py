# SPDX-License-Identifier: Apache-2.0
"""Spare Cores' tables ``benchmark`` and ``benchmark_score``, as JSON objects in their columns.

A score is one number: the median of a case by its main metric, in base units. How many runs it is of and its 95 %
interval stand in the row's ``note``, which is the only place for them; runs are lost. The vendor and the server are
those of the instance type, where the machine says it, else ``unknown``: fill them in. Read as rows of one server, in a
list or below ``benchmark_score``, also in the columns of before version 0.9 (``server_id``, ``kernel_version``): each
becomes a case of one run, with its note as a caveat. Without the rows of ``benchmark`` the file does not say in which
units the scores are. Source: the tables of sc-crawler, versions 0.5 to 0.10.
"""

from __future__ import annotations

from typing import Any

import msgspec

from steelyard.judge.ledger import CaseEntry, Ledger
from steelyard.records import Better, Case, CasePattern, ForeignFile, ForeignSample
from steelyard.show.formats._moments import iso_or_none
from steelyard.show.visible import json_text, visible

TOOL = "Spare Cores"
_FRAMEWORK = "steelyard"
#: The vendor by the beginning of what the firmware says of itself.
_VENDORS = {
    "Alibaba Cloud": "alicloud",
    "Amazon EC2": "aws",
    "Google": "gcp",
    "Hetzner": "hcloud",
    "Microsoft Corporation": "azure",
    "OVHcloud": "ovh",
    "UpCloud": "upcloud",
    "Vultr": "vultr",
}
_UNKNOWN = "unknown"
#: Units of their scores in ours.
_UNITS = {
    "ns": ("s", 1e-9),
    "us": ("s", 1e-6),
    "µs": ("s", 1e-6),
    "ms": ("s", 1e-3),
    "sec": ("s", 1.0),
    "seconds": ("s", 1.0),
    "MB/s": ("B/s", 1e6),
    "MB/sec": ("B/s", 1e6),
    "GB/s": ("B/s", 1e9),
    "rps": ("1/s", 1.0),
}
_LONGEST_UNIT = 16
#: The parameters of a row that say where a case ran, and in which variant.
_PLACEMENT, _VARIANT = "placement", "variant"


class _Score(msgspec.Struct):
    """A row of ``benchmark_score``."""

    vendor_id: str
    benchmark_id: str
    score: float
    resource_id: str | None = None
    server_id: str | None = None
    config: dict[str, Any] = {}
    environment: dict[str, Any] | None = None
    kernel_version: str | None = None
    note: str | None = None
    status: str = "ACTIVE"
    observed_at: str | None = None

    @property
    def server(self) -> str:
        """Of which server it is."""
        return f"{self.vendor_id}/{self.resource_id or self.server_id or _UNKNOWN}"

    @property
    def kernel(self) -> str:
        """The kernel that it was measured on; empty where the row does not say it."""
        return str((self.environment or {}).get("kernel_version") or self.kernel_version or "")


class _Benchmark(msgspec.Struct):
    """A row of ``benchmark``."""

    benchmark_id: str
    unit: str | None = None
    higher_is_better: bool | int = True


class _File(msgspec.Struct):
    benchmark_score: list[_Score]
    benchmark: list[_Benchmark] = []


def recognises(data: dict[str, Any]) -> bool:
    """Whether these are such tables, or rows of the second."""
    rows = data.get("benchmark_score", data.get("rows"))
    first = rows[0] if isinstance(rows, list) and rows else None
    return isinstance(first, dict) and {"vendor_id", "benchmark_id", "score"} <= first.keys()


def read(data: dict[str, Any], path: str) -> ForeignFile:
    """The score of each row that is in force; raises ValueError for rows of several servers."""
    file = msgspec.convert({"benchmark_score": data.get("rows", []), **data}, _File)
    rows = [row for row in file.benchmark_score if row.status.upper() == "ACTIVE"]
    servers = sorted({row.server for row in rows})
    if len(servers) > 1:
        raise ValueError(f"it has rows of {len(servers)} servers, {servers[0]} and others: keep those of one")
    benchmarks = {benchmark.benchmark_id: benchmark for benchmark in file.benchmark}
    kernel = next((row.kernel for row in rows if row.kernel), "")
    moments = [row.observed_at for row in rows if row.observed_at]
    return ForeignFile(
        path=path,
        tool=TOOL,
        samples=tuple(_sample(row, benchmarks.get(row.benchmark_id)) for row in rows),
        facts={"instance type": "".join(servers), **({"kernel": kernel} if kernel else {})},
        started=iso_or_none(max(moments, default=None)),
    )


def _sample(row: _Score, of: _Benchmark | None) -> ForeignSample:
    said = "_".join(visible((of.unit if of else None) or "").split())[:_LONGEST_UNIT] or "1"
    unit, factor = _UNITS.get(said, (said, 1.0))
    better: Better = "higher" if of is None or of.higher_is_better else "lower"
    caveats = [f"the row says: {row.note}"] if row.note else []
    if of is None:
        caveats.append("the file does not say in which unit the score is, nor whether more is better")
    return ForeignSample(
        name=_name(row),
        unit=unit,
        better=better,
        runs=(row.score * factor,),
        processes_known=False,
        caveats=tuple(caveats),
    )


def _name(row: _Score) -> str:
    """The name of our case where the row is one of ours, else the benchmark with its settings."""
    framework, _, probe = row.benchmark_id.partition(":")
    settings = {name: str(value) for name, value in row.config.items()}
    if framework == _FRAMEWORK and (placement := settings.pop(_PLACEMENT, None)):
        variant = settings.pop(_VARIANT, None)
        inner = ",".join(f"{name}={value}" for name, value in settings.items())
        ours = f"{probe}{f'[{inner}]' if inner else ''}@{placement}"
        if CasePattern.parse(ours):
            return ours if variant is None else f"{ours}~{variant}"
    inner = ",".join(f"{name}={value}" for name, value in sorted(row.config.items()))
    return f"{row.benchmark_id}[{inner}]" if inner else row.benchmark_id


def export(ledger: Ledger) -> str:
    """A row of ``benchmark`` for each mechanism, and one of ``benchmark_score`` for each case."""
    probes = {entry.case.probe: entry for entry in reversed(ledger.cases)}
    return json_text(
        {
            "benchmark": [_benchmark(entry, ledger) for entry in reversed(probes.values())],
            "benchmark_score": [_score(entry, ledger) for entry in ledger.cases],
        }
    )


def _id(case: Case) -> str:
    return f"{_FRAMEWORK}:{case.probe}"


def _benchmark(entry: CaseEntry, ledger: Ledger) -> dict[str, Any]:
    main = entry.main
    parameters = dict.fromkeys(
        name for other in ledger.cases if other.case.probe == entry.case.probe for name in other.case.parameters
    )
    return {
        "benchmark_id": _id(entry.case),
        "category": entry.case.probe.partition("/")[0],
        "source": {"kind": "measured"},
        "name": entry.finding.called,
        "description": f"One operation is {entry.finding.operation}. The score: {main.doc}.",
        "note": "Base units. A score is the median over fresh processes; its interval is in the note of its row.",
        "framework": _FRAMEWORK,
        "config_fields": {
            **{name: f"parameter {name} of the probe" for name in parameters},
            _PLACEMENT: "where it runs: on the same CPU, across two CPUs, or free",
        },
        "measurement": main.name,
        "unit": main.unit,
        "higher_is_better": main.better == "higher",
        "status": "ACTIVE",
        "observed_at": ledger.findings.started,
    }


def _score(entry: CaseEntry, ledger: Ledger) -> dict[str, Any]:
    told = {**ledger.findings.machine, **ledger.findings.environment}
    platform = told.get("platform", "")
    return {
        "vendor_id": next((id_ for name, id_ in _VENDORS.items() if platform.startswith(name)), _UNKNOWN),
        "benchmark_id": _id(entry.case),
        "resource_type": "SERVER",
        "resource_id": told.get("instance type", _UNKNOWN),
        "config": {
            **entry.case.parameters,
            _PLACEMENT: entry.case.placement,
            **({} if entry.case.variant is None else {_VARIANT: entry.case.variant}),
        },
        "framework_version": ledger.version,
        "environment": {"kernel_version": told.get("kernel", _UNKNOWN)},
        "score": entry.finding.main.median,
        "score_breakdown": None,
        "note": _note(entry),
        "status": "ACTIVE",
        "observed_at": ledger.findings.started,
    }


def _note(entry: CaseEntry) -> str:
    figure = entry.finding.main
    if figure.low is None or figure.high is None:
        return f"median of {figure.n} processes, which are too few for an interval"
    return f"median of {figure.n} processes, 95 % interval [{figure.low!r}, {figure.high!r}] {figure.unit}"
