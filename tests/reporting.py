# SPDX-License-Identifier: Apache-2.0
"""Sessions to report on: one that has everything a page can show, and what may be done to its strings."""

from __future__ import annotations

import functools
import io
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from steelyard.judge import rules
from steelyard.judge.report import Report, report
from steelyard.keep import session as sessions
from steelyard.records import End, Session
from steelyard.show import html
from steelyard.show.console import Console
from tests.making import a_machine
from tests.unit.judge.sessions import steady, weighed

BLOCKS = 16
BIMODAL = "switch/pipe[kind=thread]@free"
PUBLISHED = "lock/counter_mutex[contexts=5,kind=process]@free"
WAYS = ("atomic", "mutex", "rwlock")
GOLDEN = Path(__file__).parent / "golden"

#: What stands in every string of a hostile session.
MARKUP = (
    "\"'><script>window.hacked=1</script><img src=http://evil.example/x onerror=window.hacked=1>{{7*7}}${7*7}</style>"
)
#: A title for the window, a colour by C1, a cursor that goes back, a direction that turns, marks that nobody sees.
ACTS = "\x1b]0;pwn\x07\x9b31m\x08\r\x7f\u202e\u2066\u200b\u2028\u2029\ufeff\u00ad\u3164\U000e0041\ufe0f"
_ACTING = {letter for letter in ACTS if not "\x20" <= letter <= "\x7e"}
#: Strings that a session file may not choose freely.
_FIXED = {
    *("same", "cross", "free", "lower_quartile", "median", "lower", "higher", "neither", "integer", "choice", "note"),
    *("warning", "before", "after", "pilot", "block", "sentinel", "ok", "failed", "skipped", "blocks", "budget"),
    *("decided", "s", "B/s", "B", "1", "wall", "cpu", "one", "operations"),
}


#: The null probe, its copy, and itself planted 5 % slower.
CONTROLS = {
    "null/null[delay_percent=0,copy=0]@same": 1e-6,
    "null/null[delay_percent=0,copy=1]@same": 1e-6,
    "null/null[delay_percent=5,copy=0]@same": 1.05e-6,
}


def full_costs(slower: float = 1.0) -> dict[str, list[float]]:
    """Calls, a sweep with its overhead, a mixture, and a family of ways, some of them published."""
    costs = {"call/loop@same": steady(0.3e-9, BLOCKS), "call/direct@same": steady(1.4e-9 * slower, BLOCKS)}
    for kind in ("thread", "process"):
        for contexts in (1, 2, 16, 128):
            name = f"switch/yield[contexts={contexts},kind={kind}]@same"
            costs[name] = steady(4e-7 * contexts**0.3 * slower, BLOCKS)
    costs[BIMODAL] = [(2e-6 if block % 2 else 80e-6) * (1 + block / 500) for block in range(BLOCKS)]
    for place, way in enumerate(WAYS):
        for contexts in range(1, 6):
            name = f"lock/counter_{way}[contexts={contexts},kind=process]@free"
            costs[name] = steady((6e-9 + 8e-9 * place) * contexts, BLOCKS)
    return costs


def a_full_session(path: str = "full.session.jsonl", slower: float = 1.0, key: str = "0123456789ab") -> Session:
    """A session with everything but failures and disturbances."""
    session = weighed(
        full_costs(slower) | {name: steady(cost, BLOCKS) for name, cost in CONTROLS.items()},
        baselines={name: "call/loop@same" for name in full_costs() if name.startswith("switch/yield")},
        skips={"message/latency_rdma": "no such device"},
        family="counter",
    )
    header = msgspec.structs.replace(session.header, machine=a_machine(key=key), command=("run", "call/*"))
    end = End(at="2026-01-02T04:00:00+00:00", reason="blocks", blocks=BLOCKS, wall_s=120.0, timed_s=80.0)
    cases = tuple(
        msgspec.structs.replace(planned, control=planned.case.name in CONTROLS) for planned in session.plan.cases
    )
    plan = msgspec.structs.replace(session.plan, blocks=BLOCKS, cases=cases)
    return msgspec.structs.replace(session, path=path, header=header, plan=plan, end=end)


@functools.cache
def a_report() -> Report:
    """Two sessions of one machine, of which the second is twice as slow in most cases, and one of another machine."""
    return report(
        [a_full_session("a"), a_full_session("b", slower=2.0), a_full_session("c", slower=3.0, key="ffffffffffff")]
    )


@functools.cache
def a_page() -> str:
    """The page of that report."""
    return html.page(a_report(), rules.check(a_report()))


def the_golden_session() -> Session:
    """One with controls, a failure, a skip and a disturbance."""
    return sessions.read(GOLDEN / "whole.session.jsonl")


def printed(show: Callable[..., None], *arguments: object, width: int = 150, **options: object) -> str:
    """What a function prints on a wide console, which is its last positional argument."""
    out = io.StringIO()
    show(*arguments, Console(file=out, width=width), **options)
    return out.getvalue()


def acting(text: str) -> str:
    """What of a text acts on a terminal or is not seen; empty if all is well."""
    kinds = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    return "".join(one for one in text if one != "\n" and (one in _ACTING or unicodedata.category(one) in kinds))


def hostile(session: Session, more: str = MARKUP) -> Session:
    """The same session with ``more`` in every string that its file may choose, wherever it stands."""

    def spoil(text: str) -> str:
        # Counts that metrics are made of are names as well; spoiling both alike keeps them together.
        return text if text in _FIXED or not text else text + more

    def changed(node: Any, within: str) -> Any:
        match node:
            case dict():
                # Names of fields stay; names of cases, probes, parameters and facts are the file's.
                free = within in {"facts", "environment", "versions", "parameters", "probes", "counts", "readings"}
                return {spoil(key) if free else key: changed(value, key) for key, value in node.items()}
            case list() | tuple():
                return [changed(item, within if isinstance(item, str) else "") for item in node]
            case str() if within not in {"type", "per", "over", "sha256", "started", "at"}:
                return spoil(node)
            case _:
                return node

    spoilt = msgspec.convert(changed(msgspec.to_builtins(session), within=""), Session)
    # Runs and baselines name cases by what those are made of, which is spoilt piece by piece.
    both = zip(session.plan.cases, spoilt.plan.cases, strict=True)
    names = {spoil(planned.case.name): after.case.name for planned, after in both}
    runs = tuple(msgspec.structs.replace(run, case=names[run.case]) for run in spoilt.runs)
    cases = tuple(
        msgspec.structs.replace(planned, baseline=names.get(planned.baseline or "")) for planned in spoilt.plan.cases
    )
    return msgspec.structs.replace(spoilt, runs=runs, plan=msgspec.structs.replace(spoilt.plan, cases=cases))
