# SPDX-License-Identifier: Apache-2.0
"""Many comparisons judged together, so that the chance of even one wrong verdict stays at most alpha.

Holm's step-down method gives each comparison an error rate of its own; the interval reported is the one at that rate,
so that it can never contradict the verdict beside it. "Different" and "equivalent" are two kinds of claim and each
keeps the promise by itself. The intervals agree with the verdicts one by one; that all of them hold at once is not
promised.
Source: Holm 1979, Scandinavian Journal of Statistics 6(2).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard.judge.stats.checks import FloatArray
from steelyard.judge.stats.comparison import VERDICT_CONFIDENCE, Comparison, Verdict


@dataclass(frozen=True, slots=True)
class FamilyMember:
    """One comparison as its family leaves it.

    alone: the comparison at its own confidence; held: the same at the confidence that the family grants, whose
    verdict counts.
    adjusted_p: Holm's p-value of "different"; adjusted_p_equivalent: that of "equivalent".
    """

    alone: Comparison
    held: Comparison
    adjusted_p: float
    adjusted_p_equivalent: float

    @property
    def survives(self) -> bool:
        """Whether the verdict that the comparison gives alone still stands in the family."""
        return self.alone.verdict is self.held.verdict


def hold(
    compare_at: Sequence[Callable[[float], Comparison]], alpha: float = 1 - VERDICT_CONFIDENCE
) -> tuple[FamilyMember, ...]:
    """The family's verdicts, in the order given.

    compare_at: for each member, its comparison as a function of the confidence, such as
    `partial(compare_paired, a, b, margin)`; it is called twice.
    Raises ValueError unless 0 < alpha < 1.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, not {alpha}")
    alone = [at(1 - alpha) for at in compare_at]
    different = np.array([one.p_value for one in alone])
    equivalent = np.array([one.p_equivalent for one in alone])
    adjusted, adjusted_equivalent = holm(different), holm(equivalent)
    levels = _granted(alone, holm_levels(different, alpha), holm_levels(equivalent, alpha), adjusted, alpha)
    return tuple(
        FamilyMember(one, at(1 - level), float(p), float(q))
        for one, at, level, p, q in zip(alone, compare_at, levels, adjusted, adjusted_equivalent, strict=True)
    )


def holm(p_values: npt.ArrayLike) -> FloatArray:
    """Holm's adjusted p-values along the last axis, in the order given: reject where they are at most alpha."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, axis=-1, kind="stable")
    steps = p.shape[-1] - np.arange(p.shape[-1])
    raised = np.maximum.accumulate(np.take_along_axis(p, order, axis=-1) * steps, axis=-1)
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, np.minimum(raised, 1.0), axis=-1)
    return adjusted


def holm_levels(p_values: FloatArray, alpha: float) -> FloatArray:
    """The error rate granted to each: alpha over its step when rejected, over the step that stopped when not."""
    rejected = holm(p_values) <= alpha
    order = np.argsort(p_values, kind="stable")
    levels = np.full(p_values.size, alpha / max(1, p_values.size - int(rejected.sum())))
    taken = order[: int(rejected.sum())]
    levels[taken] = alpha / (p_values.size - np.arange(taken.size))
    return levels


def _granted(
    alone: Sequence[Comparison], different: FloatArray, equivalent: FloatArray, adjusted: FloatArray, alpha: float
) -> list[float]:
    """The level of the kind of claim that the comparison leans to; of two that both fail, the stricter is honest."""
    leaning = zip(alone, different, equivalent, adjusted, strict=True)
    return [_level(one, float(d), float(e), bool(p <= alpha)) for one, d, e, p in leaning]


def _level(alone: Comparison, different: float, equivalent: float, rejected: bool) -> float:
    if rejected or alone.verdict is Verdict.DIFFERENT:
        return different
    return equivalent if alone.verdict is Verdict.EQUIVALENT else min(different, equivalent)
