# SPDX-License-Identifier: Apache-2.0
"""How long questions to a store of a large fleet take, and how that grows.

    python -m benchmarks.fleet_store [MACHINES …]          makes a store of each size, asks it, removes it
    python -m benchmarks.fleet_store make FOLDER MACHINES  makes one and keeps it
    python -m benchmarks.fleet_store ask FOLDER …          asks those that are there

The numbers are made up and written by the same code that `fleet pack` writes with: 300 cases, 20 blocks, a session a
machine and month, 12 months; 10, 100 and 1,000 machines when nothing else is said (72 million runs). A question is a
whole command, as a user would start it: three of `fleet query`, and `fleet report` of the newest month. Each is asked
three times, and the middle one is printed. `fleet pack` has to read session files, and that is measured by itself, on
variations of the made-up session of the tests.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import msgspec
import numpy as np

from steelyard.keep.session import SUFFIX
from steelyard.keep.store import Store
from steelyard.records import Header, Placed
from tests.many import a_variation, write

_STEELYARD = [sys.executable, "-m", "steelyard", "fleet"]
_CASES, _BLOCKS, _MONTHS = 300, 20, 12
_SIZES = (10, 100, 1000)
_MACHINES_A_PART = 200
_TIMES = 3
_PACKED = 200
_FAMILIES = ("call", "switch", "lock", "message", "memory", "file", "cache", "create", "depth", "request")
_CASE = "memory/case4@same"
_QUESTIONS = {
    "a case by month": f"SELECT month, median(number) FROM runs WHERE case_name = '{_CASE}' GROUP BY month",
    "a case by machine": f"SELECT node, median(number) FROM runs JOIN sessions USING (session, month) "
    f"WHERE case_name = '{_CASE}' GROUP BY node",
    "every case by month": "SELECT month, case_name, median(number) FROM runs GROUP BY ALL",
}


def _cases() -> list[str]:
    return [f"{_FAMILIES[number % len(_FAMILIES)]}/case{number}@same" for number in range(_CASES)]


def _part(store: Store, rng: np.random.Generator, month: str, machines: range, cases: list[str]) -> None:
    """The sessions of some machines in one month: levels of their own, and runs that scatter by 1 %."""
    sessions = [
        (
            f"{month}-{number:05d}",
            f"{month}-15 12:00:00",
            f"n{number}",
            "0123456789ab",
            "Example CPU",
            "6.12",
            "{}",
            "p",
            "0",
        )
        for number in machines
    ]
    shape = (len(machines), len(cases), _BLOCKS)
    # A machine's own level is the same in every month.
    own = np.stack([np.random.default_rng(number).normal(0, 0.004, len(cases)) for number in machines])
    numbers = np.exp(-14 + own[:, :, np.newaxis] + rng.normal(0, 0.01, shape))
    session, case, block = (axis.ravel() for axis in np.indices(shape))
    store.add(
        month,
        sessions,
        {
            "session": np.array([row[0] for row in sessions], dtype=object)[session],
            "case_name": np.array(cases, dtype=object)[case],
            "metric": np.full(session.size, "operation", dtype=object),
            "unit": np.full(session.size, "s", dtype=object),
            "better": np.full(session.size, "lower", dtype=object),
            "block": (block + 1).astype(np.int32),
            "number": numbers.ravel(),
        },
    )


def _make(place: Path, machines: int) -> None:
    rng = np.random.default_rng(1)
    with Store(str(place)) as store:
        for month in range(_MONTHS):
            for first in range(0, machines, _MACHINES_A_PART):
                part = range(first, min(machines, first + _MACHINES_A_PART))
                _part(store, rng, f"2026-{month + 1:02d}", part, _cases())


def _timed(*arguments: str) -> tuple[float, float]:
    """Seconds and the most memory (GB) of a command, as a user would start it."""
    start = time.monotonic()
    nothing = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
    child = os.posix_spawn(sys.executable, [*_STEELYARD, *arguments], os.environ, file_actions=[nothing])
    _, status, used = os.wait4(child, 0)
    if status:
        raise SystemExit(f"steelyard fleet {' '.join(arguments)} failed")
    return time.monotonic() - start, used.ru_maxrss / 1e6


def _middle(*arguments: str) -> tuple[float, float]:
    times, memory = zip(*(_timed(*arguments) for _ in range(_TIMES)), strict=True)
    return statistics.median(times), max(memory)


def _ask(place: Path) -> None:
    """Print a row of the table."""
    machines = len(_machines(place))
    size = sum(path.stat().st_size for path in place.rglob("*.parquet"))
    runs = machines * _CASES * _MONTHS * _BLOCKS
    figures = [_middle("query", sql, str(place), "--format", "csv")[0] for sql in _QUESTIONS.values()]
    report, memory = _middle("report", str(place))
    cells = [f"{machines:,}", f"{runs / 1e6:.3g} M", f"{size / 1e6:.3g} MB", f"{size / runs:.1f} B"]
    cells += [f"{seconds:.1f} s" for seconds in (*figures, report)]
    print(f"| {' | '.join([*cells, f'{memory:.1f} GB'])} |", flush=True)


def _machines(place: Path) -> list[tuple[str]]:
    with Store(str(place)) as store:
        return store.ask("SELECT DISTINCT node FROM sessions").rows


def _pack(folder: Path) -> None:
    """How fast `fleet pack` reads session files."""
    files = folder / "files"
    files.mkdir()
    size = 0
    for number in range(_PACKED):
        head, *lines = a_variation(number)
        assert isinstance(head, Header)
        node = f"n{number}"
        head = msgspec.structs.replace(head, placed=Placed(plan="0", token=f"{node}.1", node=node))
        size += write(files / f"{node}.1{SUFFIX}", [head, *lines]).stat().st_size
    seconds, _ = _timed("pack", str(files), "-o", str(folder / "packed"))
    print(
        f"\n`fleet pack` of {_PACKED} session files of {size / _PACKED / 1e3:.0f} kB: {seconds:.1f} s, "
        f"{size / seconds / 1e6:.0f} MB of files a second",
        flush=True,
    )


def _heads() -> None:
    print(f"{_CASES} cases, {_BLOCKS} blocks, {_MONTHS} months; {len(os.sched_getaffinity(0))} CPUs\n")
    columns = ["machines", "runs", "Parquet", "a run", *_QUESTIONS, "report of the newest month", "its memory"]
    print(f"| {' | '.join(columns)} |\n|{' ---: |' * len(columns)}", flush=True)


def main(*arguments: str) -> None:
    """Make stores, ask them, print; or one of these."""
    match arguments:
        case ("make", folder, machines):
            start = time.monotonic()
            _make(Path(folder), int(machines))
            print(f"{machines} machines made in {time.monotonic() - start:.0f} s")
        case ("ask", *folders):
            _heads()
            for folder in folders:
                _ask(Path(folder))
        case sizes:
            _heads()
            with tempfile.TemporaryDirectory(prefix="steelyard-store-") as scratch:
                for machines in map(int, sizes or _SIZES):
                    _make(Path(scratch) / "store", machines)
                    _ask(Path(scratch) / "store")
                    shutil.rmtree(Path(scratch) / "store")
                _pack(Path(scratch))


if __name__ == "__main__":
    main(*sys.argv[1:])
