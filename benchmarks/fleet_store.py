# SPDX-License-Identifier: Apache-2.0
"""How long questions to a store of a large fleet take, and how that grows.

    python -m benchmarks.fleet_store [MACHINES] [CASES] [MONTHS]

Makes a store of made-up numbers by the same code that `fleet pack` writes with: a session of 20 blocks for each
machine and month, 1,000 machines, 300 cases and 12 months when nothing else is said (72 million runs). It asks the same
questions of a quarter, of a half and of all of the machines, and prints a table. What is made is removed again; `fleet
pack` itself, which has to read session files, is not measured here (`python -m benchmarks.queries` measures reading).
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from steelyard.keep.store import Store

_STEELYARD = [sys.executable, "-m", "steelyard", "fleet"]
_BLOCKS = 20
_MACHINES_A_PART = 200
_FAMILIES = ("call", "switch", "lock", "message", "memory", "file", "cache", "create", "depth", "request")
_CASE = "memory/case4@same"
_QUESTIONS = {
    "a case by month": f"SELECT month, median(number) FROM runs WHERE case_name = '{_CASE}' GROUP BY month",
    "a case by machine": f"SELECT node, median(number) FROM runs JOIN sessions USING (session, month) "
    f"WHERE case_name = '{_CASE}' GROUP BY node",
    "every case by month": "SELECT month, case_name, median(number) FROM runs GROUP BY ALL",
}


def _cases(count: int) -> list[str]:
    return [f"{_FAMILIES[number % len(_FAMILIES)]}/case{number}@same" for number in range(count)]


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


def _make(place: Path, machines: int, cases: list[str], months: int) -> None:
    rng = np.random.default_rng(1)
    with Store(str(place)) as store:
        for month in range(months):
            name = f"{2026 + month // 12}-{month % 12 + 1:02d}"
            for first in range(0, machines, _MACHINES_A_PART):
                _part(store, rng, name, range(first, min(machines, first + _MACHINES_A_PART)), cases)


def _timed(*arguments: str) -> tuple[float, float]:
    """Seconds and the most memory (GB) of a command, as a user would start it."""
    start = time.monotonic()
    subprocess.run([*_STEELYARD, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6


def _measure(place: Path, machines: int, cases: int, months: int) -> None:
    started = time.monotonic()
    _make(place, machines, _cases(cases), months)
    size = sum(path.stat().st_size for path in place.rglob("*.parquet"))
    runs = machines * cases * months * _BLOCKS
    made = time.monotonic() - started
    figures = [_timed("query", sql, str(place), "--format", "csv")[0] for sql in _QUESTIONS.values()]
    report, memory = _timed("report", str(place))
    cells = [f"{machines:,}", f"{months}", f"{runs / 1e6:.1f} M", f"{size / 1e6:.0f} MB", f"{made:.0f} s"]
    cells += [f"{seconds:.1f} s" for seconds in (*figures, report)]
    print(f"| {' | '.join([*cells, f'{memory:.1f} GB'])} |", flush=True)


def main(machines: int = 1000, cases: int = 300, months: int = 12) -> None:
    """Make stores of three sizes, ask, print."""
    print(f"{cases} cases, {_BLOCKS} blocks, a session a machine and month; {len(os.sched_getaffinity(0))} CPUs\n")
    columns = [
        "machines",
        "months",
        "runs",
        "Parquet",
        "made in",
        *_QUESTIONS,
        "report of the newest month",
        "its memory",
    ]
    print(f"| {' | '.join(columns)} |\n|{' ---: |' * len(columns)}")
    for share in (4, 2, 1):
        folder = Path(tempfile.mkdtemp(prefix="steelyard-store-"))
        try:
            _measure(folder / "store", machines // share, cases, months)
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
