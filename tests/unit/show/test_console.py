# SPDX-License-Identifier: Apache-2.0
import io

from rich.control import Control
from rich.progress import Progress, TextColumn
from rich.table import Table
from rich.text import Text

from steelyard.show.console import Console, words
from tests.reporting import ACTS, acting


def written(do, **options) -> str:
    out = io.StringIO()
    do(Console(file=out, width=200, **options))
    return out.getvalue()


def table(*cells) -> Table:
    made = Table(title=f"title {ACTS}")
    made.add_column(f"head {ACTS}")
    for cell in cells:
        made.add_row(cell)
    return made


def test_no_way_of_printing_lets_anything_through_that_acts():
    for do in (
        lambda console: console.print(ACTS),
        lambda console: console.print(Text(ACTS)),
        lambda console: console.print(words(ACTS, (ACTS, "bold"))),
        lambda console: console.print(table(ACTS, Text(ACTS))),
        lambda console: console.print(ACTS, soft_wrap=True),
        lambda console: console.out(ACTS),
        lambda console: console.print({"key": ACTS}),
    ):
        text = written(do)
        assert acting(text) == "", ascii(text)
        assert "pwn" in text


def test_what_a_live_display_shows_is_visible_too():
    def show(console):
        with Progress(TextColumn("{task.description}", markup=False), console=console) as bars:
            bars.add_task(ACTS)

    text = written(show, force_terminal=True, color_system=None)
    assert "␛]0;pwn" in text
    assert "\x1b]" not in text
    assert "\u202e" not in text


def test_rich_itself_may_write_colours_and_move_the_cursor():
    def show(console):
        console.print(words(("red", "red"), "\x1b"))
        console.control(Control.home())

    text = written(show, force_terminal=True, color_system="standard")
    assert "\x1b[31mred\x1b[0m␛" in text
    assert "\x1b[H" in text


def test_a_text_is_no_markup_wherever_it_stands():
    hostile = "[/] [bold]x[/bold] :smile: [link=http://evil.example]y"
    assert written(lambda console: console.print(hostile)) == f"{hostile}\n"
    assert hostile in written(lambda console: console.print(table(hostile)))


def test_words_are_one_line():
    assert words("a\nb", ("\tc", "bold")).plain == "a␊b␉c"
