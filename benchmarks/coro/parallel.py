# SPDX-License-Identifier: Apache-2.0
"""Six programs of parallel and concurrent work, by engines/coro and by its peers: time, CPU time and memory.

The programs are those of tzcnt/runtime-benchmarks, in our own text: fib, skynet, nqueens and matmul fork and join;
channel has producers and consumers; io_socket is an echo server with its client. A runtime is a file or a folder of
`programs/`; one that cannot be built here is left out with the reason.
"""

from __future__ import annotations

import json
import math
import os
import random
import resource
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from steelyard.judge.stats.comparison import Comparison, compare_paired
from steelyard.judge.stats.scaling import Estimate, Scaling, fit_scaling

_HERE = Path(__file__).parent / "programs"
_BUILD = Path(__file__).parents[2] / "build" / "benchmarks-coro" / "programs"
_DEADLINE_S = 120.0
OURS = "coro"


@dataclass(frozen=True, slots=True)
class Program:
    """One of the six: how large it is, what comes out, and over how many connections, where it has any.

    A program without connections is run on 1, 2, … threads, as many as there are CPUs.
    """

    name: str
    size: int
    result: int
    connections: tuple[int, ...] = ()


def _product_sum(edge: int) -> int:
    """The sum of the elements of the product that matmul computes."""
    columns = [sum((i + 6 * k) % 7 for i in range(edge)) for k in range(edge)]
    rows = [sum((k + j) % 7 for j in range(edge)) for k in range(edge)]
    return sum(column * row for column, row in zip(columns, rows, strict=True))


PROGRAMS = (
    Program("fib", 30, 832_040),
    Program("skynet", 1_000_000, 499_999_500_000),
    Program("nqueens", 12, 14_200),
    Program("matmul", 512, _product_sum(512)),
    Program("channel", 1_000_000, 499_999_500_000),
    # The server and the client have a thread each.
    Program("io_socket", 40_000, 40_000, connections=(1, 50, 1000)),
)


@dataclass(frozen=True, slots=True)
class Sample:
    """What one process says of its run."""

    seconds: float
    cpu_seconds: float
    peak_mib: float


@dataclass(frozen=True, slots=True)
class Runtime:
    """A command that runs the programs that it has."""

    name: str
    command: tuple[str, ...]
    programs: frozenset[str]

    def run(self, program: Program, threads: int) -> Sample:
        """One process; ends the benchmark when its result is wrong."""
        words = self._ask(program.name, str(threads), str(program.size))
        seconds, cpu_seconds, peak_kib, result = words.split()
        if int(result) != program.result:
            raise SystemExit(f"{self.name} {program.name} gave {result}, which is not {program.result}")
        return Sample(float(seconds), float(cpu_seconds), int(peak_kib) / 1024)

    def _ask(self, *arguments: str) -> str:
        done = subprocess.run(
            [*self.command, *arguments], capture_output=True, text=True, timeout=_DEADLINE_S, check=False
        )
        if done.returncode != 0:
            raise SystemExit(f"{self.name} {' '.join(arguments)} failed: {done.stderr.strip()[-500:]}")
        return done.stdout

    @classmethod
    def of(cls, name: str, *command: str | Path) -> Runtime:
        """The runtime of this command, which is asked for what it has."""
        bare = cls(name, tuple(map(str, command)), frozenset())
        return cls(name, bare.command, frozenset(bare._ask("list").split()))


