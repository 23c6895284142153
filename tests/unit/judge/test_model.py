# SPDX-License-Identifier: Apache-2.0
"""Which model should serve a load: what is read of a file, the formula of waiting, predictions and their limits."""

import math

import msgspec
import numpy as np
import pytest

from steelyard.errors import UsageError
from steelyard.judge.choose import Way
from steelyard.judge.model import EXAMPLE, MODEL_ERROR, Serving, predict, read, together, verified, waits
from steelyard.records import Case, Plan, Skip
from tests.making import a_choice, a_descriptor, a_header, a_metric, a_planned, a_run, a_session, a_value, an_integer
from tests.unit.judge.sessions import steady

LANGUAGES = {"serve/epoll": "c", "serve/thread": "c", "serve/goroutine": "go"}
LIMITS = {
    "rate": 10**6, "connections": 20_000, "work_ns": 10**9, "wait_us": 60 * 10**6, "depth": 1000, "locked_percent": 100,
    "size": 1 << 20, "answer": 1 << 20, "cores": 1024,
}  # fmt: skip


def a_demand(**more):
    return Serving(**{"rate": 1000, "work_ns": 50_000, "goal": "p99", "at_most": 20e-3, **more})


def served(beside, *, p99=2e-3, connection=1000.0, of_rate=1.0, skips=(), at=None, share=None):
    """The session in which each model added so many seconds to a request without work.

    share: of its CPUs, what each could use when it was asked again at once; None where that was not measured.
    """
    load = at or a_demand()
    points = (load.without_work,) if share is None else load.to_measure
    cases = [
        Case(probe=f"serve/{way}", placement="cross", parameters=dict(point)) for way in beside for point in points
    ]
    readings = {"p99": p99, "of_rate": of_rate, "busy_connection": connection, "share": share or 0.0}
    metrics = (
        a_metric("cpu", over="cpu"),
        *(a_metric(name, over=name, per="one") for name in ("beside_work", *readings)),
    )
    parameters = (
        *(an_integer(name, 1, maximum=most) for name, most in LIMITS.items()),
        a_choice("arrivals", "poisson", "constant", "burst"),
    )
    probes = tuple(
        a_descriptor(
            f"serve/{way}", metrics=metrics, parameters=parameters, placements=("cross",), family="serve", title=way
        )
        for way in beside
    )
    runs = [
        a_run(
            case,
            block,
            values=(a_value(1e-3, 1000, cpu_ns=round(cost * 1e12), readings={"beside_work": cost, **readings}),),
        )
        for case in cases
        for block, cost in enumerate(steady(beside[case.probe.removeprefix("serve/")]), start=1)
    ]
    plan = Plan(cases=tuple(map(a_planned, cases)), blocks=8)
    return a_session(*skips, plan, *runs, header=a_header(*cases, probes=probes))


def test_the_example_is_a_load():
    load = read(EXAMPLE.encode(), "example.toml")
    assert (load.rate, load.work_ns, load.wait_us, load.connections) == (1000, 50_000, 1000, 100)
    assert (load.goal, load.at_most) == ("p99", pytest.approx(20e-3))


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (('cpu = "50us"', 'cpuu = "50us"'), "Object contains unknown field `cpuu`"),
        (('rate = "1k/s"', ""), "Object missing required field `rate`"),
        (('rate = "1k/s"', 'rate = "0"'), '"0" is not a rate'),
        (('rate = "1k/s"', 'rate = "1M/s"'), "the client sends from 1 to 200,000 requests a second"),
        (('cpu = "50us"', 'cpu = "long"'), '"long" is not a duration'),
        (("lock_share = 0.0", "lock_share = 2.0"), "a share lies between 0 and 1"),
        (("connections = 100 ", 'connections = "many" '), "Expected `int`, got `str` - at `$.connections`"),
        (("[goal]", "[goal"), "example.toml:"),
    ],
)
def test_what_is_wrong_in_a_file_is_one_sentence(changed, sentence):
    assert changed[0] in EXAMPLE
    with pytest.raises(UsageError) as raised:
        read(EXAMPLE.replace(*changed).encode(), "example.toml")
    assert sentence in str(raised.value)


