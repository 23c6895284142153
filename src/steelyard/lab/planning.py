# SPDX-License-Identifier: Apache-2.0
"""How many blocks and minutes the verdicts of a session take: said before they are measured, and held to a budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

import msgspec

from steelyard.judge import comparisons
from steelyard.judge.stats.planning import fewest_blocks
from steelyard.lab.messages import Messages
from steelyard.measure import plan
from steelyard.records import Case, Plan, PlannedCase, Run
from steelyard.settings import Settings
from steelyard.units import counted, format_duration

_LOOKS = 4


def look_blocks(blocks: int) -> list[int]:
    """After which blocks a session that may stop early is looked at."""
    looks = {round(blocks * (number + 1) / _LOOKS) for number in range(_LOOKS)}
    return sorted(look for look in looks if look >= fewest_blocks())


def blocks_with_looks(verdicts: int, least: int = 1) -> int:
    """The fewest blocks, ``least`` or more, after which a session that may stop early can decide its ``verdicts``."""
    return next(blocks for blocks in count(max(least, fewest_blocks())) if _can_decide(verdicts, blocks, blocks))


def _can_decide(verdicts: int, look: int, planned: int) -> bool:
    """Whether a look after ``look`` of the planned blocks can decide this number of verdicts."""
    alpha = comparisons.alpha_at(look, look_blocks(planned), planned)
    return 0 < alpha < 1 and fewest_blocks(verdicts, alpha) <= look


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a session is to decide.

    one, many: the words for what is decided, such as "comparison". units: the cases of each, the most useful first,
    once the pilot is known. blocks: how many blocks decide a number of them. early: whether the session may end before
    its last block.
    """

    one: str
    many: str
    units: Callable[[Mapping[str, Run]], Sequence[Collection[str]]]
    blocks: Callable[[int], int]
    early: bool = False

    def counted(self, number: int) -> str:
        """``1 comparison``, ``6 comparisons``."""
        return counted(number, self.one, self.many)


def each_case(cases: Sequence[Case]) -> Question:
    """A session in which every case is to have an interval."""
    ordered = [(case.name,) for case in plan.most_telling_first(cases)]
    return Question(one="case", many="cases", units=lambda _: ordered, blocks=lambda _: plan.FEWEST_BLOCKS)


def each_pair(pairs: Sequence[Collection[str]]) -> Question:
    """A session in which every two cases are to be compared."""
    return Question(one="comparison", many="comparisons", units=lambda _: pairs, blocks=fewest_blocks)


def with_operations(case: PlannedCase, operations: int) -> PlannedCase:
    """The case with so many values that a run has this number of operations at least, which no budget takes away."""
    least = max(2, case.least_values, math.ceil(operations / case.operations))
    values = max(case.values, least)
    run_s = case.overhead_s + (case.run_s - case.overhead_s) * values / case.values
    return msgspec.structs.replace(case, values=values, least_values=least, run_s=run_s)


def enough_blocks(question: Question, settings: Settings, units: int, default: int, messages: Messages) -> Settings:
    """The settings with blocks enough to decide; says so where fewer were asked for."""
    needed = question.blocks(units)
    if settings.budget is not None or (settings.blocks or default) >= needed:
        return settings.with_blocks(default)
    if settings.blocks is not None:
        messages.say(f"{settings.blocks} blocks cannot decide {question.counted(units)}: measuring {needed} blocks")
    return settings.with_at_least(needed)


class Planner:
    """Chooses, after the pilot, what a budget has room for, and says what comes."""

    def __init__(self, question: Question, settings: Settings, messages: Messages) -> None:
        self._question = question
        self._settings = settings
        self._messages = messages

    def __call__(self, cases: Sequence[PlannedCase], pilots: Mapping[str, Run], left_s: float | None) -> Plan:
        """The plan of the blocks."""
        here = {case.case.name for case in cases}
        asked = self._question.units(pilots)
        units = [unit for unit in asked if here.issuperset(unit)]
        unknown = sum(not pilots.keys() >= set(unit) for unit in asked)
        if left_s is not None and unknown:
            left_out = self._question.counted(unknown)
            self._messages.say(f"{self._settings.budget} has no time for the pilot of {left_out}: left out")
        if left_s is None or not units:
            return self._whole(cases, len(units))
        chosen, kept = plan.as_many_as_fit(cases, units, left_s, self._question.blocks)
        made = Plan(cases=tuple(chosen), blocks=plan.blocks_for(left_s * plan.PLANNED_SHARE, chosen))
        self._messages.say(self._within(cases, units, made, kept))
        return made

    def _whole(self, cases: Sequence[PlannedCase], units: int) -> Plan:
        blocks = self._settings.planned_blocks or plan.FEWEST_BLOCKS
        needed = self._question.blocks(units) if units else 1
        if blocks < needed:
            self._messages.say(
                f"{counted(blocks, 'block')} will give no interval: {needed} do (--blocks {needed}), in about "
                f"{format_duration(needed * plan.block_seconds(cases))}"
            )
        elif self._question.early and units:
            first = next(look for look in (*look_blocks(blocks), blocks) if _can_decide(units, look, blocks))
            sooner = f"; only {first} where all is clear by then" if first < blocks else ""
            self._messages.say(
                f"{self._question.counted(units)}: {counted(blocks, 'block')} at most, about "
                f"{format_duration(blocks * plan.block_seconds(cases))}{sooner}"
            )
        return Plan(cases=tuple(cases), blocks=blocks)

    def _within(self, cases: Sequence[PlannedCase], units: Sequence[Collection[str]], made: Plan, kept: int) -> str:
        """What the budget has room for, and what it would take to have it all."""
        question, asked = self._question, self._settings.budget
        if kept == len(units):
            return (
                f"{question.counted(kept)}: about {counted(made.blocks, 'block')} fit into the budget, and "
                f"{question.blocks(kept)} are enough to decide"
            )
        needed = question.blocks(len(units))
        whole_s = needed * plan.block_seconds(plan.fit(cases, 0.0)) / plan.PLANNED_SHARE
        advice = f"all {len(units)} take {counted(needed, 'block')}, about {format_duration(whole_s)} after the pilot"
        if kept == 0:
            names = {case.case.name for case in made.cases}
            shown = sum(names.issuperset(unit) for unit in units)
            return f"{asked} is too short to decide anything: a first look at {question.counted(shown)}; {advice}"
        return f"{asked} has room for {question.counted(kept)} in {counted(question.blocks(kept), 'block')}; {advice}"
