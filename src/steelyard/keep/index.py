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
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import chain, repeat
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
from steelyard.records import Case, Run, Session, Value, counter_metrics

#: Raised by one when the tables change; an index of another version is made anew.
_VERSION = 2
#: Files that are read together: enough to keep DuckDB's columns long, few enough to fit in memory.
_BATCH = 250
#: Bytes of sessions from which an index is kept on disk; below, reading them takes less than half a second.
_WORTH_KEEPING = 100_000_000
#: The same for reading in several processes, each of which takes half a second to start.
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
        "control BOOLEAN, planned BOOLEAN, quantile DOUBLE"
    ),
    "metrics": (
        "session INTEGER, c INTEGER, place INTEGER, metric VARCHAR, unit VARCHAR, better VARCHAR, over VARCHAR, "
        "per VARCHAR, doc VARCHAR"
    ),
    "runs": (
        "session INTEGER, c INTEGER, r INTEGER, role VARCHAR, block INTEGER, position INTEGER, attempt INTEGER, "
        "status VARCHAR, counts BOOLEAN, number DOUBLE, started DOUBLE, wall_s DOUBLE, operations BIGINT, "
        "user_s DOUBLE, system_s DOUBLE, voluntary BIGINT, involuntary BIGINT, peak_rss_bytes BIGINT, "
        "foreign_share DOUBLE, steal_share DOUBLE, padding BIGINT, compiler VARCHAR, flags VARCHAR, cpus VARCHAR, "
        "disturbed VARCHAR, caveats VARCHAR, error VARCHAR"
    ),
    "run_values": (
        "session INTEGER, r INTEGER, n INTEGER, figure DOUBLE, operations BIGINT, wall_ns BIGINT, lanes INTEGER, "
        "cpu_ns BIGINT, user_ns BIGINT, system_ns BIGINT, voluntary BIGINT, involuntary BIGINT, minor_faults BIGINT, "
        "run_delay_ns BIGINT, counts JSON, readings JSON, counters JSON"
    ),
}

#: Columns of a batch that only the database can fill in.
_COMPUTED = {("runs", "counts"), ("runs", "number"), ("run_values", "figure")}

_QUANTITY = """CASE {name}
    WHEN 'wall' THEN v.wall_ns * v.lanes / 1e9 WHEN 'cpu' THEN v.cpu_ns / 1e9 WHEN 'user' THEN v.user_ns / 1e9
    WHEN 'system' THEN v.system_ns / 1e9 WHEN 'operations' THEN v.operations WHEN 'one' THEN 1
    ELSE coalesce(TRY_CAST(v.counts ->> ('$."' || {name} || '"') AS DOUBLE),
                  TRY_CAST(v.readings ->> ('$."' || {name} || '"') AS DOUBLE),
                  TRY_CAST(v.counters ->> ('$."' || {name} || '"') AS DOUBLE)) END"""

#: A metric's figure of one value, as `Value.figure` has it: null where nothing happened that it could be divided by.
FIGURE = f"({_QUANTITY.format(name='m.over')}) / nullif(({_QUANTITY.format(name='m.per')}), 0)"

#: Which attempt counts, and what number stands for a run: as judge/samples.py has them, which a test holds both to.
_NUMBERED = f"""
WITH figures AS (
    SELECT v.*, {FIGURE} AS computed
    FROM b_run_values v JOIN b_runs r USING (session, r)
    LEFT JOIN b_metrics m ON m.session = r.session AND m.c = r.c AND m.place = 0
)
SELECT * EXCLUDE (computed) REPLACE (computed AS figure) FROM figures
"""  # noqa: S608 - made of what stands above
_COUNTED = """
WITH numbers AS (
    SELECT v.session, v.r, CASE WHEN any_value(c.quantile) = 0.25
        THEN quantile_cont(v.figure, 0.25) ELSE quantile_cont(v.figure, 0.5) END AS computed
    FROM f_run_values v JOIN b_runs r USING (session, r) JOIN b_cases c USING (session, c) GROUP BY ALL
), ranked AS (
    SELECT r.*, computed, r.role = 'block' AND r.status = 'ok' AND row_number() OVER (
        PARTITION BY r.session, r.c, r.block, r.role ORDER BY r.status = 'ok' DESC, r.disturbed <> '',
        CASE WHEN r.disturbed <> '' THEN coalesce(r.foreign_share, 0) + coalesce(r.steal_share, 0) END, r.attempt
    ) = 1 AS chosen
    FROM b_runs r LEFT JOIN numbers USING (session, r)
)
SELECT * EXCLUDE (computed, chosen) REPLACE (computed AS number, chosen AS counts) FROM ranked
"""


