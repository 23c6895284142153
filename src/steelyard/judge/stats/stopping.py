# SPDX-License-Identifier: Apache-2.0
"""When to look during a session without raising the error rate: each look spends a part of alpha.

The part allowed follows O'Brien and Fleming's shape: next to nothing at first, nearly all of it at the end. What a look
may spend is what the function allows so far less what earlier looks really spent; by the union bound the whole never
errs more often than alpha, however the looks depend on each other and whatever the noise.
Source: Lan & DeMets 1983, Biometrika 70(3), spending function alpha_1*.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt
from statistics import NormalDist

from steelyard.judge.stats.signed_rank import exact_level


def spent(fraction: float, alpha: float) -> float:
    """The error rate that may have been spent when this fraction of the planned blocks is done.

    Raises ValueError unless 0 < alpha < 1 and the fraction is above 0; beyond 1 it counts as 1.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, not {alpha}")
    if not fraction > 0:
        raise ValueError(f"a look needs some blocks to look at, not the fraction {fraction}")
    normal = NormalDist()
    return 2 - 2 * normal.cdf(normal.inv_cdf(1 - alpha / 2) / sqrt(min(fraction, 1.0)))


def look_confidence(looks: Sequence[int], planned: int, alpha: float = 0.05) -> float:
    """The confidence at which to compare at the last of these looks, so that all looks together err at most alpha.

    looks: the number of blocks at every look done so far and at this one, rising.
    planned: the most blocks that the session will have, fixed before the first look. Looking again beyond it finds
    nothing left to spend: confidence 1, an infinite interval, undecided.
    Raises ValueError when there is no look, the looks do not rise, or planned is below 1.
    """
    if not looks or planned < 1 or looks[0] < 1:
        raise ValueError("a look needs at least one block done and one planned")
    if any(later <= earlier for earlier, later in pairwise(looks)):
        raise ValueError(f"looks must come after rising numbers of blocks, not {list(looks)}")
    used, confidence = 0.0, 1.0
    for blocks in looks:
        confidence = 1 - max(0.0, spent(blocks / planned, alpha) - used)
        # The signed-rank interval is discrete: what it could not use of its share is not lost to later looks.
        used += exact_level(blocks, confidence)
    return confidence
