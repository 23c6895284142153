# SPDX-License-Identifier: Apache-2.0
"""Build every program of this folder and run ours and theirs interleaved: the ratios, beside what they must not exceed.

.venv/bin/python -m benchmarks.coro
.venv/bin/python -m benchmarks.coro --parallel    what parallel.py says
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.table import Table

from benchmarks.coro import parallel
from steelyard.judge.stats.comparison import Comparison, compare_paired

_HERE = Path(__file__).parent
_BUILD = _HERE.parents[1] / "build" / "benchmarks-coro"
_DEADLINE_S = 120.0
#: Each program is built several times, placed differently in memory, and a block takes the mean: see bench.hpp.
#: Those of CMake are in CMakeLists.txt, crates have that many.
_LAYOUTS = range(1, 5)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two programs that do the same, and the ratio of their costs that ours must not exceed, if there is one."""

    what: str
    ours: str
    theirs: str
    limit: float | None = None


PAIRS = (
    Pair("stackful switch, one way, beside Boost.Context", "switch_coro", "switch_boost", 0.5),
    Pair("stackful switch, one way, beside corosensei", "switch_coro", "switch_corosensei", 1.1),
    Pair("opaque generator, next value, beside a bare one", "generator_coro", "generator_bare", 1.0),
    Pair("recursive generator, depth 100 beside depth 1", "recursive_depth100", "recursive_depth1", 1.2),
    Pair("lazy call beside a plain task with malloc frames", "call_coro", "call_plain", 0.8),
    Pair("context create, run, destroy, beside Boost's pooled", "create_coro", "create_boost", 1.0),
    Pair("1000 scattered reads, lazy beside a bare io_uring loop", "reads_lazy", "reads_bare", 1.1),
    Pair("1000 scattered reads, fiber beside a bare io_uring loop", "reads_fiber", "reads_bare", 1.1),
    Pair("fiber yield through the scheduler, beside Boost.Fiber", "yield_coro", "yield_boost"),
    Pair("fiber spawn and join, beside Boost.Fiber", "spawn_coro", "spawn_boost"),
)


def build(compiler: str | None) -> dict[str, list[Path]]:
    """All programs that can be built here, by name, in all layouts."""
    cmake = _BUILD / (compiler or "default")
    chosen = [f"-DCMAKE_CXX_COMPILER={compiler}"] if compiler else []
    subprocess.run(["cmake", "-S", _HERE, "-B", cmake, *chosen], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", cmake, "--parallel"], check=True, stdout=subprocess.DEVNULL)
    found = {source.stem: list(cmake.glob(f"{source.stem}.*")) for source in _HERE.glob("*.cpp")}
    if shutil.which("cargo") is not None:
        for crate in _HERE.glob("*/Cargo.toml"):
            program = f"switch_{crate.parent.name}"
            target = _BUILD / "cargo" / "target"
            for layout in _LAYOUTS:
                subprocess.run(
                    ["cargo", "build", "--quiet", "--release", "--manifest-path", crate, "--target-dir", target],
                    env=os.environ | {"BENCH_SKIP": str(16 * (1 + layout % 4))},
                    check=True,
                )
                copy = _BUILD / "cargo" / f"{program}.{layout}"
                found.setdefault(program, []).append(Path(shutil.copy(target / "release" / program, copy)))
    return {name: paths for name, paths in found.items() if paths}


def measure(program: Path, cpu: int) -> float:
    """One run: nanoseconds an operation. Reads may use every CPU, for the kernel's threads do."""
    scratch = _BUILD / "files"
    scratch.mkdir(parents=True, exist_ok=True)
    where = [] if program.name.startswith("reads_") else ["taskset", "--cpu-list", str(cpu)]
    done = subprocess.run(
        [*where, program], capture_output=True, text=True, timeout=_DEADLINE_S, check=False, cwd=scratch
    )
    if done.returncode != 0:
        raise SystemExit(f"{program.name} failed: {done.stderr.strip()}")
    return float(done.stdout)


def keeps_to(limit: float, compared: Comparison) -> bool:
    """Whether the ratio is within the limit to two digits, and its interval reaches down to the limit."""
    return round(compared.ratio, 2) <= limit and compared.low <= limit


def main() -> int:
    """Print the ratios; 1 when one of them exceeds its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=15, help="each runs every program once, in random order")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compiler", help="for the C++ programs, the default is CMake's")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--build", action="store_true", help="only build")
    parser.add_argument("--parallel", action="store_true", help="six programs on the pool, beside other runtimes")
    parser.add_argument("--program", action="append", default=[], help="with --parallel: only this one")
    options = parser.parse_args()
    if options.parallel:
        return parallel.main(options.blocks, options.seed, options.program, options.json)
    programs = build(options.compiler)
    if options.build:
        return 0
    names = sorted({name for pair in PAIRS for name in (pair.ours, pair.theirs)} & set(programs))
    cpu = max(os.sched_getaffinity(0))
    generator = random.Random(options.seed)
    samples: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(options.blocks):
        runs = [(name, program) for name in names for program in programs[name]]
        block: dict[str, list[float]] = {name: [] for name in names}
        for name, program in generator.sample(runs, len(runs)):
            block[name].append(measure(program, cpu))
        for name, costs in block.items():
            samples[name].append(fmean(costs))

    results = []
    for pair in PAIRS:
        if pair.ours in samples and pair.theirs in samples:
            compared = compare_paired(samples[pair.theirs], samples[pair.ours])
            results.append(
                {
                    "what": pair.what,
                    "ours_ns": sorted(samples[pair.ours])[options.blocks // 2],
                    "theirs_ns": sorted(samples[pair.theirs])[options.blocks // 2],
                    "ratio": compared.ratio,
                    "low": compared.low,
                    "high": compared.high,
                    "limit": pair.limit,
                    "holds": None if pair.limit is None else keeps_to(pair.limit, compared),
                }
            )
    missing = [pair.what for pair in PAIRS if not {pair.ours, pair.theirs} <= set(samples)]
    if options.json:
        print(json.dumps({"blocks": options.blocks, "results": results, "not_built": missing}, indent=2))
    else:
        show(results, missing)
    return 1 if any(result["holds"] is False for result in results) else 0


def show(results: list[dict[str, object]], missing: list[str]) -> None:
    """The table for people."""
    table = Table(box=None, pad_edge=False)
    for name in ("what", "ours, ns", "theirs, ns", "ours over theirs", "95 % interval", "at most", "holds"):
        table.add_column(name, justify="left" if name == "what" else "right", no_wrap=True)
    for r in results:
        limit, holds = ("", "") if r["limit"] is None else (f"{r['limit']:g}", "yes" if r["holds"] else "no")
        table.add_row(
            str(r["what"]), f"{r['ours_ns']:.2f}", f"{r['theirs_ns']:.2f}", f"{r['ratio']:.3f}",
            f"{r['low']:.3f} to {r['high']:.3f}", limit, holds,
        )  # fmt: skip
    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    console.print(table)
    for what in missing:
        console.print(f"not built here: {what}")


if __name__ == "__main__":
    sys.exit(main())
