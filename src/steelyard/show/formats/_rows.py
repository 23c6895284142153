# SPDX-License-Identifier: Apache-2.0
"""A session as a tidy table: one row a run and metric. Shared by formats, and none itself."""

from __future__ import annotations

import json
from collections.abc import Iterator

from steelyard.judge.ledger import Ledger
from steelyard.show import reasons

Cell = str | int | float | bool | None

#: The columns in order, with their types in SQL. Moments are seconds since 1970, ``parameters`` is a JSON object.
COLUMNS = {
    "session": "VARCHAR",
    "session_started": "VARCHAR",
    "machine": "VARCHAR",
    "void": "VARCHAR",
    "case": "VARCHAR",
    "probe": "VARCHAR",
    "placement": "VARCHAR",
    "variant": "VARCHAR",
    "parameters": "VARCHAR",
    "control": "BOOLEAN",
    "block": "INTEGER",
    "order": "INTEGER",
    "attempt": "INTEGER",
    "started": "DOUBLE",
    "duration_s": "DOUBLE",
    "operations": "BIGINT",
    "disturbed": "VARCHAR",
    "metric": "VARCHAR",
    "main": "BOOLEAN",
    "unit": "VARCHAR",
    "better": "VARCHAR",
    "value": "DOUBLE",
}


def rows(ledger: Ledger) -> Iterator[dict[str, Cell]]:
    """The rows, case by case."""
    session: dict[str, Cell] = {
        "session": ledger.id,
        "session_started": ledger.findings.started,
        "machine": ledger.findings.machine_key,
        "void": reasons.said_if(ledger.findings.void),
    }
    for entry in ledger.cases:
        case: dict[str, Cell] = {
            "case": entry.case.name,
            "probe": entry.case.probe,
            "placement": entry.case.placement,
            "variant": entry.case.variant,
            "parameters": json.dumps(entry.case.parameters),
            "control": entry.finding.control,
        }
        for run in entry.runs:
            for metric in entry.metrics:
                if metric.name in run.numbers:
                    yield {
                        **session,
                        **case,
                        "block": run.block,
                        "order": run.order,
                        "attempt": run.attempt,
                        "started": run.started or None,
                        "duration_s": run.duration_s or None,
                        "operations": run.operations,
                        "disturbed": "; ".join(run.disturbed) or None,
                        "metric": metric.name,
                        "main": metric is entry.main,
                        "unit": metric.unit,
                        "better": metric.better,
                        "value": run.numbers[metric.name],
                    }
