# SPDX-License-Identifier: Apache-2.0
"""HTML that cannot be broken out of: whatever is not made here is text, and is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

import msgspec

from steelyard.show.visible import visible_data, visible_lines

_VOID = {"meta", "br", "col", "link", "input"}


class Markup(str):
    """A piece of HTML that was made here."""

    __slots__ = ()


def text(child: str) -> Markup:
    """A child as HTML: what is no markup is made visible and escaped."""
    return child if isinstance(child, Markup) else Markup(html.escape(visible_lines(child), quote=True))


def joined(children: Iterable[str]) -> Markup:
    """Pieces one after the other."""
    return Markup("".join(text(child) for child in children))


def tag(name: str, /, *children: str, **attributes: str | None) -> Markup:
    """An element; its attributes are escaped, None leaves one out; ``class_`` and ``aria_label`` as in HTML."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{joined(children)}</{name}>")


def data(name: str, value: Any) -> Markup:
    """Data for the page's script, that no text in it can end: the signs that HTML looks for are written as escapes."""
    encoded = msgspec.json.encode(visible_data(value)).decode()
    for sign in "<>&":
        encoded = encoded.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(f'<script type="application/json" data-for="{text(name)}">{encoded}</script>')


def table(head: Iterable[str], rows: Iterable[Iterable[str]], *, numbers_from: int = 1, caption: str = "") -> Markup:
    """A table in a box that scrolls by itself; columns from ``numbers_from`` on are set as numbers."""

    def cells(element: str, row: Iterable[str]) -> Markup:
        def one(number: int, cell: str) -> Markup:
            kind = "n" if number >= numbers_from else None
            if element == "td" and number == 0:
                return tag("th", cell, scope="row")
            return tag(element, cell, class_=kind, scope="col" if element == "th" else None)

        return tag("tr", *(one(number, cell) for number, cell in enumerate(row)))

    return tag(
        "div",
        tag(
            "table",
            *([tag("caption", caption)] if caption else []),
            tag("thead", cells("th", head)),
            tag("tbody", *(cells("td", row) for row in rows)),
        ),
        class_="scroll",
        tabindex="0",
        role="group",
        aria_label=caption or "table",
    )


def fold(summary: str, *children: str, open_: str | None = None) -> Markup:
    """What is there for those who want it."""
    return tag("details", tag("summary", summary), *children, open=open_)


def definitions(pairs: Iterable[tuple[str, str]], kind: str | None = None) -> Markup:
    """A list of names and what they stand for."""
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs), class_=kind)


def listed(items: Iterable[str]) -> Markup:
    """A list."""
    return tag("ul", *(tag("li", item) for item in items))


def named(words: str, name: str) -> Markup:
    """What people call a case, and below it the name by which it can be typed."""
    typed = tag("span", name, class_="case")
    return typed if words == name else joined([tag("span", words, class_="called"), " ", typed])
