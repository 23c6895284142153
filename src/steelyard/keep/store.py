# SPDX-License-Identifier: Apache-2.0
"""The numbers of many fleets as Parquet, in a folder or in an object store, asked by DuckDB.

    sessions/month=2026-01/*.parquet     a row a session: its machine, when, under what
    runs/month=2026-01/*.parquet         a row a run that counts: the number that stands for it

A session file holds everything and stays the record; this holds the one number a run that comparisons are made of, in
columns, sorted by case, so that a question about one case reads a small part of it. Files are added and never changed,
each whole or not at all: a session is in one of them, and adding it again adds nothing.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from steelyard.errors import InstallationError, SessionFileError, StorageError, UsageError
from steelyard.keep.query import Answer, ask, connect, lock, sentence

Column = npt.NDArray[Any]

_SESSIONS = (
    "session VARCHAR, started TIMESTAMP, node VARCHAR, machine_key VARCHAR, about VARCHAR, kernel VARCHAR, "
    "environment VARCHAR, plan VARCHAR, steelyard VARCHAR"
)
_RUNS = "session VARCHAR, case_name VARCHAR, metric VARCHAR, unit VARCHAR, better VARCHAR, block INTEGER, number DOUBLE"
_VIEWS = {"sessions": _SESSIONS, "runs": _RUNS}
_ROW_GROUP = 100_000


def is_url(place: str) -> bool:
    """Whether a place is a URL, as of an object store, and not a path."""
    return "://" in place


def file_system(url: str) -> Any:
    """What fsspec gives for a URL; raises InstallationError where it, or what it needs for this one, is missing."""
    try:
        import fsspec  # type: ignore[import-untyped,unused-ignore]

        return fsspec.core.url_to_fs(url)[0]
    except ImportError as error:
        raise InstallationError(
            f"{url} needs a library that is not installed ({error}): pip install 'steelyard[fleet]', and s3fs, gcsfs "
            "or adlfs for an object store"
        ) from error
    except ValueError as error:
        raise UsageError(f"{url} is not a place to read from: {error}") from error


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of some months. ``sessions``: node, key and about by session; ``cases``: name, unit, better, metric.

    ``session``, ``case`` and ``block`` place each of ``number``: by the places in the lists, blocks from 0.
    """

    sessions: list[tuple[str, str, str]]
    cases: list[tuple[str, str, str, str]]
    session: npt.NDArray[np.int64]
    case: npt.NDArray[np.int64]
    block: npt.NDArray[np.int64]
    number: npt.NDArray[np.float64]


