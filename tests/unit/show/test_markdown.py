# SPDX-License-Identifier: Apache-2.0
from steelyard.show import markdown
from tests.reporting import ACTS, acting


def test_words_are_one_line_without_html_links_and_ends_of_cells():
    assert markdown.text("a|b\n# c <img src=x> ![d](http://e)") == "a\\|b␊# c &lt;img src=x> ![d]\\(http://e)"
    assert acting(markdown.text(ACTS)) == ""
    assert markdown.text("1.5 µs [1.4, 1.6] *") == "1.5 µs [1.4, 1.6] *"


def test_code_cannot_be_ended_from_inside():
    assert markdown.code("a`b|c<d>") == "`a'b\\|c<d>`"
    assert acting(markdown.code(ACTS)) == ""


def test_a_table_says_which_columns_are_numbers():
    assert markdown.table(("case", "n"), [("a", "1")], numbers={"n"}) == ["| case | n |", "| --- | ---: |", "| a | 1 |"]
