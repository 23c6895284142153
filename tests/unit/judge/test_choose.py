# SPDX-License-Identifier: Apache-2.0
"""Which channel to take: the cheapest that can, with the runner-up's verdict and where the answer changes."""

import msgspec
import pytest

from steelyard.judge.choose import Locking, Messages, choose, lacks
from steelyard.records import Case, Plan, Skip
from steelyard.show.reasons import said, said_if
from tests.making import a_choice, a_descriptor, a_header, a_metric, a_planned, a_run, a_session, a_value, an_integer
from tests.unit.judge.sessions import steady

METRICS = (a_metric("round_trip"), a_metric("p99", over="p99", per="one"))
PROPERTIES = {"pipe": {"boundaries": "no"}, "queue": {"boundaries": "yes"}, "ring": {"boundaries": "no"}}

TITLES = {"pipe": "pipe", "queue": "queue", "ring": "ring in shared memory"}


def a_channel(way, size, kind="process", placement="cross"):
    return Case(probe=f"message/latency_{way}", placement=placement, parameters={"size": size, "kind": kind})


def exchanged(costs, *, p99=None, skips=()):
    """The session in which each channel took so many seconds at each size: ``{"pipe": {200: 1e-6}}``."""
    ways = {way: a_channel(way, 1) for way in costs}
    cases = {(way, size): a_channel(way, size) for way, by_size in costs.items() for size in by_size}
    probes = tuple(
        a_descriptor(
            case.probe,
            metrics=METRICS,
            parameters=(an_integer("size", 1, maximum=65536), a_choice("kind", "process", "thread")),
            placements=("cross",) if way == "spin" else ("same", "cross"),
            family="latency",
            title=TITLES.get(way),
            properties=PROPERTIES.get(way, {}),
        )
        for way, case in ways.items()
    )
    runs = [
        a_run(case, block, values=(a_value(cost, 10**6, cpu_ns=round(cost * 10**15 / 2), readings={"p99": tail}),))
        for (way, size), case in cases.items()
        for tail in [(p99 or {}).get(way, 2 * costs[way][size])]
        for block, cost in enumerate(steady(costs[way][size]), start=1)
    ]
    plan = Plan(cases=tuple(map(a_planned, cases.values())), blocks=8)
    return a_session(*skips, plan, *runs, header=a_header(*cases.values(), probes=probes))


def a_load(*sizes, **more):
    return Messages(**{"sizes": sizes or (200,), **more})


TWO_SIZES = {"pipe": {200: 2e-6, 65536: 20e-6}, "ring": {200: 1e-6, 65536: 40e-6}, "queue": {200: 4e-6, 65536: 50e-6}}


def test_the_cheapest_comes_first_with_the_verdict_of_the_runner_up():
    [choice] = choose(exchanged(TWO_SIZES), a_load()).choices
    assert [way.way for way in choice.ways] == ["latency_ring", "latency_pipe", "latency_queue"]
    assert (choice.verdict.verdict, round(choice.verdict.ratio, 6)) == ("different", 2.0)
    assert choice.ways[0].figures["cpu"] == pytest.approx(0.5e-6, rel=0.01)


def test_where_the_answer_changes_is_said_between_the_sizes():
    chosen = choose(exchanged(TWO_SIZES), a_load(200, 65536))
    [over] = chosen.switch_overs
    assert (over.below, over.above) == ("ring in shared memory", "pipe")
    # Twice as dear at both ends the other way round: they cross in the geometric middle.
    assert over.size == pytest.approx((200 * 65536) ** 0.5, rel=0.01)


def test_one_answer_for_all_sizes_changes_nowhere():
    costs = {"pipe": {200: 2e-6, 65536: 20e-6}, "ring": {200: 1e-6, 65536: 10e-6}}
    assert choose(exchanged(costs), a_load(200, 65536)).switch_overs == ()


def test_what_lacks_a_property_is_left_out_with_the_reason():
    chosen = choose(exchanged(TWO_SIZES), a_load(needs={"boundaries": "yes"}))
    assert [way.way for way in chosen.choices[0].ways] == ["latency_queue"]
    assert chosen.choices[0].verdict is None
    assert {way: said(why) for way, why in chosen.cannot.items()} == dict.fromkeys(
        ("latency_pipe", "latency_ring"), "boundaries: no, not yes"
    )


def test_what_makes_no_sense_in_a_placement_is_left_out():
    session = exchanged({**TWO_SIZES, "spin": {200: 1e-7}})
    chosen = choose(session, a_load(placement="same"))
    assert said(chosen.cannot["latency_spin"]) == "makes no sense on one CPU"
    assert choose(session, a_load()).choices[0].ways[0].way == "latency_spin"


def test_what_misses_the_goal_comes_last_and_is_not_recommended():
    session = exchanged(TWO_SIZES, p99={"ring": 90e-6, "pipe": 9e-6, "queue": 8e-6})
    [choice] = choose(session, a_load(goal="p99", at_most=50e-6)).choices
    assert [way.way for way in choice.able] == ["latency_pipe", "latency_queue"]
    assert [way.misses for way in choice.ways] == [None, None, pytest.approx(90e-6)]
    [none] = choose(session, a_load(goal="p99", at_most=1e-6)).choices
    assert none.able == ()


def test_it_is_chosen_by_the_metric_that_is_asked_for():
    session = exchanged(TWO_SIZES, p99={"ring": 90e-6, "pipe": 9e-6, "queue": 8e-6})
    [choice] = choose(session, a_load(by="p99")).choices
    assert [way.way for way in choice.ways] == ["latency_queue", "latency_pipe", "latency_ring"]
    assert choice.verdict.metric == "p99"


