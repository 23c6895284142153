# SPDX-License-Identifier: Apache-2.0
"""Lists of doubts on a terminal: what is said of several is said once, with those of whom it is said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from steelyard.judge.reasons import Missing
from steelyard.records import Disturbance, Skip
from steelyard.show import reasons
from steelyard.show.console import Console


def grouped(said: Iterable[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """What is said, once each, with all those of whom it is said, in order."""
    subjects: dict[str, dict[str, None]] = {}
    for what, subject in said:
        subjects.setdefault(what, {})[subject] = None
    return [(what, list(whose)) for what, whose in subjects.items()]


def said_once(said: Iterable[tuple[str, str]]) -> list[str]:
    """A line for each thing that is said, with the first of its subjects and how many more there are."""
    return [f"{_some(subjects)}: {what}" for what, subjects in grouped(said)]


def _some(subjects: Sequence[str]) -> str:
    return subjects[0] if len(subjects) == 1 else f"{subjects[0]} and {len(subjects) - 1} more"


def listed(console: Console, title: str, items: Iterable[str]) -> None:
    """A title and a line an item; nothing where there is none."""
    lines = list(items)
    if lines:
        console.print(title, style="bold")
        for line in lines:
            console.print(f"  {line}")
        console.print()


def show_skips(skips: Sequence[Skip | Missing], console: Console) -> None:
    """What could not be measured, and why."""
    listed(console, "could not be measured here", said_once((reasons.said(skip.plain), skip.subject) for skip in skips))


def show_disturbances(disturbances: Sequence[Disturbance], console: Console) -> None:
    """What disturbs, and what to do."""
    listed(console, "what disturbs", (f"{item.severity}: {item.what}; {item.advice}" for item in disturbances))
