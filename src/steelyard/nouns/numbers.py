# SPDX-License-Identifier: Apache-2.0
"""What stands for the runs of a session."""

from __future__ import annotations

from steelyard.nouns.base import Record
from steelyard.nouns.case import Case
from steelyard.nouns.probe import Metric


class Summary(Record, frozen=True, kw_only=True):
    """One sample in a few numbers, all but n and confidence in the unit of the sample.

    low and high bound the median; they are infinite when n is too small for the confidence (below 6 for 95 %).
    p99 of fewer than 100 runs lies near the maximum and says little more than it.
    """

    n: int
    median: float
    low: float
    high: float
    confidence: float
    minimum: float
    p25: float
    p99: float
    maximum: float


class RunNumbers(Record, frozen=True, kw_only=True):
    """What stands for a run that has values. ``place``: that of the run in its session.

    ``counts``: it stands for its block. ``numbers``: one a metric, NaN for none. ``figures``: the main metric's of each
    value, in its order; None where the value has none.
    """

    place: int
    counts: bool
    numbers: tuple[float, ...]
    figures: tuple[float | None, ...]


class CaseNumbers(Record, frozen=True, kw_only=True):
    """A case of a session with the numbers of its runs, and the summary of those that count by its main metric.

    ``metrics``: those of the probe, the main one first, then those of the processor's counters. ``disturbed``: runs
    that count although they were disturbed. ``summary`` is None where no run that counts has a number.
    """

    case: Case
    control: bool
    planned: bool
    metrics: tuple[Metric, ...]
    runs: tuple[RunNumbers, ...]
    disturbed: int
    summary: Summary | None
