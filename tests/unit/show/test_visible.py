# SPDX-License-Identifier: Apache-2.0
import json
import sys

import pytest

from steelyard.show.visible import json_text, visible, visible_data, visible_lines
from tests.reporting import ACTS, acting


def test_ordinary_text_stays_as_it_is():
    for text in ("kernel 6.1", "µ → ✓ [1, 2] %", "naïve 北京 السلام", "100\u00a0%", "a\u0301", "<b>&amp;</b>"):
        assert visible(text) == visible_lines(text) == text


def test_what_acts_on_a_terminal_becomes_a_sign():
    assert visible("\x1b[2J\x1b]0;title\x07a\nb\tc\u202ed") == "␛[2J␛]0;title␇a␊b␉c<U+202E>d"
    assert visible("\x7f\x9b31m\u2028\ud800\u200b\ufeff\u3164\U000e0041") == (
        "␡<U+009B>31m<U+2028><U+D800><U+200B><U+FEFF><U+3164><U+E0041>"
    )


def test_lines_and_tabs_stay_where_they_are_meant():
    assert visible_lines("a\n\tb\rc\x1b") == "a\n\tb␍c␛"


@pytest.mark.parametrize("change", [visible, visible_lines])
def test_no_control_no_format_mark_and_no_half_character_passes(change):
    assert acting(change("".join(map(chr, range(sys.maxunicode + 1))))).strip("\t") == ""


def test_data_is_changed_at_every_depth_and_numbers_stay():
    assert visible_data({"a\x1b": ["b\x07", ("c\u202e", 1.5, None, True)]}) == {
        "a␛": ["b␇", ["c<U+202E>", 1.5, None, True]]
    }


def test_json_says_exactly_the_same_and_holds_nothing_that_acts():
    data = {"name\x1b\x9b": [f"µ ✓ {ACTS}", "\U000e0041", 1.5, None]}
    text = json_text(data)
    assert json.loads(text) == data
    assert "µ ✓" in text
    assert visible_lines(text) == text
