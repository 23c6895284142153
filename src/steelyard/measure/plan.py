# SPDX-License-Identifier: Apache-2.0
"""Selection × parameters → blocks of cases in random order. Pure: same seed, same plan.

Randomized multiple interleaved trials (Abedi & Brecht, ICPE 2017): in each block every case gets one fresh process, in
an order drawn anew, so that drift hits all cases alike and a block is a matched set.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import zip_longest

import msgspec

from steelyard.records import Case, PlannedCase

#: Fewest values of a run, so that its lower quartile is not its minimum.
FEWEST_VALUES = 5
#: Most values of a run, and longest timed part that setting up may be repaid with: a case whose setup takes a second
#: is not worth measuring for four.
MOST_VALUES = 25
MOST_TIMED_S = 2.5
#: Shortest timed part of a probe that warms up: a virtual machine that has compiled all within a second is quick,
#: and the flat start of a shorter series would pass for its steady state. Node 20 gets a tenth quicker after half a
#: second of promises (depth/js_await), which has to lie before the last quarter of the series.
WARM_S = 0.8
#: Shortest timed part of a run beside neighbours, and of its case alone: a neighbour proves its work by batches of some
#: milliseconds (measure/beside.py), and some of them should end while the run lasts.
BESIDE_S = 0.04
#: Fewest blocks that give a 95 % order-statistic interval of the median (2 · 0.5^n ≤ 0.05).
FEWEST_BLOCKS = 6
#: How long values are at the shortest, as shares of what was asked for, where a budget has no room for longer ones.
SHORTER = (0.8, 0.6, 0.4)
#: The share of a budget that is planned with: blocks repeat disturbed runs, and take longer than the pilot says where
#: its values were shorter.
PLANNED_SHARE = 0.85
#: Timed part of a run that is aimed at, as a multiple of what is spent around it.
TIMED_TO_OVERHEAD = 4.0
#: Bytes of the environment are padded at random up to this: its size moves the stack and so the figures
#: (Mytkowicz et al., ASPLOS 2009).
MOST_PADDING = 4096

NULL = "null/null"


def controls() -> list[Case]:
    """The cases that every session carries: the null probe, its identical copy, and one planted 5 % slower."""
    return [
        Case(probe=NULL, placement="same", parameters={"delay_percent": delay, "copy": copy})
        for delay, copy in ((0, 0), (0, 1), (5, 0))
    ]


def values_for(overhead_s: float, value_s: float, values: int, least_s: float = 0.0) -> tuple[int, float]:
    """How many values a run should have, at least ``values``, and how many times as long each should be.

    More of both where starting and setting up takes long: first more values, then longer ones, because between two
    values of thousands of contexts lies a round of all of them that is not timed.
    value_s: how long one value took in the pilot, above zero. least_s: how long all should take at least.
    """
    timed_s = max(min(TIMED_TO_OVERHEAD * overhead_s, MOST_TIMED_S), least_s)
    wanted = math.ceil(timed_s / value_s)
    if wanted <= values:
        return values, 1.0
    most = max(values, MOST_VALUES)
    return min(wanted, most), max(1.0, wanted / most)


def short_values_for(value_s: float, short_s: float, values: int) -> int:
    """How many values a run should have whose probe says that they need be no longer than ``short_s``.

    Nothing has to be repaid there: ``values`` of them, and fewer where a single operation takes longer than that, as a
    pass over 128 MiB does.
    """
    return min(values, max(FEWEST_VALUES, math.ceil(values * short_s / value_s)))


def level(cases: Sequence[PlannedCase]) -> list[PlannedCase]:
    """The same cases, with equal numbers of operations and values wherever a group runs one thing in several ways.

    Two pilots of one program find two numbers, and a cost that depends a little on the length of its batch would then
    differ between identical variants.
    """
    least: dict[tuple[str, str], PlannedCase] = {}
    for planned in cases:
        key = _way_in_group(planned)
        if key not in least or planned.operations < least[key].operations:
            least[key] = planned
    return [
        msgspec.structs.replace(
            planned,
            operations=pattern.operations,
            values=pattern.values,
            least_values=pattern.least_values,
            run_s=pattern.run_s,
        )
        if planned.group and (pattern := least[_way_in_group(planned)])
        else planned
        for planned in cases
    ]


def _way_in_group(planned: PlannedCase) -> tuple[str, str]:
    """What variants of one case have in common; the null probe's copies are variants by parameter."""
    case = planned.case
    parameters = {} if case.probe == NULL else case.parameters
    return planned.group, msgspec.structs.replace(case, variant=None, parameters=parameters).name


def block_seconds(cases: Sequence[PlannedCase]) -> float:
    """Expected wall time of one block."""
    return math.fsum(planned.run_s for planned in cases)


def blocks_for(budget_s: float, cases: Sequence[PlannedCase]) -> int:
    """Blocks that fit into the time left, at least one."""
    return max(1, math.floor(budget_s / max(block_seconds(cases), 1e-3)))


