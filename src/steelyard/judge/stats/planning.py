# SPDX-License-Identifier: Apache-2.0
"""How much to measure: the fewest blocks that can decide, and blocks until a verdict.

Source of the forecast: the usual sample size for a normal mean (Chow, Shao & Wang 2008, Sample Size Calculations), with
the present interval as the measure of the spread.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

from steelyard.judge.stats.comparison import VERDICT_CONFIDENCE, Comparison, Verdict, margin_edge


@dataclass(frozen=True, slots=True)
class Forecast:
    """What it would take to decide: blocks more, and about how many minutes they last."""

    blocks: int
    minutes: float


def fewest_blocks(comparisons: int = 1, alpha: float = 1 - VERDICT_CONFIDENCE) -> int:
    """The fewest blocks at which any comparison of a family of this size can be decided.

    With fewer, every interval is infinite and every verdict undecided, whatever is measured; with these, all of them
    are decided if every block agrees. Of n blocks that all lie on one side the least p-value of the signed-rank test,
    as of the sign test, is 2 to the power 1 - n, and Holm's method grants the first verdict alpha / comparisons.
    Raises ValueError unless there is a comparison and 0 < alpha < 1.
    """
    if comparisons < 1 or not 0 < alpha < 1:
        raise ValueError(f"no number of blocks decides {comparisons} comparisons at an error rate of {alpha}")
    # The slack is that of signed_rank.critical_rank: for rounding alone.
    return max(1, math.ceil(1 - math.log2(alpha / comparisons * (1 + 1e-9))))


def forecast(
    comparison: Comparison, seconds_per_block: float, power: float = 0.8, most: int = 10_000
) -> Forecast | None:
    """The blocks still needed for a verdict, if the ratio is what it now seems to be; zero when it is decided.

    power: the chance that those blocks do decide, above 0 and below 1. None when more than `most` would be needed,
    which is so whenever the ratio lies on the margin's edge: measuring longer will not help, another margin will.
    With too few blocks for any interval: the blocks until there is one. Raises ValueError on a power or time out of
    range.
    """
    if not 0 < power < 1 or not seconds_per_block >= 0:
        raise ValueError("power must lie between 0 and 1, and a block cannot take less than no time")
    if comparison.verdict is not Verdict.UNDECIDED:
        return Forecast(0, 0.0)
    total = _total_blocks(comparison, power)
    if not total <= most:
        return None
    blocks = max(1, math.ceil(total) - comparison.n)
    return Forecast(blocks, blocks * seconds_per_block / 60)


def _total_blocks(comparison: Comparison, power: float) -> float:
    if comparison.low <= 0 or math.isinf(comparison.high):
        return fewest_blocks(alpha=1 - comparison.confidence) if comparison.confidence < 1 else math.inf
    distance = abs(abs(math.log(comparison.ratio)) - margin_edge(comparison.margin))
    half_width = (math.log(comparison.high) - math.log(comparison.low)) / 2
    if distance == 0:
        return math.inf
    normal = NormalDist()
    reach = normal.inv_cdf((1 + comparison.confidence) / 2)
    return comparison.n * (half_width / distance * (1 + max(0.0, normal.inv_cdf(power)) / reach)) ** 2
