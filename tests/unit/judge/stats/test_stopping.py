# SPDX-License-Identifier: Apache-2.0
import pytest

from steelyard.judge.stats.signed_rank import exact_level
from steelyard.judge.stats.stopping import look_confidence, spent


def test_spending_ends_at_alpha_and_begins_at_next_to_nothing():
    assert spent(1, 0.05) == pytest.approx(0.05)
    assert spent(3, 0.05) == pytest.approx(0.05)
    assert spent(0.25, 0.05) < 0.0001
    # Lan & DeMets' function at half the information for alpha 0.05.
    assert spent(0.5, 0.05) == pytest.approx(0.00557, abs=1e-5)


@pytest.mark.parametrize("looks", [(8, 12, 16, 20), tuple(range(1, 21)), (20,), (3, 19, 20), (6, 7, 30)])
def test_what_all_looks_spend_stays_within_alpha(looks):
    levels = [exact_level(blocks, look_confidence(looks[: i + 1], 20)) for i, blocks in enumerate(looks)]
    assert sum(levels) <= 0.05 + 1e-12


def test_the_one_look_at_the_end_has_all_of_alpha():
    assert look_confidence([20], 20, 0.05) == pytest.approx(0.95)


def test_each_look_is_stricter_than_a_single_one():
    assert look_confidence([8, 12], 20) > look_confidence([8, 12, 16, 20], 20) > 0.95


def test_looking_beyond_the_plan_leaves_next_to_nothing():
    assert look_confidence([8, 20, 24], 20) > 0.99


@pytest.mark.parametrize(("looks", "planned"), [([], 20), ([0], 20), ([8, 8], 20), ([9, 8], 20), ([1], 0)])
def test_looks_are_checked(looks, planned):
    with pytest.raises(ValueError, match="look"):
        look_confidence(looks, planned)


@pytest.mark.parametrize(("fraction", "alpha"), [(0, 0.05), (-1, 0.05), (0.5, 0), (0.5, 1)])
def test_spending_is_checked(fraction, alpha):
    with pytest.raises(ValueError, match=r"alpha|look"):
        spent(fraction, alpha)
