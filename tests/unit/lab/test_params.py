# SPDX-License-Identifier: Apache-2.0
"""Sweeps that a command line overrides, and those whose end comes from the machine."""

import pytest

from steelyard.errors import UsageError
from steelyard.lab.session import parse_params


def test_values_are_taken_as_they_are_typed():
    assert parse_params(["contexts=1,2,64", "kind=thread", "contexts=3"], 8) == {
        "contexts": ["1", "2", "64", "3"],
        "kind": ["thread"],
    }


@pytest.mark.parametrize(
    ("cpus", "values"),
    [
        (1, [1]),
        (2, [1, 2]),
        (6, [1, 2, 3, 4, 6]),
        (20, [1, 2, 3, 4, 6, 8, 12, 16, 20]),
        (512, [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512]),
    ],
)
def test_a_range_up_to_n_ends_at_the_number_of_cpus(cpus, values):
    assert parse_params(["threads=1..N"], cpus) == {"threads": [str(value) for value in values]}


def test_a_range_has_both_its_ends_and_may_stand_among_others():
    assert parse_params(["threads=1,5..9,100"], 2) == {"threads": ["1", "5", "6", "8", "9", "100"]}


def test_an_empty_range_is_refused_with_its_end():
    with pytest.raises(UsageError, match=r"the range 4\.\.N is empty, because it ends at 2"):
        parse_params(["threads=4..N"], 2)


def test_a_path_is_no_range():
    assert parse_params(["python=../venv/bin/python"], 2) == {"python": ["../venv/bin/python"]}


@pytest.mark.parametrize("text", ["contexts", "=1", "contexts="])
def test_what_is_no_sweep_is_refused(text):
    with pytest.raises(UsageError, match="name=value"):
        parse_params([text], 2)
