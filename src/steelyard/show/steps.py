# SPDX-License-Identifier: Apache-2.0
"""A curve in a line of text."""

from __future__ import annotations

import math
from collections.abc import Sequence

_STEPS = "▁▂▃▄▅▆▇█"


def of(values: Sequence[float | None], scale: Sequence[float]) -> str:
    """Each value as a step on a log scale from the least to the largest of ``scale``, a factor of two at least.

    A value that is not there is a gap; empty where the scale reaches zero, which has no logarithm.
    """
    if min(scale) <= 0:
        return ""
    least = min(scale)
    span = max(math.log(max(scale) / least), math.log(2))
    return "".join(
        " " if value is None else _STEPS[round(math.log(value / least) / span * (len(_STEPS) - 1))] for value in values
    )
