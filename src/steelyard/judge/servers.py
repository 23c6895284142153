# SPDX-License-Identifier: Apache-2.0
"""One application over many servers: a row each, and a recommendation only where the verdicts support one.

A server with several numbers of workers or threads is as many alternatives. The candidate is the server that answered
most requests in the pilot, which counts for nothing else: chosen by the blocks, it would be compared by the same luck
that it was chosen by. It is then compared with each of the others, by requests a second and by p99, all comparisons
being one family. A server that is meant for development is compared as well, and is never recommended.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import partial

import msgspec
import numpy as np

from steelyard.errors import NothingMeasuredError
from steelyard.judge.comparisons import Compared, compare_cases
from steelyard.judge.reasons import Reason
from steelyard.judge.samples import CaseRuns, case_runs, runs_of
from steelyard.judge.stats.comparison import VERDICT_CONFIDENCE
from steelyard.judge.stats.planning import fewest_blocks
from steelyard.records import Case, Record, Session
from steelyard.units import counted

#: Differences below this do not choose a server.
MARGIN = 0.05
QUESTION = "request"
#: The way that calls the application without any server.
ALONE = "in_process"
_THROUGHPUT, _TAIL = "requests", "p99"
#: Both metrics are one family: half of the error rate for each holds the whole of it.
_ALPHA = (1 - VERDICT_CONFIDENCE) / 2
#: From this share on, the application's own CPU time decides and not the server.
DECIDES = 0.75
_FIGURES = ("requests", "p50", "p99", "resident", "proportional", "ready")


class ServerRow(Record, frozen=True, kw_only=True):
    """A server as it stands in the table; figures are medians in base units, None where there is none.

    server: its name, with its workers and threads where the session has it with several numbers of them. title: the
    same with what people call it in place of its name. threads: of a worker; 0 is the server's own number. formula: it
    has 2 workers a CPU and one more, as gunicorn's documentation advises. development: it is not meant for production.
    against: how its requests a second compare with the candidate's, None of the candidate itself. cpu_s: of all its
    processes, for one request. own_share: how much of that the application takes when no server stands before it.
    wrong: what it does wrong, a clause each. failed_runs: how many of its ``runs`` failed, the first for the reason
    ``failed``; most of them where it has no figures.
    """

    server: str
    title: str = ""
    workers: int = 0
    threads: int = 0
    formula: bool = False
    development: bool = False
    against: Compared | None = None
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
    more_blocks, more_minutes: with how many more blocks, in how many minutes, it might be decided.
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
    more_minutes: float | None = None


class Weighed(Record, frozen=True, kw_only=True):
    """An application over its servers: what is recommended first, then by requests a second.

    confidence: that at which all verdicts together hold. cheapest, dearest: the rows with the least and the most CPU
    time a request; None without any.
    """

    application: str
    path: str
    rows: tuple[ServerRow, ...]
    skipped: dict[str, str]
    alone_s: float | None
    blocks: int
    advice: Advice
    margin: float
    confidence: float = VERDICT_CONFIDENCE
    cheapest: ServerRow | None = None
    dearest: ServerRow | None = None
    void: Reason | None = None


def blocks_to_decide(servers: int) -> int:
    """The fewest blocks after which one server can prove faster than all the others."""
    return fewest_blocks(max(1, servers - 1), _ALPHA)


def weigh(session: Session, *, margin: float = MARGIN) -> Weighed:
    """The servers of a session that were all asked for one application."""
    by_case = {runs.planned.case.name: runs for runs in case_runs(session) if _way(runs) is not None}
    alone = next((runs for runs in by_case.values() if _way(runs) == ALONE), None)
    alone_s = _median(alone, "cpu") if alone else None
    labels, titles = _labels(session, {}), _labels(session, session.header.titles)
    called = {labels[name]: title for name, title in titles.items()}
    measured = {labels[name]: name for name, runs in by_case.items() if runs is not alone}
    rows = [_row(server, by_case[name], alone_s, session) for server, name in measured.items()]
    failed = {row.server: row for row in rows if row.cpu_s is None}
    for run in session.runs:
        server = labels.get(run.case, _way_of(run.case))
        if run.status == "failed" and server not in (None, ALONE, *measured, *failed):
            failed[str(server)] = ServerRow(server=str(server), runs=1, failed_runs=1, failed=run.error)
    titled = partial(_titled, called)
    good = sorted((row for row in rows if row.cpu_s is not None), key=lambda row: -(row.requests_per_s or 0.0))
    variant = next(iter(session.header.variants), None)
    environment: Mapping[str, str] = variant.environment if variant else {}
    void, advice, against = _advise(session, good, {row.server: by_case[measured[row.server]] for row in good}, margin)
    # What is recommended comes first: the order of the medians is that of the verdicts only where those are decided.
    good = sorted(good, key=lambda row: row.server not in advice.servers)
    by_cpu = sorted(good, key=lambda row: row.cpu_s or math.inf)
    return Weighed(
        application=environment.get("STEELYARD_WSGI_APPLICATION", ""),
        path=environment.get("STEELYARD_WSGI_PATH", ""),
        rows=(
            *(titled(msgspec.structs.replace(row, against=against.get(row.server))) for row in good),
            *(titled(row) for row in sorted(failed.values(), key=lambda row: row.server)),
        ),
        skipped={
            labels.get(skip.subject, way): skip.reason for skip in session.skips if (way := _way_of(skip.subject))
        },
        alone_s=alone_s,
        blocks=session.blocks,
        advice=advice,
        margin=margin,
        cheapest=titled(by_cpu[0]) if by_cpu else None,
        dearest=titled(by_cpu[-1]) if by_cpu else None,
        void=void,
    )


def _titled(called: Mapping[str, str], row: ServerRow) -> ServerRow:
    return msgspec.structs.replace(row, title=called.get(row.server, row.server))


def _labels(session: Session, titles: Mapping[str, str]) -> dict[str, str]:
    """What to call each case of a server: its title, else its way, with workers and threads where there are several."""
    cases = [case for case in session.header.selection if _way_of(case.probe) not in (None, ALONE)]
    sweep = Counter(_way_of(case.probe) for case in cases)

    def label(case: Case) -> str:
        way = str(_way_of(case.probe))
        called = titles.get(case.probe, way)
        if sweep[way] == 1:
            return called
        workers, threads = (int(case.parameters.get(name, 0)) for name in ("workers", "threads"))
        of_each = f" of {counted(threads, 'thread')}" if threads else ""
        return f"{called}, {counted(workers, 'worker')}{of_each}"

    return {case.name: label(case) for case in cases}


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


def _row(server: str, runs: CaseRuns, alone_s: float | None, session: Session) -> ServerRow:
    everything = runs_of(runs.planned.case.name, session.runs)
    broken = [run for run in everything if run.status == "failed"]
    said = dict.fromkeys(caveat for run in everything for caveat in run.caveats)
    wrong = tuple(dict.fromkeys(fault for run in everything for fault in run.faults))
    row = ServerRow(
        server=server,
        workers=int(runs.planned.case.parameters.get("workers", 0)),
        threads=int(runs.planned.case.parameters.get("threads", 0)),
        formula=runs.planned.case.parameters.get("workers") == formula_workers(len(session.header.machine.cpus)),
        development=runs.descriptor.properties.get("meant for") == "development",
        wrong=wrong,
        runs=len(everything),
        failed_runs=len(broken),
        failed=broken[0].error if broken else None,
    )
    cpu_s = _median(runs, "cpu")
    if cpu_s is None or 2 * len(broken) > len(everything):
        return row
    requests, p50, p99, resident, proportional, ready = (_median(runs, name) for name in _FIGURES)
    return msgspec.structs.replace(
        row,
        cpu_s=cpu_s,
        requests_per_s=requests,
        p50_s=p50,
        p99_s=p99,
        resident_bytes=resident,
        proportional_bytes=proportional,
        ready_s=ready,
        own_share=min(1.0, alone_s / cpu_s) if alone_s else None,
        caveats=tuple(caveat for caveat in said if caveat not in wrong),
    )


class Knee(Record, frozen=True, kw_only=True):
    """Where more workers and threads gain nothing: the fewest that no other is proven faster than.

    formula: the way of gunicorn's formula, and how many times as many requests it answers; None where it was not swept.
    undecided: fewer of which it could not be told whether they are as fast.
    """

    row: ServerRow
    formula: ServerRow | None
    formula_times: float | None
    undecided: tuple[str, ...]


def knee(weighed: Weighed) -> Knee | None:
    """The knee of a sweep; None where nothing can be said of it."""
    rows = [row for row in weighed.rows if row.requests_per_s]
    if weighed.void is not None or not any(row.against for row in rows):
        return None
    faster = [row for row in rows if row.against is not None and _better(row.against)]
    equal = [row for row in rows if row.against is None or row.against.verdict == "equivalent"]
    row = min(faster or equal, key=_size)
    formula = next((other for other in rows if other.formula), None)
    rates = [other.requests_per_s for other in (formula, row) if other]
    times = rates[0] / rates[1] if len(rates) == 2 and rates[0] and rates[1] else None
    return Knee(
        row=row,
        formula=formula,
        formula_times=times,
        undecided=tuple(
            other.title or other.server
            for other in rows
            if other.against is not None and other.against.verdict == "undecided" and _size(other) < _size(row)
        ),
    )


def to_sweep(weighed: Weighed) -> str:
    """The server whose workers are worth a sweep: the recommended one, else that of most requests.

    Raises NothingMeasuredError if no server could be measured.
    """
    rows = [row.server for row in weighed.rows if row.requests_per_s and not row.development]
    if not rows:
        raise NothingMeasuredError("no server for production could be measured: the reasons stand above")
    return next(iter(weighed.advice.servers), rows[0])


def _size(row: ServerRow) -> tuple[int, int]:
    return row.workers, row.threads


def formula_workers(cpus: int) -> int:
    """Workers as gunicorn's documentation advises: "(2 x $num_cores) + 1"."""
    return 2 * cpus + 1


