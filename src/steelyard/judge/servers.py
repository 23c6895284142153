# SPDX-License-Identifier: Apache-2.0
"""One application over many servers: a row each, and a recommendation only where the verdicts support one.

The candidate is the server that answered most requests in the pilot, which counts for nothing else: chosen by the
blocks, it would be compared by the same luck that it was chosen by. It is then compared with each of the others, by
requests a second and by p99, all comparisons being one family.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum

import numpy as np

from steelyard.judge.comparisons import Compared, compare_cases
from steelyard.judge.samples import CaseRuns, case_runs, runs_of
from steelyard.judge.stats.comparison import VERDICT_CONFIDENCE
from steelyard.records import Record, Session

#: Differences below this do not choose a server.
MARGIN = 0.05
QUESTION = "request"
#: The way that calls the application without any server.
ALONE = "in_process"
_THROUGHPUT, _TAIL = "requests", "p99"
_FIGURES = ("requests", "p50", "p99", "resident", "proportional", "ready")


class ServerRow(Record, frozen=True, kw_only=True):
    """A server as it stands in the table; figures are medians in base units, None where there is none.

    cpu_s: of all its processes, for one request. own_share: how much of that the application takes when no server
    stands before it. wrong: what it does wrong, a clause each. failed_runs: how many of its ``runs`` failed, the first
    for the reason ``failed``; most of them where it has no figures.
    """

    server: str
    cpu_s: float | None = None
    requests_per_s: float | None = None
    p50_s: float | None = None
    p99_s: float | None = None
    resident_bytes: float | None = None
    proportional_bytes: float | None = None
    ready_s: float | None = None
    own_share: float | None = None
    wrong: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    runs: int = 0
    failed_runs: int = 0
    failed: str | None = None


class AdviceOutcome(StrEnum):
    """What the verdicts support."""

    FASTEST = "fastest"
    EQUAL = "equal"
    UNDECIDED = "undecided"
    CONTRADICTED = "contradicted"
    TOO_FEW = "too few servers"
    VOID = "void"


class Advice(Record, frozen=True, kw_only=True):
    """What the verdicts support. ``servers`` is what may be recommended; it is empty where they support nothing.

    candidate: the fastest of the pilot, with which each of the others was compared. faster, equal, slower, undecided:
    what they proved to be by requests a second. lower_tail: those that are proven to have a lower p99 than it.
    more_blocks: with how many more blocks it might be decided.
    """

    outcome: AdviceOutcome
    servers: tuple[str, ...] = ()
    candidate: str | None = None
    faster: tuple[str, ...] = ()
    equal: tuple[str, ...] = ()
    slower: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    lower_tail: tuple[str, ...] = ()
    more_blocks: int | None = None


class Weighed(Record, frozen=True, kw_only=True):
    """An application over its servers, the one with the most requests first."""

    application: str
    path: str
    rows: tuple[ServerRow, ...]
    skipped: dict[str, str]
    alone_s: float | None
    blocks: int
    advice: Advice
    margin: float
    void: str | None = None


def weigh(session: Session, *, margin: float = MARGIN) -> Weighed:
    """The servers of a session that were all asked for one application."""
    by_case = {runs.planned.case.name: runs for runs in case_runs(session) if _way(runs) is not None}
    measured = {str(_way(runs)): name for name, runs in by_case.items()}
    alone = by_case.get(measured.pop(ALONE, ""))
    alone_s = _median(alone, "cpu") if alone else None
    rows = [_row(way, by_case[name], alone_s, session) for way, name in measured.items()]
    failed = {row.server: row for row in rows if row.cpu_s is None}
    for run in session.runs:
        way = _way_of(run.case)
        if run.status == "failed" and way is not None and way not in measured and way not in failed and way != ALONE:
            failed[way] = ServerRow(server=way, runs=1, failed_runs=1, failed=run.error)
    good = sorted((row for row in rows if row.cpu_s is not None), key=lambda row: -(row.requests_per_s or 0.0))
    variant = next(iter(session.header.variants), None)
    environment: Mapping[str, str] = variant.environment if variant else {}
    void, advice = _advise(session, {row.server: by_case[measured[row.server]] for row in good}, margin)
    return Weighed(
        application=environment.get("STEELYARD_WSGI_APPLICATION", ""),
        path=environment.get("STEELYARD_WSGI_PATH", ""),
        rows=(*good, *sorted(failed.values(), key=lambda row: row.server)),
        skipped={way: skip.reason for skip in session.skips if (way := _way_of(skip.subject))},
        alone_s=alone_s,
        blocks=session.end.blocks if session.end else max((run.block for run in session.runs), default=0),
        advice=advice,
        margin=margin,
        void=void,
    )


def _way_of(case: str) -> str | None:
    question, _, rest = case.partition("/")
    return rest.partition("[")[0].partition("@")[0] if question == QUESTION else None


def _way(runs: CaseRuns) -> str | None:
    return None if runs.planned.control else _way_of(runs.planned.case.probe)


def _median(runs: CaseRuns, name: str) -> float | None:
    metric = next((metric for metric in runs.descriptor.metrics if metric.name == name), None)
    sample = runs.sample(metric) if metric else np.array([])
    there = sample[np.isfinite(sample)]
    return float(np.median(there)) if there.size else None


def _row(way: str, runs: CaseRuns, alone_s: float | None, session: Session) -> ServerRow:
    everything = runs_of(runs.planned.case.name, session.runs)
    broken = [run for run in everything if run.status == "failed"]
    said = dict.fromkeys(caveat for run in everything for caveat in run.caveats)
    wrong = tuple(dict.fromkeys(fault for run in everything for fault in run.faults))
    failed = broken[0].error if broken else None
    cpu_s = _median(runs, "cpu")
    if cpu_s is None or 2 * len(broken) > len(everything):
        return ServerRow(server=way, wrong=wrong, runs=len(everything), failed_runs=len(broken), failed=failed)
    requests, p50, p99, resident, proportional, ready = (_median(runs, name) for name in _FIGURES)
    return ServerRow(
        server=way,
        cpu_s=cpu_s,
        requests_per_s=requests,
        p50_s=p50,
        p99_s=p99,
        resident_bytes=resident,
        proportional_bytes=proportional,
        ready_s=ready,
        own_share=min(1.0, alone_s / cpu_s) if alone_s else None,
        wrong=wrong,
        caveats=tuple(caveat for caveat in said if caveat not in wrong),
        runs=len(everything),
        failed_runs=len(broken),
        failed=failed,
    )


# --- the recommendation -----------------------------------------------------------------------------------------------


def _pilot_rate(runs: CaseRuns, session: Session) -> float:
    """Requests a second in the pilot."""
    case = runs.planned.case.name
    run = next((run for run in session.runs if run.role == "pilot" and run.case == case and run.status == "ok"), None)
    if run is None:
        return 0.0
    rate = runs.number(run, lambda value: value.operations / value.wall_ns * 1e9 if value.wall_ns else None)
    return rate if math.isfinite(rate) else 0.0


def _advise(session: Session, servers: Mapping[str, CaseRuns], margin: float) -> tuple[str | None, Advice]:
    """Why the session is void, if it is, and what its verdicts support."""
    names = list(servers)
    if len(names) < 2:
        return None, Advice(outcome=AdviceOutcome.TOO_FEW)
    best = max(names, key=lambda name: _pilot_rate(servers[name], session))
    cases = {name: runs.planned.case.name for name, runs in servers.items()}
    pairs = [(name, cases[best], cases[name]) for name in names if name != best]
    # Both metrics are one family: half of the error rate for each holds the whole of it.
    alpha = (1 - VERDICT_CONFIDENCE) / 2
    fast = compare_cases(session, pairs, (best, "others"), margin=margin, alpha=alpha, metric=_THROUGHPUT)
    tail = compare_cases(session, pairs, (best, "others"), margin=margin, alpha=alpha, metric=_TAIL)
    if fast.void:
        return fast.void, Advice(outcome=AdviceOutcome.VOID)
    return None, _from_verdicts(best, names, fast.cases, tail.cases)


def _better(compared: Compared) -> bool:
    """Whether b is proven better than a."""
    return compared.verdict == "different" and not compared.worse


def _from_verdicts(best: str, names: Sequence[str], fast: Sequence[Compared], tail: Sequence[Compared]) -> Advice:
    faster = tuple(c.case for c in fast if _better(c))
    equal = tuple(c.case for c in fast if c.verdict == "equivalent")
    slower = tuple(c.case for c in fast if c.verdict == "different" and c.worse)
    undecided = tuple(name for name in names if name not in {best, *faster, *equal, *slower})
    if faster:
        outcome = AdviceOutcome.CONTRADICTED
    elif undecided:
        outcome = AdviceOutcome.UNDECIDED
    else:
        outcome = AdviceOutcome.EQUAL if equal else AdviceOutcome.FASTEST
    decided = outcome in {AdviceOutcome.EQUAL, AdviceOutcome.FASTEST}
    more = [c.more_blocks for c in fast if c.more_blocks is not None]
    return Advice(
        outcome=outcome,
        servers=(best, *equal) if decided else (),
        candidate=best,
        faster=faster,
        equal=equal,
        slower=slower,
        undecided=undecided,
        lower_tail=tuple(c.case for c in tail if _better(c)) if decided else (),
        more_blocks=max(more, default=None) if outcome is AdviceOutcome.UNDECIDED else None,
    )
