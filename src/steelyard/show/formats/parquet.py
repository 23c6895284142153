# SPDX-License-Identifier: Apache-2.0
"""Parquet: the rows of CSV, with types, for DuckDB, pandas and polars.

One row a run and metric; nothing is NaN, what is not known is NULL. Written by DuckDB.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from steelyard.judge.ledger import Ledger
from steelyard.limits import SQL_BYTES, require_addresses
from steelyard.show.formats._rows import COLUMNS, rows

CONTROLS = True


def export(ledger: Ledger) -> bytes:
    """The contents of the file."""
    require_addresses(SQL_BYTES, "Parquet")
    import duckdb  # a large library that only this format needs

    with tempfile.TemporaryDirectory(prefix="steelyard-") as folder:
        lines, table = Path(folder) / "rows.jsonl", Path(folder) / "rows.parquet"
        # Row by row DuckDB inserts a thousand times slower than it reads a file.
        with lines.open("w") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows(ledger))
        types = ", ".join(f"{_quoted(name)}: {_quoted(kind)}" for name, kind in COLUMNS.items())
        with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as database:
            database.execute(
                f"COPY (SELECT * FROM read_json({_quoted(str(lines))}, format = 'newline_delimited', "  # noqa: S608
                f"columns = {{{types}}})) TO {_quoted(str(table))} (FORMAT parquet, COMPRESSION zstd)"
            )
        return table.read_bytes()


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
