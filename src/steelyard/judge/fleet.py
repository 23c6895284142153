# SPDX-License-Identifier: Apache-2.0
"""Whether one of many machines is unlike the others, in which cases, and by how much.

A machine is called different only for what is both *real* and *unusual*. Real: the order-statistic interval of its own
runs lies beyond the margin, or no shuffling of runs brings as large a discrepancy about. Unusual: the other machines
would not predict it (stats/outlying.py), by a p-value that is held over all machines and columns. Either alone accuses
healthy machines: two machines of a kind are never quite alike, so whatever shuffles single runs finds every one of them
different as soon as there are enough runs; and in a fleet that is very even, a tenth of a percent is unusual.

Machines of different keys are never held against each other.
Source: Maricq and others 2018, Taming Performance Variability, OSDI (order statistics, discrepancy, one server against
the others); Hawkins & Wixley 1986, The American Statistician 40(4); Holm 1979; Berger 1982, Technometrics 24(4) (why
"equivalent" in every family needs no correction).
"""

from __future__ import annotations

import math
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import special

from steelyard.judge.controls import controls, void_reason
from steelyard.judge.reasons import Reason, Said, Why, of
from steelyard.judge.samples import case_runs
from steelyard.judge.stats import mmd, outlying
from steelyard.judge.stats.checks import FloatArray
from steelyard.judge.stats.comparison import VERDICT_CONFIDENCE
from steelyard.judge.stats.family import holm
from steelyard.judge.stats.interval import INTERVAL_CONFIDENCE
from steelyard.records import Better, Record, Session

IntArray = npt.NDArray[np.intp]

#: How the error rate is shared out: a fault mostly shows in a whole family, which is where it is easiest to see. Less
#: than half of it is given out: levels are medians of a few cases, and their tails are longer than the normal ones that
#: are assumed of them. At four deviations, where 200 machines are judged, twice as many lie outside; with all of it
#: given out, 74 of 1200 healthy synthetic fleets with a session a machine had one accused.
_FAMILY_SHARE, _CASE_SHARE, _SCATTER_SHARE = 0.2, 0.1, 0.1
#: Shuffles of a discrepancy, and how few of them may be as large.
_SHUFFLES = 1999
_REAL_SCATTER = 0.001
#: With fewer blocks the shape of a sample cannot be seen.
_FEWEST_BLOCKS = 6
_SEED = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetMachine:
    """A machine: its name in the fleet, its key, and what it is."""

    name: str
    key: str
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetCase:
    """A case with its main metric."""

    name: str
    unit: str
    better: Better
    metric: str = ""

    @property
    def family(self) -> str:
        """The question that it belongs to."""
        return self.name.partition("/")[0]


@dataclass(frozen=True, slots=True)
class FleetData:
    """The numbers of a fleet: one a run, never pooled.

    ``owner``: the machine of each session, by its place in ``machines``. ``numbers``: shape (sessions, cases, blocks),
    NaN where there is no run that counts. ``titles``: of mechanisms, by probe, where they are known.
    """

    machines: tuple[FleetMachine, ...]
    cases: tuple[FleetCase, ...]
    owner: IntArray
    numbers: FloatArray
    titles: Mapping[str, str] = field(default_factory=dict)


class Oddity(Record, frozen=True, kw_only=True):
    """What of a machine is unlike the others. ``what`` is a case, or a family of ``cases`` cases.

    level: ``ratio`` is its cost divided by the middle of the others', with the interval of its own runs; above 1 is
    costlier, also for metrics of which more is better. scatter: the ratio is that of the spreads of runs, without an
    interval. ``p_value`` is held over all machines and columns. ``most`` is the case of the family that is furthest
    off.
    """

    kind: Literal["level", "scatter"]
    what: str
    cases: int
    ratio: float
    low: float | None = None
    high: float | None = None
    p_value: float
    most: str = ""
    most_ratio: float | None = None


