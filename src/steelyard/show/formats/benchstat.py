# SPDX-License-Identifier: Apache-2.0
"""The Go benchmark format, for `benchstat`: a line a run, with all its figures.

A case is written as Go names sub-benchmarks, so that benchstat can group by parts: ``switch/yield[contexts=2]@same`` is
``BenchmarkSwitch/way=yield/contexts=2/placement=same-2`` (`benchstat -col /placement`). What the format takes for an
end of a name or of a part is percent-encoded. The values inside a run are lost, runs are kept.
Source: golang.org/design/14313-benchmark-format, and golang.org/x/perf/benchfmt for units.
"""

from __future__ import annotations

from steelyard.judge.ledger import CaseEntry, Ledger, RunEntry
from steelyard.records import Case, Metric
from steelyard.show import reasons

#: Units that benchstat knows how to scale.
_UNITS = {"s": "sec", "B": "B", "B/s": "B/s"}


def export(ledger: Ledger) -> str:
    """The configuration, which way each unit is better, and a line a run."""
    facts = ledger.findings.machine
    # benchstat makes a table for each configuration: what differs between any two sessions must not stand here.
    configuration = {
        "pkg": "steelyard",
        "cpu": facts.get("cpu", ""),
        "void": reasons.said_if(ledger.findings.void) or "",
    }
    units = {_unit(entry, metric): metric.better for entry in ledger.cases for metric in entry.metrics}
    cpus = facts.get("logical cpus", "")
    return "\n".join(
        [
            *(f"{name}: {' '.join(value.split())}" for name, value in configuration.items() if value.strip()),
            *(f"Unit {unit} better={better}" for unit, better in units.items() if better != "neither"),
            *(
                _line(_name(entry.case, cpus), entry, run)
                # By blocks, as they were measured: what is read in order of time stays so.
                for block in sorted({run.block for entry in ledger.cases for run in entry.runs})
                for entry in ledger.cases
                for run in entry.runs
                if run.block == block
            ),
            "",
        ]
    )


def _line(name: str, entry: CaseEntry, run: RunEntry) -> str:
    figures = [
        f"{run.numbers[metric.name]!r} {_unit(entry, metric)}" for metric in entry.metrics if metric.name in run.numbers
    ]
    return f"{name} {max(1, run.operations)} {' '.join(figures)}"


def _unit(entry: CaseEntry, metric: Metric) -> str:
    """``sec/op``, ``B/op`` or ``B/s`` for the main metric, so that cases share a table; else the metric's own name."""
    base = _UNITS.get(metric.unit)
    if base is None or (metric.unit == "B/s" and metric is entry.main):
        return base or _encoded(metric.name)
    return f"{base}/{'op' if metric is entry.main else _encoded(metric.name)}"


def _name(case: Case, cpus: str) -> str:
    question, _, way = case.probe.partition("/")
    parts = [f"way={_encoded(way)}"]
    parts += [f"{_encoded(name)}={_encoded(str(value))}" for name, value in case.parameters.items()]
    parts.append(f"placement={case.placement}")
    if case.variant is not None:
        parts.append(f"variant={_encoded(case.variant)}")
    # The number of CPUs ends a name as GOMAXPROCS does in Go; else a number in the last part would be taken for it.
    ending = cpus if cpus.isdecimal() and cpus.isascii() else "1"
    return f"Benchmark{_encoded(question.capitalize())}/{'/'.join(parts)}-{ending}"


def _encoded(text: str) -> str:
    return "".join(c if c.isprintable() and not c.isspace() and c not in "%/=" else _percent(c) for c in text)


def _percent(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "backslashreplace"))
