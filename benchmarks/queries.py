# SPDX-License-Identifier: Apache-2.0
"""How long questions over many sessions take.

    python -m benchmarks.queries [SESSIONS]

Makes a folder of session files (variations of the made-up session of the tests: 10 cases and controls, 8 blocks, 120 kB
a file), asks the same questions with nothing kept, with the index kept, and after ten new sessions, and prints a table.
Beside it stands how fast the lines are read by our decoder and by DuckDB's reader of JSON: the reason for the first.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from steelyard.keep.session import SUFFIX, read
from tests.many import a_variation, write

_STEELYARD = [sys.executable, "-m", "steelyard"]
_CASE = "example/swept[n=10,kind=thread]@same"
_QUESTIONS = {
    "sessions by machine": "SELECT machine_key, count(*) FROM sessions GROUP BY ALL",
    "median of each case by year": "SELECT year(started), case_name, median(median) FROM cases GROUP BY ALL",
    "disturbed runs by case": "SELECT case_name, count(*) FILTER (disturbed <> '') FROM runs GROUP BY ALL",
    "values a run": "SELECT case_name, avg(figure), count(*) FROM run_values GROUP BY ALL",
}


def _timed(work: Callable[[], object]) -> float:
    start = time.monotonic()
    work()
    return time.monotonic() - start


def _ask(sql: str, folder: Path, cache: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    command = [*_STEELYARD, "query", sql, str(folder), "--format", "csv"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)


def _by_duckdb(paths: list[Path]) -> None:
    """The runs and their values by DuckDB's own reader, with the columns said beforehand."""
    value = "STRUCT(operations BIGINT, wall_ns BIGINT, cpu_ns BIGINT, counts MAP(VARCHAR, BIGINT))[]"
    columns = {"type": "VARCHAR", "case": "VARCHAR", "block": "INTEGER", "status": "VARCHAR", "values": value}
    duckdb.sql(
        f"CREATE OR REPLACE TABLE t AS SELECT * FROM read_json({[str(path) for path in paths]}, "
        f"format='newline_delimited', columns={columns}, ignore_errors=true)"
    )


def main(sessions: int) -> None:
    """Make the folder, ask, print."""
    folder = Path(tempfile.mkdtemp(prefix="steelyard-queries-"))
    try:
        _measure(folder / "sessions", folder / "cache", sessions)
    finally:
        shutil.rmtree(folder)


def _measure(folder: Path, cache: Path, sessions: int) -> None:
    folder.mkdir()
    for number in range(sessions):
        write(folder / f"{number:06d}{SUFFIX}", a_variation(number))
    paths = sorted(folder.iterdir())
    size = sum(path.stat().st_size for path in paths)
    print(f"{sessions} sessions, {size / 1e6:.0f} MB, {len(os.sched_getaffinity(0))} CPUs\n")
    sample = paths[:500]
    ours = _timed(lambda: [read(path) for path in sample])
    theirs = _timed(lambda: _by_duckdb(sample))
    print(f"reading {len(sample)} files: our decoder {ours:.2f} s on one CPU, DuckDB's {theirs:.2f} s on all\n")
    print("| question | first time | kept | after 10 new sessions |")
    print("| --- | ---: | ---: | ---: |")
    for question, sql in _QUESTIONS.items():
        shutil.rmtree(cache, ignore_errors=True)
        first, kept = (_timed(lambda sql=sql: _ask(sql, folder, cache)) for _ in range(2))
        for _ in range(10):
            number = len(list(folder.iterdir()))
            write(folder / f"{number:06d}{SUFFIX}", a_variation(number))
        more = _timed(lambda sql=sql: _ask(sql, folder, cache))
        print(f"| {question} | {first:.1f} s | {kept:.1f} s | {more:.1f} s |")
    command = [*_STEELYARD, "history", _CASE, str(folder)]
    took = _timed(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL))
    print(f"\n`steelyard history` of a case that all sessions have: {took:.1f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