def _quietly(*command: str | Path, **changed: str) -> str | None:
    """Run a part of the build; what it said when it failed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | changed, cwd=_BUILD)
    return None if done.returncode == 0 else (done.stderr or done.stdout).strip().splitlines()[-1]


def _in_cpp(skipped: dict[str, str]) -> Iterator[Runtime]:
    subprocess.run(["cmake", "-S", _HERE, "-B", _BUILD / "cpp"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", _BUILD / "cpp", "--parallel"], check=True, stdout=subprocess.DEVNULL)
    for line in (_BUILD / "cpp" / "skipped.txt").read_text().splitlines():
        name, reason = line.split(": ", 1)
        skipped[name] = reason
    for source in sorted(_HERE.glob("*.cpp")):
        if source.stem not in skipped:
            yield Runtime.of(source.stem, _BUILD / "cpp" / "bin" / source.stem)


def _in_go(skipped: dict[str, str]) -> Iterator[Runtime]:
    if shutil.which("go") is None:
        skipped["go"] = "Go is not installed (Debian: golang-go)"
    elif problem := _quietly("go", "build", "-C", _HERE / "go", "-o", _BUILD / "go", "."):
        skipped["go"] = problem
    else:
        yield Runtime.of("go", _BUILD / "go")


def _in_rust(skipped: dict[str, str]) -> Iterator[Runtime]:
    names = [source.stem for source in sorted((_HERE / "rust" / "src").glob("*.rs")) if source.stem != "programs"]
    if shutil.which("cargo") is None:
        skipped |= dict.fromkeys(names, "cargo is not installed (Debian: cargo)")
        return
    manifest, target = _HERE / "rust" / "Cargo.toml", _BUILD / "cargo"
    if problem := _quietly("cargo", "build", "--release", "--manifest-path", manifest, CARGO_TARGET_DIR=str(target)):
        skipped |= dict.fromkeys(names, problem)
        return
    for name in names:
        yield Runtime.of(name, target / "release" / name)


def _in_java(skipped: dict[str, str]) -> Iterator[Runtime]:
    """By the newest Java development kit that is installed."""
    kits = sorted(Path("/usr/lib/jvm").glob("*/bin/javac"), key=_java_version)
    if not kits or _java_version(kits[-1]) < 21:
        skipped["java"] = "no Java 21 with virtual threads is installed"
    elif problem := _quietly(kits[-1], "-d", _BUILD / "java", _HERE / "ForkJoin.java"):
        skipped["java"] = problem
    else:
        yield Runtime.of("java", kits[-1].with_name("java"), "-cp", _BUILD / "java", "ForkJoin")


def _java_version(compiler: Path) -> int:
    release = compiler.parents[1] / "release"
    text = release.read_text() if release.exists() else ""
    numbers = [line.split('"')[1].split(".")[0] for line in text.splitlines() if line.startswith("JAVA_VERSION=")]
    return int(numbers[0]) if numbers and numbers[0].isdigit() else 0


def build(skipped: dict[str, str]) -> list[Runtime]:
    """All runtimes that can be built here; `skipped` gets the reasons of the others."""
    _BUILD.mkdir(parents=True, exist_ok=True)
    makers = (_in_cpp, _in_go, _in_rust, _in_java)
    return [runtime for maker in makers for runtime in maker(skipped)]


@dataclass(frozen=True, slots=True)
class Row:
    """A runtime at a program and a number of threads."""

    program: str
    threads: int
    runtime: str
    samples: tuple[Sample, ...]
    ours_over_it: Comparison | None
    cpu_ours_over_it: Comparison | None

    @property
    def seconds(self) -> float:
        """The median of the wall times."""
        return median(sample.seconds for sample in self.samples)

    @property
    def cpu_seconds(self) -> float:
        """The median of the CPU times."""
        return median(sample.cpu_seconds for sample in self.samples)

    @property
    def cpu_us_a_trip(self) -> float | None:
        """CPU time of server and client for one round trip; None of a program without connections."""
        program = next(each for each in PROGRAMS if each.name == self.program)
        return self.cpu_seconds / program.size * 1e6 if program.connections else None

    @property
    def peak_mib(self) -> float:
        """The largest resident memory of any run."""
        return max(sample.peak_mib for sample in self.samples)


def measure(runtimes: list[Runtime], programs: list[Program], blocks: int, seed: int) -> list[Row]:
    """Each block runs everything once, in an order drawn anew."""
    # A connection takes two descriptors, and 1024 is the limit of many a shell.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    cpus = len(os.sched_getaffinity(0))
    cases = [
        (program, threads, runtime)
        for program in programs
        for threads in program.connections or range(1, cpus + 1)
        for runtime in runtimes
        if program.name in runtime.programs
    ]
    generator = random.Random(seed)
    samples: dict[tuple[str, int, str], list[Sample]] = {}
    for _ in range(blocks):
        for program, threads, runtime in generator.sample(cases, len(cases)):
            key = (program.name, threads, runtime.name)
            samples.setdefault(key, []).append(runtime.run(program, threads))
    return [_row(key, taken, samples.get((key[0], key[1], OURS))) for key, taken in sorted(samples.items())]


def _row(key: tuple[str, int, str], taken: list[Sample], ours: list[Sample] | None) -> Row:
    compared = cpu = None
    if ours is not None and key[2] != OURS:
        compared = compare_paired([s.seconds for s in taken], [s.seconds for s in ours])
        cpu = compare_paired([s.cpu_seconds for s in taken], [s.cpu_seconds for s in ours])
    return Row(*key, tuple(taken), compared, cpu)


def scaling(rows: list[Row]) -> dict[str, Scaling]:
    """How each program of ours grows with its threads."""
    times: dict[str, dict[int, list[float]]] = {p.name: {} for p in PROGRAMS if not p.connections}
    for row in rows:
        if row.runtime == OURS and row.program in times:
            times[row.program][row.threads] = [sample.seconds for sample in row.samples]
    return {name: fit_scaling([*of], [*of.values()]) for name, of in times.items() if len(of) > 1}


def main(blocks: int, seed: int, only: list[str], as_json: bool) -> int:
    """Print the tables."""
    unknown = set(only) - {program.name for program in PROGRAMS}
    if unknown:
        raise SystemExit(f"there is no program {', '.join(sorted(unknown))}: {', '.join(p.name for p in PROGRAMS)}")
    skipped: dict[str, str] = {}
    runtimes = build(skipped)
    rows = measure(runtimes, [p for p in PROGRAMS if not only or p.name in only], blocks, seed)
    if as_json:
        print(json.dumps({"blocks": blocks, "rows": [_plain(row) for row in rows], "skipped": skipped}, indent=2))
    else:
        show(rows, skipped)
    return 0


def _plain(row: Row) -> dict[str, object]:
    ratio = row.ours_over_it
    return {
        "program": row.program,
        "threads": row.threads,
        "runtime": row.runtime,
        "ms": row.seconds * 1e3,
        "cpu_ms": row.cpu_seconds * 1e3,
        "cpu_us_a_trip": row.cpu_us_a_trip,
        "peak_mib": row.peak_mib,
        "ours_over_it": None if ratio is None else [ratio.ratio, ratio.low, ratio.high],
        "cpu_ours_over_it": None if row.cpu_ours_over_it is None else row.cpu_ours_over_it.ratio,
    }


def show(rows: list[Row], skipped: dict[str, str]) -> None:
    """The tables for people: the runtimes of each program, the fastest first; then how ours scales."""
    console = Console(width=110, highlight=False)
    table = Table(box=None, pad_edge=False)
    columns = ("program", "at", "runtime", "ms", "CPU ms", "trip us", "MiB", "coro over it", "95 % interval", "CPU")
    for name in columns:
        table.add_column(name, justify="left" if name in ("program", "runtime") else "right", no_wrap=True)
    order = {program.name: place for place, program in enumerate(PROGRAMS)}
    for row in sorted(rows, key=lambda row: (order[row.program], row.threads, row.seconds)):
        ratio, cpu = row.ours_over_it, row.cpu_ours_over_it
        table.add_row(
            row.program, str(row.threads), row.runtime, f"{row.seconds * 1e3:.1f}", f"{row.cpu_seconds * 1e3:.1f}",
            "" if row.cpu_us_a_trip is None else f"{row.cpu_us_a_trip:.1f}", f"{row.peak_mib:.1f}",
            "" if ratio is None else f"{ratio.ratio:.2f}",
            "" if ratio is None else f"{ratio.low:.2f} to {ratio.high:.2f}", "" if cpu is None else f"{cpu.ratio:.2f}",
        )  # fmt: skip
    console.print(table)
    console.print(
        "at: threads, of io_socket connections; trip: CPU time of a round trip, server and client; MiB: the peak;\n"
        "coro over it: its time, and CPU: its CPU time, by that of the row"
    )
    for name, of in scaling(rows).items():
        console.print(_scaling_line(name, of))
    for name, reason in skipped.items():
        console.print(f"not built here: {name}: {reason}")


def _scaling_line(program: str, of: Scaling) -> str:
    share = of.efficiency
    taken, low, high = (
        1 / (of.largest * each) if each > 0 else math.inf
        for each in (share.value, share.interval.high, share.interval.low)
    )
    line = f"coro {program}: {of.largest} threads take {taken:.2f} of one ({low:.2f} to {high:.2f})"
    if of.law is None:
        return line
    return f"{line}; contention {_with_interval(of.law.contention)}, coherence {_with_interval(of.law.coherence)}"


def _with_interval(of: Estimate) -> str:
    return f"{of.value:.4f} ({of.interval.low:.4f} to {of.interval.high:.4f})"
