# SPDX-License-Identifier: Apache-2.0
"""Questions in SQL over many sessions, answered by DuckDB.

A question reads the views below and nothing else: before it is asked, DuckDB is told to open no file and no connection
and to keep it so, and only a SELECT is let through. What stands in a session file is data and is never executed.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from steelyard.errors import OutOfMemoryError, UsageError
from steelyard.keep import index
from steelyard.keep.folder import Complain
from steelyard.limits import SQL_BYTES, require_addresses

#: A question that takes longer is one of a mistake: a join without a condition.
LONGEST_S = 600.0


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a view: the expression that it is made of, and what it says."""

    name: str
    expression: str
    doc: str


@dataclass(frozen=True, slots=True)
class View:
    """A view over all sessions: what one row is, its columns, where they come from."""

    name: str
    row: str
    columns: tuple[Column, ...]
    source: str


def _columns(*described: tuple[str, str, str]) -> tuple[Column, ...]:
    return tuple(Column(*one) for one in described)


_FINITE = "CASE WHEN isfinite({0}) THEN {0} END"
_MAP = "TRY_CAST(s.{name} AS MAP(VARCHAR, VARCHAR))"

_SESSION = (
    ("session", "s.session", "number of the session in this question; joins the views"),
    ("file", "f.file", "path of the session file"),
    ("started", "TRY_CAST(s.started AS TIMESTAMP)", "when it was begun, UTC"),
    ("machine_key", "s.machine_key", "identity of the machine"),
)
_CASE = (
    ("case_name", "c.name", "name of the case: question/way[param=value,…]@placement"),
    ("probe", "c.probe", "question/way"),
    ("placement", "c.placement", "same, cross or free"),
    ("parameters", "TRY_CAST(c.parameters AS MAP(VARCHAR, VARCHAR))", "parameters['size'] is a text"),
    ("variant", "c.variant", "label of the variant; null for none"),
    ("control", "c.control", "whether the case weighs the lab itself"),
)
_METRIC = (
    ("metric", "m.metric", "name of the metric"),
    ("unit", "m.unit", "base unit of the metric: s, B/s, 1"),
    ("better", "m.better", "lower, higher or neither"),
)
_SESSIONS = "kept.sessions s JOIN kept.files f USING (session) JOIN wanted USING (session)"
_CASES = f"{_SESSIONS} JOIN kept.cases c USING (session) JOIN kept.metrics m ON m.session = c.session AND m.c = c.c"
_RUNS = f"{_CASES} AND m.place = 0 JOIN kept.runs r ON r.session = c.session AND r.c = c.c"

