# SPDX-License-Identifier: Apache-2.0
"""What neighbours do to a case, in sentences for a terminal and a page, and as objects for programs."""

from __future__ import annotations

from typing import Any

from steelyard.judge.neighbours import Beside, Suffers
from steelyard.show import naming, reasons
from steelyard.units import counted

TITLE = "what neighbours do to it"
_WHERE = {"other": "on the other CPUs", "same": "on the same CPU", "both": "on the same CPU and the others"}


def sentence(found: Suffers, margin: float) -> str:
    """``pipe (kind thread, one CPU) suffers 1.41 times (1.38 to 1.45) from a neighbour that streams memory …``."""
    case = found.alone
    who = (
        f"{found.title} ({naming.settings((*(f'{k}={v}' for k, v in case.parameters.items()), f'@{case.placement}'))})"
    )
    does = " and one that ".join(one.does for one in found.neighbours)
    neighbour = f"a neighbour that {does}, {_WHERE[found.where]}"
    factor, low, high = found.factor
    if low <= 0 or high is None:
        return (
            f"{who} beside {neighbour}: {factor:.3g} times, of {counted(found.of.n, 'block')} too few for an interval"
        )
    ends = f"{low:.3g} to {high:.3g}"
    match found.of.verdict:
        case "different" if factor > 1:
            return f"{who} suffers {factor:.3g} times ({ends}) from {neighbour}"
        case "different":
            return f"{who} gains {1 / factor:.3g} times ({1 / high:.3g} to {1 / low:.3g}) from {neighbour}"
        case "equivalent":
            return f"{who} does not suffer more than {100 * margin:g} % from {neighbour} ({ends} times)"
        case _:
            more = f"; {counted(found.of.more_blocks, 'more block')} would tell" if found.of.more_blocks else ""
            return f"{who} beside {neighbour}: undecided, {ends} times{more}"


def sentences(found: Beside | None) -> list[str]:
    """One a case, the worst first, and then what could not be compared."""
    if found is None:
        return []
    worst = sorted(found.cases, key=lambda one: (one.of.verdict != "different", -one.factor[0], one.case.name))
    return [*(sentence(one, found.margin) for one in worst), *map(reasons.said, found.left_out)]


def as_json(found: Suffers, margin: float) -> dict[str, Any]:
    """Of a case beside neighbours: which they are, and how many times what is worse has grown."""
    factor, low, high = found.factor
    return {
        "alone": found.alone.name,
        "neighbours": [{"case": one.case.name, "where": one.where, "does": one.does} for one in found.neighbours],
        "suffers": factor,
        "low": low if low > 0 else None,
        "high": high,
        "n": found.of.n,
        "margin": margin,
        "verdict": found.of.verdict,
        "more_blocks": found.of.more_blocks,
    }
