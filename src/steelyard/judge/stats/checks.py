# SPDX-License-Identifier: Apache-2.0
"""What a sample must be before a method may use it: one number a run, finite, and positive where a ratio is taken."""

import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]


def finite(values: npt.ArrayLike) -> FloatArray:
    """The values as a one-dimensional array. Raises ValueError when empty, nested, or not finite throughout."""
    array = _flat(values)
    if array.size == 0:
        raise ValueError("a sample needs at least one value, and this one is empty")
    if not np.isfinite(array).all():
        raise ValueError("a sample must be finite throughout, and this one holds NaN or infinity")
    return array


def known(value: float) -> float | None:
    """A number, or None where it is not finite: an end of an interval that the data cannot give."""
    return value if math.isfinite(value) else None


def costs(values: npt.ArrayLike) -> FloatArray:
    """Like `finite`, for what ratios and logarithms are taken of: raises ValueError at zero and below."""
    array = finite(values)
    if array.min() <= 0:
        raise ValueError(f"a cost must be above zero to take a ratio of, and {array.min()} is not")
    return array


def matched(a: npt.ArrayLike, b: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """The blocks that both samples have, in order; NaN marks a block whose run is missing.

    Raises ValueError when the lengths differ, when no block is left, or when what is left is infinite.
    """
    first, second = _flat(a), _flat(b)
    if first.size != second.size:
        raise ValueError(f"samples matched by block need one length, not {first.size} and {second.size}")
    both = ~(np.isnan(first) | np.isnan(second))
    return finite(first[both]), finite(second[both])


def _flat(values: npt.ArrayLike) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"a sample is one-dimensional, one number a run, not {array.ndim}-dimensional")
    return array
