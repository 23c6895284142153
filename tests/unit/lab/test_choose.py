# SPDX-License-Identifier: Apache-2.0
"""The runs behind a choice at a rate: those of the best two are long enough for their tails, if there is time."""

import pytest

from steelyard.lab.choose import _with_tails
from steelyard.lab.messages import Silent
from steelyard.lab.planning import Planner, Question
from steelyard.settings import Settings
from tests.making import a_case, a_planned

CASES = [a_case(n=number) for number in range(4)]
BEST = {case.name for case in CASES[:2]}
QUESTION = Question(
    one="channel",
    many="channels",
    units=lambda _: [tuple(BEST), (CASES[2].name,), (CASES[3].name,)],
    blocks=lambda _: 6,
)


@pytest.mark.parametrize(("left_s", "long"), [(60.0, True), (9.0, False), (None, True)])
def test_the_best_two_have_a_p99_9(left_s, long):
    planned = [a_planned(case, operations=500, values=10, run_s=0.51, overhead_s=0.01) for case in CASES]
    settings = Settings(blocks=6) if left_s is None else Settings(budget="60s")
    pilots = dict.fromkeys(case.name for case in CASES)
    made = _with_tails(Planner(QUESTION, settings, Silent()), QUESTION, planned, pilots, left_s)
    messages = {one.case.name: one.operations * one.values for one in made.cases}
    assert all((messages[name] >= 10_000) == long for name in BEST)
    assert all(messages[name] <= 5000 for name in messages.keys() - BEST)
    assert made.blocks >= 6
    assert left_s is None or made.blocks * sum(one.run_s for one in made.cases) <= left_s