class MachineFindings(Record, frozen=True, kw_only=True):
    """One machine. ``furthest``: the family in which it is furthest off, also where that means nothing.

    ``suspicions`` would be oddities if another session said the same.
    """

    name: str
    sessions: int
    verdict: Literal["different", "equivalent", "undecided"]
    oddities: tuple[Oddity, ...] = ()
    suspicions: tuple[Oddity, ...] = ()
    furthest: str = ""
    furthest_ratio: float = 1.0
    low: float | None = None
    high: float | None = None


class FamilySpread(Record, frozen=True, kw_only=True):
    """How far machines of a kind lie apart. ``found_from``: how far off one is that is found nine times in ten."""

    family: str
    cases: int
    spread: float
    found_from: float | None


class GroupFindings(Record, frozen=True, kw_only=True):
    """The machines of one key."""

    key: str
    about: str
    machines: tuple[MachineFindings, ...]
    families: tuple[FamilySpread, ...]
    caveats: tuple[Reason, ...] = ()


class FleetFindings(Record, frozen=True, kw_only=True):
    """All that may be said of a fleet. ``titles``: of mechanisms, by probe."""

    margin: float
    confidence: float
    groups: tuple[GroupFindings, ...]
    sessions: int
    left_out: tuple[Said, ...] = ()
    titles: Mapping[str, str] = {}


# --- from sessions to numbers -----------------------------------------------------------------------------------------


def gather(sessions: Iterable[Session]) -> tuple[FleetData, tuple[Reason, ...]]:
    """The numbers of these sessions, and what was left out of them with the reason.

    A session of no fleet has no machine but its key: all such of one key count as one machine.
    """
    machines: dict[FleetMachine, int] = {}
    cases: dict[FleetCase, int] = {}
    owner: list[int] = []
    samples: list[dict[int, FloatArray]] = []
    left_out = []
    titles: dict[str, str] = {}
    for session in sessions:
        titles |= session.header.titles
        by_name = {runs.planned.case.name: runs for runs in case_runs(session)}
        void = void_reason(controls(session, by_name))
        if session.end is None or void:
            why = Reason(Why.VOID, reason=void) if session.end else Reason(Why.NOT_COMPLETE)
            left_out.append(of(session.path, why))
            continue
        host = session.header.machine
        name = session.header.placed.node if session.header.placed else host.key
        machine = FleetMachine(name=name, key=host.key, about=host.facts.get("cpu", ""))
        owner.append(machines.setdefault(machine, len(machines)))
        found = {}
        for label, runs in by_name.items():
            if not runs.planned.control:
                metric = runs.descriptor.metrics[0]
                case = FleetCase(name=label, unit=metric.unit, better=metric.better, metric=metric.name)
                found[cases.setdefault(case, len(cases))] = runs.sample(metric)
        samples.append(found)
    blocks = max((len(sample) for found in samples for sample in found.values()), default=0)
    numbers = np.full((len(samples), len(cases), blocks), np.nan)
    for row, found in enumerate(samples):
        for column, sample in found.items():
            numbers[row, column, : len(sample)] = sample
    data = FleetData(tuple(machines), tuple(cases), np.array(owner, dtype=np.intp), numbers, titles)
    return data, tuple(left_out)


def log_costs(data: FleetData) -> FloatArray:
    """Logarithms of costs: of what is better when it is more, of its inverse. NaN where there is none."""
    sign = np.array([-1.0 if case.better == "higher" else 1.0 for case in data.cases])
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(data.numbers > 0, np.log(data.numbers), np.nan)
    found: FloatArray = logs * sign[np.newaxis, :, np.newaxis]
    return found


def levels(costs: FloatArray, owner: IntArray, machines: int) -> FloatArray:
    """The middle of each machine's sessions, each the middle of its blocks: shape (machines, columns)."""
    return per_machine(_median(costs, axis=2), owner, machines)


