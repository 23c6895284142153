# SPDX-License-Identifier: Apache-2.0
"""Many published sessions: their machines, a mechanism over machines, and a session of one's own among them.

Machines stand in the order of the alphabet and are not ranked: a figure is set against another one only by whether
their intervals overlap.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence

from steelyard.judge.cases import CaseFinding
from steelyard.judge.findings import Findings
from steelyard.records import Publication, PublishedCase, PublishedFigure, PublishedMetric, PublishedProbe, Record

#: Facts that stay the same over a reboot and say which machine it is.
_LASTING = (
    "architecture",
    "cpu",
    "cpu family/model/stepping",
    "logical cpus",
    "cores",
    "numa nodes",
    "caches",
    "memory",
    "hypervisor",
)


class Exhibit(Record, frozen=True, kw_only=True):
    """A kind of machine with its published sessions, the newest first. ``key``: what tells it from other kinds."""

    key: str
    name: str
    sessions: tuple[Publication, ...]

    @property
    def newest(self) -> Publication:
        """The session that stands for the machine."""
        return self.sessions[0]


class Entry(Record, frozen=True, kw_only=True):
    """A figure of a machine. ``usd``: what 10⁹ operations cost, one after the other on one CPU, if a price is known."""

    machine: Exhibit
    case: PublishedCase
    figure: PublishedFigure
    usd: float | None


class Row(Record, frozen=True, kw_only=True):
    """A case over machines."""

    case: str
    entries: tuple[Entry, ...]


class Mechanism(Record, frozen=True, kw_only=True):
    """A probe over machines: each of its cases, by the main metric."""

    probe: PublishedProbe
    rows: tuple[Row, ...]

    @property
    def metric(self) -> PublishedMetric:
        """The metric of its figures."""
        return self.probe.metrics[self.probe.main]

    @property
    def called(self) -> str:
        """Its title, or its identifier where it has none."""
        return self.probe.title or self.probe.probe


class Gallery(Record, frozen=True, kw_only=True):
    """All that the pages of a gallery say."""

    machines: tuple[Exhibit, ...]
    mechanisms: tuple[Mechanism, ...]


class Among(Record, frozen=True, kw_only=True):
    """A case of one's own among the machines of a gallery that have it.

    ``below`` and ``above``: machines whose whole interval is below or above one's own. ``overlapping``: machines that
    no interval tells apart. ``least`` and ``most``: the medians of the gallery.
    """

    case: CaseFinding
    machines: int
    least: float
    most: float
    below: tuple[str, ...]
    above: tuple[str, ...]
    overlapping: tuple[str, ...]


def key_of(facts: Mapping[str, str], instance: str) -> str:
    """What tells a machine from others, by its published facts."""
    lasting = [instance, *(facts.get(name, "") for name in _LASTING)]
    return hashlib.sha256(json.dumps(lasting).encode()).hexdigest()[:12]


def name_of(facts: Mapping[str, str], instance: str) -> str:
    """What a machine is called: what it is hired as, its CPU, how many of them."""
    cpus = facts.get("logical cpus", "?")
    said = [instance or facts.get("instance type", ""), facts.get("cpu", "CPU not known"), f"{cpus} CPUs"]
    return ", ".join(text for text in (*said, facts.get("memory", "")) if text and text != "unknown")


def gallery(publications: Sequence[Publication]) -> Gallery:
    """The machines in the order of their names, and each mechanism over them."""
    by_key: dict[str, list[Publication]] = defaultdict(list)
    for one in sorted(publications, key=lambda one: (one.date, one.digest), reverse=True):
        by_key[key_of(one.facts, one.instance)].append(one)
    machines = [
        Exhibit(key=key, name=name_of(several[0].facts, several[0].instance), sessions=tuple(several))
        for key, several in by_key.items()
    ]
    machines.sort(key=lambda machine: (machine.name.casefold(), machine.key))
    return Gallery(machines=tuple(machines), mechanisms=tuple(_mechanisms(machines)))


def _mechanisms(machines: Sequence[Exhibit]) -> list[Mechanism]:
    """Every probe that a machine has. What it says of itself is taken from the newest session that has it."""
    probes: dict[str, PublishedProbe] = {}
    for machine in sorted(machines, key=lambda machine: machine.newest.date, reverse=True):
        for probe in machine.newest.probes:
            probes.setdefault(probe.probe, probe)
    rows: dict[str, dict[str, list[Entry]]] = {name: {} for name in probes}
    for machine in machines:
        mains = {probe.probe: (probe.main, probe.metrics[probe.main]) for probe in machine.newest.probes}
        for case in machine.newest.cases:
            name = probe_of(case.case)
            main, metric = mains[name]
            known = probes[name]
            if (main, metric) == (known.main, known.metrics[known.main]):
                figure = case.figures[main]
                entry = Entry(machine=machine, case=case, figure=figure, usd=_usd(machine.newest, case, figure, metric))
                rows[name].setdefault(case.case, []).append(entry)
    found = [
        Mechanism(
            probe=probe,
            rows=tuple(Row(case=case, entries=tuple(entries)) for case, entries in rows[name].items()),
        )
        for name, probe in probes.items()
        if rows[name]
    ]
    return sorted(found, key=lambda one: (one.called.casefold(), one.probe.probe))


def probe_of(case: str) -> str:
    """The probe of a case, by the case's name."""
    return case.partition("[")[0].partition("@")[0]


