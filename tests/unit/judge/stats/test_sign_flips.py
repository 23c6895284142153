# SPDX-License-Identifier: Apache-2.0
"""Joint sign flips: exact where they can be reckoned, and right as often as they say."""

import numpy as np
import pytest

from steelyard.judge.stats import sign_flips

CLEAR = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0]


def test_six_blocks_on_one_side_give_one_in_thirty_two():
    assert sign_flips.adjusted([CLEAR]) == pytest.approx([1 / 32])


def test_many_clear_rows_cost_no_more_than_one():
    assert sign_flips.adjusted([CLEAR] * 20) == pytest.approx([1 / 32] * 20)


def test_direction_and_scale_do_not_matter():
    row = np.array([0.3, 1.0, 0.7, -0.1, 0.9, 1.2, 0.4])
    assert sign_flips.adjusted([row]) == pytest.approx(sign_flips.adjusted([-1e-9 * row]))


def test_a_row_without_direction_is_not_told():
    assert sign_flips.adjusted([[1.0, -1.0, 1.0, -1.0, 1.0, -1.0]])[0] == 1.0


def test_an_unclear_row_beside_a_clear_one_stays_unclear():
    clear, unclear = sign_flips.adjusted([CLEAR, [0.5, -0.4, 0.3, 0.1, -0.2, 0.4]])
    assert clear == pytest.approx(1 / 32)
    assert unclear > 0.1


def test_one_block_with_a_busy_neighbour_does_not_outweigh_nineteen_that_agree():
    """Of the share of yields that switch, 0.95 is doubted: all did, but for one block in which hardly any did."""
    row = np.array([0.05] * 19 + [-0.4])
    others = np.random.default_rng(5).normal(size=(100, 20))
    assert sign_flips.adjusted([row, *others])[0] <= 0.04


def test_what_is_clear_leaves_the_family_of_what_is_less_clear():
    generator = np.random.default_rng(8)
    unclear = [0.4 * generator.normal(size=14) + 0.4 for _ in range(10)]
    clear = [1.0 + 0.4 * generator.normal(size=14) for _ in range(150)]
    alone, together = sign_flips.adjusted(unclear), sign_flips.adjusted([*clear, *unclear])[150:]
    assert (together >= alone).all()
    single_step = sign_flips.adjusted([*unclear, *(0.4 * generator.normal(size=14) for _ in range(150))])[:10]
    assert together.mean() < single_step.mean()


def test_short_rows_do_not_hide_what_twenty_blocks_show_nor_the_other_way_round():
    """Six blocks on one side are as clear as six can be, and one flip in 32: eighteen of twenty are clearer."""
    long = np.array([1.0] * 18 + [-0.5, -1.0])
    unclear = np.array([0.5, -0.4, 0.3, 0.1, -0.2, 0.4])
    generator = np.random.default_rng(3)
    short = [np.concatenate([row, np.full(14, np.nan)]) for row in (CLEAR, unclear)]
    p = sign_flips.adjusted([long, *short, *generator.normal(size=(10, 20))])
    assert (p[:2] <= 0.04).all()
    assert (p[2:] > 0.04).all()


def test_missing_blocks_are_left_out():
    missing = [1.0, np.nan, 1.01, 0.99, 1.02, 0.98, 1.0, np.nan]
    assert sign_flips.adjusted([missing]) == pytest.approx([1 / 32])


def test_nothing_to_go_by_is_no_evidence():
    assert list(sign_flips.adjusted([[0.0] * 6, [np.nan] * 6])) == [1.0, 1.0]
    assert sign_flips.adjusted([]).size == 0


def test_rows_must_share_their_blocks():
    with pytest.raises(ValueError, match=r"\w"):
        sign_flips.adjusted([[1.0, 2.0], [1.0]])


def test_more_blocks_than_can_be_enumerated_are_drawn_the_same_each_time():
    row = np.linspace(0.5, 1.5, 20)
    first, second = sign_flips.adjusted([row]), sign_flips.adjusted([row])
    assert first == pytest.approx(second)
    assert 0 < first[0] <= 1 / 1000


@pytest.mark.parametrize("blocks", [6, 9])
@pytest.mark.parametrize("noise", ["normal", "heavy", "two-valued"])
def test_families_without_any_difference_err_at_most_as_often_as_granted(blocks, noise):
    """400 families of 15; 4 % granted, and 7.5 % would be three standard deviations above it."""
    generator = np.random.default_rng(11)
    draw = {
        "normal": lambda: generator.normal(size=(15, blocks)),
        "heavy": lambda: generator.standard_t(2, size=(15, blocks)),
        "two-valued": lambda: (
            0.4 * (generator.random((15, blocks)) < 0.3)
            - 0.4 * (generator.random((15, blocks)) < 0.3)
            + 0.02 * generator.normal(size=(15, blocks))
        ),
    }[noise]
    wrong = sum(bool((sign_flips.adjusted(list(draw())) <= 0.04).any()) for _ in range(400))
    assert wrong / 400 <= 0.075


def test_families_of_short_and_long_rows_err_at_most_as_often_as_granted():
    generator = np.random.default_rng(12)

    def family():
        rows = generator.standard_t(3, size=(16, 14))
        rows[:8, 6:] = np.nan
        return list(rows)

    wrong = sum(bool((sign_flips.adjusted(family()) <= 0.04).any()) for _ in range(400))
    assert wrong / 400 <= 0.075
