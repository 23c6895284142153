# SPDX-License-Identifier: Apache-2.0
"""Which channel to take: the cheapest that can, with the runner-up's verdict and where the answer changes."""

import pytest

from steelyard.judge.choose import Load, choose
from steelyard.records import Case, Plan, Skip
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
    return Load(**{"sizes": sizes or (200,), "between": "process", "placement": "cross", **more})


TWO_SIZES = {"pipe": {200: 2e-6, 65536: 20e-6}, "ring": {200: 1e-6, 65536: 40e-6}, "queue": {200: 4e-6, 65536: 50e-6}}


def test_the_cheapest_comes_first_with_the_verdict_of_the_runner_up():
    [choice] = choose(exchanged(TWO_SIZES), a_load()).choices
    assert [channel.way for channel in choice.channels] == ["latency_ring", "latency_pipe", "latency_queue"]
    assert (choice.verdict.verdict, round(choice.verdict.ratio, 6)) == ("different", 2.0)
    assert choice.channels[0].figures["cpu"] == pytest.approx(0.5e-6, rel=0.01)


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
    assert [channel.way for channel in chosen.choices[0].channels] == ["latency_queue"]
    assert chosen.choices[0].verdict is None
    assert chosen.cannot == dict.fromkeys(("latency_pipe", "latency_ring"), "boundaries: no, not yes")


def test_what_makes_no_sense_in_a_placement_is_left_out():
    session = exchanged({**TWO_SIZES, "spin": {200: 1e-7}})
    chosen = choose(session, a_load(placement="same"))
    assert chosen.cannot["latency_spin"] == "makes no sense on one CPU"
    assert choose(session, a_load()).choices[0].channels[0].way == "latency_spin"


def test_what_misses_the_goal_comes_last_and_is_not_recommended():
    session = exchanged(TWO_SIZES, p99={"ring": 90e-6, "pipe": 9e-6, "queue": 8e-6})
    [choice] = choose(session, a_load(goal="p99", at_most=50e-6)).choices
    assert [channel.way for channel in choice.able] == ["latency_pipe", "latency_queue"]
    assert [channel.misses for channel in choice.channels] == [None, None, 90e-6]
    [none] = choose(session, a_load(goal="p99", at_most=1e-6)).choices
    assert none.able == ()


def test_it_is_chosen_by_the_metric_that_is_asked_for():
    session = exchanged(TWO_SIZES, p99={"ring": 90e-6, "pipe": 9e-6, "queue": 8e-6})
    [choice] = choose(session, a_load(by="p99")).choices
    assert [channel.way for channel in choice.channels] == ["latency_queue", "latency_pipe", "latency_ring"]
    assert choice.verdict.metric == "p99"


def test_what_could_not_be_measured_has_its_reason():
    skips = [Skip(subject="message/latency_mq[size=200,kind=process]@cross", reason="raise fs.mqueue.msg_max")]
    assert choose(exchanged(TWO_SIZES, skips=skips), a_load()).cannot == {"latency_mq": "raise fs.mqueue.msg_max"}


def test_a_size_that_the_session_lacks_has_no_answer():
    [choice] = choose(exchanged(TWO_SIZES), a_load(4096)).choices
    assert (choice.channels, choice.verdict) == ((), None)