def default_path() -> Path:
    """Where the index of large folders is kept: in the XDG cache folder."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "steelyard" / f"index-{_VERSION}.duckdb"


def _names(table: str) -> list[str]:
    return [column.split()[0] for column in _TABLES[table].split(", ")]


@dataclass(slots=True)
class _Rows:
    """Rows of every table of some sessions, before they are columns. Sessions are numbered from 0."""

    files: list[tuple[Any, ...]] = field(default_factory=list)
    sessions: list[tuple[Any, ...]] = field(default_factory=list)
    cases: list[tuple[Any, ...]] = field(default_factory=list)
    metrics: list[tuple[Any, ...]] = field(default_factory=list)
    runs: list[tuple[Any, ...]] = field(default_factory=list)
    values: list[tuple[int, int, Run]] = field(default_factory=list)


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
        end.blocks if end else max((run.block for run in session.runs), default=0),
        end is not None,
        end.reason if end else None,
        end.wall_s if end else None,
        end.timed_s if end else None,
        len(session.skips),
        _joined(dict.fromkeys(item.what for audit in session.audits for item in audit.disturbances)),
    )


def _cases(session: Session) -> dict[str, tuple[Case, bool, bool]]:
    """Every case that may have runs: itself, whether it is a control, whether it is of the plan."""
    header = session.header
    found = {case.name: (case, False, False) for case in header.selection}
    found |= {case.name: (case, True, False) for case in header.controls}
    if session.plan:
        found |= {planned.case.name: (planned.case, planned.control, True) for planned in session.plan.cases}
    return found


def _add(rows: _Rows, number: int, session: Session) -> None:
    rows.sessions.append(_session_row(number, session))
    keys: dict[str, int] = {}
    counted: dict[str, list[Value]] = defaultdict(list)
    for run in session.runs:
        counted[run.case] += (value for value in run.values if value.counters)
    for key, (name, (case, control, planned)) in enumerate(_cases(session).items()):
        facts = session.header.probes.get(case.probe)
        if facts is None:
            continue
        keys[name] = key
        quantile = 0.25 if facts.descriptor.statistic == "lower_quartile" else 0.5
        parameters = _json({parameter: str(value) for parameter, value in case.parameters.items()})
        row = (number, key, name, case.probe, case.placement, parameters, case.variant, control, planned, quantile)
        rows.cases.append(row)
        rows.metrics += [
            (number, key, place, m.name, m.unit, m.better, m.over, m.per, m.doc)
            for place, m in enumerate((*facts.descriptor.metrics, *counter_metrics(counted[name])))
        ]
    for r, run in enumerate(session.runs):
        if (c := keys.get(run.case)) is not None:
            rows.runs.append(_run_row(number, c, r, run))
            rows.values.append((number, r, run))


def _run_row(number: int, c: int, r: int, run: Run) -> tuple[Any, ...]:
    return (
        number,
        c,
        r,
        run.role,
        run.block,
        run.order,
        run.attempt,
        run.status,
        run.started,
        run.wall_s,
        run.operations,
        run.user_s,
        run.system_s,
        run.voluntary,
        run.involuntary,
        run.peak_rss_bytes,
        run.foreign_share,
        run.steal_share,
        run.padding,
        run.compiler,
        run.flags,
        ",".join(map(str, run.cpus)),
        _joined(run.disturbed),
        _joined(run.caveats),
        run.error,
    )


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
    described = [column.split() for column in _TABLES[table].split(", ")]
    stored = [(name, kind) for name, kind, *_ in described if (table, name) not in _COMPUTED]
    lists = list(zip(*rows, strict=True)) if rows else [()] * len(stored)
    return {name: _column(kind, items) for (name, kind), items in zip(stored, lists, strict=True)}


_VALUE_FIELDS = (
    "operations",
    "wall_ns",
    "lanes",
    "cpu_ns",
    "user_ns",
    "system_ns",
    "voluntary",
    "involuntary",
    "minor_faults",
    "run_delay_ns",
)


def _value_columns(of: Sequence[tuple[int, int, Run]]) -> Columns:
    """The values of all runs, a column at a time: there are millions of them."""
    values = list(chain.from_iterable(run.values for _, _, run in of))
    columns = {
        "session": np.array([*chain.from_iterable(repeat(s, len(run.values)) for s, _, run in of)], dtype=np.float64),
        "r": np.array([*chain.from_iterable(repeat(r, len(run.values)) for _, r, run in of)], dtype=np.float64),
        "n": np.array([*chain.from_iterable(range(len(run.values)) for _, _, run in of)], dtype=np.float64),
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


def read_batch(paths: Sequence[Path]) -> Batch:
    """Read files into columns. Runs in a process of its own where there are many."""
    collecting = gc.isenabled()
    # Records have no cycles, and looking for some among hundreds of thousands takes a third of the time.
    gc.disable()
    try:
        return _read_batch(paths)
    finally:
        if collecting:
            gc.enable()


def _read_batch(paths: Sequence[Path]) -> Batch:
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
            _add(rows, number, session)
    tables = {table: _columns(table, getattr(rows, table)) for table in _TABLES if table != "run_values"}
    return Batch({**tables, "run_values": _value_columns(rows.values)}, tuple(complaints))


def _batches(paths: Sequence[Path], size: int) -> Iterator[Batch]:
    parts = [paths[start : start + _BATCH] for start in range(0, len(paths), _BATCH)]
    workers = min(len(os.sched_getaffinity(0)), len(parts))
    if size < _WORTH_PROCESSES or workers < 2:
        yield from map(read_batch, parts)
        return
    # Not by fork: DuckDB has threads, and a fork of them may never wake.
    with ProcessPoolExecutor(workers, multiprocessing.get_context("forkserver")) as pool:
        yield from pool.map(read_batch, parts)


def fill(connection: duckdb.DuckDBPyConnection, paths: Sequence[Path], complain: Complain) -> None:
    """Put the sessions that the database does not have yet into it.

    A file that is no more what it was (a session that went on) replaces what was kept of it.
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
    if changed:
        _forget(connection, changed)
    for batch in _batches(new, total):
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
    selected: dict[str, str] = defaultdict(str)
    for table, columns in batch.tables.items():
        numbered = {**columns, "session": columns["session"] + first}
        connection.register(f"n_{table}", numbered)
        computed = "".join(f", NULL::DOUBLE AS {name}" for kind, name in _COMPUTED if kind == table)
        casts = ", ".join(
            f"TRY_CAST({name} AS {kind}) AS {name}"
            for name, kind in (column.split() for column in _TABLES[table].split(", "))
            if (table, name) not in _COMPUTED
        )
        connection.execute(f"CREATE OR REPLACE TEMP VIEW b_{table} AS SELECT {casts}{computed} FROM n_{table}")  # noqa: S608
        selected[table] = f"SELECT * FROM b_{table}"  # noqa: S608
    connection.execute(f"CREATE OR REPLACE TEMP TABLE f_run_values AS {_NUMBERED}")
    selected["run_values"] = "SELECT * FROM f_run_values"
    selected["runs"] = _COUNTED
    connection.execute("BEGIN")
    for table, text in selected.items():
        connection.execute(f"INSERT INTO {table} BY NAME {text}")
    connection.execute("COMMIT")
    for table in batch.tables:
        connection.execute(f"DROP VIEW b_{table}")
        connection.unregister(f"n_{table}")
    connection.execute("DROP TABLE f_run_values")


def worth_keeping(paths: Sequence[Path]) -> bool:
    """Whether reading these files anew for each question would be noticed."""
    total = 0
    for path in paths:
        try:
            total += path.stat().st_size
        except OSError:
            continue
    return total >= _WORTH_KEEPING
