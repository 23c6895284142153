# SPDX-License-Identifier: Apache-2.0
"""How often a choice is wrong, and how far a prediction is off: on loads that nobody chose, measured twice.

A load is drawn by a seed. The rule decides from one session; a second session of the same ways, of which the rule has
seen nothing, says what was best. A choice is wrong where what was recommended costs over 10 % more than the best there,
or does not meet the goal that it was said to meet. Where the rule says that it cannot tell, it has not chosen.

Of a model of concurrency the rule has seen nothing but the load without its work, and what it says is a prediction.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
import numpy as np

from steelyard.judge.choose import Choice, Chosen, Load, Locking, Messages
from steelyard.judge.model import Predictions, Serving, Verified
from steelyard.judge.proving import binomial_bound
from steelyard.records import Placement, Record

#: A choice that costs this much more than the best is wrong.
WRONG = 0.10
_KINDS = ("message", "message at a rate", "lock", "model")
#: How many of a hundred loads are of which kind.
_SHARES = (0.35, 0.15, 0.27, 0.23)

Said = Literal["one", "equal", "cannot tell"]


class ChoiceMade(Record, frozen=True, kw_only=True):
    """What became of one load.

    kind: of the load; load: itself. said: one way, two that are equal, or that it cannot tell. dearer: how much more
    than the best the recommended way cost in the second session, as a share; None where it recommended none or none was
    measured. checked: predictions beside what was measured.
    """

    kind: str
    load: Load
    said: Said
    recommended: str | None
    best: str | None = None
    dearer: float | None = None
    missed: bool = False
    checked: tuple[Verified, ...] = ()

    @property
    def wrong(self) -> bool:
        """Whether it was sure of what was not so."""
        return self.said != "cannot tell" and (self.missed or (self.dearer is not None and self.dearer > WRONG))


class ChoiceRates(Record, frozen=True, kw_only=True):
    """How often choices of a kind are wrong; ``bound`` is the exact upper 95 % bound of that rate."""

    kind: str
    loads: int
    wrong: int
    rate: float
    bound: float
    cannot_tell: int
    median_dearer: float | None
    largest_dearer: float | None


class PredictionRates(Record, frozen=True, kw_only=True):
    """How far predictions of the CPU time of a request were off, and how often the stated interval held it."""

    predictions: int
    median_error: float
    largest_error: float
    within: float


class ProvedChoices(Record, frozen=True, kw_only=True):
    """The rates of all loads, and the loads."""

    seed: int
    rates: tuple[ChoiceRates, ...]
    predictions: PredictionRates | None
    choices: tuple[ChoiceMade, ...]


def draw(seed: int, loads: int) -> list[tuple[str, Messages | Locking | Serving]]:
    """So many loads with their kinds: the same for a seed."""
    rng = np.random.default_rng(seed)
    return [_load(str(rng.choice(_KINDS, p=_SHARES)), rng) for _ in range(loads)]


def _load(kind: str, rng: np.random.Generator) -> tuple[str, Messages | Locking | Serving]:
    between = "process" if rng.random() < 0.7 else "thread"
    match kind:
        case "message":
            goal = 2e-6 * 2 ** rng.uniform(0, 8) if rng.random() < 0.25 else None
            size, placement = round(2 ** rng.uniform(0, 16)), _one_of("same", "cross", rng)
            return kind, Messages(
                sizes=(size,), between=between, placement=placement, goal="p99" if goal else None, at_most=goal
            )
        case "message at a rate":
            size, rate = round(2 ** rng.uniform(0, 14)), round(_between(5000, 20_000, rng), -2)
            return kind, Messages(
                sizes=(size,), between=between, placement=_one_of("same", "cross", rng), rate=int(rate)
            )
        case "lock":
            return kind, Locking(
                contexts=int(rng.integers(2, 17)),
                hold_ns=int(rng.choice([0, round(_between(50, 2000, rng))])),
                think_ns=int(rng.choice([0, round(_between(100, 10_000, rng))])),
                read_percent=int(rng.choice([0, 0, 50, 90, 99])),
                between="thread" if rng.random() < 0.8 else "process",
                placement=_one_of("free", "same", rng),
            )
        case _:
            wait_us = round(_between(500, 20_000, rng)) if rng.random() < 0.7 else 0
            return kind, Serving(
                rate=round(_between(200, 2000, rng)),
                work_ns=round(_between(5_000, 300_000, rng)),
                wait_us=wait_us,
                connections=round(_between(10, 400, rng)),
            )


def _between(low: float, high: float, rng: np.random.Generator) -> float:
    """Evenly on a logarithmic scale."""
    return float(math.exp(rng.uniform(math.log(low), math.log(high))))


def _one_of(first: Placement, second: Placement, rng: np.random.Generator) -> Placement:
    return first if rng.random() < 0.5 else second


def judge_choice(kind: str, chosen: Chosen, truth: Chosen) -> ChoiceMade:
    """What was recommended, held against a second session."""
    [choice], [real] = chosen.choices, truth.choices
    recommended = choice.able[0].way if choice.able else None
    said: Said = "cannot tell" if recommended is None or chosen.void else _said(choice)
    return _held_against(real, ChoiceMade(kind=kind, load=chosen.load, said=said, recommended=recommended))


def judge_prediction(kind: str, predictions: Predictions, truth: Chosen, checked: Sequence[Verified]) -> ChoiceMade:
    """What was predicted to be cheapest, held against what the load took when it was served."""
    able = predictions.able
    sure = len(able) == 1 or (len(able) > 1 and able[1].low_s > able[0].high_s)
    made = ChoiceMade(
        kind=kind,
        load=predictions.load,
        said="one" if sure else "cannot tell",
        recommended=able[0].way if able else None,
        checked=tuple(checked),
    )
    return _held_against(truth.choices[0], made)


def _said(choice: Choice) -> Said:
    match choice.verdict.verdict if choice.verdict else "different":
        case "different":
            return "one"
        case "equivalent":
            return "equal"
        case _:
            return "cannot tell"


def _held_against(real: Choice, made: ChoiceMade) -> ChoiceMade:
    load, by = made.load, made.load.chosen_by
    costs = {way.way: cost for way in real.ways if (cost := way.figures.get(by))}
    best = real.able[0].way if real.able else None
    own = next((way for way in real.ways if way.way == made.recommended), None)
    if own is None or best is None or own.way not in costs:
        return msgspec.structs.replace(made, best=best)
    missed = own.misses is not None and load.at_most is not None and own.misses > (1 + WRONG) * load.at_most
    return msgspec.structs.replace(made, best=best, dearer=costs[own.way] / costs[best] - 1, missed=missed)


def rates(seed: int, choices: Iterable[ChoiceMade]) -> ProvedChoices:
    """How often each kind was wrong, and all together."""
    made = tuple(choices)
    kinds = [kind for kind in _KINDS if any(choice.kind == kind for choice in made)]
    groups = [(kind, [choice for choice in made if choice.kind == kind]) for kind in kinds]
    checked = [one for choice in made for one in choice.checked]
    return ProvedChoices(
        seed=seed,
        rates=tuple(_rates(kind, group) for kind, group in [*groups, ("all", list(made))] if group),
        predictions=_predictions(checked) if checked else None,
        choices=made,
    )


def _rates(kind: str, group: Sequence[ChoiceMade]) -> ChoiceRates:
    wrong = sum(choice.wrong for choice in group)
    dearer = [choice.dearer for choice in group if choice.dearer is not None]
    return ChoiceRates(
        kind=kind,
        loads=len(group),
        wrong=wrong,
        rate=wrong / len(group),
        bound=binomial_bound(wrong, len(group)),
        cannot_tell=sum(choice.said == "cannot tell" for choice in group),
        median_dearer=statistics.median(dearer) if dearer else None,
        largest_dearer=max(dearer, default=None),
    )


def _predictions(checked: Sequence[Verified]) -> PredictionRates:
    errors = [abs(one.ratio - 1) for one in checked]
    return PredictionRates(
        predictions=len(checked),
        median_error=statistics.median(errors),
        largest_error=max(errors),
        within=sum(one.within for one in checked) / len(checked),
    )
