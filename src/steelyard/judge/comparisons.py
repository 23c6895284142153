# SPDX-License-Identifier: Apache-2.0
"""Comparisons of many cases, judged together: verdicts of three with the family-wise error held by Holm.

Within a session cases are compared by blocks; sessions by their samples, with the sentinel as covariate; files of other
tools by whatever they kept of their processes; a fleet under two kernels or settings by its machines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np

from steelyard.judge.controls import controls, void_reason
from steelyard.judge.imported import as_file, with_only
from steelyard.judge.reasons import Reason, Said, Why, all_of, of
from steelyard.judge.samples import CaseRuns, FloatArray, case_runs
from steelyard.judge.stats import stopping
from steelyard.judge.stats.checks import matched
from steelyard.judge.stats.comparison import VERDICT_CONFIDENCE, Comparison, compare_paired
from steelyard.judge.stats.family import hold
from steelyard.judge.stats.interval import INTERVAL_CONFIDENCE
from steelyard.judge.stats.planning import forecast
from steelyard.judge.stats.summary import median_interval
from steelyard.judge.stats.unpaired import BETWEEN_SESSIONS, compare_unpaired
from steelyard.records import Better, Case, CasePattern, Descriptor, ForeignFile, Metric, Record, Session

if TYPE_CHECKING:
    from steelyard.judge.fleet import FleetCase, FleetData, FleetMachine

#: Two processes of one program differ by their memory layout and luck: a standard deviation of 1.5 to 6 % on shared
#: virtual machines. A file without processes cannot show it, so it is allowed for.
_BETWEEN_PROCESSES = 0.03

Kind = Literal["blocks", "sessions", "files", "machines"]
Counted = Literal["blocks", "machines", "runs"]

#: Figures that a value may have whatever its probe is about.
_OF_EVERY_VALUE = tuple(
    Metric(name=name, unit="s", better="lower", over=name, per="operations", doc=f"{doc} of one operation")
    for name, doc in (("cpu", "CPU time"), ("user", "user time"), ("system", "system time"), ("wall", "time"))
)


class Compared(Record, frozen=True, kw_only=True):
    """One case under both sides. ``ratio`` is b/a with its interval; ``low`` may be 0 and ``high`` None (no bound).

    ``worse``: the verdict is different, and in the direction that the metric calls worse.
    ``overlap``: whether the medians' own intervals overlap; None where a side has none, and within a session.
    ``more_blocks``, ``more_minutes``: what an undecided comparison would take; None where measuring on won't decide it.
    ``counted`` is what ``n`` and ``more_blocks`` count; how long a machine or a run takes is not known. ``tells_from``:
    the least difference, as a share, that an interval as wide as that of an undecided comparison tells from the margin.
    """

    case: str
    metric: str
    unit: str
    better: Better
    a: float
    b: float
    n: int
    ratio: float
    low: float
    high: float | None
    verdict: Literal["different", "equivalent", "undecided"]
    worse: bool
    overlap: bool | None = None
    more_blocks: int | None = None
    more_minutes: float | None = None
    tells_from: float | None = None
    counted: Counted = "blocks"

    @property
    def medians_disagree(self) -> bool:
        """Whether the medians of both sides point the other way than the ratio, which is made block by block."""
        return (self.b - self.a) * (self.ratio - 1) < 0


class Comparisons(Record, frozen=True, kw_only=True):
    """Everything that may be said of two sides. ``metric``: the one that was asked for instead of the main ones."""

    kind: Kind
    a: str
    b: str
    margin: float
    confidence: float
    cases: tuple[Compared, ...]
    left_out: tuple[Said, ...]
    caveats: tuple[Said, ...]
    void: Reason | None = None
    metric: str | None = None
    titles: dict[str, str] = msgspec.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two samples of one case and how to compare them at a confidence."""

    case: str
    metric: str
    unit: str
    better: Better
    a: FloatArray
    b: FloatArray
    at: Callable[[float], Comparison]
    seconds_per_block: float = 0.0


def _finite(sample: FloatArray) -> FloatArray:
    return sample[np.isfinite(sample)]


def _compared(
    pairs: Sequence[_Pair], alpha: float, counted: Counted, *, each_alone: bool = False
) -> tuple[Compared, ...]:
    """All pairs judged as one family, or each by itself."""
    if not pairs or alpha <= 0 or each_alone:
        return tuple(_one(pair, pair.at(min(1.0, 1 - alpha)), counted) for pair in pairs)
    family = hold([pair.at for pair in pairs], alpha)
    return tuple(_one(pair, member.held, counted) for pair, member in zip(pairs, family, strict=True))


