# SPDX-License-Identifier: Apache-2.0
"""What can be known before measuring is said before: how many blocks verdicts take, and what a budget has room for."""

import numpy as np
import pytest

from steelyard.judge.comparisons import alpha_at
from steelyard.judge.stats.comparison import Verdict, compare_paired
from steelyard.judge.stats.family import hold
from steelyard.lab.planning import Planner, Question, blocks_with_looks, each_case, enough_blocks, look_blocks
from steelyard.settings import Settings
from tests.making import NULL_CASE, a_case, a_planned


class Heard:
    """Messages that are kept."""

    def __init__(self):
        self.said = []

    def say(self, sentence):
        self.said.append(sentence)


CASES = [a_case(n=number) for number in range(6)]
PILOTS = dict.fromkeys(case.name for case in CASES)
CONTROL = a_planned(NULL_CASE, control=True, run_s=0.1)


def planned(run_s=1.0):
    return [*(a_planned(case, run_s=run_s, overhead_s=run_s) for case in CASES), CONTROL]


def comparisons(count=6, **more):
    units = [(case.name,) for case in CASES[:count]]
    return Question(one="comparison", many="comparisons", units=lambda _: units, blocks=blocks_with_looks, **more)


@pytest.mark.parametrize("verdicts", [1, 6, 24, 155])
def test_the_blocks_that_are_planned_decide_at_the_last_look_and_one_fewer_does_not(verdicts):
    blocks = blocks_with_looks(verdicts)

    def decided(number):
        alpha = alpha_at(number, look_blocks(number), number)
        surely = [lambda confidence: compare_paired(np.ones(number), np.full(number, 2.0), 0.02, confidence)] * verdicts
        return {member.held.verdict for member in hold(surely, alpha)}

    assert decided(blocks) == {Verdict.DIFFERENT}
    assert blocks == 6 or decided(blocks - 1) == {Verdict.UNDECIDED}


def test_fewer_blocks_than_can_decide_are_raised_and_that_is_said_before():
    heard = Heard()
    settings = enough_blocks(comparisons(), Settings(blocks=6), 6, 20, heard)
    assert settings.blocks == blocks_with_looks(6) > 6
    assert heard.said == [f"6 blocks cannot decide 6 comparisons: measuring {settings.blocks} blocks"]


@pytest.mark.parametrize(("given", "blocks"), [(Settings(), 20), (Settings(blocks=40), 40), (Settings(quick=True), 20)])
def test_blocks_that_can_decide_are_left_as_they_are(given, blocks):
    heard = Heard()
    assert enough_blocks(comparisons(), given, 6, 20, heard).blocks == blocks
    assert heard.said == []


def test_a_large_family_gets_more_blocks_than_the_default():
    assert enough_blocks(comparisons(), Settings(), 10**6, 20, Heard()).blocks > 20


def test_blocks_and_minutes_are_said_before_they_are_measured():
    heard = Heard()
    made = Planner(comparisons(early=True), Settings(blocks=20), heard)(planned(), PILOTS, None)
    assert made.blocks == 20
    assert heard.said == ["6 comparisons: 20 blocks at most, about 2 min 02 s; only 15 where all is clear by then"]


def test_a_budget_with_room_for_all_says_how_many_blocks_fit():
    heard = Heard()
    made = Planner(comparisons(), Settings(budget="10m"), heard)(planned(), PILOTS, 600.0)
    assert len(made.cases) == 7
    assert made.blocks >= blocks_with_looks(6)
    assert heard.said[0].startswith(f"6 comparisons: about {made.blocks} blocks fit into the budget")


def test_a_short_budget_has_the_most_useful_part_and_says_what_all_would_take():
    heard = Heard()
    made = Planner(comparisons(), Settings(budget="40s"), heard)(planned(), PILOTS, 40.0)
    kept = [case.case for case in made.cases if not case.control]
    assert kept == CASES[: len(kept)]
    assert 0 < len(kept) < 6
    assert made.blocks >= blocks_with_looks(len(kept))
    assert heard.said[0].startswith(f"40s has room for {len(kept)} comparisons in ")
    assert f"all 6 take {blocks_with_looks(6)} blocks" in heard.said[0]


def test_a_budget_that_decides_nothing_says_so_before():
    heard = Heard()
    made = Planner(comparisons(), Settings(budget="5s"), heard)(planned(), PILOTS, 5.0)
    assert made.blocks == 1
    assert heard.said[0].startswith("5s is too short to decide anything: a first look at 4 comparisons; all 6 take ")


def test_a_selection_gives_no_interval_below_six_blocks_and_says_so():
    heard = Heard()
    made = Planner(each_case(CASES), Settings(blocks=2), heard)(planned(), PILOTS, None)
    assert (made.blocks, len(made.cases)) == (2, 7)
    assert heard.said == ["2 blocks will give no interval: 6 do (--blocks 6), in about 37 s"]
    heard.said.clear()
    Planner(each_case(CASES), Settings(blocks=6), heard)(planned(), PILOTS, None)
    assert heard.said == []


def test_what_had_no_time_for_a_pilot_is_counted_and_said():
    heard = Heard()
    pilots = {case.name: None for case in CASES[:4]}
    Planner(each_case(CASES), Settings(budget="10m"), heard)(planned()[:4], pilots, 600.0)
    assert heard.said[0] == "10m has no time for the pilot of 2 cases: left out"
    assert heard.said[1].startswith("4 cases: ")


def test_what_the_pilot_skipped_is_not_counted():
    heard = Heard()
    made = Planner(comparisons(early=True), Settings(blocks=20), heard)(planned()[2:], {}, None)
    assert len(made.cases) == 5
    assert heard.said[0].startswith("4 comparisons: ")