class Store:
    """A store in a folder, or at a URL that fsspec knows."""

    def __init__(self, place: str) -> None:
        self.place = place.rstrip("/")
        self._files = file_system(place) if is_url(place) else None
        self._connection = connect()
        if self._files is not None:
            self._connection.register_filesystem(self._files)

    def close(self) -> None:
        """Let go of the memory."""
        self._connection.close()

    def __enter__(self) -> Store:
        """Use as a context that closes the connection."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    # --- writing ------------------------------------------------------------------------------------------------------

    def add(self, month: str, sessions: Sequence[Sequence[Any]], runs: Mapping[str, Column]) -> None:
        """Add sessions of one month and the runs of them; raises StorageError when there is no room.

        sessions: rows of the columns of the view; runs: its columns by name.
        """
        name = secrets.token_hex(8)
        self._connection.execute(f"CREATE OR REPLACE TEMP TABLE new_sessions ({_SESSIONS})")
        self._connection.executemany("INSERT INTO new_sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", sessions)
        self._connection.register("new_runs", dict(runs))
        try:
            # The runs first: a session is in the store when its row in `sessions` is.
            self._write(
                f"runs/month={month}/{name}.parquet", "SELECT * FROM new_runs ORDER BY case_name, session, block"
            )
            self._write(f"sessions/month={month}/{name}.parquet", "SELECT * FROM new_sessions")
        except (OSError, duckdb.Error) as error:
            raise StorageError(
                f"{self.place} cannot be written ({sentence_of(error)}): nothing of it counts"
            ) from error
        finally:
            self._connection.unregister("new_runs")

    def _write(self, where: str, select: str) -> None:
        options = f"(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {_ROW_GROUP})"
        if self._files is None:
            path = Path(self.place) / where
            path.parent.mkdir(parents=True, exist_ok=True)
            half = path.with_suffix(".half")
            try:
                self._connection.execute(f"COPY ({select}) TO '{_quoted(half)}' {options}")
                half.replace(path)
            finally:
                half.unlink(missing_ok=True)
            return
        with tempfile.TemporaryDirectory(prefix=f"steelyard-{os.getuid()}-store-") as folder:
            local = Path(folder) / "part.parquet"
            self._connection.execute(f"COPY ({select}) TO '{_quoted(local)}' {options}")
            # Object stores show an object when it is whole.
            self._files.makedirs(f"{self.place}/{where}".rpartition("/")[0], exist_ok=True)
            self._files.pipe_file(f"{self.place}/{where}", local.read_bytes())

    # --- reading ------------------------------------------------------------------------------------------------------

    def _names(self, kind: str, months: Sequence[str] | None) -> list[str]:
        """The files of a kind, as DuckDB calls them."""
        found = self._connection.execute(f"FROM glob('{_quoted(self.place)}/{kind}/month=*/*.parquet')").fetchall()
        wanted = None if months is None else {f"month={month}" for month in months}
        names = sorted(str(row[0]) for row in found)
        return [name for name in names if wanted is None or name.split("/")[-2] in wanted]

    def _source(self, kind: str, months: Sequence[str] | None) -> str:
        names = self._names(kind, months)
        if not names:
            raise SessionFileError(f"{self.place} holds no sessions: `steelyard fleet pack` brings some in")
        listed = ", ".join(f"'{_quoted(name)}'" for name in names)
        return f"read_parquet([{listed}], hive_partitioning = true, hive_types_autocast = false)"

    def months(self) -> list[str]:
        """The months of which there are sessions, oldest first."""
        return sorted({name.split("/")[-2].removeprefix("month=") for name in self._names("sessions", None)})

    def ids(self) -> set[str]:
        """The sessions that are there."""
        if not self._names("sessions", None):
            return set()
        rows = self._connection.execute(f"SELECT session FROM {self._source('sessions', None)}").fetchall()  # noqa: S608
        return {str(row[0]) for row in rows}

    def numbers(self, months: Sequence[str]) -> Numbers:
        """The numbers of some months; raises SessionFileError where there are none."""
        sessions, runs = self._source("sessions", months), self._source("runs", months)
        run = self._connection.execute
        # A run counts when its session is there: a part whose writing was cut short has only runs.
        run(
            "CREATE OR REPLACE TEMP TABLE s AS SELECT session, any_value(node) AS node, any_value(machine_key) AS key, "  # noqa: S608
            "any_value(about) AS about, row_number() OVER (ORDER BY session) - 1 AS place "
            f"FROM {sessions} GROUP BY session"
        )
        run(
            "CREATE OR REPLACE TEMP TABLE c AS SELECT *, row_number() OVER (ORDER BY case_name, metric) - 1 AS place "  # noqa: S608
            f"FROM (SELECT DISTINCT case_name, metric, unit, better FROM {runs})"
        )
        columns = run(
            "SELECT s.place AS session, c.place AS case_place, r.block - 1 AS block, r.number AS number "  # noqa: S608
            f"FROM {runs} r JOIN s ON s.session = r.session JOIN c ON c.case_name = r.case_name AND c.metric = r.metric"
        ).fetchnumpy()
        return Numbers(
            sessions=run("SELECT node, key, about FROM s ORDER BY place").fetchall(),
            cases=run("SELECT case_name, unit, better, metric FROM c ORDER BY place").fetchall(),
            session=np.asarray(columns["session"], dtype=np.int64),
            case=np.asarray(columns["case_place"], dtype=np.int64),
            block=np.asarray(columns["block"], dtype=np.int64),
            number=np.asarray(columns["number"], dtype=np.float64),
        )

    def ask(self, text: str) -> Answer:
        """The answer to one SELECT over the views `sessions` and `runs`, each with its month; raises UsageError.

        It reads the files of the store and nothing else, and can't be asked to.
        """
        allowed = [name for kind in _VIEWS for name in self._names(kind, None)]
        for kind in _VIEWS:
            self._connection.execute(f"CREATE OR REPLACE VIEW {kind} AS FROM {self._source(kind, None)}")
        try:
            lock(self._connection, allowed)
        except duckdb.Error as error:
            raise UsageError(sentence(error)) from error
        return ask(self._connection, text)


def is_store(place: str) -> bool:
    """Whether a place holds Parquet of ours; a place that is not there holds none."""
    if is_url(place):
        return bool(file_system(place).glob(f"{place.rstrip('/')}/sessions/month=*/*.parquet"))
    return any(Path(place).glob("sessions/month=*/*.parquet"))


def sentence_of(error: Exception) -> str:
    """What is wrong, in one line."""
    return " ".join(str(error).split()) or type(error).__name__


def _quoted(text: str | Path) -> str:
    return str(text).replace("'", "''")