def test_what_could_not_be_measured_has_its_reason():
    skips = [Skip(subject="message/latency_mq[size=200,kind=process]@cross", reason="raise fs.mqueue.msg_max")]
    assert choose(exchanged(TWO_SIZES, skips=skips), a_load()).cannot == {"latency_mq": "raise fs.mqueue.msg_max"}


def test_a_size_that_the_session_lacks_has_no_answer():
    [choice] = choose(exchanged(TWO_SIZES), a_load(4096)).choices
    assert (choice.ways, choice.verdict) == ((), None)


def paced(costs, *, responses, rate=50_000):
    """The session in which each channel took so many seconds there and back at a rate, and answered in so many."""
    metrics = (a_metric("response", over="response", per="one"), a_metric("round_trip"), *METRICS[1:])
    cases = {
        way: Case(
            probe=f"message/paced_{way}", placement="cross", parameters={"size": 200, "kind": "process", "rate": rate}
        )
        for way in costs
    }
    probes = tuple(
        a_descriptor(
            case.probe,
            metrics=metrics,
            parameters=(
                an_integer("size", 1, maximum=65536),
                a_choice("kind", "process", "thread"),
                an_integer("rate", 10_000, maximum=10**7),
            ),
            placements=("cross",),
            family="paced",
            title=TITLES.get(way),
        )
        for way, case in cases.items()
    )
    runs = [
        a_run(case, block, values=(a_value(cost, 1000, cpu_ns=round(cpu * 10**9 * 1000), readings=readings),))
        for way, case in cases.items()
        for cpu, readings in [(costs[way] / 2, {"response": responses[way], "p99": 3 * responses[way]})]
        for block, cost in enumerate(steady(costs[way]), start=1)
    ]
    plan = Plan(cases=tuple(map(a_planned, cases.values())), blocks=8)
    return a_session(plan, *runs, header=a_header(*cases.values(), probes=probes))


def test_at_a_rate_what_does_not_keep_up_comes_last():
    session = paced({"pipe": 5e-6, "queue": 25e-6}, responses={"pipe": 9e-6, "queue": 1e-6})
    [choice] = choose(session, a_load(rate=50_000)).choices
    assert [way.way for way in choice.ways] == ["paced_pipe", "paced_queue"]
    assert [round(way.head_room, 1) for way in choice.ways] == [4.0, 0.8]
    assert [way.way for way in choice.able] == ["paced_pipe"]


def test_with_a_goal_at_a_rate_the_cpu_time_decides():
    session = paced({"pipe": 5e-6, "ring": 2e-6}, responses={"pipe": 4e-6, "ring": 9e-6})
    assert choose(session, a_load(rate=50_000)).choices[0].ways[0].way == "paced_pipe"
    load = a_load(rate=50_000, goal="p99", at_most=50e-6)
    assert choose(session, load).choices[0].ways[0].way == "paced_ring"


def test_a_rate_that_was_not_measured_has_no_answer():
    session = paced({"pipe": 5e-6}, responses={"pipe": 4e-6})
    assert choose(session, a_load(rate=10_000)).choices[0].ways == ()


def test_what_may_miss_the_goal_is_not_recommended():
    """Half of the runs meet it: the interval of the median reaches beyond."""
    session = exchanged({"pipe": {200: 1e-6}}, p99={"pipe": 40e-6})
    runs = [
        msgspec.structs.replace(run, values=(msgspec.structs.replace(run.values[0], readings={"p99": p99}),))
        for run, p99 in zip(session.runs, [40e-6, 60e-6] * 4, strict=True)
    ]
    session = msgspec.structs.replace(session, runs=tuple(runs))
    [choice] = choose(session, a_load(goal="p99", at_most=50e-6)).choices
    assert choice.able == ()
    assert choice.ways[0].misses == pytest.approx(60e-6)


def a_lock(**more):
    fields = {
        "contexts": 8,
        "hold_ns": 200,
        "think_ns": 2000,
        "read_percent": 90,
        "between": "thread",
        "placement": "free",
    }
    return Locking(**{**fields, **more})


def a_held(way, **more):
    return a_descriptor(
        f"lock/held_{way}",
        metrics=tuple(a_metric(name) for name in ("each", "wait", "wait_p99", "cpu")),
        parameters=(
            an_integer("contexts", 8, maximum=256),
            a_choice("kind", "thread", "process"),
            an_integer("hold_ns", 200, maximum=10**7),
            an_integer("think_ns", 2000, maximum=10**7),
            an_integer("read_percent", 0, maximum=100),
        ),
        placements=("free", "same"),
        family="held",
        **more,
    )


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({}, None),
        ({"contexts": 10**6}, "is not measured at contexts=1000000"),
        ({"contexts": 0}, None),
        ({"needs": {"fair": "yes"}}, "fair: no, not yes"),
        ({"placement": "cross"}, "is not measured there"),
    ],
)
def test_a_lock_can_or_lacks_something(more, reason):
    assert said_if(lacks(a_held("mutex", properties={"fair": "no"}), a_lock(**more))) == reason


def test_locks_are_chosen_by_the_time_of_a_turn():
    point = a_lock().points[0]
    costs = {"mutex": 2e-6, "rwlock": 1e-6}
    cases = {way: Case(probe=f"lock/held_{way}", placement="free", parameters=point) for way in costs}
    runs = [
        a_run(case, block, cost)
        for way, case in cases.items()
        for block, cost in enumerate(steady(costs[way]), start=1)
    ]
    plan = Plan(cases=tuple(map(a_planned, cases.values())), blocks=8)
    session = a_session(plan, *runs, header=a_header(*cases.values(), probes=tuple(map(a_held, costs))))
    [choice] = choose(session, a_lock()).choices
    assert [way.way for way in choice.ways] == ["held_rwlock", "held_mutex"]
    assert (choice.size, choice.verdict.verdict) == (None, "different")
