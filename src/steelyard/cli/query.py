# SPDX-License-Identifier: Apache-2.0
"""`steelyard query`: ask many sessions in SQL."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from steelyard.cli import _output as output
from steelyard.errors import UsageError
from steelyard.keep import query
from steelyard.lab.many import open_places
from steelyard.lab.output import beside
from steelyard.show import answer

Format = Literal["table", "csv", "json", "parquet"]


def command(
    sql: str | None = None,
    *places: str,
    format_: Annotated[Format | None, Parameter(name="--format")] = None,
    output_file: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
) -> None:
    """Answer a question in SQL (DuckDB) over session files; without one, list the views and their columns.

    A query is one SELECT and reads nothing but these views. The columns of large folders are kept in the cache folder,
    because a finished session never changes.

    Parameters
    ----------
    sql
        Such as ``"SELECT started, median FROM cases WHERE probe = 'call/syscall' ORDER BY started"``.
    places
        Folders, files or patterns of session files; the sessions folder when left out.
    format_
        ``table``, ``csv``, ``json`` (one object a row) or ``parquet``; by the ending of ``-o`` when left out.
    output_file
        File to write instead of standard output.
    """
    if sql is None:
        answer.show_views(query.VIEWS, output.console())
        return
    form = format_ or _by_ending(output_file)
    if form == "parquet" and output_file is None:
        raise UsageError("parquet is not text: say where it goes with -o FILE.parquet")
    if form == "table" and output_file is not None:
        raise UsageError(f"{output_file}: a table is for a terminal; choose --format csv, json or parquet")
    if form == "parquet" and output_file is not None:
        with beside(output_file) as part, open_places(places, output.complain, part) as sessions:
            sessions.write_parquet(sql, part)
        return
    with open_places(places, output.complain) as sessions:
        found = sessions.ask(sql)
        match form:
            case "csv":
                output.print_data(answer.as_csv(found.columns, found.rows), output_file)
            case "json":
                output.print_data(answer.as_json(found.columns, found.rows), output_file)
            case _:
                answer.show(found.columns, found.rows, output.console())


def _by_ending(path: Path | None) -> Format:
    endings: dict[str, Format] = {".csv": "csv", ".json": "json", ".parquet": "parquet"}
    if path is not None and path.suffix not in endings:
        raise UsageError(f"{path}: the ending says no format; name it .csv, .json or .parquet, or give --format")
    return "table" if path is None else endings[path.suffix]