def per_machine(by_session: FloatArray, owner: IntArray, machines: int) -> FloatArray:
    """The middle of each machine's sessions, of shape (sessions, columns)."""
    found = np.full((machines, by_session.shape[1]), np.nan)
    once = np.bincount(owner, minlength=machines) == 1
    found[owner[once[owner]]] = by_session[once[owner]]
    for machine in np.unique(owner[~once[owner]]):
        found[machine] = _median(by_session[owner == machine], axis=0)
    return found


def _median(values: FloatArray, axis: int) -> FloatArray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of a slice that is all NaN, whose median is NaN
        found: FloatArray = np.nanmedian(values, axis=axis)
    return found


# --- findings ---------------------------------------------------------------------------------------------------------


def judge_fleet(
    data: FleetData, margin: float = 0.02, alpha: float = 1 - VERDICT_CONFIDENCE, left_out: Sequence[Said] = ()
) -> FleetFindings:
    """What may be said of each machine beside the others of its key; the error rate is held over all of them.

    margin: what does not matter, as a fraction.
    """
    groups = [_Group(data, key, math.log1p(margin)) for key in dict.fromkeys(one.key for one in data.machines)]
    family_p = _held([group.family_p for group in groups], _FAMILY_SHARE)
    case_p = _held([group.case_p for group in groups], _CASE_SHARE)
    scatter_p = _held([group.scatter_p for group in groups], _SCATTER_SHARE)
    tests = sum(group.family_p.size for group in groups)
    return FleetFindings(
        margin=margin,
        confidence=1 - alpha,
        groups=tuple(
            group.findings(family, case, scatter, alpha, tests)
            for group, family, case, scatter in zip(groups, family_p, case_p, scatter_p, strict=True)
        ),
        sessions=len(data.owner),
        left_out=tuple(left_out),
        titles=data.titles,
    )


def _held(tables: Sequence[FloatArray], share: float) -> list[FloatArray]:
    """Holm's p-values over all tables together, for a share of the error rate."""
    if not tables:
        return []
    flat = np.concatenate([table.ravel() for table in tables])
    adjusted = np.minimum(holm(flat) / share, 1.0)
    ends = np.cumsum([table.size for table in tables])[:-1]
    return [part.reshape(table.shape) for part, table in zip(np.split(adjusted, ends), tables, strict=True)]


#: What the machine as a whole is called among the families.
WHOLE = "all"
_WHOLE_QUANTILE = 0.25


