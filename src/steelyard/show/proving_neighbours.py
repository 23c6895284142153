# SPDX-License-Identifier: Apache-2.0
"""How often it is wrong to say that a case suffers from its neighbours, on a terminal and as objects."""

from __future__ import annotations

from typing import Any

import msgspec

from steelyard.judge.neighbours import MARGIN
from steelyard.judge.proving_neighbours import NeighbourRate, ProvedNeighbours
from steelyard.show import neighbours
from steelyard.show.console import Console, grid

_HEADS = ("cases", "different", "equivalent", "wrong", "at most", "suffer, median")
_RULE = (
    "Wrong: a difference beside the one that sleeps, none or a gain beside the one that has half of the CPU. At most: "
    "the exact upper 95 % bound of that rate."
)


def show(proved: ProvedNeighbours, console: Console) -> None:
    """A row a neighbour, and what was said wrongly."""
    table = grid(("beside a neighbour that", *_HEADS), _HEADS)
    for rate in proved.rates:
        table.add_row(_who(rate), *_cells(rate))
    console.print(table)
    held = " and ".join(f"{rate.held} beside the one that {rate.does}" for rate in proved.rates)
    console.print(
        f"{_RULE} Of the differences that hold for all cases together there are {held}. "
        f"{proved.blocks} blocks, seed {proved.seed}.",
        style="dim",
        soft_wrap=True,
    )
    for one in proved.accused:
        console.print(f"  {neighbours.sentence(one, MARGIN)}", soft_wrap=True)


def _who(rate: NeighbourRate) -> str:
    return f"{rate.does}, on the same CPU" if rate.planted else rate.does


def _cells(rate: NeighbourRate) -> list[str]:
    return [
        str(rate.cases),
        str(rate.different),
        str(rate.equivalent),
        f"{rate.wrong} ({100 * rate.rate:.1f} %)",
        f"{100 * rate.bound:.1f} %",
        f"{rate.factor:.3g} times",
    ]


def as_json(proved: ProvedNeighbours) -> list[dict[str, Any]]:
    """One object a neighbour."""
    return [
        {**msgspec.to_builtins(rate), "rate": rate.rate, "blocks": proved.blocks, "seed": proved.seed}
        for rate in proved.rates
    ]
