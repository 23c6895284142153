# SPDX-License-Identifier: Apache-2.0
"""The terminal: the only `Console` that this program makes, and the only way to give words a style.

A `str` is one line and is never read as markup, and nothing reaches the terminal that could act on it (see `visible`).
Rich writes its own escape sequences around the text, after it has passed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import rich.console
from rich.console import JustifyMethod
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from steelyard.show.visible import visible, visible_lines

#: What a table has in a cell.
Cell = str | Text
#: Longer lines of text are wrapped, however wide the terminal is.
_WIDEST = 120


class Console(rich.console.Console):
    """Rich's console without markup, emoji names and highlighting, whose every word is visible."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"markup": False, "highlight": False, "emoji": False, **options})

    def render_str(self, text: str, **options: Any) -> Text:
        """What is printed or stands in a cell, made visible before its width is measured."""
        return super().render_str(visible(text), **options)

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        """The last step before the terminal, which all output takes."""
        return super()._render_buffer(
            segment if segment.control else segment._replace(text=visible_lines(segment.text)) for segment in buffer
        )


def grid(
    heads: Iterable[str] = (),
    numbers: Collection[str] = (),
    *,
    names: Mapping[str, str] | None = None,
    **options: Any,
) -> Table:
    """A table without lines. Columns that are named in ``numbers`` stand to the right and are never wrapped.

    ``names``: columns of names, which are never wrapped either, with the style of each.
    """
    styles = names or {}
    made = {"box": None, "pad_edge": False, "padding": (0, 2, 0, 0), "title_justify": "left", "title_style": "bold"}
    table = Table(**{**made, **options})
    for head in heads:
        whole = head in numbers or head in styles
        justify: JustifyMethod = "right" if head in numbers else "left"
        table.add_column(head, justify=justify, no_wrap=whole, overflow="fold", style=styles.get(head, ""))
    return table


def headed(rows: Iterable[tuple[str, Cell]], width: int, style: str = "dim") -> Table:
    """Lines of text, each with its heading before it in a column of this width; an empty heading is the one above."""
    table = grid(show_header=False)
    table.add_column(style=style, no_wrap=True, min_width=width)
    table.add_column(max_width=_WIDEST)
    for row in rows:
        table.add_row(*row)
    return table


def words(*parts: Cell | tuple[str, str], style: str = "") -> Text:
    """One line: parts in their styles, one after the other."""
    return Text.assemble(*(part if isinstance(part, Text) else _part(part) for part in parts), style=style)


def lines(*parts: Cell, style: str = "") -> Text:
    """Several lines, of which each is as `words` makes it."""
    return Text("\n", style=style).join(words(part) for part in parts)


def _part(part: str | tuple[str, str]) -> tuple[str, str]:
    text, style = (part, "") if isinstance(part, str) else part
    return visible(text), style
