# SPDX-License-Identifier: Apache-2.0
import pytest

from steelyard.judge.curves import Cell
from steelyard.judge.findings import judge
from steelyard.judge.scalings import Estimated, Scales
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


def estimated(value, low, high):
    return Estimated(value=value, low=low, high=high)


def scales(**more):
    fields = {
        "probe": "parallel/a",
        "title": "tasks",
        "fixed": ("way=x", "@free"),
        "threads": 8,
        "work": estimated(6.5, 6.31, 6.75),
        "answer": "does not",
    }
    return figure_text.scaling(Scales(**{**fields, **more}))


def test_a_scaling_says_the_work_of_all_threads():
    assert scales() == "tasks (way x, unpinned): 8 threads do 6.50 (6.31 to 6.75) times the work of one"
    unknown = scales(work=estimated(6.5, 0.0, None))
    assert unknown.endswith("6.50 (too few blocks for an interval) times the work of one")


def test_a_scaling_says_the_law_where_there_is_one():
    law = {"contention": estimated(0.02, 0.01, 0.03), "coherence": estimated(0.0005, 0.0, 0.001)}
    said = scales(**law, best=estimated(44.0, 31.0, None))
    assert (
        "; contention 0.020 (0.010 to 0.030), coherence 0.0005 (0 to 0.001); most work by 44 (31 or more) threads"
        in said
    )
    assert "most work" not in scales(**law, best=estimated(None, 31.0, None))