def fit(cases: Sequence[PlannedCase], budget_s: float, blocks: int = FEWEST_BLOCKS) -> list[PlannedCase]:
    """The same cases with so few values that this number of blocks fits into the budget, and then with shorter ones.

    If that can't be had at all they are as short as can be. What has least values keeps them and their length: half a
    warm-up would pass for a cost.
    """
    shorter = list(cases)
    ways = [*((tenths / 10, 1.0) for tenths in range(10, -1, -1)), *((0.0, length) for length in SHORTER)]
    for share, length in ways:
        shorter = [_shortened(case, share, length) for case in cases]
        if blocks_for(budget_s * PLANNED_SHARE, shorter) >= blocks:
            break
    return shorter


def most_telling_first(cases: Sequence[Case]) -> list[Case]:
    """The cases in the order of their use, where there may be no time for all: one of each probe before a second one.

    Of a sweep its ends come first, then what lies in the middle of what is there already.
    """
    ways: dict[tuple[str, str | None], list[Case]] = defaultdict(list)
    for case in cases:
        ways[case.probe, case.variant].append(case)
    rounds = zip_longest(*([members[place] for place in _spread(len(members))] for members in ways.values()))
    return [case for turn in rounds for case in turn if case is not None]


def _spread(count: int) -> Iterator[int]:
    """The numbers below ``count``: both ends, the middle, the middles of both halves, and so on."""
    yield from range(min(count, 1))
    if count > 1:
        yield count - 1
    gaps = deque([(0, count - 1)])
    while gaps:
        low, high = gaps.popleft()
        if high - low > 1:
            middle = (low + high) // 2
            yield middle
            gaps += [(low, middle), (middle, high)]


def as_many_as_fit(
    cases: Sequence[PlannedCase], units: Sequence[Collection[str]], budget_s: float, blocks: Callable[[int], int]
) -> tuple[list[PlannedCase], int]:
    """The cases of as many units, from the first, as the budget has room for, and how many units these are.

    units: names of cases that are of use together only, such as both sides of a comparison. blocks: how many blocks a
    number of units takes. Runs are shortened before a unit is left out. Where not even the first unit gets its blocks
    the number is 0, and the cases are those of the first unit and of as many more as fit into one block.
    """

    def fits(kept: int, needed: int) -> bool:
        fitted = fit(_cases_of(cases, units[:kept]), budget_s, needed)
        return blocks_for(budget_s * PLANNED_SHARE, fitted) >= needed

    counts = range(1, len(units) + 1)
    kept = bisect_left(counts, True, key=lambda count: not fits(count, blocks(count)))
    if kept:
        return fit(_cases_of(cases, units[:kept]), budget_s, blocks(kept)), kept
    in_one = bisect_left(
        counts,
        True,
        key=lambda count: block_seconds(fit(_cases_of(cases, units[:count]), 0.0)) > budget_s * PLANNED_SHARE,
    )
    return fit(_cases_of(cases, units[: max(1, in_one)]), budget_s), 0


def _cases_of(cases: Sequence[PlannedCase], units: Sequence[Collection[str]]) -> list[PlannedCase]:
    """The cases of these units, what is subtracted from them, and the session's own controls."""
    wanted = {name for unit in units for name in unit}
    wanted |= {case.baseline for case in cases if case.case.name in wanted and case.baseline}
    return [case for case in cases if case.case.name in wanted or (case.control and case.case.probe == NULL)]


def _shortened(case: PlannedCase, share_of_values: float, length: float) -> PlannedCase:
    least = min(max(FEWEST_VALUES, case.least_values), case.values)
    values = max(least, round(share_of_values * case.values))
    operations = case.operations if case.least_values > 1 else max(1, round(case.operations * length))
    timed_s = (case.run_s - case.overhead_s) * values / case.values * operations / case.operations
    return msgspec.structs.replace(case, operations=operations, values=values, run_s=case.overhead_s + timed_s)


def order(cases: Sequence[PlannedCase], block: int, seed: int) -> list[PlannedCase]:
    """The cases of a block (counted from 1) in the order in which they run.

    Cases of one group run one after the other, groups and the cases within them in random order: what is to be compared
    closely should meet the same minute of the machine (`steelyard prove`: a step of the machine's speed between the two
    runs of a pair takes a fifth of the power in a large suite).
    """
    groups: dict[str, list[PlannedCase]] = {}
    for planned in cases:
        groups.setdefault(planned.group or planned.case.name, []).append(planned)
    shuffled = list(groups.values())
    generator = _random(seed, "order", block)
    generator.shuffle(shuffled)
    for group in shuffled:
        generator.shuffle(group)
    return [planned for group in shuffled for planned in group]


def padding(seed: int, block: int, case: str, attempt: int) -> int:
    """Bytes by which the environment of this run is padded."""
    return _random(seed, "padding", block, case, attempt).randrange(MOST_PADDING)


def _random(*parts: int | str) -> random.Random:
    # A string seeds all generators independently, whatever the order in which they are asked.
    return random.Random("/".join(map(str, parts)))  # noqa: S311 - nothing secret is drawn here
