# SPDX-License-Identifier: Apache-2.0
"""Mechanisms and cases in words that a person knows, beside the identifier that can be typed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from steelyard.units import format_quantity

if TYPE_CHECKING:  # progress needs names, and a command that only prints none of what judges
    from steelyard.judge.cases import CaseFinding
    from steelyard.judge.plots import Bound, Plot, Series, Spot

#: Where the contexts of a case run, in words, by the identifier of the placement.
PLACES = {"same": "one CPU", "cross": "two CPUs", "free": "unpinned"}
#: Fewer cases have nothing that is worth saying once.
_FEWEST_ALIKE = 3
_NAME = re.compile(r"(?P<probe>[^\[@]+)(?:\[(?P<settings>[^\]]*)\])?(?P<where>@.*)?")
_PRICES = {
    ("B", "lower"): "How much memory one takes",
    ("", "lower"): "What one operation costs",
    ("", "higher"): "How much goes through",
    ("", "neither"): "What was counted",
}


def capital(text: str) -> str:
    """The text as it begins a line; unlike ``capitalize``, names further on keep theirs."""
    return text[:1].upper() + text[1:]


def setting(word: str) -> str:
    """``kind=thread`` as "kind thread", ``@same`` as "one CPU", a variant by its label."""
    if not word.startswith("@"):
        return word.replace("=", " ", 1)
    place, _, variant = word[1:].partition("~")
    return ", ".join([PLACES.get(place, place), *([variant] if variant else [])])


def settings(words: Iterable[str]) -> str:
    """Several of them in one line."""
    return ", ".join(_said(words))


def _said(words: Iterable[str]) -> list[str]:
    """Each in words; that nobody pins is not said of a probe that pins its contexts itself."""
    listed = list(words)
    pins = any(word.startswith("pinned=") and word != "pinned=no" for word in listed)
    return [setting(word) for word in listed if not (pins and word == "@free")]


def called(title: str, words: Iterable[str]) -> str:
    """A title, perhaps empty, with settings in words."""
    return ", ".join([*([title] if title else []), *_said(words)])


def of_case(case: CaseFinding, said: Collection[str] = ()) -> str:
    """The title of its mechanism with its settings, but for those that are said elsewhere."""
    return called(case.called, (word for word in settings_of(case) if word not in said))


def settings_of(case: CaseFinding) -> tuple[str, ...]:
    """Its parameters as they can be typed, and its placement."""
    return (*(f"{key}={value}" for key, value in case.parameters.items()), case.where)


class Alike:
    """What several cases have alike, so that it can be said once beside them, and what sets each of them apart.

    Of fewer than three cases it is nothing: a line more would say no more.
    """

    def __init__(self, cases: Iterable[CaseFinding]) -> None:
        members = [case.parameters for case in cases]
        first = members[0] if len(members) >= _FEWEST_ALIKE else {}
        self.settings = tuple(
            f"{key}={value}" for key, value in first.items() if all(of.get(key) == value for of in members)
        )

    def own(self, settings: Iterable[str]) -> tuple[str, ...]:
        """Those of these settings that the others do not all have."""
        return tuple(word for word in settings if word not in self.settings)


def of_spot(spot: Spot) -> str:
    """The same for a case in a figure."""
    return called(spot.title, spot.settings)


def of_series(series: Series) -> str:
    """What sets a series apart in its figure."""
    return called(series.title, series.settings)


def in_words(name: str, titles: Mapping[str, str]) -> str:
    """A case, given by its name, in words; its name again where its mechanism has no title."""
    found = _NAME.fullmatch(name)
    title = titles.get(found["probe"]) if found else None
    if found is None or title in {None, found["probe"]}:
        return name
    settled = [word for word in (found["settings"] or "").split(",") if word]
    return called(title or "", (*settled, *([found["where"]] if found["where"] else [])))


def with_name(name: str, titles: Mapping[str, str]) -> str:
    """The title of a case's mechanism, and in brackets the name by which the case can be typed."""
    found = _NAME.fullmatch(name)
    title = titles.get(found["probe"]) if found else None
    return f"{title} ({name})" if title else name


# --- figures ----------------------------------------------------------------------------------------------------------


def title(plot: Plot, part: int | None = None) -> str:
    """The title of a figure, or of one of its parts."""
    match plot.kind:
        case "answers":
            return "What things cost here"
        case "prices":
            return _PRICES.get((plot.unit, plot.better)) or _PRICES["", plot.better]
        case "study":
            return f"{plot.subject} ({plot.source})"
        case "curves":
            about = " ".join(word for word in (plot.subject, plot.metric, f"by {plot.x}") if word)
            held = (*(plot.parts[part] if part is not None and plot.parts else ()), *plot.alike)
            question = capital(plot.question)
            return ", ".join([f"{question}: {about}", *map(setting, held)])


def of_bound(of: Bound, unit: str) -> str:
    """What bounds a figure, in words."""
    kind = {"best": "the best here", "overhead": "overhead"}[of.kind]
    words = f"{kind}: {called(of.title, of.settings)}"
    return words if of.x is not None else f"{words}, {format_quantity(of.value, unit)}"
