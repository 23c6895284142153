# SPDX-License-Identifier: Apache-2.0
"""Workers behind one listener that they share, and behind a socket each: `python -m benchmarks.servers.listeners`.

Two workers of wheat, kept from no CPU, and the generator wrk on the same CPUs: the figures compare the two ways and say
nothing of how fast either is. `uneven` has an application that is slow now and then, which is where the ways differ.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

_WORKERS = 2
_CONNECTIONS = 50
_PATIENCE_S = 20.0
#: Each hundredth call of a worker takes 20 ms.
_APPLICATION = """
import time
from itertools import count

calls = count(1)

def even(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "5")])
    return [b"hello"]

def uneven(environ, start_response):
    if next(calls) % 100 == 0:
        time.sleep(0.02)
    return even(environ, start_response)
"""
#: What is asked of which application, and whether connections are used again.
LOADS = {
    "kept connections": ("even", True),
    "a connection each": ("even", False),
    "kept connections, uneven": ("uneven", True),
    "a connection each, uneven": ("uneven", False),
}
WAYS = ("shared", "one each")


@contextlib.contextmanager
def serving(way: str, application: str, folder: Path) -> Iterator[tuple[int, list[int]]]:
    """Both workers, ready; the port, and the process ids of their masters."""
    wheat = Path(sys.executable).with_name("wheat")
    if not wheat.is_file():
        sys.exit("wheat is not installed: make build builds it where cargo is")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [wheat, f"slow:{application}", "--bind", f"127.0.0.1:{port}"]
    shared = way == "shared"
    commands = [[*command, "--workers", str(_WORKERS)]] if shared else [[*command, "--reuse-port"]] * _WORKERS
    masters = [subprocess.Popen(one, cwd=folder, stderr=subprocess.PIPE, text=True) for one in commands]
    try:
        for master in masters:
            assert master.stderr
            while "serving" not in (line := master.stderr.readline()):
                if not line:
                    sys.exit("wheat ended before it was ready")
        yield port, [master.pid for master in masters]
    finally:
        for master in masters:
            master.terminate()
        for master in masters:
            master.wait(_PATIENCE_S)


def requests_of_workers(masters: list[int]) -> list[int]:
    """How many requests each worker has had, by its own count."""
    wheat = Path(sys.executable).with_name("wheat")
    counts = []
    for master in masters:
        said = subprocess.run([wheat, "stat", str(master)], check=True, capture_output=True, text=True).stdout
        heads, *rows = (re.split(r"\s\s+", line.strip()) for line in said.splitlines()[3:])
        counts += [int(row[heads.index("requests")].replace(",", "")) for row in rows if row[0].isdigit()]
    return counts


def run(way: str, load: str, seconds: int, folder: Path) -> dict[str, float]:
    """Requests a second, percentiles in ms, and the share of the requests that the busier worker had."""
    application, kept = LOADS[load]
    closing = () if kept else ("--header", "Connection: close")
    with serving(way, application, folder) as (port, masters):
        command = [
            "wrk",
            "-t1",
            f"-c{_CONNECTIONS}",
            f"-d{seconds}s",
            "--latency",
            *closing,
            f"http://127.0.0.1:{port}/",
        ]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        counts = requests_of_workers(masters)
    figures = {"requests": float(found(r"Requests/sec:\s+([\d.]+)", done.stdout))}
    for percentile in ("50", "99"):
        text = found(rf"{percentile}%\s+([\d.]+[mu]?s)", done.stdout)
        figures[f"p{percentile}"] = float(text.rstrip("mus")) * {"us": 1e-3, "ms": 1.0}.get(text[-2:], 1e3)
    figures["share"] = max(counts) / sum(counts)
    return figures


def found(pattern: str, text: str) -> str:
    """What the generator says of something."""
    match = re.search(pattern, text)
    if match is None:
        sys.exit(f"wrk said nothing of {pattern}:\n{text}")
    return match[1]


def main() -> None:
    """Run both ways under each load, in rounds, and print the medians."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.servers.listeners", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2, help="of each load")
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("wrk is not installed (Debian: apt-get install wrk)")
    measured: dict[tuple[str, str], list[dict[str, float]]] = {}
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "slow.py").write_text(_APPLICATION)
        for number in range(options.rounds):
            for load in LOADS:
                for way in WAYS[:: 1 if number % 2 else -1]:
                    measured.setdefault((load, way), []).append(run(way, load, options.seconds, folder))
    cpus = len(os.sched_getaffinity(0))
    title = f"{_WORKERS} workers and wrk, {_CONNECTIONS} connections, {cpus} CPUs; medians of {options.rounds} rounds"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for head in ("load", "listener", "requests/s", "p50 ms", "p99 ms", "p99 in the rounds", "busier worker's share"):
        table.add_column(head, justify="left" if head in ("load", "listener") else "right")
    for (load, way), rounds in measured.items():
        middle = {name: median(one[name] for one in rounds) for name in rounds[0]}
        ends = [one["p99"] for one in rounds]
        table.add_row(
            *(load, way, f"{middle['requests']:.0f}", f"{middle['p50']:.2f}", f"{middle['p99']:.2f}"),
            *(f"{min(ends):.2f} … {max(ends):.2f}", f"{middle['share']:.0%}"),
        )
    console = Console(width=None if sys.stdout.isatty() else 150, highlight=False)
    console.print(table)
    console.print(f"[dim]{time.monotonic() - began:.0f} s[/]")


if __name__ == "__main__":
    main()
