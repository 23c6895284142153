# SPDX-License-Identifier: Apache-2.0
"""What a probe prints in a run, as it was understood: its values, and what the processor counted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import msgspec

from steelyard.nouns.base import Count, Placement, Positive, Reading, Record, Scalar
from steelyard.nouns.probe import Metric

#: Begins the quantities that are made of the processor's counters.
_COUNTER = "counter."
_LEAST, _MOST = 1e-150, 1e150
#: Leading bits of a number that its bucket of a histogram keeps.
HISTOGRAM_BITS = 8
#: How many times must be expected beyond a quantile, for it to be one.
_BEYOND = 10


class Counter(msgspec.Struct, frozen=True, array_like=True):
    """What a counter of the processor counted, and the times for which it was enabled and for which it ran."""

    count: Count
    enabled_ns: Count
    running_ns: Count

    @property
    def scaled(self) -> float | None:
        """The count scaled to the time for which the counter was enabled; None if it never ran."""
        if self.running_ns >= self.enabled_ns:
            return float(self.count)
        return None if self.running_ns == 0 else self.count * self.enabled_ns / self.running_ns


class Counters(Record, frozen=True, kw_only=True):
    """What was counted when the batch of a value was run again for it, by event; ``operations`` are of that batch."""

    operations: Positive
    events: dict[str, Counter]


class Value(Record, frozen=True, kw_only=True):
    """One timed batch inside a run. ``user_ns`` and ``system_ns`` are None where only their sum can be read."""

    operations: Positive
    wall_ns: Count
    lanes: Positive = 1
    cpu_ns: Count | None = None
    user_ns: Count | None = None
    system_ns: Count | None = None
    voluntary: Count | None = None
    involuntary: Count | None = None
    minor_faults: Count | None = None
    run_delay_ns: Count | None = None
    counts: dict[str, Count] = {}
    readings: dict[str, Reading] = {}
    counters: Counters | None = None

    def quantity(self, name: str) -> float | None:
        """A quantity that a metric is made of, in base units; None if this value does not have it."""
        match name:
            case "wall":
                return self.wall_ns * self.lanes / 1e9
            case "cpu" | "user" | "system":
                nanoseconds = {"cpu": self.cpu_ns, "user": self.user_ns, "system": self.system_ns}[name]
                return None if nanoseconds is None else nanoseconds / 1e9
            case "operations":
                return float(self.operations)
            case "one":
                return 1.0
            case _ if name.startswith(_COUNTER):
                return self._counted(name.removeprefix(_COUNTER))
            case _:
                count = self.counts.get(name)
                return self.readings.get(name) if count is None else float(count)

    def _counted(self, name: str) -> float | None:
        if self.counters is None:
            return None
        if name == "operations":
            return float(self.counters.operations)
        counter = self.counters.events.get(name)
        return None if counter is None else counter.scaled

    def figure(self, metric: Metric) -> float | None:
        """The metric's figure; None if a quantity is missing or nothing happened that it could be divided by.

        None also for what no machine can have: its square would not be a number.
        """
        over, per = self.quantity(metric.over), self.quantity(metric.per)
        if over is None or not per:
            return None
        figure = over / per
        return figure if figure == 0 or _LEAST < abs(figure) < _MOST else None


class Histogram(Record, frozen=True, kw_only=True):
    """How often what was timed one by one in a run took how long: the few longest are in it, which no quantile has.

    ``buckets``: the least whole number that a bucket holds, and how many it holds; a number is ``scale`` of ``unit``.
    Numbers below 256 have a bucket each, and every octave above has 128, as HdrHistogram has them with two significant
    digits: so two histograms are merged by adding.
    """

    name: str
    unit: str
    scale: Annotated[float, msgspec.Meta(gt=0, le=1e9)]
    buckets: Annotated[tuple[tuple[Count, Positive], ...], msgspec.Meta(max_length=8192)]

    def quantile(self, share: float) -> float | None:
        """What at least this share of the times do not exceed, in ``unit``, as the middle of its bucket.

        None where fewer than 10 are expected beyond it: p99 takes 1000 of them, p99.9 10,000.
        """
        count, seen = sum(times for _, times in self.buckets), 0
        if count * (1 - share) < _BEYOND - 1e-6:
            return None
        for least, times in self.buckets:
            seen += times
            if seen >= share * count:
                beyond = max(0, least.bit_length() - HISTOGRAM_BITS)
                return (least + ((1 << beyond) - 1) / 2) * self.scale
        return None


def counter_metrics(values: Iterable[Value]) -> tuple[Metric, ...]:
    """The metrics of what the processor counted in these values: each event an operation, and what is made of two."""
    events = list(dict.fromkeys(name for value in values if value.counters for name in value.counters.events))
    metrics = [
        Metric(
            name=name,
            unit="1",
            better="lower",
            over=f"{_COUNTER}{name}",
            per=f"{_COUNTER}operations",
            doc=f"{name.replace('_', ' ')} an operation, as the machine counted them",
        )
        for name in events
    ]
    if {"instructions", "cycles"} <= set(events):
        over, per = f"{_COUNTER}instructions", f"{_COUNTER}cycles"
        doc = "instructions that the processor finished in a cycle"
        metrics.append(Metric(name="instructions_per_cycle", unit="1", better="neither", over=over, per=per, doc=doc))
    return tuple(metrics)


class Meta(Record, frozen=True, kw_only=True):
    """What a probe says about a run before its values.

    ``counters``: what the processor counted, and whose. ``timed``: the function, of a part with variants.
    """

    protocol: int
    probe: str
    parameters: dict[str, Scalar]
    placement: Placement
    operations: Count
    cpus: tuple[int, ...] = ()
    compiler: str = ""
    flags: str = ""
    clock: str = ""
    search_ns: Count = 0
    counters: str = ""
    counters_absent: str = ""
    timed: str = ""


class Transcript(Record, frozen=True, kw_only=True):
    """All that a probe printed in a run that ended properly. ``caveat_metrics`` and ``faults`` are as in a `Run`."""

    meta: Meta
    values: tuple[Value, ...]
    caveats: tuple[str, ...] = ()
    caveat_metrics: dict[str, tuple[str, ...]] = {}
    faults: tuple[str, ...] = ()
    histograms: tuple[Histogram, ...] = ()