def _one(pair: _Pair, held: Comparison, counted: Counted) -> Compared:
    bounded = held.low > 0 and math.isfinite(held.high)
    undecided = held.verdict == "undecided"
    # Two sessions are over: more runs of each would decide nothing, once there are enough for an interval.
    more = forecast(held, pair.seconds_per_block) if undecided and (counted != "runs" or not bounded) else None
    half_width = math.log(held.high / held.low) / 2 if bounded else math.inf
    costlier = held.ratio > 1
    return Compared(
        case=pair.case,
        metric=pair.metric,
        unit=pair.unit,
        better=pair.better,
        a=float(np.median(_finite(pair.a))),
        b=float(np.median(_finite(pair.b))),
        n=held.n,
        ratio=held.ratio,
        low=held.low,
        high=held.high if math.isfinite(held.high) else None,
        verdict=held.verdict.value,
        worse=held.verdict == "different"
        and ((costlier and pair.better == "lower") or (not costlier and pair.better == "higher")),
        overlap=None if pair.seconds_per_block else _overlap(pair.a, pair.b),
        more_blocks=more.blocks if more else None,
        more_minutes=more.minutes if more and pair.seconds_per_block else None,
        tells_from=(1 + held.margin) * math.exp(half_width) - 1 if bounded and undecided else None,
        counted=counted,
    )


def _overlap(a: FloatArray, b: FloatArray) -> bool | None:
    first, second = median_interval(a, INTERVAL_CONFIDENCE), median_interval(b, INTERVAL_CONFIDENCE)
    if not (first.bounded and second.bounded):
        return None
    return first.low <= second.high and second.low <= first.high


# --- within a session -------------------------------------------------------------------------------------------------


def _paired(label: str, a: CaseRuns, b: CaseRuns, margin: float, block_s: float, name: str | None) -> _Pair | None:
    """Two cases of one session, by their main metrics or another that both have; None where no block has both."""
    found = [metric_of(runs, name) for runs in (a, b)]
    metric, other = found
    if metric is None or other is None:
        return None
    first, second = a.sample(metric), b.sample(other)
    both = np.isfinite(first) & np.isfinite(second) & (first > 0) & (second > 0)
    if not both.any():
        return None
    at = partial(compare_paired, *matched(first[both], second[both]), margin)
    return _Pair(
        case=label,
        metric=metric.name,
        unit=metric.unit,
        better=metric.better,
        a=first[both],
        b=second[both],
        at=at,
        seconds_per_block=block_s,
    )


def metric_of(runs: CaseRuns, name: str | None) -> Metric | None:
    """The main metric, or that of this name: one of the probe's, of the counters', or what every value may have."""
    if name is None:
        return runs.descriptor.metrics[0]
    return next((metric for metric in _metrics(runs) if metric.name == name), None)


def _metrics(runs: CaseRuns) -> list[Metric]:
    return [*runs.descriptor.metrics, *runs.counters, *_OF_EVERY_VALUE]


def metrics_of(session: Session, cases: Collection[str]) -> list[str]:
    """The names of the metrics that any of these cases has."""
    found = [runs for runs in case_runs(session) if runs.planned.case.name in cases]
    return list(dict.fromkeys(metric.name for runs in found for metric in _metrics(runs)))


def metrics_before(descriptors: Iterable[Descriptor]) -> list[str]:
    """The names of the metrics that cases of these probes will have, without those of the processor's counters."""
    metrics = [metric for descriptor in descriptors for metric in descriptor.metrics]
    return list(dict.fromkeys(metric.name for metric in (*metrics, *_OF_EVERY_VALUE)))


def find_case(session: Session, text: str) -> str:
    """The name of the one case of a session's plan that a text stands for; raises ValueError if it is none or many."""
    found = _cases_of(session, text)
    if len(found) > 1:
        raise ValueError(_say_which(session, text, found))
    return found[0].name


def _cases_of(session: Session, text: str) -> list[Case]:
    """The cases of a session's plan that a text stands for; raises ValueError if there is none."""
    cases = [planned.case for planned in session.plan.cases] if session.plan else []
    exact = [case for case in cases if case.name == text]
    pattern = CasePattern.parse(text)
    found = exact or [case for case in cases if pattern and pattern.matches(case)]
    if not found:
        raise ValueError(f'{session.path} has no case "{text}"; `steelyard show {session.path}` lists its cases')
    return found