VIEWS = (
    View(
        "sessions",
        "a session",
        _columns(
            *_SESSION,
            ("id", "s.id", "identity of the session, from its header"),
            ("cpu", "s.facts ->> 'cpu'", "model of the processor"),
            ("kernel", "s.environment ->> 'kernel'", "release of the kernel"),
            ("governor", "s.environment ->> 'governor'", "frequency governor"),
            ("compilers", "s.compilers", "compilers of the probes that ran"),
            ("steelyard", "s.versions ->> 'steelyard'", "version that measured"),
            ("facts", _MAP.format(name="facts"), "what makes the machine key: facts['memory']"),
            ("environment", _MAP.format(name="environment"), "what may change: environment['mitigations']"),
            ("versions", _MAP.format(name="versions"), "versions of the lab and its libraries"),
            ("command", "s.command", "what was asked for"),
            ("seed", "s.seed", "seed of the order of runs"),
            ("blocks", "s.blocks", "blocks that were begun"),
            ("complete", "s.complete", "whether the session came to its end"),
            ("reason", "s.reason", "why it ended: blocks, budget or decided"),
            ("wall_s", "s.wall_s", "length of the session in seconds"),
            ("timed_s", "s.timed_s", "of it in timed batches"),
            ("skips", "s.skips", "what could not be measured"),
            ("disturbances", "s.disturbances", "what disturbed the machine, joined by semicolons"),
        ),
        _SESSIONS,
    ),
    View(
        "cases",
        "a case of a session with the summary of its main metric, in base units",
        _columns(
            *_SESSION,
            *_CASE,
            *_METRIC,
            ("n", "c.n", "blocks that have a run that counts"),
            ("median", "c.median", "median of the runs' numbers"),
            ("low", _FINITE.format("c.low"), "95 % interval of the median"),
            ("high", _FINITE.format("c.high"), "null below six runs"),
            ("minimum", "c.minimum", "least number of a run"),
            ("p25", "c.p25", "lower quartile"),
            ("p99", "c.p99", "99th percentile"),
            ("maximum", "c.maximum", "greatest number of a run"),
            ("disturbed", "c.disturbed", "runs that count although they were disturbed, also when repeated"),
        ),
        f"{_CASES} AND m.place = 0 WHERE c.n IS NOT NULL",
    ),
    View(
        "runs",
        "a process of a case; what it took is of the whole process",
        _columns(
            *_SESSION,
            *_CASE,
            *_METRIC,
            ("run", "r.r", "number of the run in its session; joins run_values"),
            ("role", "r.role", "pilot, block or sentinel"),
            ("block", "r.block", "its block, from 1; 0 outside the blocks"),
            ("position", "r.position", "its place in the order of the session"),
            ("attempt", "r.attempt", "from 1; a disturbed run is measured again"),
            ("status", "r.status", "ok, failed or skipped"),
            ("counts", "r.counts", "whether this attempt stands for its block"),
            ("number", "r.number", "the number that stands for the run, in the metric's unit"),
            ("start", "make_timestamp(TRY_CAST(r.started * 1e6 AS BIGINT))", "moment of its start, UTC"),
            ("wall_s", "r.wall_s", "its length in seconds"),
            ("operations", "r.operations", "operations a value"),
            ("user_s", "r.user_s", "CPU time in user mode"),
            ("system_s", "r.system_s", "CPU time in the kernel"),
            ("voluntary", "r.voluntary", "voluntary switches"),
            ("involuntary", "r.involuntary", "involuntary switches"),
            ("peak_rss_bytes", "r.peak_rss_bytes", "largest resident set"),
            ("foreign_share", "r.foreign_share", "share of its CPUs that other programs took"),
            ("steal_share", "r.steal_share", "share of its CPUs that the hypervisor took"),
            ("padding", "r.padding", "bytes of padding of its environment"),
            ("compiler", "r.compiler", "compiler of the probe"),
            ("flags", "r.flags", "its flags"),
            ("cpus", "r.cpus", "CPUs on which it ran"),
            ("disturbed", "r.disturbed", "what disturbed it; empty for nothing"),
            ("caveats", "r.caveats", "its doubts; empty for none"),
            ("error", "r.error", "why it failed"),
        ),
        _RUNS,
    ),
    View(
        "run_values",
        "a timed batch inside a run: never pool these over processes",
        _columns(
            *_SESSION[:1],
            *_CASE[:1],
            ("run", "r.r", "number of the run in its session"),
            ("role", "r.role", "pilot, block or sentinel"),
            ("block", "r.block", "block of the run"),
            ("n", "v.n", "number of the value in its run, from 0"),
            ("figure", "v.figure", "the main metric's figure of this value"),
            ("operations", "v.operations", "operations that were timed together"),
            ("wall_s", "v.wall_ns / 1e9", "wall time"),
            ("lanes", "v.lanes", "parties that worked at the same time"),
            ("cpu_s", "v.cpu_ns / 1e9", "CPU time"),
            ("user_s", "v.user_ns / 1e9", "CPU time in user mode"),
            ("system_s", "v.system_ns / 1e9", "CPU time in the kernel"),
            ("voluntary", "v.voluntary", "voluntary switches"),
            ("involuntary", "v.involuntary", "involuntary switches"),
            ("minor_faults", "v.minor_faults", "page faults without reading"),
            ("run_delay_s", "v.run_delay_ns / 1e9", "time in which it was ready and did not run"),
            ("counts", "TRY_CAST(v.counts AS MAP(VARCHAR, BIGINT))", "what the probe counted: counts['checked']"),
            ("readings", "TRY_CAST(v.readings AS MAP(VARCHAR, DOUBLE))", "what it read"),
            (
                "counters",
                "TRY_CAST(v.counters AS MAP(VARCHAR, DOUBLE))",
                "what the processor counted, if it did: counters['counter.cycles'] / counters['counter.operations']",
            ),
        ),
        _RUNS + " JOIN kept.run_values v ON v.session = r.session AND v.r = r.r",
    ),
    View(
        "figures",
        "a metric of a run, the main one and all others",
        _columns(
            *_SESSION[:1],
            *_CASE[:1],
            *_METRIC,
            ("doc", "m.doc", "what the metric says"),
            ("main", "m.place = 0", "whether it is the main metric"),
            ("run", "r.r", "number of the run in its session"),
            ("role", "r.role", "pilot, block or sentinel"),
            ("block", "r.block", "block of the run"),
            ("counts", "r.counts", "whether this attempt stands for its block"),
            ("number", "n.number", "the number that stands for the run, in the metric's unit"),
        ),
        _CASES + " JOIN kept.runs r ON r.session = c.session AND r.c = c.c"
        " JOIN kept.figures n ON n.session = r.session AND n.r = r.r AND n.place = m.place",
    ),
)


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows, with the names of their columns."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


