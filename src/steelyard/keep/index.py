# SPDX-License-Identifier: Apache-2.0
"""Session files as the columns of a DuckDB database: what `query` asks.

Files are read by the same strict decoder as everywhere, because it says which line of which file is malformed, where
DuckDB's own reader of JSON turns what it cannot read into nulls. A finished file is never written again, so its columns
may be kept: a large folder is read once, and then only what came new (`python -m benchmarks.queries` has the times).
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import numpy as np
import numpy.typing as npt

from steelyard.errors import SessionFileError
from steelyard.keep.folder import Complain
from steelyard.keep.session import read
from steelyard.records import CaseNumbers, Run, Session, Value, counter_metrics

#: Gives the numbers that stand for the runs of a session. Judge's own, handed in by the caller: what is kept here is
#: carried, and never worked out a second time. It must be a function of a module, because other processes call it.
Numbering = Callable[[Session], Sequence[CaseNumbers]]

#: Raised by one when the tables or the numbers change; an index of another version is made anew.
_VERSION = 3
#: Files that are read together: enough to keep DuckDB's columns long, few enough to fit in memory.
_BATCH = 250
#: Bytes of sessions from which an index is kept on disk; below, reading them takes less than half a second.
_WORTH_KEEPING = 100_000_000
#: Bytes from which several processes read them, each of which takes half a second to start.
_WORTH_PROCESSES = 100_000_000

Column = npt.NDArray[Any]
Columns = dict[str, Column]

_TABLES = {
    "files": "session INTEGER, file VARCHAR, size BIGINT, modified BIGINT",
    "sessions": (
        "session INTEGER, id VARCHAR, started VARCHAR, machine_key VARCHAR, facts JSON, environment JSON, "
        "versions JSON, compilers VARCHAR, command VARCHAR, seed BIGINT, blocks INTEGER, complete BOOLEAN, "
        "reason VARCHAR, wall_s DOUBLE, timed_s DOUBLE, skips INTEGER, disturbances VARCHAR"
    ),
    "cases": (
        "session INTEGER, c INTEGER, name VARCHAR, probe VARCHAR, placement VARCHAR, parameters JSON, variant VARCHAR, "
        "control BOOLEAN, planned BOOLEAN, disturbed BIGINT, n BIGINT, median DOUBLE, low DOUBLE, high DOUBLE, "
        "minimum DOUBLE, p25 DOUBLE, p99 DOUBLE, maximum DOUBLE"
    ),
    "metrics": ("session INTEGER, c INTEGER, place INTEGER, metric VARCHAR, unit VARCHAR, better VARCHAR, doc VARCHAR"),
    "runs": (
        "session INTEGER, c INTEGER, r INTEGER, role VARCHAR, block INTEGER, position INTEGER, attempt INTEGER, "
        "status VARCHAR, counts BOOLEAN, number DOUBLE, started DOUBLE, wall_s DOUBLE, operations BIGINT, "
        "user_s DOUBLE, system_s DOUBLE, voluntary BIGINT, involuntary BIGINT, peak_rss_bytes BIGINT, "
        "foreign_share DOUBLE, steal_share DOUBLE, padding BIGINT, compiler VARCHAR, flags VARCHAR, cpus VARCHAR, "
        "disturbed VARCHAR, caveats VARCHAR, error VARCHAR"
    ),
    "figures": "session INTEGER, r INTEGER, place INTEGER, number DOUBLE",
    "run_values": (
        "session INTEGER, r INTEGER, n INTEGER, figure DOUBLE, operations BIGINT, wall_ns BIGINT, lanes INTEGER, "
        "cpu_ns BIGINT, user_ns BIGINT, system_ns BIGINT, voluntary BIGINT, involuntary BIGINT, minor_faults BIGINT, "
        "run_delay_ns BIGINT, counts JSON, readings JSON, counters JSON"
    ),
}


def default_path() -> Path:
    """Where the index of large folders is kept: in the XDG cache folder."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "steelyard" / f"index-{_VERSION}.duckdb"


def _described(table: str) -> list[tuple[str, str]]:
    """The columns of a table with their types."""
    return [(name, kind) for name, _, kind in (column.partition(" ") for column in _TABLES[table].split(", "))]


@dataclass(slots=True)
class _Rows:
    """Rows of every table of some sessions, before they are columns. Sessions are numbered from 0."""

    files: list[tuple[Any, ...]] = field(default_factory=list)
    sessions: list[tuple[Any, ...]] = field(default_factory=list)
    cases: list[tuple[Any, ...]] = field(default_factory=list)
    metrics: list[tuple[Any, ...]] = field(default_factory=list)
    runs: list[tuple[Any, ...]] = field(default_factory=list)
    figures: list[tuple[Any, ...]] = field(default_factory=list)
    values: list[_RunValues] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _RunValues:
    """The values of a run, with the main metric's figure of each."""

    session: int
    r: int
    values: tuple[Value, ...]
    figures: tuple[float | None, ...]