# --- the recommendation -----------------------------------------------------------------------------------------------


def _pilot_rate(runs: CaseRuns, session: Session) -> float:
    """Requests a second in the pilot."""
    case = runs.planned.case.name
    run = next((run for run in session.runs if run.role == "pilot" and run.case == case and run.status == "ok"), None)
    if run is None:
        return 0.0
    rate = runs.number(run, lambda value: value.operations / value.wall_ns * 1e9 if value.wall_ns else None)
    return rate if math.isfinite(rate) else 0.0


def _advise(
    session: Session, rows: Sequence[ServerRow], servers: Mapping[str, CaseRuns], margin: float
) -> tuple[Reason | None, Advice, Mapping[str, Compared]]:
    """Why the session is void, if it is, what its verdicts support, and each server against the candidate."""
    names = [row.server for row in rows if not row.development]
    if len(names) < 2:
        return None, Advice(outcome=AdviceOutcome.TOO_FEW), {}
    best = max(names, key=lambda name: _pilot_rate(servers[name], session))
    cases = {name: runs.planned.case.name for name, runs in servers.items()}
    pairs = [(row.server, cases[best], cases[row.server]) for row in rows if row.server != best]
    fast = compare_cases(session, pairs, (best, "others"), margin=margin, alpha=_ALPHA, metric=_THROUGHPUT)
    tail = compare_cases(session, pairs, (best, "others"), margin=margin, alpha=_ALPHA, metric=_TAIL)
    if fast.void:
        return fast.void, Advice(outcome=AdviceOutcome.VOID), {}
    judged = ([case for case in found.cases if case.case in names] for found in (fast, tail))
    return None, _from_verdicts(best, names, *judged), {case.case: case for case in fast.cases}


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
    more = [c for c in fast if c.more_blocks is not None]
    most = max(more, key=lambda c: c.more_blocks or 0, default=None)
    return Advice(
        outcome=outcome,
        servers=(best, *equal) if decided else (),
        candidate=best,
        faster=faster,
        equal=equal,
        slower=slower,
        undecided=undecided,
        lower_tail=tuple(c.case for c in tail if _better(c)) if decided else (),
        more_blocks=most.more_blocks if most and outcome is AdviceOutcome.UNDECIDED else None,
        more_minutes=most.more_minutes if most and outcome is AdviceOutcome.UNDECIDED else None,
    )