class _Group:
    """The machines of one key, as numbers: what their levels and their scatter say.

    Whatever moves all cases of a block at once (a neighbour, heat, an empty token bucket) is the machine's as a whole
    and is looked at by itself; families and cases are looked at without it, block by block. The whole is judged by the
    quarter of its blocks that was least disturbed.
    """

    def __init__(self, data: FleetData, key: str, edge: float) -> None:
        self._edge = edge
        mine = [place for place, machine in enumerate(data.machines) if machine.key == key]
        places = sorted(mine, key=lambda place: _in_order(data.machines[place].name))
        self._machines = [data.machines[place] for place in places]
        renumbered = {place: number for number, place in enumerate(places)}
        rows = np.array([place in renumbered for place in data.owner.tolist()], dtype=np.bool_)
        self._owner = np.array([renumbered[place] for place in data.owner[rows].tolist()], dtype=np.intp)
        costs = log_costs(FleetData(data.machines, data.cases, self._owner, data.numbers[rows]))
        measured = np.flatnonzero(np.isfinite(costs).any(axis=(0, 2)))
        self._cases = [data.cases[place] for place in measured.tolist()]
        off = self._centred(costs[:, measured])
        whole = _median(off, axis=1)
        self._whole = whole - _median(_quantile(whole, axis=1), axis=0)
        self._case_off = self._centred(off - whole[:, np.newaxis, :])
        self._case_levels = self._levels(self._case_off)
        names = [case.family for case in self._cases]
        self._members = {
            family: np.array([name == family for name in names], dtype=np.bool_)
            for family, count in Counter(names).items()
            if count > 1
        }
        by_family = [_median(self._case_off[:, inside], axis=1) for inside in self._members.values()]
        blocks = costs.shape[2]
        self._family_off = np.stack(by_family, axis=1) if by_family else np.empty((len(self._owner), 0, blocks))
        self._family_levels = self._levels(self._family_off)
        self._whole_levels = per_machine(_quantile(self._whole, axis=1)[:, np.newaxis], self._owner, len(places))
        self.family_p = outlying.p_values(np.hstack([self._whole_levels, self._family_levels]))
        self.case_p = outlying.p_values(self._case_levels)
        self._scatter, self._scatter_real = self._discrepancies()
        # The fourth root makes a sum of squares normal as far out as 200 machines go (Hawkins & Wixley 1986). The cube
        # root does not: by a saddlepoint its tail has 1.7 times what is promised at 4.5 deviations, for six cases.
        roots = np.sqrt(np.sqrt(self._scatter))
        self.scatter_p = np.where(roots > _median(roots, axis=0), outlying.p_values(roots), 1.0)

    def _centred(self, costs: FloatArray) -> FloatArray:
        """How far each run is from the middle of all machines in its case."""
        found: FloatArray = costs - _median(self._levels(costs), axis=0)[np.newaxis, :, np.newaxis]
        return found

    def _levels(self, costs: FloatArray) -> FloatArray:
        return levels(costs, self._owner, len(self._machines))

    # --- scatter ------------------------------------------------------------------------------------------------------

    def _observations(self) -> tuple[FloatArray, IntArray]:
        """A row for each block of each session, a column for each case, without the level of the session; and whose."""
        residual = (self._case_off - _median(self._case_off, axis=2)[:, :, np.newaxis]).transpose(0, 2, 1)
        owner = np.repeat(self._owner, residual.shape[1])
        rows = residual.reshape(len(owner), -1)
        there = np.isfinite(rows).any(axis=1)
        return rows[there], owner[there]

    def _discrepancies(self) -> tuple[FloatArray, FloatArray]:
        """How unlike the others' the runs of each machine scatter in each family, and how often shuffling does as much.

        Shapes (machines, families).
        """
        shape = self._family_levels.shape
        if shape[0] < outlying.FEWEST or not shape[1] or self._case_off.shape[2] < _FEWEST_BLOCKS:
            return np.zeros(shape), np.ones(shape)
        rows, owner = self._observations()
        found = mmd.features(rows)
        apart = self._by_family(mmd.discrepancies(found, owner, shape[0]))
        generator = np.random.default_rng(_SEED)
        chance = np.ones(shape)
        sizes = np.bincount(owner, minlength=shape[0])
        for size in np.unique(sizes[sizes > 0]).tolist():
            by_chance = np.sort(self._by_family(mmd.shuffled(found, size, _SHUFFLES, generator)), axis=0)
            same = sizes == size
            for place in range(shape[1]):
                smaller = np.searchsorted(by_chance[:, place], apart[same, place], side="left")
                chance[same, place] = (1 + _SHUFFLES - smaller) / (1 + _SHUFFLES)
        return apart, chance

    def _by_family(self, by_case: FloatArray) -> FloatArray:
        return np.stack([by_case[:, inside].sum(axis=1) for inside in self._members.values()], axis=1)

    def _scatter_oddities(self, machine: int, p_values: FloatArray, alpha: float) -> Iterator[Oddity]:
        for place, (family, inside) in enumerate(self._members.items()):
            if p_values[place] > alpha or self._scatter_real[machine, place] > _REAL_SCATTER:
                continue
            members = np.flatnonzero(inside)
            own, others = self._case_off[self._owner == machine], self._case_off[self._owner != machine]
            spreads = [_spread(own[:, case]) / _spread(others[:, case]) for case in members.tolist()]
            furthest = int(np.nanargmax(np.abs(np.log(spreads))))
            yield Oddity(
                kind="scatter",
                what=family,
                cases=len(members),
                ratio=float(np.nanmedian(spreads)),
                p_value=float(p_values[place]),
                most=self._cases[members[furthest]].name,
                most_ratio=spreads[furthest],
            )

    # --- levels -------------------------------------------------------------------------------------------------------

    def _own(self, off: FloatArray, machine: int, quantile: float = 0.5) -> tuple[float, float]:
        """The interval of a machine's own runs in one column, as logarithms."""
        runs = off[self._owner == machine].ravel()
        runs = np.sort(runs[np.isfinite(runs)])
        low, high = _ranks(runs.size, quantile)
        return (float(runs[low - 1]) if low else -math.inf), (float(runs[high - 1]) if high else math.inf)

    def _beyond(self, low: float, high: float) -> bool:
        return low > self._edge or high < -self._edge

    def _whole_of(self, machine: int, p_value: float, alpha: float) -> Oddity | None:
        """What singles the machine out as a whole."""
        low, high = self._own(self._whole, machine, _WHOLE_QUANTILE)
        if p_value > alpha or not self._beyond(low, high):
            return None
        return Oddity(
            kind="level",
            what=WHOLE,
            cases=len(self._cases),
            ratio=math.exp(self._whole_levels[machine, 0]),
            low=math.exp(low),
            high=math.exp(high),
            p_value=p_value,
        )

    def _in_every_session(self, machine: int) -> bool:
        """Whether each of at least two sessions says so: a neighbour can slow a session down from end to end."""
        level = _quantile(self._whole[self._owner == machine], axis=1)
        return len(level) > 1 and bool((level > self._edge).all() or (level < -self._edge).all())

    def _levels_of(self, machine: int, family_p: FloatArray, case_p: FloatArray, alpha: float) -> Iterator[Oddity]:
        """Families that single the machine out, then cases that do and are in none of these families."""
        told = set()
        for place, (family, inside) in enumerate(self._members.items()):
            low, high = self._own(self._family_off[:, place], machine)
            if family_p[place + 1] <= alpha and self._beyond(low, high):
                told.add(family)
                members = np.flatnonzero(inside)
                furthest = members[np.nanargmax(np.abs(self._case_levels[machine, members]))]
                yield Oddity(
                    kind="level",
                    what=family,
                    cases=int(np.isfinite(self._case_levels[machine, members]).sum()),
                    ratio=math.exp(self._family_levels[machine, place]),
                    low=math.exp(low),
                    high=math.exp(high),
                    p_value=float(family_p[place + 1]),
                    most=self._cases[furthest].name,
                    most_ratio=math.exp(self._case_levels[machine, furthest]),
                )
        for place in np.flatnonzero(case_p <= alpha).tolist():
            case = self._cases[place]
            low, high = self._own(self._case_off[:, place], machine)
            if case.family not in told and self._beyond(low, high):
                yield Oddity(
                    kind="level",
                    what=case.name,
                    cases=1,
                    ratio=math.exp(self._case_levels[machine, place]),
                    low=math.exp(low),
                    high=math.exp(high),
                    p_value=float(case_p[place]),
                )

    # --- all together -------------------------------------------------------------------------------------------------

    def findings(
        self, family_p: FloatArray, case_p: FloatArray, scatter_p: FloatArray, alpha: float, tests: int
    ) -> GroupFindings:
        """What may be said of the group, by p-values that are held over the whole fleet."""
        machines = []
        for machine, about in enumerate(self._machines):
            whole = self._whole_of(machine, float(family_p[machine, 0]), alpha)
            surely = whole is not None and self._in_every_session(machine)
            oddities = (
                *((whole,) if whole and surely else ()),
                *self._levels_of(machine, family_p[machine], case_p[machine], alpha),
                *self._scatter_oddities(machine, scatter_p[machine], alpha),
            )
            suspicions = (whole,) if whole and not surely else ()
            machines.append(self._machine(machine, about, oddities, suspicions))
        caveats = []
        if len(machines) < outlying.FEWEST:
            caveats.append(Reason(Why.FEW_MACHINES, n=len(machines), needed=outlying.FEWEST))
        if np.bincount(self._owner, minlength=len(machines)).min(initial=2) < 2:
            caveats.append(Reason(Why.ONE_SESSION_EACH))
        level = alpha * _FAMILY_SHARE / max(1, tests)
        off = [self._whole_levels[:, 0], *self._family_levels.T]
        counts = [len(self._cases), *(int(inside.sum()) for inside in self._members.values())]
        return GroupFindings(
            key=self._machines[0].key,
            about=self._machines[0].about,
            machines=tuple(machines),
            families=tuple(
                self._family(name, count, values, level)
                for name, count, values in zip((WHOLE, *self._members), counts, off, strict=True)
            ),
            caveats=tuple(caveats),
        )

    def _machine(
        self, machine: int, about: FleetMachine, oddities: tuple[Oddity, ...], suspicions: tuple[Oddity, ...]
    ) -> MachineFindings:
        intervals = [
            self._own(self._whole, machine, _WHOLE_QUANTILE),
            *(self._own(self._family_off[:, place], machine) for place in range(len(self._members))),
        ]
        inside = all(-self._edge < low and high < self._edge for low, high in intervals)
        off = np.nan_to_num([self._whole_levels[machine, 0], *self._family_levels[machine]])
        place = int(np.argmax(np.abs(off)))
        low, high = intervals[place]
        return MachineFindings(
            name=about.name,
            sessions=int((self._owner == machine).sum()),
            verdict="different" if oddities else "equivalent" if inside else "undecided",
            oddities=oddities,
            suspicions=suspicions,
            furthest=(WHOLE, *self._members)[place],
            furthest_ratio=math.exp(off[place]),
            low=math.exp(low) if math.isfinite(low) else None,
            high=math.exp(high) if math.isfinite(high) else None,
        )

    def _family(self, name: str, cases: int, off: FloatArray, level: float) -> FamilySpread:
        """The spread by the median deviation, which odd machines do not widen, and what it lets one find."""
        off = off[np.isfinite(off)]
        spread = 1.4826 * float(np.median(np.abs(off - np.median(off)))) if off.size else math.nan
        found_from = None
        if off.size >= outlying.FEWEST:
            found_from = math.expm1(max(outlying.reach(off.size, level, power=0.9) * spread, self._edge))
        return FamilySpread(family=name, cases=cases, spread=math.expm1(spread), found_from=found_from)


def _in_order(name: str) -> list[tuple[str, int]]:
    """What puts n2 before n10."""
    return [(text, int(digits or 0)) for text, digits in re.findall(r"(\D*)(\d*)", name)]


def _spread(off: FloatArray) -> float:
    """How far apart the runs of a case are: from the tenth of them to the ninth; never 0."""
    low, high = np.nanquantile(off, [0.1, 0.9])
    return max(float(high - low), 1e-12)


def _quantile(values: FloatArray, axis: int) -> FloatArray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        found: FloatArray = np.nanquantile(values, _WHOLE_QUANTILE, axis=axis)
    return found


@lru_cache(maxsize=256)
def _ranks(n: int, quantile: float) -> tuple[int, int]:
    """Ranks, from 1, of the order statistics that end the interval of a quantile of n values; 0 for no end."""
    tail = (1 - INTERVAL_CONFIDENCE) / 2
    counts = np.arange(n + 1)
    at_most = special.bdtr(counts, n, quantile) if n else np.ones(1)
    low = int(np.searchsorted(at_most, tail, side="right"))
    above = int(np.searchsorted(at_most, 1 - tail, side="left")) + 1
    return low, above if above <= n else 0
