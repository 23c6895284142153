# SPDX-License-Identifier: Apache-2.0
"""An interval and the confidence with which it was computed, shared by every method of this folder."""

import math
from dataclasses import dataclass

#: Of an interval that is shown. Nothing is decided by it, so no proof is needed that its rate is kept, as of verdicts.
INTERVAL_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed interval that covers the quantity it is about with at least `confidence`.

    Both ends are in the unit of the quantity. An end that the data cannot give is infinite (zero as the lower end of a
    ratio), so an interval always exists and arithmetic with it stays right.
    """

    low: float
    high: float
    confidence: float

    def __post_init__(self) -> None:
        """Raise ValueError on ends out of order or a confidence that is none."""
        if not 0 < self.confidence <= 1:
            raise ValueError(f"confidence must be above 0 and at most 1, not {self.confidence}")
        if not self.low <= self.high:
            raise ValueError(f"interval from {self.low} to {self.high} is not in order")

    @property
    def bounded(self) -> bool:
        """Whether the data gave both ends."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    def contains(self, value: float) -> bool:
        """Whether the value lies inside or on an end."""
        return self.low <= value <= self.high
