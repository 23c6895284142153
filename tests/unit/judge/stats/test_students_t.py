# SPDX-License-Identifier: Apache-2.0
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from steelyard.judge.stats.students_t import quantile, tail

FREEDOM = st.integers(1, 3000)


@given(t=st.floats(-1e6, 1e6), freedom=FREEDOM)
def test_the_tail_is_that_of_scipy(t, freedom):
    assert tail(t, freedom) == pytest.approx(float(special.stdtr(freedom, -t)), rel=1e-9, abs=1e-290)


@given(probability=st.floats(1e-9, 1 - 1e-9), freedom=FREEDOM)
def test_the_quantile_is_that_of_scipy(probability, freedom):
    assert quantile(probability, freedom) == pytest.approx(
        float(special.stdtrit(freedom, probability)), rel=1e-7, abs=1e-7
    )


@pytest.mark.parametrize(("freedom", "t"), [(1, 12.706), (4, 2.776), (9, 2.262), (30, 2.042)])
def test_the_quantiles_are_those_of_the_printed_table(freedom, t):
    assert quantile(0.975, freedom) == pytest.approx(t, abs=5e-4)


@pytest.mark.parametrize("freedom", [1, 8])
def test_the_ends_are_certain(freedom):
    assert (tail(math.inf, freedom), tail(-math.inf, freedom), tail(0, freedom)) == (0, 1, 0.5)


def test_what_has_no_answer_is_refused():
    with pytest.raises(ValueError, match="above zero"):
        tail(1, 0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        quantile(1, 5)
