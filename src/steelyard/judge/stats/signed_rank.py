# SPDX-License-Identifier: Apache-2.0
"""The exact null distribution of Wilcoxon's signed-rank statistic, and tests by counting Walsh averages.

The statistic for a centre c equals the number of Walsh averages (d_i + d_j)/2, i <= j, on one side of c, so the test
and the Hodges-Lehmann interval are two views of one count. Under symmetry about c each rank carries a fair coin,
which holds for matched blocks in random order whatever the noise between blocks: the level is exact, not asymptotic.
Source: Wilcoxon 1945, Biometrics Bulletin 1(6); Tukey's Walsh averages in Hollander, Wolfe & Chicken 2014,
Nonparametric Statistical Methods, sections 3.1-3.3.
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from steelyard.judge.stats.checks import FloatArray

IntArray = npt.NDArray[np.int64]


@lru_cache(maxsize=512)
def cumulative(n: int) -> FloatArray:
    """P(W <= w) for w = 0 ... n(n+1)/2 under the null hypothesis, for n differences without ties."""
    probability = np.zeros(n * (n + 1) // 2 + 1)
    probability[0] = 1.0
    for rank in range(1, n + 1):
        top = rank * (rank + 1) // 2
        absent = probability[: top - rank + 1].copy()
        probability[: top + 1] *= 0.5
        probability[rank : top + 1] += 0.5 * absent
    total = np.minimum(np.cumsum(probability), 1.0)
    total.setflags(write=False)
    return total


@lru_cache(maxsize=4096)
def critical_rank(n: int, confidence: float) -> int:
    """The rank, from 1, of the Walsh average that ends the interval below; 0 when n is too small for the confidence.

    Raises ValueError unless 0 < confidence <= 1.
    """
    if not 0 < confidence <= 1:
        raise ValueError(f"confidence must be above 0 and at most 1, not {confidence}")
    allowed = (1 - confidence) / 2
    # The slack is for rounding alone: 1 - 0.96875 is exact in theory for n = 6, and must be reached there.
    return int(np.searchsorted(cumulative(n), allowed * (1 + 1e-9), side="right"))


def exact_level(n: int, confidence: float) -> float:
    """The error rate that the discrete interval really has: at most 1 - confidence, and 0 when it is infinite."""
    rank = critical_rank(n, confidence)
    return 0.0 if rank == 0 else float(2 * cumulative(n)[rank - 1])


def walsh_averages(differences: FloatArray) -> FloatArray:
    """All (d_i + d_j)/2 with i <= j of a one-dimensional array, in order: n(n+1)/2 of them."""
    first, second = np.triu_indices(differences.size)
    return np.sort(differences[first] / 2 + differences[second] / 2)


def counts(differences: FloatArray, centre: float) -> tuple[IntArray, IntArray]:
    """How many Walsh averages are at most the centre, and how many at least; one pair a row of shape (..., n).

    Those equal to the centre count on both sides, which makes every test with ties conservative.
    """
    # Blocks first: sums over the outer axis run along the trials, which is several times faster for short rows.
    shifted = np.ascontiguousarray(np.moveaxis(differences, -1, 0)) - centre
    at_most = np.zeros(shifted.shape[1:], dtype=np.int64)
    at_least = np.zeros(shifted.shape[1:], dtype=np.int64)
    for first in range(len(shifted)):
        total = shifted[first:] + shifted[first]
        at_most += np.sum(total <= 0, axis=0, dtype=np.int32)
        at_least += np.sum(total >= 0, axis=0, dtype=np.int32)
    return at_most, at_least


def tail(n: int, count: IntArray) -> FloatArray:
    """The two-sided p-value of a count of Walsh averages on the unlikely side."""
    return np.minimum(2 * cumulative(n)[count], 1.0)