def _say_which(session: Session, text: str, found: Sequence[Case]) -> str:
    return f'"{text}" stands for {len(found)} cases of {session.path}, such as {found[0].name}: say which'


def find_pairs(session: Session, a: str, b: str) -> tuple[list[tuple[str, str, str]], list[Reason]]:
    """The pairs of cases that two texts stand for, each with its label, and of each case without one why.

    A case each is a pair, whatever the two are. Of several, those are pairs that agree in their placement and in the
    parameters that both probes have, where no text gives them. Raises ValueError if a case would have two partners, or
    none has one.
    """
    sides = _cases_of(session, a), _cases_of(session, b)
    if len(sides[0]) == len(sides[1]) == 1:
        return [(sides[1][0].name, sides[0][0].name, sides[1][0].name)], []
    patterns = [CasePattern.parse(text) for text in (a, b)]
    given = {name for pattern in patterns if pattern for name in pattern.parameters}
    placed = any(pattern and pattern.placement for pattern in patterns)
    shared = [name for name in sides[0][0].parameters if name in sides[1][0].parameters and name not in given]

    def label(case: Case) -> str:
        alike = ",".join(f"{name}={case.parameters.get(name)}" for name in shared)
        where = "" if placed else f"@{case.placement}"
        return f"{alike}{where}{f'~{case.variant}' if case.variant else ''}"

    by_label: tuple[dict[str, list[Case]], dict[str, list[Case]]] = ({}, {})
    for found, cases in zip(by_label, sides, strict=True):
        for case in cases:
            found.setdefault(label(case), []).append(case)
    both = [one for one in by_label[0] if one in by_label[1]]
    for text, found in zip((a, b), by_label, strict=True):
        crowded = next((found[one] for one in both if len(found[one]) > 1), None)
        if crowded or not both:
            raise ValueError(_say_which(session, text, crowded or next(iter(found.values()))))
    alone = [
        of(case.name, Reason(Why.NO_PARTNER, other=other))
        for found, other in zip(by_label, (b, a), strict=True)
        for one, cases in found.items()
        for case in cases
        if one not in both
    ]
    return [(one, by_label[0][one][0].name, by_label[1][one][0].name) for one in both], alone


def compare_cases(
    session: Session,
    pairs: Sequence[tuple[str, str, str]],
    labels: tuple[str, str],
    *,
    margin: float,
    alpha: float = 1 - VERDICT_CONFIDENCE,
    metric: str | None = None,
    each_alone: bool = False,
) -> Comparisons:
    """Cases of one session by blocks. ``pairs``: what to call the pair, and the two names of cases.

    metric: that of both sides which is compared; their main metrics when left out. each_alone: the pairs are no family,
    so that the confidence is that of each verdict by itself.
    """
    if session.header.imported is not None:  # its runs were in no blocks: nothing pairs them
        first, second = (with_only(as_file(session), {pair[side]: pair[0] for pair in pairs}) for side in (1, 2))
        return msgspec.structs.replace(
            compare_files(first, second, margin=margin, alpha=alpha), a=labels[0], b=labels[1]
        )
    by_name = {runs.planned.case.name: runs for runs in case_runs(session)}
    block_s = sum(runs.planned.run_s for runs in by_name.values())
    made, left_out = [], []
    for label, a, b in pairs:
        missing = [name for name in (a, b) if name not in by_name]
        pair = None if missing else _paired(label, by_name[a], by_name[b], margin, block_s, metric)
        if pair is None:
            left_out.append(of(label, _why_left_out(session, missing, metric)))
        else:
            made.append(pair)
    return Comparisons(
        kind="blocks",
        a=labels[0],
        b=labels[1],
        margin=margin,
        confidence=1 - alpha,
        cases=_compared(made, alpha, "blocks", each_alone=each_alone),
        left_out=tuple(left_out),
        caveats=(),
        void=void_reason(controls(session, by_name)),
        titles=session.header.titles,
        metric=metric,
    )


def _why_left_out(session: Session, missing: Sequence[str], metric: str | None) -> Reason:
    reasons = {skip.subject: skip.reason for skip in session.skips}
    said = [reasons.get(name) or Reason(Why.NOT_MEASURED, case=name) for name in missing]
    return all_of(said) or Reason(Why.NO_BLOCK_OF_BOTH, metric=metric or "a figure")


def alpha_at(blocks: int, looks: Sequence[int], planned: int) -> float:
    """The error rate that may be spent when a session of at most ``planned`` blocks is looked at after ``blocks``."""
    done = [look for look in looks if look < blocks] + [blocks]
    return 1 - stopping.look_confidence(done, planned, 1 - VERDICT_CONFIDENCE)


