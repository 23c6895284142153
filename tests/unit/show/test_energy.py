# SPDX-License-Identifier: Apache-2.0
"""Joules an operation, in words."""

import pytest

from steelyard.judge.findings import judge
from steelyard.show import energy
from steelyard.show import session as shown
from tests.unit.judge.test_energy import DONE, session


def said(*arguments, **more):
    return energy.sentences(judge(session(*arguments, **more)).cases)


def test_a_case_with_an_energy_says_it_with_what_was_subtracted():
    [line] = said([1.0 + 2e-3 * DONE] * 8)
    assert (
        line
        == "example/steady, one CPU: 2.00 mJ [2.00, 2.00] in the packages (idle 10.0 W); 50% of its time in batches"
    )


@pytest.mark.parametrize(
    ("joules", "words"),
    [
        ([1.0 + 0.01 * sign for sign in (1, -1) * 4], "at most 8.88 µJ in the packages"),
        ([0.5] * 8, "less than idle takes in the packages"),
        ([2.0] * 3, "~888 µJ in the packages"),
    ],
)
def test_what_cannot_be_said_for_sure_is_not(joules, words):
    [line] = said(joules)
    assert f": {words} (idle 10.0 W);" in line


def test_a_session_shows_it_and_programs_get_it():
    findings = judge(session([2.0] * 8))
    [case] = shown.as_json(findings)
    assert case["energy"][0]["idle_w"] == 10.0


def test_nothing_is_said_where_nothing_was_counted():
    assert energy.sentences([]) == []
