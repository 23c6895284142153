# SPDX-License-Identifier: Apache-2.0
"""What both custom tools of github-action-benchmark read. Shared by formats, and none itself.

Source: github-action-benchmark, README, "customBiggerIsBetter" and "customSmallerIsBetter".
"""

from __future__ import annotations

from steelyard.judge.ledger import CaseEntry, Ledger
from steelyard.records import Better
from steelyard.show import void
from steelyard.show.visible import json_text
from steelyard.units import format_quantity

#: Nanoseconds, because the action prints numbers as they are.
_FACTORS = {"s": (1e9, "ns")}


def why_not(entry: CaseEntry, better: Better) -> str | None:
    """Why a case does not belong into the file of this direction."""
    return None if entry.main.better == better else f"its {entry.main.name} is better when {entry.main.better}"


def export(ledger: Ledger) -> str:
    """A list of medians with half the width of the interval as range."""
    return json_text([_item(entry, ledger) for entry in ledger.cases])


def _item(entry: CaseEntry, ledger: Ledger) -> dict[str, str | float]:
    main = entry.finding.main
    factor, unit = _FACTORS.get(main.unit, (1.0, main.unit))
    item: dict[str, str | float] = {"name": entry.case.name, "unit": unit, "value": factor * main.median}
    if main.low is not None and main.high is not None:
        item["range"] = f"± {factor * (main.high - main.low) / 2:.3g}"
    said = [f"{main.metric}: {main.doc}", f"{main.n} runs", f"machine {ledger.findings.machine_key}"]
    if main.low is not None and main.high is not None:
        said.append(f"95 % interval {format_quantity(main.low, main.unit)} to {format_quantity(main.high, main.unit)}")
    if ledger.findings.void:
        said.append(void.said(ledger.findings.void))
    item["extra"] = "\n".join(said)
    return item
