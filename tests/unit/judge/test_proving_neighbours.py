# SPDX-License-Identifier: Apache-2.0
"""The rates of wrong verdicts about neighbours, on sessions in which it is known what is right."""

import random

import pytest

from steelyard.judge.neighbours import beside
from steelyard.judge.proving_neighbours import rates
from tests.unit.judge.sessions import steady
from tests.unit.judge.test_neighbours import session

BLOCKS = 12


def noise(generator, cost, spread=0.01):
    return [cost * generator.lognormvariate(0, spread) for _ in range(BLOCKS)]


def test_a_sleeper_that_does_nothing_and_a_neighbour_that_takes_half_are_told_apart():
    sleeping = session(steady(1e-6, BLOCKS), steady(1e-6, BLOCKS))
    planted = session(steady(1e-6, BLOCKS), steady(2e-6, BLOCKS))
    proved = rates(7, sleeping, planted)
    first, second = proved.rates
    assert (first.planted, first.wrong, first.different, first.equivalent) == (False, 0, 0, 1)
    assert (second.planted, second.wrong, second.different, second.held) == (True, 0, 1, 1)
    assert second.factor == pytest.approx(2, rel=0.02)
    assert first.bound == pytest.approx(0.95)  # none of one case
    assert (proved.seed, proved.accused) == (7, ())


def test_a_difference_beside_a_sleeper_is_wrong_and_named_and_so_is_none_beside_the_planted_one():
    proved = rates(7, session(steady(1e-6, BLOCKS), steady(1.5e-6, BLOCKS)), session(*[steady(1e-6, BLOCKS)] * 2))
    assert [rate.wrong for rate in proved.rates] == [1, 1]
    assert [one.case.name for one in proved.accused] == ["example/pipe@same~beside 0"]


def test_a_gain_beside_the_planted_one_is_wrong_as_well():
    proved = rates(7, session(*[steady(1e-6, BLOCKS)] * 2), session(steady(1e-6, BLOCKS), steady(0.5e-6, BLOCKS)))
    assert proved.rates[1].wrong == 1


def test_without_a_comparison_there_is_no_rate():
    empty = session(steady(1e-6, BLOCKS), [None] * BLOCKS)
    assert rates(7, empty, empty).rates == ()


def test_of_a_hundred_cases_beside_a_sleeper_five_at_most_are_said_to_suffer():
    """A/A on noise of 3 %: each verdict is by itself, and holds at 95 %."""
    generator = random.Random(11)
    accused = 0
    for _ in range(100):
        [one] = beside(session(noise(generator, 1e-6, 0.03), noise(generator, 1e-6, 0.03)), each_alone=True).cases
        accused += one.of.verdict == "different"
    assert accused <= 5
