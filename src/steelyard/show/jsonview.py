# SPDX-License-Identifier: Apache-2.0
"""Findings for programs: one object a case, figures in base units."""

from __future__ import annotations

from typing import Any

import msgspec

from steelyard.judge.cases import CaseFinding, Figure
from steelyard.judge.findings import Findings


def cases(findings: Findings) -> list[dict[str, Any]]:
    """One object a case; controls and baselines are marked as such."""
    return [{**_case(case), "void": findings.void} for case in findings.cases]


def _case(case: CaseFinding) -> dict[str, Any]:
    return {
        "case": case.case,
        **_figure(case.main),
        "user": case.user_s,
        "system": case.system_s,
        "switches": case.switches,
        "control": case.control,
        "others": [_figure(figure) for figure in case.others],
        "caveats": list(case.caveats),
        **({"counters": [_figure(figure) for figure in case.counters]} if case.counters else {}),
    }


def _figure(figure: Figure) -> dict[str, Any]:
    return {
        "metric": figure.metric,
        "unit": figure.unit,
        "better": figure.better,
        "median": figure.median,
        "low": figure.low,
        "high": figure.high,
        "minimum": figure.minimum,
        "p25": figure.p25,
        "p99": figure.p99,
        "n": figure.n,
        "net": msgspec.to_builtins(figure.net),
        "modes": msgspec.to_builtins(figure.modes),
        "published": msgspec.to_builtins(figure.published),
    }
