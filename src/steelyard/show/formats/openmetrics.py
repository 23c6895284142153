# SPDX-License-Identifier: Apache-2.0
"""OpenMetrics 1.0 text, for node_exporter's textfile collector.

Gauges only, no timestamps and no types that only OpenMetrics has: the collector reads the older Prometheus text format
and refuses a file with either. Sources: OpenMetrics 1.0, "Text format"; Prometheus, "Exposition formats". Base units
are in the names. The medians of cases, their intervals and their number of runs; runs are lost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime

from steelyard.judge.cases import Figure
from steelyard.judge.ledger import CaseEntry, Ledger

EXACT = True
_UNITS = {"s": "seconds", "B": "bytes", "B/s": "bytes_per_second", "1/s": "per_second", "1": "ratio"}
_HELP = {
    "median": "Median over the runs of a case",
    "low": "Lower end of the 95 % interval of the median",
    "high": "Upper end of the 95 % interval of the median",
    "minimum": "Least run of a case",
}


def export(ledger: Ledger) -> str:
    """One family a statistic and unit, then what the session says of itself."""
    families: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for entry in ledger.cases:
        for figure in (entry.finding.main, *entry.finding.others, *entry.finding.counters):
            unit = _UNITS.get(figure.unit)
            labels = {**_labels(entry), "metric": figure.metric, **({} if unit else {"unit": figure.unit})}
            for statistic, number in _numbers(figure).items():
                name = "_".join(("steelyard_case", statistic, *((unit,) if unit else ())))
                families[name, unit or "", _HELP[statistic]].append(_sample(name, labels, number))
        families["steelyard_case_runs", "", "Runs that count of a case"].append(
            _sample("steelyard_case_runs", _labels(entry), len(entry.runs))
        )
    lines = [line for (name, unit, text), samples in families.items() for line in _family(name, unit, text, samples)]
    return "\n".join([*lines, *_session(ledger), "# EOF"]) + "\n"


def _numbers(figure: Figure) -> dict[str, float]:
    there = {"median": figure.median, "low": figure.low, "high": figure.high, "minimum": figure.minimum}
    return {name: number for name, number in there.items() if number is not None}


def _labels(entry: CaseEntry) -> dict[str, str]:
    return {"case": entry.case.name, "probe": entry.case.probe, "placement": entry.case.placement}


def _session(ledger: Ledger) -> list[str]:
    findings = ledger.findings
    about = {"session": ledger.id, "machine": findings.machine_key, "version": ledger.version}
    started = datetime.fromisoformat(findings.started).timestamp()
    return [
        *_alone("steelyard_session_info", "", "Which session this is", about, 1),
        *_alone("steelyard_session_start_timestamp_seconds", "seconds", "When the session began", {}, started),
        *_alone(
            "steelyard_session_void", "", "1 if controls failed: use no figure", {}, int(findings.void is not None)
        ),
        *_alone("steelyard_session_controls", "", "Controls that the session has", {}, len(findings.controls)),
        *_alone("steelyard_session_failed_cases", "", "Cases with a failed run", {}, len(findings.failures)),
    ]


def _alone(name: str, unit: str, text: str, labels: Mapping[str, str], number: float) -> list[str]:
    return _family(name, unit, text, [_sample(name, labels, number)])


def _family(name: str, unit: str, text: str, samples: list[str]) -> list[str]:
    said = [f"# HELP {name} {text}.", f"# TYPE {name} gauge"]
    return [*said, *([f"# UNIT {name} {unit}"] if unit else []), *samples]


def _sample(name: str, labels: Mapping[str, str], number: float) -> str:
    inner = ",".join(f'{label}="{_escaped(value)}"' for label, value in labels.items())
    return f"{name}{{{inner}}} {number!r}" if inner else f"{name} {number!r}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
