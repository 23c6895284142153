# SPDX-License-Identifier: Apache-2.0
"""How often a choice is wrong: drawn loads, and what a second session says of a recommendation."""

import msgspec
import pytest

from steelyard.judge.choose import Locking, Messages, Way, choose
from steelyard.judge.model import Serving, predict, verified
from steelyard.judge.proving_choices import draw, judge_choice, judge_prediction, rates
from tests.unit.judge.test_choose import TWO_SIZES, a_load, exchanged
from tests.unit.judge.test_model import LANGUAGES, a_demand, served


def test_a_seed_draws_the_same_loads_and_another_one_others():
    assert draw(1, 60) == draw(1, 60)
    assert draw(1, 60) != draw(2, 60)
    assert {type(load) for _, load in draw(1, 60)} == {Messages, Locking, Serving}


def made(costs, truth, **load):
    return judge_choice("message", choose(exchanged(costs), a_load(**load)), choose(exchanged(truth), a_load(**load)))


def test_a_choice_that_a_second_session_confirms_is_right():
    one = made(TWO_SIZES, TWO_SIZES)
    assert (one.said, one.recommended, one.best, one.wrong) == ("one", "latency_ring", "latency_ring", False)
    assert one.dearer == pytest.approx(0.0, abs=1e-9)


def test_a_choice_that_costs_more_than_the_best_is_wrong():
    one = made(TWO_SIZES, {**TWO_SIZES, "ring": {200: 5e-6}})
    assert (one.recommended, one.best, one.wrong) == ("latency_ring", "latency_pipe", True)
    assert one.dearer == pytest.approx(1.5, rel=0.02)


def test_a_planted_dearer_switch_turns_the_choice():
    """A ring whose switch costs 5 µs more: the rule has to see it, as the best way is then another."""
    planted = {**TWO_SIZES, "ring": {200: TWO_SIZES["ring"][200] + 5e-6}}
    assert made(planted, planted).recommended == "latency_pipe"
    assert made(TWO_SIZES, TWO_SIZES).recommended == "latency_ring"


def test_where_the_rule_cannot_tell_it_is_not_wrong():
    noisy = {"pipe": {200: 2e-6}, "ring": {200: 1.97e-6}}
    session = exchanged(noisy)
    few = choose(msgspec.structs.replace(session, runs=session.runs[:3] + session.runs[8:11]), a_load())
    one = judge_choice("message", few, choose(exchanged({"pipe": {200: 1e-6}, "ring": {200: 9e-6}}), a_load()))
    assert (one.said, one.wrong) == ("cannot tell", False)
    assert one.dearer > 1


def test_what_misses_the_goal_it_was_said_to_meet_is_wrong():
    load = a_load(goal="p99", at_most=5e-6)
    truth = choose(exchanged(TWO_SIZES, p99={"ring": 9e-6, "pipe": 1e-6, "queue": 1e-6}), load)
    one = judge_choice("message", choose(exchanged(TWO_SIZES), load), truth)
    assert (one.recommended, one.missed, one.wrong) == ("latency_ring", True, True)


def test_a_prediction_is_sure_only_where_its_intervals_lie_apart():
    load = a_demand()
    served_by = {"epoll": 20e-6, "thread": 90e-6}
    found = predict(served(served_by), load, LANGUAGES)
    truth = choose(served({way: cost + 50e-6 for way, cost in served_by.items()}, at=a_demand()), a_demand(work_ns=0))
    checked = verified(found, [Way(way="epoll", title="", case="", properties={}, figures={"cpu": 72e-6})])
    one = judge_prediction("model", found, truth, checked)
    assert (one.said, one.recommended, one.best) == ("one", "epoll", "epoll")
    close = predict(served({"epoll": 20e-6, "thread": 21e-6}), load, LANGUAGES)
    assert judge_prediction("model", close, truth, ()).said == "cannot tell"


def test_rates_are_by_kind_and_of_all():
    right, wrong = made(TWO_SIZES, TWO_SIZES), made(TWO_SIZES, {**TWO_SIZES, "ring": {200: 5e-6}})
    proved = rates(7, [right] * 9 + [wrong])
    assert [row.kind for row in proved.rates] == ["message", "all"]
    assert (proved.rates[0].wrong, proved.rates[0].rate) == (1, pytest.approx(0.1))
    assert 0.1 < proved.rates[0].bound < 0.5
    assert proved.predictions is None
    assert proved.rates[1].largest_dearer == pytest.approx(1.5, rel=0.02)
