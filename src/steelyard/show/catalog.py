# SPDX-License-Identifier: Apache-2.0
"""What can be measured here, on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.padding import Padding

from steelyard.records import Descriptor, Skip
from steelyard.show.console import Console, words
from steelyard.show.doubts import show_skips

#: Of what is said of a mechanism below its name.
_INDENT = (0, 0, 0, 6)


def show(descriptors: Sequence[Descriptor], skips: Sequence[Skip], console: Console) -> None:
    """What can be measured, by question."""
    for question, members in groupby(descriptors, key=lambda descriptor: descriptor.probe.split("/")[0]):
        console.print(question, style="bold")
        for descriptor in members:
            title = [f"{descriptor.title}  "] if descriptor.title else []
            console.print(words("  ", *title, (descriptor.probe, "cyan")))
            console.print(Padding(words(descriptor.question), _INDENT))
            sweeps = [f"{p.name}={','.join(map(str, p.sweep))}" for p in descriptor.parameters]
            levels = " ".join([*sweeps, "@" + ",@".join(descriptor.placements)])
            console.print(Padding(words(levels, style="dim"), _INDENT))
    show_skips(skips, console)
