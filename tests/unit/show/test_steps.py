# SPDX-License-Identifier: Apache-2.0
"""A curve in a line: steps on a log scale."""

from steelyard.show import steps


def test_equal_ratios_are_equal_steps_from_the_least_to_the_largest():
    assert steps.of([1, 2, 4, 8, 16, 32, 64, 128], [1, 128]) == "▁▂▃▄▅▆▇█"


def test_curves_on_one_scale_can_be_told_apart():
    assert steps.of([1, 1], [1, 100]) == "▁▁"
    assert steps.of([100, 100], [1, 100]) == "██"


def test_noise_is_not_drawn_as_growth():
    assert steps.of([1.00, 1.02, 1.01], [1.00, 1.02, 1.01]) == "▁▁▁"


def test_what_is_not_there_is_a_gap():
    assert steps.of([1, None, 4], [1, 4]) == "▁ █"


def test_zero_has_no_place_on_a_log_scale():
    assert steps.of([0, 1], [0, 1]) == ""
