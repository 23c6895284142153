# SPDX-License-Identifier: Apache-2.0
"""Sessions to be exported: costs and rates, good and hostile names."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from steelyard.judge.ledger import ledger
from steelyard.records import Case, End, Histogram, Plan, Session
from steelyard.show import formats
from tests.making import (
    NULL_CASE,
    a_case,
    a_descriptor,
    a_failed_run,
    a_header,
    a_metric,
    a_planned,
    a_run,
    a_session,
    a_value,
)

RATE = a_descriptor(
    "message/pipe",
    operation="one message",
    metrics=(
        a_metric("bandwidth", unit="B/s", better="higher", over="bytes", per="wall", doc="bytes per second"),
        a_metric("message", doc="time of one message"),
        a_metric("memory", unit="B", over="memory", per="one", doc="memory of the pipe"),
        a_metric("lost", unit="1", better="neither", over="lost", per="operations", doc="share of lost messages"),
    ),
)
COST = a_descriptor("call/direct", statistic="lower_quartile", operation="one call")
SIZE = a_descriptor(
    "create/thread", metrics=(a_metric("memory", unit="B", over="memory", per="one", doc="memory of a thread"),)
)
COST_CASE = a_case("call/direct", "same", depth=3, kind="near")
RATE_CASE = a_case("message/pipe", "cross", size=4096)
SIZE_CASE = a_case("create/thread", "free")
BROKEN_CASE = a_case("call/broken")
END = End(at="2026-01-02T03:05:00+00:00", reason="blocks", blocks=6, wall_s=2.0, timed_s=1.0)


#: Of numbers that stand alone, of some that share a bucket, and of one far beyond: in nanoseconds.
LATE = Histogram(name="late", unit="s", scale=1e-9, buckets=((0, 2), (7, 1), (52992, 1000), (53248, 41), (2**40, 3)))


def value(seconds: float) -> object:
    """A batch with everything that some probe counts."""
    return a_value(
        seconds,
        cpu_ns=round(seconds * 900e9),
        counts={"checked": 1000, "bytes": 4_096_000, "lost": 1},
        readings={"memory": 8192.0},
    )


def mixed(blocks: int = 6) -> Session:
    """A cost, a rate and a size over some blocks, a control, and a case of which every run failed."""
    cases = (COST_CASE, RATE_CASE, SIZE_CASE, BROKEN_CASE)
    runs = []
    for block in range(1, blocks + 1):
        more = {"started": 1767323045.5 + block, "peak_rss_bytes": 1_000_000, "cpus": (1,)}
        runs += [
            a_run(
                case,
                block,
                values=tuple(value(1e-6 * (1 + block / 100 + n / 1000)) for n in range(4)),
                histograms=(LATE,) if case is COST_CASE else (),
                **more,
            )
            for case in (COST_CASE, RATE_CASE, SIZE_CASE, NULL_CASE)
        ]
        runs.append(a_failed_run(BROKEN_CASE, block))
    plan = Plan(cases=(*map(a_planned, cases), a_planned(NULL_CASE, control=True)), blocks=blocks)
    header = a_header(*cases, probes=(COST, RATE, SIZE, a_descriptor("call/broken")))
    return a_session(plan, *runs, END, header=header)


def costing(costs: dict[str, Sequence[float]], path: str = "example.session.jsonl") -> Session:
    """A session in which each probe cost so many seconds in each run, with a sentinel that did not move."""
    cases = {name: Case(probe=name, placement="same") for name in costs}
    blocks = max(map(len, costs.values()))
    runs = [
        a_run(cases[name], block, values=(a_value(cost, 1_000_000_000),))
        for name, each in costs.items()
        for block, cost in enumerate(each, start=1)
    ]
    runs += [a_run(NULL_CASE, block, 1e-7) for block in range(1, blocks + 1)]
    plan = Plan(cases=(*map(a_planned, cases.values()), a_planned(NULL_CASE, control=True)), blocks=blocks)
    return a_session(plan, *runs, END, header=a_header(*cases.values()), path=path)


#: What no format may be broken by.
HOSTILE = (
    "new\nline",
    'a "quoted" name',
    "back\\slash",
    "\x1b[31mred\x1b[0m",
    "null\x00byte",
    "a,comma;semicolon",
    "<b>&amp;</b>]]>",
    "| pipe ` tick",
    "space  and\ttab",
    "50% off /path=x-8",
    "Benchmark",
    "ünïcödé \u2028 \u202e 漢字 🦥",
    "=cmd()",
    "{brace}",
    "# HELP x",
    "-1",
    "'",
    "ſ",
)


def hostile() -> Session:
    """A session whose every string is hostile."""
    header = a_header(
        *(Case(probe=f"x/{name}", placement="same", parameters={"p": name}, variant=name) for name in HOSTILE)
    )
    machine = msgspec.structs.replace(
        header.machine, facts={**header.machine.facts, "cpu": HOSTILE[0] + HOSTILE[1]}, key=HOSTILE[1]
    )
    header = msgspec.structs.replace(header, machine=machine)
    runs = [
        a_run(case, block, 1e-6 + block * 1e-9, histograms=(LATE,))
        for case in header.selection
        for block in range(1, 7)
    ]
    return a_session(*runs, END, header=header)


def exported(session: Session, name: str) -> str:
    """The text of a format."""
    contents = formats.export(ledger(session), name).contents
    return contents if isinstance(contents, str) else contents.decode("latin-1")
