# SPDX-License-Identifier: Apache-2.0
import math

import pytest

from steelyard.judge.stats.interval import Interval


def test_holds_its_ends_and_what_lies_between():
    interval = Interval(1.0, 2.0, 0.95)
    assert interval.contains(1.0)
    assert interval.contains(2.0)
    assert not interval.contains(2.1)
    assert interval.bounded


def test_is_unbounded_when_an_end_is_infinite():
    assert not Interval(0.0, math.inf, 0.95).bounded


@pytest.mark.parametrize(("low", "high", "confidence"), [(2, 1, 0.95), (1, 2, 0), (1, 2, 1.1), (math.nan, 1, 0.95)])
def test_refuses_what_is_no_interval(low, high, confidence):
    with pytest.raises(ValueError, match=r"confidence|order"):
        Interval(low, high, confidence)
