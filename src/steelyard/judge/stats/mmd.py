# SPDX-License-Identifier: Apache-2.0
"""Whether one group of observations is distributed as the others are: the maximum mean discrepancy, shuffled.

An observation is a vector, here the costs of many cases in one block, and is turned into features whose mean says all
about a distribution that the kernel can see; the squared distance of two groups' means is their discrepancy. Values are
replaced by their ranks first, so that no unit, spread or wild value of a case decides. On ranks the Gaussian kernel,
mirrored at both ends, is a sum of cosines, which is where the features come from; over the cases the kernels are added.
How much of a discrepancy is chance is found by shuffling: groups of the same size drawn from all observations.
Source: Gretton and others 2012, A Kernel Two-Sample Test, Journal of Machine Learning Research 13; its use to find
servers that are unlike the others: Maricq and others 2018, Taming Performance Variability, OSDI.
"""

import numpy as np
import numpy.typing as npt
from scipy import sparse, stats

from steelyard.judge.stats.checks import FloatArray

#: Width of the kernel on the scale of ranks from 0 to 1, and as many cosines as it leaves of.
_WIDTH = 0.2
_COSINES = 5


def features(observations: npt.ArrayLike) -> FloatArray:
    """Features of shape (n, columns * k) of observations of shape (n, columns); NaN, a missing value, says nothing."""
    values = np.asarray(observations, dtype=np.float64)
    if values.ndim != 2:
        raise ValueError(f"observations have the shape (observations, columns), not {values.shape}")
    n = np.isfinite(values).sum(axis=0)
    ranks = (stats.rankdata(values, axis=0, nan_policy="omit") - 0.5) / np.maximum(n, 1)
    order = np.arange(1, _COSINES + 1)
    weight = np.exp(-((np.pi * order * _WIDTH) ** 2) / 4)
    waves = np.sqrt(2) * np.cos(np.pi * order * ranks[:, :, np.newaxis]) * weight
    found: FloatArray = np.nan_to_num(waves).reshape(len(values), -1)
    return found


def discrepancies(found: FloatArray, owner: npt.ArrayLike, groups: int) -> FloatArray:
    """The discrepancy between each group's observations and all others', a share for each column that they sum over.

    owner: the group of each observation, from 0. The shape is (groups, columns); 0 for an empty group.
    """
    whose = np.asarray(owner)
    chosen = sparse.csr_array((np.ones(len(whose)), (whose, np.arange(len(whose)))), shape=(groups, len(whose)))
    return _distance(np.asarray(chosen @ found), np.bincount(whose, minlength=groups), found.sum(axis=0), len(found))


def shuffled(found: FloatArray, size: int, draws: int, generator: np.random.Generator) -> FloatArray:
    """Discrepancies of groups of this size that are drawn from all observations, shape (draws, columns)."""
    n = len(found)
    members = _subsets(n, size, draws, generator)
    rows = np.repeat(np.arange(draws), size)
    chosen = sparse.csr_array((np.ones(draws * size), (rows, members.ravel())), shape=(draws, n))
    return _distance(np.asarray(chosen @ found), np.full(draws, size), found.sum(axis=0), n)


def _subsets(n: int, size: int, draws: int, generator: np.random.Generator) -> npt.NDArray[np.intp]:
    """Random subsets of n things, shape (draws, size), all equally likely."""
    if size**2 > n:
        return np.argpartition(generator.random((draws, n), dtype=np.float32), size - 1, axis=1)[:, :size]
    # Small ones are drawn with replacement, and again where a thing came twice: most do not have to be.
    found = generator.integers(0, n, (draws, size))
    while (twice := (np.diff(np.sort(found, axis=1), axis=1) == 0).any(axis=1)).any():
        found[twice] = generator.integers(0, n, (int(twice.sum()), size))
    return found


def _distance(sums: FloatArray, counts: npt.NDArray[np.int_], total: FloatArray, n: int) -> FloatArray:
    inside = np.maximum(counts, 1)[:, np.newaxis]
    outside = np.maximum(n - counts, 1)[:, np.newaxis]
    apart = (sums / inside - (total - sums) / outside) * (counts > 0)[:, np.newaxis]
    squares: FloatArray = (apart**2).reshape(len(apart), -1, _COSINES).sum(axis=2)
    return squares
