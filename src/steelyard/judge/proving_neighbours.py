# SPDX-License-Identifier: Apache-2.0
"""How often it is wrong to say that a case suffers from its neighbours.

Beside a sleeper none does; beside a neighbour that takes half of its CPU each does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.judge.neighbours import Beside, Suffers, beside
from steelyard.judge.proving import binomial_bound
from steelyard.records import Record, Session


class NeighbourRate(Record, frozen=True, kw_only=True):
    """What was said of cases beside one neighbour. Verdicts are each by itself.

    held: the differences that hold for all cases together. bound: the exact upper 95 % bound of the rate of wrong
    verdicts. factor: median of how many times each suffers.
    """

    does: str
    planted: bool
    cases: int
    different: int
    equivalent: int
    wrong: int
    bound: float
    held: int
    factor: float

    @property
    def rate(self) -> float:
        """The share of verdicts that are wrong."""
        return self.wrong / self.cases


class ProvedNeighbours(Record, frozen=True, kw_only=True):
    """All rates, with the cases that were said to suffer from a sleeper."""

    seed: int
    blocks: int
    rates: tuple[NeighbourRate, ...]
    accused: tuple[Suffers, ...] = ()


def rates(seed: int, sleeping: Session, planted: Session) -> ProvedNeighbours:
    """The rates of a session beside a sleeper, and of one beside a neighbour whose effect is planted.

    A verdict is wrong where it finds a difference beside the sleeper, and none or a gain beside the other.
    """
    found = []
    accused: list[Suffers] = []
    for session, effect in ((sleeping, False), (planted, True)):
        alone, together = beside(session, each_alone=True), beside(session)
        if alone is None or together is None or not alone.cases:
            continue
        found.append(_rate(alone.cases, together, planted=effect))
        accused += [one for one in alone.cases if _different(one) and not effect]
    return ProvedNeighbours(seed=seed, blocks=sleeping.blocks, rates=tuple(found), accused=tuple(accused))


def _different(one: Suffers) -> bool:
    return one.of.verdict == "different"


def _rate(cases: Sequence[Suffers], together: Beside, *, planted: bool) -> NeighbourRate:
    wrong = sum(not (_different(one) and one.factor[0] > 1) if planted else _different(one) for one in cases)
    return NeighbourRate(
        does=cases[0].neighbours[0].does,
        planted=planted,
        cases=len(cases),
        different=sum(map(_different, cases)),
        equivalent=sum(one.of.verdict == "equivalent" for one in cases),
        wrong=wrong,
        bound=binomial_bound(wrong, len(cases)),
        held=sum(map(_different, together.cases)),
        factor=float(np.median([one.factor[0] for one in cases])),
    )
