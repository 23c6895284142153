# SPDX-License-Identifier: Apache-2.0
"""Which of many machines lies where the others would not: the interval that they predict for one more of their kind.

Each machine is held against all others: had it been drawn from the same normal population as they were, its distance
from their mean, divided by its standard deviation, would follow Student's t with n - 2 degrees of freedom, exactly, for
any n. Several odd machines would hide each other by widening the spread of the rest, so the most distant one is taken
out and the next one is held against what is left, and so on; the last of them that is significant makes all before it
significant as well.
A tail has to be assumed: ranks alone can never say that the last of 200 is too far away, for one of them is always the
last. The normal one is assumed of the levels of machines, each the middle of many runs; what single runs look like does
not matter.
Source: Hahn & Meeker 1991, Statistical Intervals, chapter 4 (prediction intervals); Rosner 1983, Percentage Points for
a Generalized ESD Many-Outlier Procedure, Technometrics 25(2).
"""

import numpy as np
import numpy.typing as npt
from scipy import special

from steelyard.judge.stats.checks import FloatArray

#: Fewest machines of which one can be called unlike the others: with fewer the t distribution is so wide that a machine
#: would have to be out of all proportion.
FEWEST = 6
#: Most machines that are taken out of a column, as a share of all: where more are odd, which are the others?
_MOST_SHARE = 0.1
_MOST = 20


def p_values(levels: npt.ArrayLike) -> FloatArray:
    """Two-sided p-values of shape (machines, columns) for levels of that shape; NaN marks a missing level.

    1 where a machine is not among the most distant ones of its column, where a column has fewer than FEWEST levels, and
    where there is no level. Columns are tested one by one: hold the family outside.
    """
    left = np.array(levels, dtype=np.float64)
    if left.ndim != 2:
        raise ValueError(f"levels have the shape (machines, columns), not {left.shape}")
    found = np.ones(left.shape)
    steps = min(_MOST, max(1, int(_MOST_SHARE * len(left))))
    taken: list[npt.NDArray[np.intp]] = []
    tails: list[FloatArray] = []
    columns = np.arange(left.shape[1])
    for _ in range(steps):
        row, tail = _most_distant(left)
        taken.append(row)
        tails.append(tail)
        left[row, columns] = np.nan
    # From the last to the first: whoever is further out than a significant one is significant as well.
    least = np.minimum.accumulate(np.array(tails)[::-1], axis=0)[::-1]
    for row, tail in zip(taken, least, strict=True):
        found[row, columns] = np.minimum(found[row, columns], tail)
    return found


def reach(n: int, level: float, power: float) -> float:
    """How many standard deviations off one of n machines is that is found at this level with this power."""
    t = float(special.stdtrit(n - 2, 1 - level / 2))
    return (t + float(special.ndtri(power))) * float(np.sqrt(1 + 1 / (n - 1)))


def _most_distant(levels: FloatArray) -> tuple[npt.NDArray[np.intp], FloatArray]:
    """The row of each column that the others predict least, and how likely one so far out is."""
    there = np.isfinite(levels)
    n = there.sum(axis=0)
    enough = n >= FEWEST
    values = np.where(there, levels, 0.0)
    # All distances at once, from the sums without one row; sums of squares about the middle keep their digits.
    centre = values.sum(axis=0) / np.maximum(n, 1)
    off = np.where(there, levels - centre, 0.0)
    squares = (off**2).sum(axis=0)
    others = np.maximum(n - 1, 1)
    mean_of_others = -off / others
    squares_of_others = np.maximum(squares - off**2 - off**2 / others, 0.0)
    deviation = np.sqrt(squares_of_others / np.maximum(others - 1, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(off - mean_of_others) / (deviation * np.sqrt(1 + 1 / others))
    t = np.where(there, np.nan_to_num(t, nan=0.0, posinf=np.inf), -1.0)
    row = np.argmax(t, axis=0)
    furthest = np.take_along_axis(t, row[np.newaxis], axis=0)[0]
    tail = 2 * special.stdtr(np.maximum(n - 2, 1), -furthest)
    return row, np.where(enough & (furthest > 0), tail, 1.0)
