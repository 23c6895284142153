# SPDX-License-Identifier: Apache-2.0
"""`go test -bench` on the same operations (go_bench.go), built here: what our Go probes add by proving their work.

One of its results is the mean of a stretch, with whatever came between; ours is a median of short ones. So it gives
several short ones as well, and their median is its figure: by one long mean a hand-over took 1.13 times as long as
ours, by CPU time they take the same.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.peers import Peer

_SOURCE = Path(__file__).with_suffix(".go")
_TIME, _TIMES = "20ms", 15


def _program() -> str:
    """The compiled benchmarks; named so that it says what is missing where there is no Go."""
    program = Path(tempfile.gettempdir()) / f"steelyard-go-bench-{_SOURCE.stat().st_mtime_ns}.test"
    if program.exists() or shutil.which("go") is None:
        return str(program) if program.exists() else "go"
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(_SOURCE, Path(folder) / "bench_test.go")
        Path(folder, "go.mod").write_text("module peers\n\ngo 1.21\n")
        environment = {**os.environ, "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}
        command = ["go", "test", "-c", "-o", str(program), "."]
        built = subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True)
    return str(program) if built.returncode == 0 else "go"


def _nanoseconds(operations: int) -> Callable[[str], float]:
    def read(printed: str) -> float:
        found = re.findall(r"([\d.]+) ns/op", printed)
        if not found:
            raise ValueError(f"go test printed no result: {printed!r}")
        return statistics.median(map(float, found)) / 1e9 / operations

    return read


def _peer(benchmark: str, case: str, metric: str, operations: int, same: str) -> Peer:
    return Peer(
        name=f"go test -bench {benchmark}",
        case=case,
        metric=metric,
        command=(
            _BENCH,
            f"-test.bench=^Benchmark{benchmark}$",
            f"-test.benchtime={_TIME}",
            f"-test.count={_TIMES}",
            "-test.cpu=1",
            "-test.run=^$",
        ),
        figure=_nanoseconds(operations),
        same=same,
        target=(0.95, 1.05),
    )


_BENCH = _program()
PEERS = (
    _peer("Goroutine", "create/goroutine@same", "goroutine", 1, "a goroutine and its answer by an unbuffered channel"),
    _peer("Gosched", "switch/gosched[contexts=2]@same", "yield", 2, "two goroutines that yield; ours counts switches"),
    _peer(
        "Unbuffered",
        "switch/go_chan[contexts=2,form=unbuffered]@same",
        "handoff",
        2,
        "two goroutines that pass a number by unbuffered channels; ours by one, with the proof in what is passed",
    ),
)
