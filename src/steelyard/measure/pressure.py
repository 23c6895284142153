# SPDX-License-Identifier: Apache-2.0
"""What the machine itself says of pressure: waiting (PSI), quotas of CPU time that ran out, heat that slows CPUs down.

All are totals since boot: two looks, one before and one after, tell what happened between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.measure.machine import cpu_cgroups, cpu_quota, read
from steelyard.units import counted

_ROOT = Path("/")
#: What PSI counts the waiting for, by the kernel's name.
RESOURCES = {"cpu": "a CPU", "memory": "memory", "io": "a disk"}
#: What a cgroup calls the time for which it was stopped, by version 2 and 1, and the unit of that in seconds.
_STOPPED_FOR = {"throttled_usec": 1e-6, "throttled_time": 1e-9}


@dataclass(frozen=True, slots=True)
class Bucket:
    """A quota of CPU time, which the kernel fills like a bucket of tokens in each period: at its end all is stopped.

    quota: what it gets of each period, in words; empty where there is none. stopped: in how many periods it was empty.
    """

    quota: str
    stopped: int
    stopped_s: float


@dataclass(frozen=True, slots=True)
class Seen:
    """Totals since boot: seconds in which some task waited, by resource; quotas by cgroup; how often heat slowed."""

    waited_s: Mapping[str, float] = field(default_factory=dict)
    buckets: Mapping[str, Bucket] = field(default_factory=dict)
    heat: int = 0


@dataclass(frozen=True, slots=True)
class Between:
    """What happened between two looks. waited: shares of the time. throttled_by: the quota that stopped longest."""

    waited: Mapping[str, float]
    throttled_s: float
    throttled_by: str
    heat: int


def look(cpus: Sequence[int], cgroups: Iterable[Path] | None = None, root: Path = _ROOT) -> Seen:
    """Read the totals; what the kernel does not keep is left out. cpus: those whose heat matters."""
    folders = cpu_cgroups() if cgroups is None else cgroups
    return Seen(
        waited_s=dict(_waited(root)),
        buckets={str(folder): bucket for folder in folders if (bucket := _bucket(folder))},
        heat=sum(_heat(root / f"sys/devices/system/cpu/cpu{cpu}/thermal_throttle") for cpu in cpus),
    )


def between(before: Seen, after: Seen, wall_s: float) -> Between:
    """What happened in the ``wall_s`` seconds between two looks."""
    stops = {
        name: (bucket.stopped_s - first.stopped_s, bucket.stopped - first.stopped, bucket.quota)
        for name, bucket in after.buckets.items()
        if (first := before.buckets.get(name))
    }
    worst = max(stops, key=lambda name: stops[name][0], default="")
    stopped_s, times, quota = stops.get(worst, (0.0, 0, ""))
    return Between(
        waited={
            name: min(1.0, max(0.0, (total - before.waited_s[name]) / wall_s))
            for name, total in after.waited_s.items()
            if name in before.waited_s and wall_s > 0
        },
        throttled_s=max(0.0, stopped_s),
        throttled_by=f"the CPU quota of {worst} ({quota or 'now without one'}), {counted(times, 'time')},"
        if stopped_s > 0
        else "",
        heat=max(0, after.heat - before.heat),
    )


def _waited(root: Path) -> Iterator[tuple[str, float]]:
    for name in RESOURCES:
        if (fields := _some(root, name)) and "total" in fields:
            yield name, fields["total"] / 1e6


def waiting_share(resource: str, root: Path = _ROOT) -> float | None:
    """The share of the last 10 s in which some task waited for a resource; None where the kernel does not say."""
    fields = _some(root, resource)
    return fields["avg10"] / 100 if "avg10" in fields else None


def _some(root: Path, resource: str) -> dict[str, float]:
    """The line ``some avg10=0.00 avg60=0.00 avg300=0.00 total=0`` of a resource, by field."""
    for line in (read(root / "proc/pressure" / resource) or "").splitlines():
        kind, *fields = line.split()
        if kind == "some":
            return {name: float(number) for name, _, number in (one.partition("=") for one in fields)}
    return {}


def _bucket(folder: Path) -> Bucket | None:
    """The quota of a cgroup and what became of it; None where the cgroup does not count it."""
    counts = dict(line.split(" ", 1) for line in (read(folder / "cpu.stat") or "").splitlines() if " " in line)
    stopped_s = next((int(counts[name]) * unit for name, unit in _STOPPED_FOR.items() if name in counts), None)
    if stopped_s is None:
        return None
    quota, _, period = (cpu_quota(folder) or "").partition(" ")
    words = f"{quota} of each {period} µs" if period and quota != "max" else ""
    return Bucket(quota=words, stopped=int(counts.get("nr_throttled", 0)), stopped_s=stopped_s)


def _heat(folder: Path) -> int:
    """How often heat slowed a CPU or its package down; 0 where the processor does not count it."""
    counts = (read(folder / f"{of}_throttle_count") for of in ("core", "package"))
    return max((int(count) for count in counts if count), default=0)


def cooling(root: Path = _ROOT) -> Iterator[tuple[str, int]]:
    """The devices that cool by slowing CPUs down, each with how strongly it does so now; 0 is not at all."""
    for folder in sorted((root / "sys/class/thermal").glob("cooling_device*")):
        kind, state = read(folder / "type") or "", read(folder / "cur_state") or ""
        # An unused device of the powerclamp driver says -1.
        if any(word in kind.lower() for word in ("processor", "powerclamp", "cpufreq")) and state.isdigit():
            yield kind, int(state)
