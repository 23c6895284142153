# SPDX-License-Identifier: Apache-2.0
"""What a connection takes, idle and in the wait, on a built session."""

from steelyard.judge.connections import Held
from steelyard.judge.findings import judge
from steelyard.records import Plan
from tests.making import (
    a_case,
    a_choice,
    a_descriptor,
    a_header,
    a_metric,
    a_planned,
    a_run,
    a_session,
    a_value,
    an_integer,
)

PARAMETERS = (
    an_integer("connections", 10, 1000, maximum=20_000),
    an_integer("work_ns", 0, unit="ns", maximum=1_000_000),
    a_choice("held", "idle", "waiting"),
)
METRICS = (
    a_metric("cpu"),
    a_metric("idle_connection", unit="B", over="idle_bytes", per="connections"),
    a_metric("waiting_connection", unit="B", over="waiting_bytes", per="waited"),
)


def held(model, connections, idle, waiting=None, looks="waiting", work_ns=0):
    """A case and its runs; each connection takes so many bytes, some more in each block."""
    case = a_case(f"serve/{model}", "cross", connections=connections, work_ns=work_ns, held=looks)
    runs = [
        a_run(
            case,
            block,
            values=(
                a_value(
                    counts={
                        "checked": 1000,
                        "connections": connections,
                        "idle_bytes": connections * (idle + block),
                        "waiting_bytes": connections * ((waiting or 0) + block),
                        "waited": 0 if waiting is None else connections,
                    }
                ),
            ),
        )
        for block in range(1, 8)
    ]
    return case, runs


def holders_of(*parts):
    cases = [case for case, _ in parts]
    probes = tuple(
        a_descriptor(name, title=name.partition("/")[2], metrics=METRICS, parameters=PARAMETERS)
        for name in dict.fromkeys(case.probe for case in cases)
    )
    plan = Plan(cases=tuple(a_planned(case) for case in cases), blocks=7)
    return judge(
        a_session(plan, *(run for _, runs in parts for run in runs), header=a_header(*cases, probes=probes))
    ).holders


def test_memory_is_that_of_a_connection_by_how_many_are_open():
    thread, epoll = holders_of(
        held("epoll", 1000, 200, 500), held("thread", 10, 9000, 9100), held("thread", 10_000, 8000, 8200)
    )
    assert thread.title == "thread", "it was measured with the most connections"
    assert thread.at == (
        Held(connections=10, idle=9004.0, waiting=9104.0),
        Held(connections=10_000, idle=8004.0, waiting=8204.0),
    )
    assert thread.among(1000) is None
    assert epoll.among(1000) == Held(connections=1000, idle=204.0, waiting=504.0)


def test_who_takes_least_comes_first():
    assert [one.title for one in holders_of(held("thread", 10, 9000, 9000), held("epoll", 10, 200, 900))] == [
        "epoll",
        "thread",
    ]


def test_what_cannot_all_wait_at_once_has_no_memory_in_the_wait():
    [pool] = holders_of(held("thread_pool", 1000, 200))
    assert pool.at == (Held(connections=1000, idle=204.0, waiting=None),)


def test_who_did_not_look_has_no_row():
    assert holders_of(held("epoll", 10, 200, looks="idle")) == ()


def test_of_several_loads_the_first_counts():
    [epoll] = holders_of(held("epoll", 10, 200, 300), held("epoll", 10, 400, 500, work_ns=1000))
    assert epoll.at == (Held(connections=10, idle=204.0, waiting=304.0),)
