# SPDX-License-Identifier: Apache-2.0
"""What can be measured here, on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from steelyard.records import Descriptor, Skip
from steelyard.show.console import Console, words
from steelyard.show.doubts import show_skips


def show(descriptors: Sequence[Descriptor], skips: Sequence[Skip], console: Console) -> None:
    """What can be measured, by question."""
    for question, members in groupby(descriptors, key=lambda descriptor: descriptor.probe.split("/")[0]):
        console.print(question, style="bold")
        for descriptor in members:
            title = [f"{descriptor.title}  "] if descriptor.title else []
            console.print(words("  ", *title, (descriptor.probe, "cyan"), (f"  {descriptor.question}", "dim")))
            sweeps = [f"{p.name}={','.join(map(str, p.sweep))}" for p in descriptor.parameters]
            console.print(f"      {' '.join([*sweeps, '@' + ',@'.join(descriptor.placements)])}", style="dim")
    show_skips(skips, console)