class Sessions:
    """Many sessions, ready to be asked in SQL. ``files``: how many there are."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, files: int) -> None:
        self._connection = connection
        self.files = files

    def ask(self, text: str) -> Answer:
        """The answer to one SELECT over the views; raises UsageError, in one sentence, on anything else."""
        return ask(self._connection, text)

    def write_parquet(self, text: str, path: Path) -> None:
        """Write the answer to the file that `open_sessions` was told of; raises UsageError as `ask` does."""
        one_select(text)
        with _reading(self._connection):
            try:
                # As a text inside the text: no comment or bracket of it can end the COPY.
                self._connection.execute(
                    f"COPY (FROM query('{_quoted(text)}')) TO '{_quoted(path)}' (FORMAT parquet, COMPRESSION zstd)"
                ).fetchall()
            except duckdb.IOException as error:
                raise UsageError(f"{path} cannot be written: choose another place with -o") from error

    def close(self) -> None:
        """Let go of the memory and of the index."""
        self._connection.close()

    def __enter__(self) -> Sessions:
        """Use as a context that closes the connection."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()


def connect() -> duckdb.DuckDBPyConnection:
    """A database in memory, apart from the program's variables; raises OutOfMemoryError without room for it."""
    require_addresses(SQL_BYTES, "SQL")
    try:
        # Without a folder for what does not fit into memory: that folder may be read whatever else is forbidden.
        return duckdb.connect(":memory:", config={"python_enable_replacements": False, "temp_directory": ""})
    except (duckdb.Error, MemoryError, RuntimeError) as error:
        raise too_little_memory(error) from error


def too_little_memory(error: Exception) -> OutOfMemoryError:
    """The error for a DuckDB that cannot start or runs out of memory: `ulimit -v` leaves it too little."""
    said = " ".join(str(error).partition("\n")[0].split()) or type(error).__name__
    return OutOfMemoryError(f"SQL needs more memory than there is ({said}): raise `ulimit -v`, or ask fewer sessions")