def _usd(of: Publication, case: PublishedCase, figure: PublishedFigure, metric: PublishedMetric) -> float | None:
    """US dollars for 10⁹ operations that keep one CPU busy, which is its share of the machine's price."""
    cpus = of.facts.get("logical cpus", "")
    if of.usd_an_hour is None or not cpus.isdecimal() or metric.unit != "s" or not case.case.endswith("@same"):
        return None
    return of.usd_an_hour / 3600 / max(1, int(cpus)) * figure.median * 1e9


def among(findings: Findings, publications: Sequence[Publication]) -> tuple[Among, ...]:
    """Each case of a session that machines of the gallery have, and where it lies among them.

    The session itself is not counted, if it is in the gallery, too.
    """
    own = (findings.started[:10], findings.seed)
    theirs: dict[tuple[str, str, str], list[tuple[str, PublishedFigure]]] = defaultdict(list)
    for machine in gallery([one for one in publications if (one.date, one.seed) != own]).machines:
        probes = {probe.probe: probe for probe in machine.newest.probes}
        for published in machine.newest.cases:
            probe = probes[probe_of(published.case)]
            unit = probe.metrics[probe.main].unit
            theirs[published.case, probe.main, unit].append((machine.name, published.figures[probe.main]))
    return tuple(
        _among(case, found)
        for case in findings.cases
        if not case.control and (found := theirs.get((case.case, case.main.metric, case.main.unit)))
    )


def _among(case: CaseFinding, theirs: Sequence[tuple[str, PublishedFigure]]) -> Among:
    sides: dict[str, list[str]] = {"below": [], "above": [], "overlapping": []}
    for name, figure in theirs:
        sides[_side(case.main.low, case.main.high, figure)].append(name)
    medians = [figure.median for _, figure in theirs]
    return Among(
        case=case,
        machines=len(theirs),
        least=min(medians),
        most=max(medians),
        below=tuple(sides["below"]),
        above=tuple(sides["above"]),
        overlapping=tuple(sides["overlapping"]),
    )


def _side(low: float | None, high: float | None, theirs: PublishedFigure) -> str:
    """Where a figure lies beside an interval; without both intervals nothing tells them apart."""
    if low is not None and theirs.high is not None and theirs.high < low:
        return "below"
    if high is not None and theirs.low is not None and theirs.low > high:
        return "above"
    return "overlapping"
