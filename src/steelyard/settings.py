# SPDX-License-Identifier: Apache-2.0
"""The options of measuring: each is declared, defaulted, documented and checked here, and nowhere else.

Every command that measures takes all of them, and the plan of a fleet carries them to its nodes.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from steelyard.errors import UsageError
from steelyard.units import parse_duration


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How long and how carefully to measure, as a person says it. A field is an option of the same name."""

    blocks: int | None = None
    """Number of blocks; every block runs each case once in a fresh process. Default 10; 6 give the first interval. A
    comparison has 20 at most and ends when every verdict is known; it has more where this number decides nothing."""

    budget: str | None = None
    """Take at most this long instead, with the pilot and whatever is repeated: ``3m``, ``90s``, ``1h``. What has no
    room in it is left out and named."""

    quick: bool = False
    """Shorter runs, and 6 blocks unless it is a comparison: a first look, which decides little."""

    seed: int | None = None
    """Seed of the order of runs; drawn and recorded when left out."""

    target: str | None = None
    """Length of one value; the number of operations is found once, in a pilot. Default 10ms, or less where a probe says
    that less will do."""

    values: int | None = None
    """Values a run: more where starting takes long, fewer (5) where one operation does. Default 10."""

    tails: str | None = None
    """Time operations one by one as well, for so long in each run: their median, p99 and p99.9, and a histogram that
    ``export --format hdr`` writes. Probes in C, C++, Go and Rust can; a p99.9 takes 10,000 operations a run."""

    deadline: str = "60s"
    """Longest that one run may take."""

    wait: str | None = None
    """Longest to wait while another session measures on this machine: ``5m``. Default: until it ends."""

    no_wait: bool = False
    """Do not wait while another session measures on this machine, but say who does and end."""

    def check(self) -> None:
        """Raise UsageError for settings that contradict each other or make no sense."""
        if self.blocks is not None and self.budget is not None:
            raise UsageError("--blocks and --budget both say when to end: give one of them")
        if self.wait is not None and self.no_wait:
            raise UsageError("--wait and --no-wait contradict each other: give one of them")
        for name, number in (("--blocks", self.blocks), ("--values", self.values)):
            if number is not None and number < 1:
                raise UsageError(f"{name} must be at least 1")
        for duration in (self.budget, self.target, self.tails, self.deadline, self.wait):
            if duration is not None:
                parse_duration(duration)

    def with_blocks(self, blocks: int) -> Settings:
        """The same with this number of blocks, unless a number or a budget was given."""
        given = self.blocks is not None or self.budget is not None
        return self if given else replace(self, blocks=blocks)

    def with_at_least(self, blocks: int) -> Settings:
        """The same with this number of blocks, or the larger one that was given."""
        return replace(self, blocks=max(blocks, self.blocks or 0))

    def with_budget(self, budget: str) -> Settings:
        """The same with this budget, unless one or a number of blocks was given."""
        given = self.blocks is not None or self.budget is not None
        return self if given else replace(self, budget=budget)

    def with_budget_of(self, seconds: float) -> Settings:
        """The same with a budget of this length where it has one: a part of that which was given."""
        return self if self.budget is None else replace(self, budget=f"{max(seconds, 0.001):.3f}s")

    def with_seed(self) -> Settings:
        """The same with a seed, drawn where none was given."""
        return self if self.seed is not None else replace(self, seed=random.SystemRandom().randrange(2**32))

    def for_resuming(self) -> Settings:
        """What of these settings may be given for a session that was begun with others."""
        return Settings(deadline=self.deadline, wait=self.wait, no_wait=self.no_wait)

    @property
    def planned_blocks(self) -> int | None:
        """Number of blocks; None when a budget decides."""
        if self.blocks is None and self.budget is None:
            return 6 if self.quick else 10
        return self.blocks

    @property
    def planned_values(self) -> int:
        """Values of a run, unless its probe has reason for more."""
        return self.values or (5 if self.quick else 10)

    @property
    def target_s(self) -> float:
        """Length of one value."""
        return parse_duration(self.target or ("4ms" if self.quick else "10ms"))

    @property
    def tails_s(self) -> float:
        """For how long a run times operations one by one; 0 for not at all."""
        return 0.0 if self.tails is None else parse_duration(self.tails)

    @property
    def budget_s(self) -> float | None:
        """Length of the session; None when a number of blocks decides."""
        return None if self.budget is None else parse_duration(self.budget)

    @property
    def deadline_s(self) -> float:
        """Longest that one run may take."""
        return parse_duration(self.deadline)

    @property
    def wait_s(self) -> float | None:
        """Longest to wait for the machine; None for as long as it takes."""
        return 0.0 if self.no_wait else None if self.wait is None else parse_duration(self.wait)


def parse_margin(text: str) -> float:
    """A fraction from ``5%`` or ``0.05``; raises UsageError."""
    try:
        number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        number = -1.0
    if not 0 <= number < 1:
        raise UsageError(f'--margin takes a share such as 2% or 0.02, not "{text}"')
    return number