def lock(connection: duckdb.DuckDBPyConnection, allowed: Sequence[str | Path]) -> None:
    """Forbid DuckDB to open any but the allowed files, and to change a setting."""
    listed = ", ".join(f"'{_quoted(path)}'" for path in allowed)
    connection.execute(f"SET allowed_paths = [{listed}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


@contextlib.contextmanager
def _reading(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """A context in which nothing can be changed, which ends in time, and whose errors are one sentence."""
    watch = threading.Timer(LONGEST_S, connection.interrupt)
    watch.daemon = True
    watch.start()
    try:
        # A SELECT may hold an UPDATE in a WITH; a transaction that only reads refuses it.
        connection.execute("BEGIN TRANSACTION READ ONLY")
        yield
    except duckdb.InterruptException as error:
        raise UsageError(f"the query took more than {LONGEST_S / 60:g} minutes: ask for less") from error
    except (duckdb.OutOfMemoryException, MemoryError) as error:
        raise too_little_memory(error) from error
    except duckdb.Error as error:
        raise UsageError(sentence(error)) from error
    finally:
        watch.cancel()
        with contextlib.suppress(duckdb.Error):
            connection.execute("ROLLBACK")


def ask(connection: duckdb.DuckDBPyConnection, text: str) -> Answer:
    """The answer to one SELECT; raises UsageError, in one sentence, on anything else and when it takes too long."""
    statement = one_select(text)
    with _reading(connection):
        answer = connection.execute(statement)
        return Answer(tuple(column[0] for column in answer.description or ()), answer.fetchall())


def one_select(text: str) -> duckdb.Statement:
    """The one statement of a query; raises UsageError unless it is a SELECT."""
    try:
        statements = duckdb.extract_statements(text)
    except duckdb.Error as error:
        raise UsageError(sentence(error)) from error
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise UsageError("a query is one SELECT over the views: `steelyard query` without SQL lists them")
    return statements[0]


def sentence(error: duckdb.Error) -> str:
    """What DuckDB says, without the picture of the query below it."""
    said = " ".join(str(error).partition("\n\nLINE ")[0].split())
    return f"the query failed: {said}; `steelyard query` without SQL lists views and columns"


def open_sessions(
    paths: Sequence[Path], numbering: index.Numbering, complain: Complain, output: Path | None = None
) -> Sessions:
    """Load session files and lock everything else away; ``complain`` is told of each file that can't be used.

    ``output`` is the one file that may be written.
    """
    connection = connect()
    try:
        return _opened(connection, paths, numbering, complain, output)
    except (duckdb.OutOfMemoryException, MemoryError) as error:
        connection.close()
        raise too_little_memory(error) from error


def _opened(
    connection: duckdb.DuckDBPyConnection,
    paths: Sequence[Path],
    numbering: index.Numbering,
    complain: Complain,
    output: Path | None,
) -> Sessions:
    _attach(connection, paths, numbering, complain)
    wanted = [str(path.absolute()) for path in paths]
    connection.execute(
        "CREATE TABLE wanted AS SELECT session FROM kept.files WHERE file IN (SELECT unnest(?))", [wanted]
    )
    for view in VIEWS:
        columns = ", ".join(f'{column.expression} AS "{column.name}"' for column in view.columns)
        connection.execute(f"CREATE VIEW {view.name} AS SELECT {columns} FROM {view.source}")  # noqa: S608
    files = connection.execute("SELECT count(*) FROM wanted").fetchall()[0][0]
    lock(connection, [] if output is None else [output])
    return Sessions(connection, files)


def _attach(
    connection: duckdb.DuckDBPyConnection, paths: Sequence[Path], numbering: index.Numbering, complain: Complain
) -> None:
    """Attach the columns of these files as `kept`: from the index where there is much to read, else in memory."""
    if index.worth_keeping(paths):
        path = index.default_path()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _attach_file(connection, path, read_only=False)
            _fill(connection, paths, numbering, complain)
            connection.execute("DETACH kept")
            # The question must not write, and others may then read at the same time.
            _attach_file(connection, path, read_only=True)
        except (OSError, duckdb.Error):
            # No place to write to, another process that writes, a damaged index: none of them changes the answer.
            connection.execute("USE memory")
            connection.execute("DETACH DATABASE IF EXISTS kept")
        else:
            return
    connection.execute("ATTACH ':memory:' AS kept")
    _fill(connection, paths, numbering, complain)


def _attach_file(connection: duckdb.DuckDBPyConnection, path: Path, *, read_only: bool) -> None:
    connection.execute(f"ATTACH '{_quoted(path)}' AS kept {'(READ_ONLY)' if read_only else ''}")


def _quoted(text: str | Path) -> str:
    return str(text).replace("'", "''")


def _fill(
    connection: duckdb.DuckDBPyConnection, paths: Sequence[Path], numbering: index.Numbering, complain: Complain
) -> None:
    connection.execute("USE kept")
    index.fill(connection, paths, numbering, complain)
    connection.execute("USE memory")
