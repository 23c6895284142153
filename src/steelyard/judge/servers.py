# SPDX-License-Identifier: Apache-2.0
"""One application over many servers: a row each, and a recommendation only where the verdicts support one.

The candidate is the server that answered most requests in the pilot, which counts for nothing else: chosen by the
blocks, it would be compared by the same luck that it was chosen by. It is then compared with each of the others, by
requests a second and by p99, all comparisons being one family.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from steelyard.judge.comparisons import Compared, compare_cases
from steelyard.judge.samples import CaseRuns, case_runs, run_number, runs_of
from steelyard.judge.stats.comparison import CONFIDENCE
from steelyard.records import Record, Run, Session

#: Differences below this do not choose a server.
MARGIN = 0.05
QUESTION = "request"
#: The way that calls the application without any server.
ALONE = "in_process"
_THROUGHPUT, _TAIL = "requests", "p99"
_FIGURES = ("requests", "p50", "p99", "resident", "proportional", "ready")


class ServerRow(Record, frozen=True, kw_only=True):
    """A server as it stands in the table; figures are medians in base units, None where there is none.

    cpu_s: of all its processes, for one request. own_share: how much of that the application takes when nobody stands
    before it. wrong: what it does wrong, a clause each; failed: why it has no figures.
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
    failed: str | None = None


class Advice(Record, frozen=True, kw_only=True):
    """What the verdicts support. ``servers`` is empty where they support nothing; ``because`` says why either way.

    trade_offs: what speaks against it, proven as well. more_blocks: with how many more it might be decided.
    """

    servers: tuple[str, ...]
    because: str
    trade_offs: tuple[str, ...] = ()
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
    failed = {row.server: row for row in rows if row.failed is not None}
    for run in session.runs:
        way = _way_of(run.case)
        if run.status == "failed" and way is not None and way not in measured and way not in failed and way != ALONE:
            failed[way] = ServerRow(server=way, failed=run.error)
    good = sorted((row for row in rows if row.failed is None), key=lambda row: -(row.requests_per_s or 0.0))
    variant = next(iter(session.header.variants), None)
    environment: Mapping[str, str] = variant.environment if variant else {}
    void, advice = _advise(session, good, measured, margin)
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
    wrong, doubts = _clauses(everything)
    cpu_s = _median(runs, "cpu")
    if cpu_s is None or 2 * len(broken) > len(everything):
        return ServerRow(server=way, failed=next((run.error for run in broken), "it has no figure"), wrong=wrong)
    if broken:
        wrong = (f"failed in {len(broken)} of {len(everything)} runs: {broken[0].error}", *wrong)
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
        caveats=doubts,
    )


def _clauses(runs: Sequence[Run]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the probe says of the server's faults (its caveats on errors), and its other doubts."""
    said = dict.fromkeys(caveat for run in runs for caveat in run.caveats)
    wrong = tuple(caveat.removeprefix("errors: ") for caveat in said if caveat.startswith("errors: "))
    return wrong, tuple(caveat for caveat in said if not caveat.startswith("errors: "))


# --- the recommendation -----------------------------------------------------------------------------------------------


def _pilot_rate(case: str, session: Session) -> float:
    """Requests a second in the pilot."""
    run = next((run for run in session.runs if run.role == "pilot" and run.case == case and run.status == "ok"), None)
    if run is None:
        return 0.0
    rate = run_number(run, lambda value: value.operations / value.wall_ns * 1e9 if value.wall_ns else None, "median")
    return rate if math.isfinite(rate) else 0.0


def _advise(
    session: Session, rows: Sequence[ServerRow], cases: Mapping[str, str], margin: float
) -> tuple[str | None, Advice]:
    """Why the session is void, if it is, and what its verdicts support."""
    names = [row.server for row in rows]
    if len(names) < 2:
        why = "there is nothing to compare: fewer than two servers could be measured"
        return None, Advice(servers=(), because=why)
    best = max(names, key=lambda name: _pilot_rate(cases[name], session))
    pairs = [(name, cases[best], cases[name]) for name in names if name != best]
    # Both metrics are one family: half of the error rate for each holds the whole of it.
    alpha = (1 - CONFIDENCE) / 2
    fast = compare_cases(session, pairs, (best, "others"), margin=margin, alpha=alpha, metric=_THROUGHPUT)
    tail = compare_cases(session, pairs, (best, "others"), margin=margin, alpha=alpha, metric=_TAIL)
    if fast.void:
        return fast.void, Advice(servers=(), because=f"the session is void: {fast.void}")
    return None, _from_verdicts(best, names, fast.cases, tail.cases)


def _better(compared: Compared) -> bool:
    """Whether b is proven better than a."""
    return compared.verdict == "different" and not compared.worse


def _from_verdicts(best: str, names: Sequence[str], fast: Sequence[Compared], tail: Sequence[Compared]) -> Advice:
    faster = [c.case for c in fast if _better(c)]
    undecided = [c for c in fast if c.verdict == "undecided"]
    unknown = [name for name in names if name != best and name not in {c.case for c in fast}]
    more = [c.more_blocks for c in undecided if c.more_blocks is not None]
    if faster:
        why = f"{best} was the fastest in the pilot, and {_and(faster)} proved faster in the blocks: measure again"
        return Advice(servers=(), because=why)
    if undecided or unknown:
        open_ = [*(c.case for c in undecided), *unknown]
        who = "any other" if len(open_) == len(names) - 1 > 1 else _and(open_)
        why = f"{best} answers the most requests, but whether more than {who} is undecided"
        return Advice(servers=(), because=why, more_blocks=max(more, default=None))
    equal = [c.case for c in fast if c.verdict == "equivalent"]
    others = [c.case for c in fast if c.case not in equal]
    trade_offs = tuple(f"{c.case} has a lower p99" for c in tail if _better(c))
    if equal:
        beyond = f", and more than {_and(others)}" if others else ""
        why = f"{_and([best, *equal])} answer as many requests as each other{beyond}"
    else:
        why = f"{best} answers more requests than every other"
    return Advice(servers=(best, *equal), because=why, trade_offs=trade_offs)


def _and(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
