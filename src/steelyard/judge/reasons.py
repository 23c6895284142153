# SPDX-License-Identifier: Apache-2.0
"""Why there is no figure or no verdict, and what makes one doubtful: what is meant, with the numbers that belong to it.

`show.reasons` has the sentence of each. What a probe, a file or a skip says in words of its own stays a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NoReturn

from steelyard.records import Record

#: What is meant, by the modules that mean it. `show.reasons` has the sentence of each, with the facts that it takes.
Why = Enum(
    "Why",
    """
    OF_ONE ALL
    COPIES_DIFFER PLANTED DRIFT LEVELS_DRIFTED NO_TIME VOID
    UNPINNED UNPINNED_ON_ONE UNPINNED_ON_SEVERAL SHAPES SHAPES_UNSTEADY UNSTEADY FEW_RUNS OVERHEAD_LARGER DISTURBED
    FAILED_RUNS WITHOUT_KERNEL NOT_COUNTED COUNTED_BY_TURNS
    NO_CASE NO_METRIC NO_OVERHEAD NEVER_HAPPENED SEVERAL_CASES OTHER_CASES OTHER_CASES_PLACED A_CHOICE_LEFT IMPORTED
    RUN_FAILED OTHER_UNIT NOT_ABOVE_ZERO NO_COMMON_BLOCK NO_BLOCK_WITH_ALL
    FEW_POINTS FEW_POINTS_WITHIN FEW_BLOCKS_AT_A_POINT POINT_NOT_ABOVE_ZERO NO_ONE_FORM FORM_CHANGES FEW_BLOCKS
    NOT_IN_THE_FAMILY ACROSS_AN_END
    NOT_MEASURED ONLY_IN NOT_BOTH_HAVE NO_BLOCK_OF_BOTH NO_PARTNER NO_SENTINEL TWO_MACHINES MACHINES_OF_KEY
    WHATEVER_CHANGED PROCESSES_UNKNOWN NOT_INTERLEAVED
    OTHER_METRIC VOID_SESSIONS FEW_SESSIONS ZERO_MEDIAN NOT_COMPLETE FEW_MACHINES ONE_SESSION_EACH
    NOT_ON_ONE_CPU NOT_PLACED_THERE HAS_NOT NOT_BETWEEN_PROCESSES NOT_BETWEEN_THREADS NOT_OF_THIS_SIZE NOT_MEASURED_AT
    OF_ANOTHER_MACHINE NO_CURVE_OF_SWITCHES
    """,
)


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
