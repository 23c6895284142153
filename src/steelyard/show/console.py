# SPDX-License-Identifier: Apache-2.0
"""The terminal: the only `Console` that this program makes, and the only way to give words a style.

A `str` is one line and is never read as markup, and nothing reaches the terminal that could act on it (see `visible`).
Rich writes its own escape sequences around the text, after it has passed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import rich.console
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from steelyard.show.visible import visible, visible_lines

#: What a table has in a cell.
Cell = str | Text


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


def grid(heads: Iterable[str] = (), numbers: Collection[str] = (), **options: Any) -> Table:
    """A table without lines. Columns that are named in ``numbers`` stand to the right and are never wrapped."""
    table = Table(**{"box": None, "pad_edge": False, "padding": (0, 2, 0, 0), **options})
    for head in heads:
        table.add_column(head, justify="right" if head in numbers else "left", no_wrap=head in numbers)
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