# --- between sessions -------------------------------------------------------------------------------------------------


def _sentinel(session: Session, by_name: dict[str, CaseRuns]) -> FloatArray:
    """The null probe's runs at both ends and in the blocks: the covariate of a session."""
    null = next((runs for name, runs in by_name.items() if name.startswith("null/null[delay_percent=0,copy=0]")), None)
    if null is None:
        return np.array([])
    metric = null.descriptor.metrics[0]
    ends = [
        null.number(run, lambda value: value.figure(metric))
        for run in session.runs
        if run.role == "sentinel" and run.status == "ok"
    ]
    return _finite(np.concatenate([np.array(ends, dtype=np.float64), null.sample(metric)]))


def compare_sessions(
    a: Session, b: Session, *, margin: float, alpha: float = 1 - VERDICT_CONFIDENCE, metric: str | None = None
) -> Comparisons:
    """The cases that two sessions share, with the sentinel as covariate.

    An imported session has none: it, and what it is compared with, counts as a file of another tool.
    metric: that of each case which is compared; its main metric when left out.
    """
    sides = [{runs.planned.case.name: runs for runs in case_runs(session)} for session in (a, b)]
    void = all_of(
        [
            of(session.path, reason)
            for session, side in zip((a, b), sides, strict=True)
            if (reason := void_reason(controls(session, side)))
        ]
    )
    if a.header.imported or b.header.imported:
        found = compare_files(as_file(a), as_file(b), margin=margin, alpha=alpha)
        return msgspec.structs.replace(found, void=void)
    sentinels = [_sentinel(session, side) for session, side in zip((a, b), sides, strict=True)]
    caveats = []
    if not sentinels[0].size or not sentinels[1].size:
        caveats.append(Reason(Why.NO_SENTINEL))
        sentinels = [np.ones(6), np.ones(6)]
    if a.header.machine.key != b.header.machine.key:
        caveats.append(Reason(Why.TWO_MACHINES, a=a.header.machine.key, b=b.header.machine.key))
    pairs = [
        pair
        for name in sides[0]
        if name in sides[1] and not sides[0][name].planned.control
        if (pair := _unpaired(name, sides[0][name], sides[1][name], sentinels, margin, metric))
    ]
    shared = {pair.case for pair in pairs}
    lacking = Reason(Why.NOT_BOTH_HAVE, metric=metric or "a figure")
    left_out = [
        of(name, lacking if name in other else Reason(Why.ONLY_IN, where=session.path))
        for session, side, other in zip((a, b), sides, reversed(sides), strict=True)
        for name, runs in side.items()
        if name not in shared and not runs.planned.control
    ]
    return Comparisons(
        kind="sessions",
        a=a.path,
        b=b.path,
        margin=margin,
        confidence=1 - alpha,
        cases=_compared(pairs, alpha, "runs"),
        left_out=tuple(left_out),
        caveats=tuple(caveats),
        void=void,
        titles={**b.header.titles, **a.header.titles},
        metric=metric,
    )


def _unpaired(
    name: str, a: CaseRuns, b: CaseRuns, sentinels: Sequence[FloatArray], margin: float, wanted: str | None
) -> _Pair | None:
    metric, other = metric_of(a, wanted), metric_of(b, wanted)
    if metric is None or other is None:
        return None
    first, second = _finite(a.sample(metric)), _finite(b.sample(other))
    if not first.size or not second.size or min(first.min(), second.min()) <= 0:
        return None
    return _Pair(
        case=name,
        metric=metric.name,
        unit=metric.unit,
        better=metric.better,
        a=first,
        b=second,
        at=lambda confidence: compare_unpaired(first, second, *sentinels, margin=margin, confidence=confidence),
    )


# --- over machines ----------------------------------------------------------------------------------------------------