def test_entries_are_changed_or_given_without_a_file():
    changed = read(EXAMPLE.encode(), "example.toml", ["rate=2k/s", "goal.p99=5ms", "connections=7", "languages=c,go"])
    assert (changed.rate, changed.work_ns, changed.at_most) == (2000, 50_000, pytest.approx(5e-3))
    assert (changed.connections, changed.languages) == (7, ("c", "go"))
    assert read(b"", "--param", ["rate=1k/s", "cpu=50us", "goal.p99=20ms"]) == read(EXAMPLE.encode(), "example.toml")


@pytest.mark.parametrize(
    ("param", "sentence"),
    [
        ("rate", '--param takes an entry of the load and its value, such as rate=2k/s, not "rate"'),
        ("rate=", 'not "rate="'),
        ("speed=1", "--param: Object contains unknown field `speed`"),
        ("cores=two", "Expected `int`"),
    ],
)
def test_what_is_wrong_in_an_entry_is_one_sentence(param, sentence):
    with pytest.raises(UsageError) as raised:
        read(b'rate = "1k/s"\ncpu = "1us"', "--param", [param])
    assert sentence in str(raised.value)


def test_nothing_waits_for_an_idle_cpu_and_all_for_ever_for_one_that_is_too_slow():
    assert waits(10, 10e-6, 1, "poisson") == 0
    assert waits(20_000, 50e-6, 1, "poisson") == math.inf
    assert waits(19_000, 50e-6, 1, "constant") == 0
    assert waits(1000, 0.0, 1, "poisson") == 0
    assert math.isnan(waits(1000, 50e-6, math.nan, "poisson"))
    assert waits(1000, 50e-6, 1, "burst") > waits(1000, 50e-6, 1, "poisson")


@pytest.mark.parametrize("busy", [0.3, 0.6, 0.9])
def test_waiting_agrees_with_a_simulated_queue(busy):
    """M/D/1 by Lindley's equation: the formula's tail is an approximation."""
    rng, cpu_s = np.random.default_rng(1), 100e-6
    waited, seen = 0.0, []
    for gap in rng.exponential(cpu_s / busy, 400_000):
        waited = max(0.0, waited + cpu_s - gap)
        seen.append(waited)
    seen.sort()
    assert waits(busy / cpu_s, cpu_s, 1, "poisson") == pytest.approx(seen[int(0.99 * len(seen))], rel=0.15)


def test_a_request_costs_its_work_and_what_the_model_adds():
    found = predict(served({"epoll": 20e-6, "thread": 40e-6}), a_demand(), LANGUAGES)
    models = {model.way: model for model in found.models}
    assert models["epoll"].cpu_s == pytest.approx(70e-6, rel=0.02)
    assert models["epoll"].capacity == pytest.approx(1 / 70e-6, rel=0.02)
    assert models["epoll"].low_s < models["epoll"].cpu_s * (1 - MODEL_ERROR / 2)
    assert models["epoll"].low_s < 70e-6 < models["epoll"].high_s
    assert models["epoll"].p99_s > 2e-3
    assert models["epoll"].memory_bytes == pytest.approx(100_000)


def test_the_cheapest_that_keeps_the_goal_comes_first():
    found = predict(served({"thread": 40e-6, "epoll": 20e-6}), a_demand(), LANGUAGES)
    assert [model.way for model in found.able] == ["epoll", "thread"]
    [missing] = predict(served({"epoll": 20e-6}), a_demand(at_most=1e-3), LANGUAGES).models
    assert missing.lacks == ("would miss the goal",)


def test_the_goal_is_kept_until_a_rate_below_what_it_could_do():
    [model] = predict(served({"epoll": 20e-6}), a_demand(), LANGUAGES).models
    assert 1000 < model.keeps_until < model.capacity
    assert predict(served({"epoll": 20e-6}), a_demand(goal=None, at_most=None), LANGUAGES).models[
        0
    ].keeps_until == pytest.approx(model.capacity)


@pytest.mark.parametrize(
    ("load", "lacks"),
    [
        (a_demand(rate=3900, work_ns=500_000), ("does not keep up",)),
        (a_demand(memory_bytes=50_000), ("takes more memory",)),
    ],
)
def test_what_cannot_serve_it_says_why(load, lacks):
    assert predict(served({"epoll": 20e-6}), load, LANGUAGES).models[0].lacks == lacks


