# SPDX-License-Identifier: Apache-2.0
"""Which model serves a load at the least CPU time: verdicts at the margin, on built sessions."""

import pytest

from steelyard.judge.findings import judge
from steelyard.judge.models import Standing
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
    an_integer,
)

PARAMETERS = (
    an_integer("connections", 10, 1000, maximum=20_000),
    an_integer("wait_us", 0, unit="us", maximum=60_000_000),
    an_integer("goal_us", 0, unit="us", maximum=60_000_000),
    a_choice("arrivals", "poisson", "closed"),
)
#: Blocks differ by some percent, in all cases alike.
DRIFT = (1.0, 1.05, 0.97, 1.02, 1.1, 0.95)
LOAD = {"connections": 10, "wait_us": 0, "goal_us": 0, "arrivals": "poisson"}


def served(costs, *, pilot=None, blocks=6, load=LOAD):
    """Cases and runs of models under a load, each at its cost in microseconds; the pilot may have seen other costs."""
    cases = {name: a_case(f"serve/{name}", "cross", **load) for name in costs}
    runs = [
        run
        for name, case in cases.items()
        for run in (
            a_run(case, 0, 1e-6 * (pilot or costs)[name], role="pilot"),
            *(a_run(case, block + 1, 1e-6 * costs[name] * DRIFT[block]) for block in range(blocks)),
        )
    ]
    return list(cases.values()), runs


def found_in(*parts):
    cases = [case for part in parts for case in part[0]]
    probes = tuple(
        a_descriptor(name, title=name.partition("/")[2], metrics=(a_metric("cpu"),), parameters=PARAMETERS)
        for name in dict.fromkeys(case.probe for case in cases)
    )
    plan = Plan(cases=tuple(a_planned(case) for case in cases), blocks=len(DRIFT))
    session = a_session(plan, *(run for part in parts for run in part[1]), header=a_header(*cases, probes=probes))
    return judge(session).models


def standings(found, number=0):
    return {one.title: one.standing for one in found.loads[number].served}


def test_what_costs_within_the_margin_of_the_cheapest_is_good_enough():
    found = found_in(served({"epoll": 60, "thread": 64, "fork": 90}))
    assert standings(found) == {"epoll": Standing.CHEAPEST, "thread": Standing.WITHIN, "fork": Standing.DEARER}
    cheapest, *_, dearest = found.loads[0].served
    assert cheapest.cost_s == pytest.approx(60e-6, rel=0.05)
    assert dearest.ratio == pytest.approx(1.5)
    assert dearest.low <= 1.5 <= dearest.high


def test_what_lies_on_the_margin_is_not_decided():
    costs = {"epoll": 60, "thread": 66, "fork": 90}
    found = found_in(served(costs))
    assert standings(found)["thread"] is Standing.UNDECIDED


def test_too_few_blocks_decide_nothing():
    found = found_in(served({"epoll": 60, "thread": 120, "fork": 240}, blocks=4))
    assert set(standings(found).values()) == {Standing.CHEAPEST, Standing.UNDECIDED}


def test_what_proves_cheaper_than_the_cheapest_of_the_pilot_takes_its_place():
    costs = {"epoll": 60, "thread": 75, "fork": 62}
    found = found_in(served(costs, pilot={"epoll": 200, "thread": 75, "fork": 180}))
    assert standings(found) == {"epoll": Standing.CHEAPEST, "fork": Standing.WITHIN, "thread": Standing.DEARER}


def test_a_thread_a_connection_is_good_enough_up_to_some_number_of_connections():
    parts = [
        served({"epoll": 60, "thread": thread, "fork": 90}, load={**LOAD, "connections": connections})
        for connections, thread in ((10, 61), (1000, 63), (10_000, 95))
    ]
    [threads] = found_in(*parts).threads
    assert (threads.enough, threads.dearer) == (1000, 10_000)
    assert [connections for connections, _ in threads.at] == [10, 1000, 10_000]
    [never] = found_in(
        served({"epoll": 60, "thread": 90, "fork": 90}, load={**LOAD, "connections": 5}), *parts[1:]
    ).threads
    assert (never.enough, never.dearer) == (None, 5)


def test_each_load_is_a_question_of_its_own_and_knows_what_sets_it_apart():
    short = served({"epoll": 60, "thread": 90, "fork": 90})
    long = served({"epoll": 90, "thread": 60, "fork": 90}, load={**LOAD, "wait_us": 1000})
    found = found_in(short, long)
    assert [[(one.name, one.value, one.seconds) for one in load.asked] for load in found.loads] == [
        [("wait_us", 0, 0.0)],
        [("wait_us", 1000, pytest.approx(1e-3))],
    ]
    assert [load.served[0].title for load in found.loads] == ["epoll", "thread"]
    assert found.alike == {"connections": 10, "goal_us": 0, "arrivals": "poisson"}


@pytest.mark.parametrize("other", [{"goal_us": 1000}, {"arrivals": "closed"}])
def test_models_that_had_different_rates_are_not_compared(other):
    assert found_in(served({"epoll": 60, "thread": 90, "fork": 90}, load={**LOAD, **other})) is None


def test_two_models_are_no_choice():
    assert found_in(served({"epoll": 60, "thread": 90})) is None
