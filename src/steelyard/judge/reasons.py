# SPDX-License-Identifier: Apache-2.0
"""Why there is no figure or no verdict, and what makes one doubtful: what is meant, with the numbers that belong to it.

`show.reasons` has the sentence of each. What a probe, a file or a skip says in words of its own stays a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from typing import NoReturn

from steelyard.records import Record


class Why(Enum):
    """What is meant; the sentence of each stands in `show.reasons`, with the facts that it takes."""

    OF_ONE = auto()
    ALL = auto()
    # controls
    COPIES_DIFFER = auto()
    PLANTED = auto()
    DRIFT = auto()
    LEVELS_DRIFTED = auto()
    NO_TIME = auto()
    VOID = auto()
    # the runs of a case
    UNPINNED = auto()
    UNPINNED_ON_ONE = auto()
    UNPINNED_ON_SEVERAL = auto()
    SHAPES = auto()
    SHAPES_UNSTEADY = auto()
    UNSTEADY = auto()
    FEW_RUNS = auto()
    OVERHEAD_LARGER = auto()
    DISTURBED = auto()
    FAILED_RUNS = auto()
    WITHOUT_KERNEL = auto()
    NOT_COUNTED = auto()
    COUNTED_BY_TURNS = auto()
    # evidence
    NO_CASE = auto()
    NO_METRIC = auto()
    NO_OVERHEAD = auto()
    NEVER_HAPPENED = auto()
    SEVERAL_CASES = auto()
    OTHER_CASES = auto()
    OTHER_CASES_PLACED = auto()
    A_CHOICE_LEFT = auto()
    IMPORTED = auto()
    RUN_FAILED = auto()
    OTHER_UNIT = auto()
    NOT_ABOVE_ZERO = auto()
    NO_COMMON_BLOCK = auto()
    NO_BLOCK_WITH_ALL = auto()
    # verdicts
    FEW_POINTS = auto()
    FEW_POINTS_WITHIN = auto()
    FEW_BLOCKS_AT_A_POINT = auto()
    POINT_NOT_ABOVE_ZERO = auto()
    NO_ONE_FORM = auto()
    FORM_CHANGES = auto()
    FEW_BLOCKS = auto()
    NOT_IN_THE_FAMILY = auto()
    ACROSS_AN_END = auto()
    # comparisons
    NOT_MEASURED = auto()
    ONLY_IN = auto()
    NOT_BOTH_HAVE = auto()
    NO_BLOCK_OF_BOTH = auto()
    NO_PARTNER = auto()
    NO_SENTINEL = auto()
    TWO_MACHINES = auto()
    MACHINES_OF_KEY = auto()
    WHATEVER_CHANGED = auto()
    PROCESSES_UNKNOWN = auto()
    NOT_INTERLEAVED = auto()
    # sessions over time, fleets, the live machine
    OTHER_METRIC = auto()
    VOID_SESSIONS = auto()
    FEW_SESSIONS = auto()
    ZERO_MEDIAN = auto()
    NOT_COMPLETE = auto()
    FEW_MACHINES = auto()
    ONE_SESSION_EACH = auto()
    OF_ANOTHER_MACHINE = auto()
    NO_CURVE_OF_SWITCHES = auto()


class Reason:
    """One of these with its facts, by name. `show` alone makes a text of it; elsewhere that is an error."""

    __slots__ = ("facts", "why")

    def __init__(self, why: Why, **facts: Fact) -> None:
        self.why = why
        self.facts = facts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reason) and (self.why, self.facts) == (other.why, other.facts)

    def __hash__(self) -> int:
        return hash((self.why, *self.facts.items()))

    def __repr__(self) -> str:
        return f"Reason({self.why}, {self.facts})"

    def __str__(self) -> NoReturn:
        raise TypeError(f"{self!r} has no words here: show.reasons.said() has them")

    def __format__(self, _: str) -> str:
        return str(self)


#: A text of others, or what is meant.
Said = str | Reason
Fact = str | float | Said | tuple[Said, ...] | None


def of(subject: str, said: Said) -> Reason:
    """What is said of one case, session or file among several."""
    return Reason(Why.OF_ONE, subject=subject, said=said)


def all_of(said: Sequence[Said]) -> Reason | None:
    """Several as one, each of them once; None of none."""
    return Reason(Why.ALL, parts=tuple(dict.fromkeys(said))) if said else None


class Missing(Record, frozen=True, kw_only=True):
    """What a session has no number of, and why."""

    subject: str
    reason: Said

    @property
    def plain(self) -> Said:
        """As of a `Skip`."""
        return self.reason
