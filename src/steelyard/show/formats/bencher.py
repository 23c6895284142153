# SPDX-License-Identifier: Apache-2.0
"""Bencher Metric Format, for `bencher run --adapter json`.

The main figure in seconds becomes Bencher's own measure ``latency``, which is in nanoseconds; every other figure is a
measure of its own name in its base unit, as Bencher makes those that it does not know. The bounds are the ends of the
95 % interval; runs are lost. Source: Bencher, reference, "Bencher Metric Format".
"""

from __future__ import annotations

from steelyard.judge.cases import Figure
from steelyard.judge.ledger import CaseEntry, Ledger
from steelyard.show.visible import json_text

_LONGEST_MEASURE = 64


def export(ledger: Ledger) -> str:
    """A benchmark a case, a measure a metric."""
    return json_text({entry.case.name: _measures(entry) for entry in ledger.cases})


def _measures(entry: CaseEntry) -> dict[str, dict[str, float]]:
    main = entry.finding.main
    first = {"latency": _metric(main, 1e9)} if main.unit == "s" else {_slug(main.metric): _metric(main, 1.0)}
    # A second metric that is also called latency must not take the place of the main one.
    return {
        **{_slug(figure.metric): _metric(figure, 1.0) for figure in (*entry.finding.others, *entry.finding.counters)},
        **first,
    }


def _slug(name: str) -> str:
    return name.replace("_", "-")[:_LONGEST_MEASURE]


def _metric(figure: Figure, factor: float) -> dict[str, float]:
    bounds = {"value": figure.median, "lower_value": figure.low, "upper_value": figure.high}
    return {name: factor * number for name, number in bounds.items() if number is not None}