def test_how_many_connections_fit_into_the_memory_is_said():
    [model] = predict(served({"epoll": 20e-6}, connection=1000.0), a_demand(memory_bytes=50_000), LANGUAGES).models
    assert (model.fits, model.fits_until) == (False, 50)
    [other] = predict(served({"epoll": 20e-6}), a_demand(), LANGUAGES).models
    assert (other.fits, other.fits_until) == (True, None)


def test_on_several_cpus_a_closed_load_says_how_many_a_model_keeps_busy():
    load = a_demand(cores=2)
    [model] = predict(served({"epoll": 20e-6}, at=load, share=0.5), load, LANGUAGES).models
    assert model.capacity == pytest.approx(1 / 70e-6, rel=0.02)
    assert model.p99_s > 2e-3
    [both] = predict(served({"epoll": 20e-6}, at=load, share=0.99), load, LANGUAGES).models
    assert both.capacity == pytest.approx(1.98 / 70e-6, rel=0.02)


def test_what_a_model_does_with_several_cpus_is_not_known_without_it():
    load = a_demand(cores=2)
    [model] = predict(served({"epoll": 20e-6}, at=load), load, LANGUAGES).models
    assert (model.p99_s, model.lacks) == (None, ("its latency is not known",))


def test_two_sessions_together_have_the_models_of_both():
    load = a_demand(languages=("c",))
    first = predict(served({"thread": 40e-6, "goroutine": 10e-6}), load, LANGUAGES)
    both = together(first, predict(served({"epoll": 20e-6}), load, LANGUAGES))
    assert [model.way for model in both.models] == ["epoll", "thread"]
    assert both.cannot == {"goroutine": "is written in go"}


def test_a_latency_that_is_not_known_keeps_no_goal():
    session = served({"epoll": 20e-6})
    runs = [
        msgspec.structs.replace(
            run,
            values=(
                msgspec.structs.replace(
                    run.values[0], readings={k: v for k, v in run.values[0].readings.items() if k != "p99"}
                ),
            ),
        )
        for run in session.runs
    ]
    [model] = predict(msgspec.structs.replace(session, runs=tuple(runs)), a_demand(), LANGUAGES).models
    assert (model.p99_s, model.lacks) == (None, ("its latency is not known",))


@pytest.mark.parametrize(
    "load",
    [
        *(a_demand(rate=10_000), a_demand(connections=5000), a_demand(wait_us=0), a_demand(wait_us=100_000)),
        *(a_demand(size=1 << 16), a_demand(answer=1 << 16), a_demand(depth=500), a_demand(locked_percent=50)),
        *(a_demand(cores=2), a_demand(arrivals="burst")),
    ],
)
def test_outside_of_what_was_measured_nothing_is_predicted(load):
    found = predict(served({"epoll": 20e-6}), load, LANGUAGES)
    assert (found.models, found.cannot) == ((), {"epoll": "was not measured near this load"})


def test_a_closed_load_has_no_rate_and_predicts_nothing():
    session = served({"epoll": 20e-6}, at=a_demand(arrivals="closed"))
    assert predict(session, a_demand(), LANGUAGES).models == ()


def test_languages_that_may_not_be_used_are_left_out():
    found = predict(served({"epoll": 20e-6, "goroutine": 30e-6}), a_demand(languages=("go",)), LANGUAGES)
    assert [model.way for model in found.models] == ["goroutine"]
    assert found.cannot == {"epoll": "is written in c"}


def test_what_could_not_be_measured_has_its_reason():
    skips = [Skip(subject="serve/tokio_task[rate=1]@cross", reason="no cargo")]
    assert predict(served({"epoll": 20e-6}, skips=skips), a_demand(), LANGUAGES).cannot == {"tokio_task": "no cargo"}


def test_a_prediction_is_held_against_what_was_measured():
    found = predict(served({"epoll": 20e-6, "thread": 40e-6}), a_demand(), LANGUAGES)
    ways = [
        Way(way=way, title=way, case="", properties={}, figures={"cpu": cpu})
        for way, cpu in (("epoll", 72e-6), ("thread", 200e-6), ("other", 1.0))
    ]
    [right, wrong] = verified(found, ways)
    assert (right.way, right.within, right.ratio) == ("epoll", True, pytest.approx(72 / 70, rel=0.02))
    assert not wrong.within
