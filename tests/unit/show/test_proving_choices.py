# SPDX-License-Identifier: Apache-2.0
"""The error rates of choices as a table and as a page."""

import io
import re
from pathlib import Path

from steelyard.judge.proving_choices import draw, rates
from steelyard.show import proving_choices as shown
from steelyard.show.choose import described
from steelyard.show.console import Console
from tests.unit.judge.test_choose import TWO_SIZES
from tests.unit.judge.test_proving_choices import made

DOCUMENTED = Path(__file__).parents[3] / "docs" / "reference" / "choice-error-rates.md"
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


def test_the_page_that_is_documented_has_the_loads_of_its_seed_and_keeps_the_goals():
    page = DOCUMENTED.read_text()
    assert f"\n{shown._RULE}\n" in page
    assert f"\n{shown._PLANTED}\n" in page
    loads, seed = map(int, re.search(r"--loads (\d+) --seed (\d+)", page).groups())
    drawn = [described(load) for _, load in draw(seed, loads)]
    listed = [line.split(" | ")[0].removeprefix("| ") for line in page.split("| ---: |\n")[-1].splitlines()]
    assert [load for load in drawn if load in listed] == listed
    assert len(listed) >= 0.9 * loads
    [wrong] = re.findall(r"^\| all \| \d+ \| \d+ \(([\d.]+) %\)", page, re.MULTILINE)
    assert float(wrong) <= 5
    off, held = re.search(r"off by ([\d.]+) % \(median\).* held (\d+) %", page).groups()
    assert (float(off) <= 20, int(held) >= 90) == (True, True)


def test_objects_say_which_were_wrong():
    assert [one["wrong"] for one in shown.as_json(PROVED)["choices"]] == [False, False, False, True]
