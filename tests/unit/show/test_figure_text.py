# SPDX-License-Identifier: Apache-2.0
import pytest

from steelyard.judge.curves import Cell
from steelyard.judge.findings import judge
from steelyard.show import figure_text
from tests.unit.judge.sessions import steady, weighed


def test_a_figure_without_an_interval_overhead_or_published_figure_has_no_words_for_them():
    [case] = judge(weighed({"novelty/mine[n=1]@same": steady(1e-6)[:3]})).cases
    assert case.main.n == 3
    assert figure_text.interval(case.main) == ""
    assert figure_text.net(case.main) == ""
    assert figure_text.published(case.main) == ""


@pytest.mark.parametrize(
    ("cell", "said"),
    [(None, ()), (Cell(median=2e-9), ("2.00 ns",)), (Cell(median=2e-9, published=3e-9), ("2.00 ns", "(3.00 ns)"))],
)
def test_a_published_figure_stands_in_brackets_behind_ours(cell, said):
    assert figure_text.cell(cell, "s") == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, ""), (0.0431, "×0.043"), (0.0996, "×0.10"), (0.5, "×0.50"), (0.996, "×1.0"), (3.24, "×3.2"),
        (9.96, "×10"), (1234.5, "×1234"),
    ],
)  # fmt: skip
def test_times_have_two_or_three_digits(value, said):
    assert figure_text.times(value) == said
