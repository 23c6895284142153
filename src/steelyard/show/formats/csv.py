# SPDX-License-Identifier: Apache-2.0
"""CSV, tidy: one row a run and metric.

With a header, in UTF-8, quoted by RFC 4180. A run is a process; ``value`` is the number that stands for it, in the base
unit that ``unit`` names. ``main`` marks the main metric, which has exactly one row a run; ``control`` the controls.
Runs that did not count and the values inside a run are left out.
"""

from __future__ import annotations

import csv
import io

from steelyard.judge.ledger import Ledger
from steelyard.show.formats._rows import COLUMNS, Cell, rows

CONTROLS = True
EXACT = True


def export(ledger: Ledger) -> str:
    """The header and the rows."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(COLUMNS), lineterminator="\n")
    writer.writeheader()
    for row in rows(ledger):
        writer.writerow({name: _cell(cell) for name, cell in row.items()})
    return text.getvalue()


def _cell(cell: Cell) -> Cell:
    """True and false as readers of CSV know them."""
    return str(cell).lower() if isinstance(cell, bool) else cell
