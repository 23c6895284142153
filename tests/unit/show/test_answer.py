# SPDX-License-Identifier: Apache-2.0
import csv
import datetime
import io
import json

from steelyard.keep.query import VIEWS
from steelyard.show import answer
from steelyard.show.console import Console

COLUMNS = ("name", "figure", "when", "more")
ROWS = [
    ("a,b", 0.1 + 0.2, datetime.datetime(2026, 1, 2), {"n": "1"}),
    ('"quoted"\nline', None, None, None),
]


def printed(draw, *arguments):
    console = Console(file=io.StringIO(), width=120)
    draw(*arguments, console)
    return console.file.getvalue()


def test_csv_keeps_full_precision_and_is_read_back():
    rows = list(csv.reader(io.StringIO(answer.as_csv(COLUMNS, ROWS))))
    assert rows[0] == list(COLUMNS)
    assert float(rows[1][1]) == 0.1 + 0.2
    assert rows[1][0] == "a,b"
    assert rows[2] == ['"quoted"\nline', "", "", ""]


def test_json_is_one_object_a_row():
    first, second = json.loads(answer.as_json(COLUMNS, ROWS))
    assert first == {"name": "a,b", "figure": 0.1 + 0.2, "when": "2026-01-02T00:00:00", "more": {"n": "1"}}
    assert second["figure"] is None


def test_a_table_shows_no_control_character_and_no_markup_of_what_stands_in_files():
    shown = printed(answer.show, ("[bold]x",), [("\x1b[31mred",), ("[red]kept[/]",)])
    assert "\x1b" not in shown
    assert "[red]kept[/]" in shown
    assert "[bold]x" in shown


def test_a_long_answer_says_how_much_it_leaves_out():
    assert "234 more rows" in printed(answer.show, ("n",), [(number,) for number in range(1234)])


def test_an_answer_without_rows_still_names_its_columns():
    assert "nothing" in printed(answer.show, ("nothing",), [])


def test_every_view_is_listed_with_all_its_columns():
    shown = printed(answer.show_views, VIEWS)
    for view in VIEWS:
        assert view.name in shown
        assert all(column.name in shown for column in view.columns)
