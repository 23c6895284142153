# SPDX-License-Identifier: Apache-2.0
"""Selection × parameters → blocks of cases in random order. Pure: same seed, same plan.

Randomized multiple interleaved trials (Abedi & Brecht, ICPE 2017): in each block every case gets one fresh process, in
an order drawn anew, so that drift hits all cases alike and a block is a matched set.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from steelyard.records import Case, PlannedCase

#: Fewest values of a run, so that its lower quartile is not its minimum.
FEWEST_VALUES = 5
#: Most values of a run; a case whose setup takes a second is not worth measuring for three.
MOST_VALUES = 99
#: Fewest blocks that give a 95 % order-statistic interval of the median (2 · 0.5^n ≤ 0.05).
FEWEST_BLOCKS = 6
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


def values_for(overhead_s: float, target_s: float, values: int) -> int:
    """How many values a run should have, at least ``values``: more where starting and setting up takes long."""
    wanted = math.ceil(TIMED_TO_OVERHEAD * overhead_s / target_s)
    return max(values, min(MOST_VALUES, wanted))


def block_seconds(cases: Sequence[PlannedCase]) -> float:
    """Expected wall time of one block."""
    return math.fsum(planned.run_s for planned in cases)


def blocks_for(budget_s: float, cases: Sequence[PlannedCase]) -> int:
    """Blocks that fit into the time left, at least one."""
    return max(1, math.floor(budget_s / max(block_seconds(cases), 1e-3)))


def order(cases: Sequence[PlannedCase], block: int, seed: int) -> list[PlannedCase]:
    """The cases of a block (counted from 1) in the order in which they run."""
    shuffled = list(cases)
    _random(seed, "order", block).shuffle(shuffled)
    return shuffled


def padding(seed: int, block: int, case: str, attempt: int) -> int:
    """Bytes by which the environment of this run is padded."""
    return _random(seed, "padding", block, case, attempt).randrange(MOST_PADDING)


def _random(*parts: int | str) -> random.Random:
    # A string seeds all generators independently, whatever the order in which they are asked.
    return random.Random("/".join(map(str, parts)))  # noqa: S311 - nothing secret is drawn here
