# SPDX-License-Identifier: Apache-2.0
"""What a compiler made of the loops that were timed: counted in a phrase, and in full."""

from __future__ import annotations

from itertools import groupby

from steelyard.judge.findings import Findings
from steelyard.records import Loops
from steelyard.show.console import Console, words


def counted(loops: Loops | None) -> str:
    """How many instructions the loops have; empty where the build kept none."""
    if loops is None:
        return ""
    if not loops:
        return "no loop"
    lengths = [str(len(loop)) for loop in loops]
    said = lengths[0] if len(lengths) == 1 else f"{', '.join(lengths[:-1])} and {lengths[-1]}"
    return f"{'a loop' if len(loops) == 1 else 'loops'} of {said} instruction{'' if said == '1' else 's'}"


def listing(loops: Loops) -> str:
    """The instructions, a line each, with an empty line between loops."""
    return "\n\n".join("\n".join(loop) for loop in loops)


def show(findings: Findings, console: Console) -> None:
    """The loops of every case whose build kept them; cases of one machine code are named together."""
    kept = [case for case in findings.cases if case.loops is not None]
    if not kept:
        console.print("no case of this session has kept machine code: those of probes/code/ have")
    for probe, members in groupby(kept, key=lambda case: case.probe):
        console.print(words(probe, style="bold"))
        same: dict[Loops, list[str]] = {}
        for case in members:
            same.setdefault(case.loops or (), []).append(case.case.removeprefix(probe))
        for loops, names in same.items():
            for name in names:
                console.print(words(f"  {name}", style="cyan"), soft_wrap=True)
            console.print(f"    {counted(loops)}", style="dim")
            for line in listing(loops).splitlines():
                console.print(f"      {line}", soft_wrap=True)
            console.print()
