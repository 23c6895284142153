# SPDX-License-Identifier: Apache-2.0
"""The error rates of choices as a table and as a page."""

import io

from steelyard.judge.proving_choices import rates
from steelyard.show import proving_choices as shown
from steelyard.show.console import Console
from tests.unit.judge.test_choose import TWO_SIZES
from tests.unit.judge.test_proving_choices import made

PROVED = rates(7, [made(TWO_SIZES, TWO_SIZES)] * 3 + [made(TWO_SIZES, {**TWO_SIZES, "ring": {200: 5e-6}})])


def test_a_row_says_how_many_were_wrong_and_at_most_how_often():
    text = io.StringIO()
    shown.show(PROVED, Console(file=text, width=140))
    assert "1 (25.0 %)" in text.getvalue()
    assert "Seed 7." in text.getvalue()


def test_the_page_has_the_command_the_rates_and_each_load():
    page = shown.markdown(PROVED, 4)
    assert "`steelyard prove --choose --loads 4 --seed 7 --markdown" in page
    assert "| message | 4 | 1 (25.0 %) |" in page
    assert page.count("messages of 200 B between two processes on two CPUs | one") == 4
    assert page.count("one, wrong") == 1


def test_objects_say_which_were_wrong():
    assert [one["wrong"] for one in shown.as_json(PROVED)["choices"]] == [False, False, False, True]
