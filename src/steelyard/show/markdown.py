# SPDX-License-Identifier: Apache-2.0
"""Markdown that no text can break out of: what stands in it is one line, no HTML, no link and no end of a cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from steelyard.show.visible import visible

_SIGNS = str.maketrans({"<": "&lt;", "|": "\\|"})


def text(words: str) -> str:
    """Words in a paragraph or a cell."""
    return visible(words).translate(_SIGNS).replace("](", "]\\(")


def code(words: str) -> str:
    """A name as it would be typed."""
    return f"`{visible(words).replace('`', chr(39)).replace('|', chr(92) + '|')}`"


def table(head: Iterable[str], rows: Iterable[Sequence[str]], numbers: Iterable[str] = ()) -> list[str]:
    """The lines of a table of finished cells; columns that are named in ``numbers`` are set to the right."""
    names, right = list(head), set(numbers)
    rule = ["---:" if name in right else "---" for name in names]
    return [f"| {' | '.join(cells)} |" for cells in (names, rule, *rows)]
