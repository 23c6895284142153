# SPDX-License-Identifier: Apache-2.0
"""Loads under several schedulers, as a page: what it comes to, who waits how long, and every figure."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.judge.simulation import Simulated
from steelyard.show import naming
from steelyard.show import simulation as words
from steelyard.show.page import figures
from steelyard.show.page.markup import Markup, definitions, joined, listed, table, tag
from steelyard.units import counted


def head(found: Sequence[Simulated], typed: str) -> list[Markup]:
    """What the page is about."""
    policies = dict.fromkeys(name for one in found for name in (*one.titles, *one.runs))
    return [
        tag("p", "Steelyard", class_="mark"),
        tag("h1", words.title(found)),
        tag("p", f"{counted(len(found), 'load')} under {', '.join(policies)}.", class_="lede"),
        definitions([("Asked", tag("code", typed))], "facts"),
    ]


def load(found: Simulated, name: str) -> Markup:
    """The section of a load; ``name`` is its own on the page."""
    waits = words.waits(found)
    return joined(
        [
            tag("p", f"{words.of_what(found)}.", class_="lead"),
            listed(words.sentences(found)),
            *([figures.waits(f"{name}-waits", waits)] if waits else []),
            *(_table(one) for one in words.tables(found)),
        ]
    )


def _table(one: words.Table) -> Markup:
    title, columns, rows = one
    first_figure = sum(column in words.WORDS for column in columns)
    heading = [tag("h3", naming.capital(title))] if title else []
    return joined([*heading, table(columns, rows, numbers_from=max(1, first_figure))])
