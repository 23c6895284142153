# SPDX-License-Identifier: Apache-2.0
"""Sessions of servers, made of what each of them answered in each block."""

from collections.abc import Mapping, Sequence

from steelyard.records import Case, Plan, Session, Skip, Variant
from tests.making import (
    a_descriptor,
    a_failed_run,
    a_header,
    a_metric,
    a_planned,
    a_run,
    a_session,
    a_value,
    an_integer,
)

METRICS = (
    a_metric("cpu", over="server_cpu"),
    a_metric("requests", unit="1/s", better="higher", over="operations", per="wall"),
    a_metric("p50", over="p50", per="one"),
    a_metric("p99", over="p99", per="one"),
    a_metric("resident", unit="B", over="resident", per="one"),
    a_metric("of_rate", unit="1", better="higher", over="operations", per="offered"),
)
SWEPT = (an_integer("workers", 1), an_integer("threads", 0))
RATE = an_integer("rate", 0, maximum=10**6)
APPLICATION = Variant(
    label="app:app", environment={"STEELYARD_WSGI_APPLICATION": "app:app", "STEELYARD_WSGI_PATH": "/page"}
)
OPERATIONS = 10_000


def a_server(way: str, rate: int = 0) -> Case:
    """A case of a server; ``gunicorn 2 4`` has 2 workers of 4 threads."""
    name, *numbers = way.split()
    parameters = {"rate": rate, **dict(zip(("workers", "threads"), map(int, numbers), strict=False))}
    return Case(probe=f"request/{name}", placement="cross", parameters=parameters, variant="app:app")


def answered(rate_per_s: float, p50: float = 1e-3, p99: float = 2e-3, cpu: float = 100e-6, offered: int = 0):
    """A value in which so many requests were answered in a second."""
    return a_value(
        1 / rate_per_s,
        OPERATIONS,
        counts={"checked": OPERATIONS, "offered": offered, "resident": 20_000_000},
        readings={"server_cpu": cpu * OPERATIONS, "p50": p50, "p99": p99},
    )


def served(
    rates: Mapping[str, Sequence[float]],
    *,
    p99: Mapping[str, float] | None = None,
    pilot: Mapping[str, float] | None = None,
    caveats: Mapping[str, tuple[str, ...]] | None = None,
    faults: Mapping[str, tuple[str, ...]] | None = None,
    failed: Mapping[str, str] | None = None,
    alone: float | None = None,
    cpu: Mapping[str, float] | None = None,
    development: Sequence[str] = (),
    titles: Mapping[str, str] | None = None,
) -> Session:
    """The session in which each server answered so many requests a second in each block.

    p99: by server, with 2 ms for the others. pilot: what each answered there, else as in the first block. faults: the
    caveats that say what it does wrong. failed: the reason by server. alone: CPU time of the application. cpu: that of
    a request by server, else 100 µs. development: servers that are not meant for production. titles: what people call
    them.
    """
    blocks = max(map(len, rates.values()), default=8)
    runs = []
    for way, figures in rates.items():
        first = (pilot or {}).get(way, figures[0])
        runs.append(a_run(a_server(way), 0, role="pilot", values=(answered(first),)))
        for block, rate in enumerate(figures, start=1):
            tail = (p99 or {}).get(way, 2e-3) * (1 + 0.001 * (block % 3))
            value = answered(rate, p99=tail, cpu=(cpu or {}).get(way, 100e-6))
            said, wrong = (by_way.get(way, ()) for by_way in (caveats or {}, faults or {}))
            runs.append(a_run(a_server(way), block, values=(value,), caveats=(*said, *wrong), faults=wrong))
    for way, reason in (failed or {}).items():
        runs.append(a_failed_run(a_server(way), 0, reason, role="pilot"))
    planned = [a_planned(a_server(way)) for way in rates]
    if alone is not None:
        case = a_server("in_process")
        planned.append(a_planned(case))
        runs += [a_run(case, block, values=(answered(1000, cpu=alone),)) for block in range(1, blocks + 1)]
    cases = [item.case for item in planned]
    probes = tuple(
        a_descriptor(
            case.probe,
            metrics=METRICS,
            parameters=(RATE, *SWEPT),
            placements=("cross",),
            title=(titles or {}).get(case.probe.partition("/")[2]),
            properties={"meant for": "development"} if case.probe.partition("/")[2] in development else {},
        )
        for case in {*cases, *(a_server(way) for way in failed or {})}
    )
    header = a_header(*cases, probes=probes, variants=(APPLICATION,))
    skips = [Skip(subject="request/elsewhere[rate=0]@cross", reason="elsewhere is not installed")]
    return a_session(*skips, Plan(cases=tuple(planned), blocks=blocks), *runs, header=header)


def around(rate: float, blocks: int = 12) -> list[float]:
    """A rate with a little noise."""
    return [rate * (1 + 0.004 * (block % 5 - 2)) for block in range(blocks)]