def compare_machines(
    a: FleetData, b: FleetData, labels: tuple[str, str], *, margin: float, alpha: float = 1 - VERDICT_CONFIDENCE
) -> tuple[Comparisons, ...]:
    """Two kernels or settings on the same machines: paired within each machine, one comparison for each machine key.

    The machine is the block: what it costs under a is held against what it costs under b on the same machine, so that
    machines may differ as they like; how far their ratios lie apart is the uncertainty. Six machines give the first
    interval.
    """
    both = [machine for machine in a.machines if machine in b.machines]
    alone = [
        of(machine.name, Reason(Why.ONLY_IN, where=label))
        for side, label in ((a, labels[0]), (b, labels[1]))
        for machine in side.machines
        if machine not in both
    ]
    keys = list(dict.fromkeys(machine.key for machine in both))
    found = []
    for key in keys:
        machines = [machine for machine in both if machine.key == key]
        pairs = [pair for case in a.cases if (pair := _over_machines(case, machines, a, b, margin))]
        # One family over all keys: the promise is of the whole page.
        found.append((key, machines, pairs))
    judged = iter(_compared([pair for _, _, pairs in found for pair in pairs], alpha, "machines"))
    return tuple(
        Comparisons(
            kind="machines",
            a=labels[0],
            b=labels[1],
            margin=margin,
            confidence=1 - alpha,
            cases=tuple(next(judged) for _ in pairs),
            left_out=tuple(alone) if number == 0 else (),
            caveats=(
                Reason(Why.MACHINES_OF_KEY, n=len(machines), key=key, about=machines[0].about or "unknown CPU"),
                Reason(Why.WHATEVER_CHANGED),
            ),
        )
        for number, (key, machines, pairs) in enumerate(found)
    )


def _over_machines(
    case: FleetCase, machines: Sequence[FleetMachine], a: FleetData, b: FleetData, margin: float
) -> _Pair | None:
    """A case on machines that have it on both sides; None where there is none."""
    if case not in b.cases:
        return None
    first, second = (_level(side, case, machines) for side in (a, b))
    there = np.isfinite(first) & np.isfinite(second)
    if not there.any():
        return None
    costs_a, costs_b = np.exp(first[there]), np.exp(second[there])
    return _Pair(
        case=case.name,
        metric=case.metric,
        unit=case.unit,
        better=case.better,
        a=costs_a,
        b=costs_b,
        at=partial(compare_paired, costs_a, costs_b, margin),
    )


def _level(side: FleetData, case: FleetCase, machines: Sequence[FleetMachine]) -> FloatArray:
    """The logarithm of what stands for each machine: the median of its sessions' medians."""
    from steelyard.judge.fleet import levels  # with scipy.stats, which takes half a second and only fleets need

    place = side.cases.index(case)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(side.numbers[:, [place]] > 0, np.log(side.numbers[:, [place]]), np.nan)
    by_machine = levels(logs, side.owner, len(side.machines))[:, 0]
    found: FloatArray = by_machine[[side.machines.index(machine) for machine in machines]]
    return found


# --- files of other tools ---------------------------------------------------------------------------------------------


def compare_files(
    a: ForeignFile, b: ForeignFile, *, margin: float, alpha: float = 1 - VERDICT_CONFIDENCE
) -> Comparisons:
    """The benchmarks that two files share. What lacks the process level gets a wider interval, and a caveat."""
    by_name = {sample.name: sample for sample in b.samples}
    pairs: list[_Pair] = []
    caveats: list[Said] = [*a.caveats, *b.caveats]
    for first in a.samples:
        second = by_name.get(first.name)
        if second is None:
            continue
        processes = first.processes_known and second.processes_known
        between = BETWEEN_SESSIONS if processes else math.hypot(BETWEEN_SESSIONS, _BETWEEN_PROCESSES * math.sqrt(2))
        if not processes:
            caveats.append(of(first.name, Reason(Why.PROCESSES_UNKNOWN, share=_BETWEEN_PROCESSES)))
        costs_a, costs_b = np.array(first.runs), np.array(second.runs)
        pairs.append(_foreign(first.name, first.unit, first.better, costs_a, costs_b, between, margin))
    shared = {pair.case for pair in pairs}
    lone = [(sample.name, file.path) for file in (a, b) for sample in file.samples if sample.name not in shared]
    left_out = [of(name, Reason(Why.ONLY_IN, where=path)) for name, path in lone]
    caveats.append(Reason(Why.NOT_INTERLEAVED))
    return Comparisons(
        kind="files",
        a=a.path,
        b=b.path,
        margin=margin,
        confidence=1 - alpha,
        cases=_compared(pairs, alpha, "runs"),
        left_out=tuple(left_out),
        caveats=tuple(dict.fromkeys(caveats)),
    )


def _foreign(
    name: str, unit: str, better: Better, a: FloatArray, b: FloatArray, between: float, margin: float
) -> _Pair:
    # Other tools keep no sentinel: a constant one divides nothing out and adds no width of its own.
    still = np.ones(6)
    return _Pair(
        case=name,
        metric="cost",
        unit=unit,
        better=better,
        a=a,
        b=b,
        at=lambda confidence: compare_unpaired(
            a, b, still, still, margin=margin, confidence=confidence, between=between
        ),
    )
