# SPDX-License-Identifier: Apache-2.0
"""`steelyard fleet query`: ask a store in SQL."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from steelyard.cli import _output as output
from steelyard.keep.store import Store
from steelyard.show import answer


def command(
    sql: str,
    store: str,
    *,
    format_: Annotated[Literal["table", "csv", "json"], Parameter(name="--format")] = "table",
) -> None:
    """Answer a question in SQL (DuckDB) over a store that `fleet pack` made.

    Two views: ``sessions`` (session, started, node, machine_key, about, kernel, environment, plan, steelyard, month)
    and ``runs`` (session, case_name, metric, unit, better, block, number, month). A query is one SELECT and reads
    nothing else.

    Parameters
    ----------
    sql
        Such as ``"SELECT month, median(number) FROM runs WHERE case_name = 'call/syscall@same' GROUP BY month"``.
    store
        Folder of the store, or its URL.
    format_
        ``table``, ``csv`` or ``json`` (one object a row).
    """
    with Store(store) as opened:
        found = opened.ask(sql)
    match format_:
        case "csv":
            output.print_data(answer.as_csv(found.columns, found.rows))
        case "json":
            output.print_data(answer.as_json(found.columns, found.rows))
        case _:
            answer.show(found.columns, found.rows, output.console())