def _json(data: object) -> str:
    return msgspec.json.encode(data).decode()


def _joined(texts: Iterable[object]) -> str:
    return "; ".join(map(str, texts))


def _session_row(number: int, session: Session) -> tuple[Any, ...]:
    header, end = session.header, session.end
    return (
        number,
        header.id,
        header.started,
        header.machine.key,
        _json(header.machine.facts),
        _json(header.machine.environment),
        _json(header.versions),
        _joined(sorted({run.compiler for run in session.runs} - {""})),
        " ".join(header.command),
        header.seed,
        session.blocks,
        end is not None,
        end.reason if end else None,
        end.wall_s if end else None,
        end.timed_s if end else None,
        len(session.skips),
        _joined(dict.fromkeys(item.what for audit in session.audits for item in audit.disturbances)),
    )


_SUMMARY = ("n", "median", "low", "high", "minimum", "p25", "p99", "maximum")


def _add(rows: _Rows, number: int, session: Session, numbering: Numbering) -> None:
    rows.sessions.append(_session_row(number, session))
    for c, found in enumerate(numbering(session)):
        case = found.case
        parameters = _json({parameter: str(value) for parameter, value in case.parameters.items()})
        about = (case.name, case.probe, case.placement, parameters, case.variant)
        summary = [getattr(found.summary, name, None) for name in _SUMMARY]
        rows.cases.append((number, c, *about, found.control, found.planned, found.disturbed, *summary))
        rows.metrics += [(number, c, place, m.name, m.unit, m.better, m.doc) for place, m in enumerate(found.metrics)]
        for one in found.runs:
            run, r = session.runs[one.place], one.place
            rows.runs.append(_run_row(number, c, r, run, counts=one.counts, figure=one.numbers[0]))
            if run.values:
                rows.figures += [(number, r, place, figure) for place, figure in enumerate(one.numbers)]
                rows.values.append(_RunValues(number, r, run.values, one.figures))


_place = attrgetter("role", "block", "order", "attempt", "status")
_facts = attrgetter(
    *("started", "wall_s", "operations", "user_s", "system_s", "voluntary", "involuntary", "peak_rss_bytes"),
    *("foreign_share", "steal_share", "padding", "compiler", "flags"),
)


def _run_row(number: int, c: int, r: int, run: Run, *, counts: bool, figure: float) -> tuple[Any, ...]:
    said = (",".join(map(str, run.cpus)), _joined(run.disturbed), _joined(run.caveats), run.error)
    return (number, c, r, *_place(run), counts, figure, *_facts(run), *said)


_TEXT = ("VARCHAR", "JSON")


def _column(kind: str, items: Sequence[Any]) -> Column:
    """A column as DuckDB takes it: texts as objects, whole numbers as such, the rest as float64, in which NaN is null.

    A float64 holds whole numbers up to 2**53 exactly: 104 days of nanoseconds.
    """
    if kind in _TEXT:
        return np.fromiter(items, dtype=object, count=len(items))
    if kind in ("BIGINT", "INTEGER") and None not in items:
        with contextlib.suppress(OverflowError):  # of a number that no clock and no counter gives
            return np.array(items, dtype=np.int64)
    return np.array(items, dtype=np.float64)


def _columns(table: str, rows: Sequence[tuple[Any, ...]]) -> Columns:
    described = _described(table)
    lists = list(zip(*rows, strict=True)) if rows else [()] * len(described)
    return {name: _column(kind, items) for (name, kind), items in zip(described, lists, strict=True)}


_VALUE_FIELDS = [name for name, kind in _described("run_values") if name in Value.__struct_fields__ and kind != "JSON"]


def _value_columns(of: Sequence[_RunValues]) -> Columns:
    """The values of all runs, a column at a time: there are millions of them."""
    values = list(chain.from_iterable(one.values for one in of))
    columns = {
        "session": np.repeat([float(one.session) for one in of], [len(one.values) for one in of]),
        "r": np.repeat([float(one.r) for one in of], [len(one.values) for one in of]),
        "n": np.array([*chain.from_iterable(range(len(one.values)) for one in of)], dtype=np.float64),
        "figure": np.array([*chain.from_iterable(one.figures for one in of)], dtype=np.float64),
    }
    for name in _VALUE_FIELDS:
        columns[name] = np.array([*map(attrgetter(name), values)], dtype=np.float64)
    encode = msgspec.json.Encoder().encode
    for name in ("counts", "readings"):
        texts = (encode(counted).decode() if counted else "{}" for counted in map(attrgetter(name), values))
        columns[name] = np.fromiter(texts, dtype=object, count=len(values))
    texts = (encode(_counters(value)).decode() if value.counters else "{}" for value in values)
    columns["counters"] = np.fromiter(texts, dtype=object, count=len(values))
    return columns


