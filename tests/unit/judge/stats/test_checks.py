# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest

from steelyard.judge.stats.checks import costs, finite, matched


@pytest.mark.parametrize("values", [[], [1.0, math.nan], [math.inf], [[1.0, 2.0]], 3.0])
def test_finite_refuses(values):
    with pytest.raises(ValueError, match="sample"):
        finite(values)


@pytest.mark.parametrize("values", [[0.0, 1.0], [-1.0]])
def test_costs_refuse_zero_and_below(values):
    with pytest.raises(ValueError, match="above zero"):
        costs(values)


def test_matched_leaves_out_the_blocks_that_miss_a_run():
    a, b = matched([1, math.nan, 3, 4], [5, 6, math.nan, 8])
    assert np.array_equal(a, [1, 4])
    assert np.array_equal(b, [5, 8])


@pytest.mark.parametrize(("a", "b"), [([1, 2], [1]), ([math.nan], [1]), ([1, math.inf], [1, 2])])
def test_matched_refuses(a, b):
    with pytest.raises(ValueError, match="sample"):
        matched(a, b)