def _counters(value: Value) -> dict[str, float | None]:
    """The quantities that the processor counted in a value, by their names in metrics, for all of its time."""
    names = {quantity for metric in counter_metrics([value]) for quantity in (metric.over, metric.per)}
    return {name: value.quantity(name) for name in sorted(names)}


@dataclass(frozen=True, slots=True)
class Batch:
    """The columns of some sessions, by table, and what was wrong with the others."""

    tables: dict[str, Columns]
    complaints: tuple[str, ...]


def read_batch(numbering: Numbering, paths: Sequence[Path]) -> Batch:
    """Read files into columns. Runs in a process of its own where there are many."""
    collecting = gc.isenabled()
    # Records have no cycles, and looking for some among hundreds of thousands takes a third of the time.
    gc.disable()
    try:
        return _read_batch(numbering, paths)
    finally:
        if collecting:
            gc.enable()


def _read_batch(numbering: Numbering, paths: Sequence[Path]) -> Batch:
    rows, complaints = _Rows(), []
    for path in paths:
        try:
            state = path.stat()
            session = read(path)
        except OSError as error:
            complaints.append(f"{path} cannot be read: {error.strerror}")
        except SessionFileError as error:
            complaints.append(str(error))
        else:
            number = len(rows.sessions)
            rows.files.append((number, str(path.absolute()), state.st_size, state.st_mtime_ns))
            _add(rows, number, session, numbering)
    tables = {table: _columns(table, getattr(rows, table)) for table in _TABLES if table != "run_values"}
    return Batch({**tables, "run_values": _value_columns(rows.values)}, tuple(complaints))


def _batches(paths: Sequence[Path], size: int, numbering: Numbering) -> Iterator[Batch]:
    parts = [paths[start : start + _BATCH] for start in range(0, len(paths), _BATCH)]
    workers = min(len(os.sched_getaffinity(0)), len(parts))
    if size < _WORTH_PROCESSES or workers < 2:
        yield from map(partial(read_batch, numbering), parts)
        return
    # Not by fork: DuckDB has threads, and a fork of them may never wake.
    with ProcessPoolExecutor(workers, multiprocessing.get_context("forkserver")) as pool:
        yield from pool.map(partial(read_batch, numbering), parts)


def fill(
    connection: duckdb.DuckDBPyConnection, paths: Sequence[Path], numbering: Numbering, complain: Complain
) -> None:
    """Put the sessions that the database does not have yet into it.

    A file that has changed since (a session that went on) replaces what was kept of it.
    """
    for table, columns in _TABLES.items():
        connection.execute(f"CREATE TABLE IF NOT EXISTS {table} ({columns})")
    kept = {
        file: (size, modified)
        for file, size, modified in connection.execute("SELECT file, size, modified FROM files").fetchall()
    }
    new, total = [], 0
    for path in paths:
        try:
            state = path.stat()
        except OSError as error:
            complain(f"{path} cannot be read: {error.strerror}")
            continue
        if kept.get(str(path.absolute())) != (state.st_size, state.st_mtime_ns):
            new.append(path)
            total += state.st_size
    changed = [name for path in new if (name := str(path.absolute())) in kept]
    changed += [name for name in kept if not os.path.lexists(name)]
    if changed:
        _forget(connection, changed)
    for batch in _batches(new, total, numbering):
        for complaint in batch.complaints:
            complain(complaint)
        _insert(connection, batch)


def _forget(connection: duckdb.DuckDBPyConnection, files: list[str]) -> None:
    connection.execute("BEGIN")
    for table in reversed(_TABLES):  # files last: the others are found by it
        connection.execute(
            f"DELETE FROM {table} WHERE session IN (SELECT session FROM files WHERE file IN (SELECT unnest(?)))",  # noqa: S608
            [files],
        )
    connection.execute("COMMIT")


def _insert(connection: duckdb.DuckDBPyConnection, batch: Batch) -> None:
    """One batch, wholly or not at all."""
    [(first,)] = connection.execute("SELECT coalesce(max(session) + 1, 0) FROM files").fetchall()
    connection.execute("BEGIN")
    for table, columns in batch.tables.items():
        connection.register(f"n_{table}", {**columns, "session": columns["session"] + first})
        casts = ", ".join(f"TRY_CAST({name} AS {kind}) AS {name}" for name, kind in _described(table))
        connection.execute(f"INSERT INTO {table} BY NAME SELECT {casts} FROM n_{table}")  # noqa: S608
        connection.unregister(f"n_{table}")
    connection.execute("COMMIT")


def worth_keeping(paths: Sequence[Path]) -> bool:
    """Whether these files are so many that reading them for each question takes noticeable time."""
    total = 0
    for path in paths:
        try:
            total += path.stat().st_size
        except OSError:
            continue
    return total >= _WORTH_KEEPING
