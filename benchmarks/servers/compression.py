# SPDX-License-Identifier: Apache-2.0
"""What compression costs in wheat and in nginx, at equal levels: `python -m benchmarks.servers.compression`.

nginx compresses a file at each request (`gzip on`). wheat compresses what an application returns at each request, which
is the same work and the call besides, and a file once. One worker on the first CPU, the generator wrk on the second.
The verdict: whether wheat takes more CPU time than nginx, in every round of a row or in some.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import http.client
import json
import os
import random
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

_CONNECTIONS = 50
_PATIENCE_S = 20.0
SIZES = {"16 KiB": 16 << 10, "100 KiB": 100 << 10}
LEVELS = (1, 4, 6)
#: Whose figures are set beside those of nginx.
WAYS = ("application", "file")
_APPLICATION = """
import pathlib

BODY = pathlib.Path("page.json").read_bytes()

def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(BODY)))])
    return [BODY]
"""
_NGINX = """
daemon off;
master_process off;
{user}
error_log stderr error;
pid {folder}/nginx.pid;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    open_file_cache max=1000;
    types {{ application/json json; }}
    {temporary}
    gzip {gzip};
    gzip_types application/json;
    gzip_comp_level {level};
    server {{
        listen 127.0.0.1:{port};
        location / {{ root {folder}; }}
    }}
}}
"""


def page(size: int) -> bytes:
    """A list of things as an application answers it: names from few words, numbers without end."""
    chance = random.Random(size)
    words = ["switch", "thread", "worker", "socket", "buffer", "signal", "kernel", "request", "latency", "scheduler"]
    things: list[dict[str, object]] = []
    while len(json.dumps(things)) < size:
        name = " ".join(chance.choices(words, k=3))
        things.append(
            {"id": chance.getrandbits(32), "name": name, "price": chance.random(), "sold": chance.random() < 0.5}
        )
    return json.dumps(things).encode()[:size]


@contextlib.contextmanager
def serving(server: str, level: int, folder: Path) -> Iterator[tuple[str, int]]:
    """A server that is ready; where it is asked, and the process id of what answers. Level 0: nothing is compressed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    if server == "nginx":
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        places = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
        switch, user = ("on" if level else "off"), ("user root;" if os.geteuid() == 0 else "")
        text = _NGINX.format(folder=folder, port=port, gzip=switch, level=level or 1, temporary=places, user=user)
        (folder / "nginx.conf").write_text(text)
        nginx = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
        command = [nginx or sys.exit("nginx is not installed (Debian: apt-get install nginx-light)")]
        command += ["-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", "stderr"]
    else:
        wheat = Path(sys.executable).with_name("wheat")
        if not wheat.is_file():
            sys.exit("wheat is not installed: make build builds it where cargo is")
        what = ["page:application"] if server == "application" else ["--static", f"/={folder}"]
        command = [str(wheat), *what, "--bind", f"127.0.0.1:{port}"]
        command += ["--compress", f"gzip:{level}"] if level else []
    cpus = sorted(os.sched_getaffinity(0))
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL)
    os.sched_setaffinity(process.pid, {cpus[0]})
    try:
        address = f"http://127.0.0.1:{port}/page.json"
        end = time.monotonic() + _PATIENCE_S
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            if time.monotonic() > end or process.poll() is not None:
                sys.exit(f"{server} did not start")
            time.sleep(0.02)
        pid = process.pid
        if server != "nginx":
            pid = int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
        os.sched_setaffinity(pid, {cpus[0]})
        yield address, pid
    finally:
        process.terminate()
        process.wait(_PATIENCE_S)


def cpu_s(pid: int) -> float:
    """CPU time that a process with one thread has taken."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def check(address: str, body: bytes, level: int) -> int:
    """The right answer comes; its length on the way."""
    host, _, path = address.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(host, timeout=_PATIENCE_S)
    connection.request("GET", f"/{path}", headers={"Accept-Encoding": "gzip"})
    answer = connection.getresponse()
    got = answer.read()
    connection.close()
    if (gzip.decompress(got) if level else got) != body:
        sys.exit(f"{address} answers something else")
    return len(got)


def run(server: str, level: int, body: bytes, seconds: int, folder: Path) -> tuple[float, int]:
    """CPU time for a request in microseconds, and the bytes of an answer."""
    cpus = sorted(os.sched_getaffinity(0))
    with serving(server, level, folder) as (address, pid):
        length = check(address, body, level)
        command = ["taskset", "-c", str(cpus[-1]), "wrk", "-t1", f"-c{_CONNECTIONS}", f"-d{seconds}s"]
        before = cpu_s(pid)
        done = subprocess.run(
            [*command, "-H", "Accept-Encoding: gzip", address], check=True, capture_output=True, text=True
        )
        took = cpu_s(pid) - before
    requests = next(int(line.split()[0]) for line in done.stdout.splitlines() if "requests in" in line)
    return took / requests * 1e6, length


def main() -> int:
    """Run all in rounds and print the medians; returns 1 if wheat takes more than nginx in every round of a row."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.servers.compression", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=1, help="of each run")
    options = parser.parse_args()
    for tool in ("wrk", "taskset"):
        if shutil.which(tool) is None:
            sys.exit(f"{tool} is not installed")
    began = time.monotonic()
    measured: dict[tuple[str, int, str], list[tuple[float, int]]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "page.py").write_text(_APPLICATION)
        for number in range(options.rounds):
            for size, length in SIZES.items():
                body = page(length)
                (folder / "page.json").write_bytes(body)
                for level in (0, *LEVELS):
                    for server in ("nginx", *WAYS)[:: 1 if number % 2 else -1]:
                        figure = run(server, level, body, options.seconds, folder)
                        measured.setdefault((size, level, server), []).append(figure)
    table = Table(
        title=f"gzip, CPU time for a request; medians of {options.rounds} rounds", title_justify="left", box=None
    )
    heads = ("body", "level", "wheat", "us", "nginx us", "of nginx", "in the rounds", "bytes", "nginx bytes")
    for head in heads:
        table.add_column(head, justify="left" if head in ("body", "wheat") else "right")
    verdicts = set()
    for size in SIZES:
        for level in (0, *LEVELS):
            theirs = measured[size, level, "nginx"]
            for way in WAYS:
                ours = measured[size, level, way]
                ratios = [a / b for (a, _), (b, _) in zip(ours, theirs, strict=True)]
                if level:
                    verdicts.add(
                        "takes more" if min(ratios) > 1.0 else "takes no more" if max(ratios) <= 1.0 else "undecided"
                    )
                middle = [median(cpu for cpu, _ in figures) for figures in (ours, theirs)]
                table.add_row(
                    *(size, str(level or "none"), way, f"{middle[0]:.1f}", f"{middle[1]:.1f}", f"{median(ratios):.2f}"),
                    *(f"{min(ratios):.2f} … {max(ratios):.2f}", str(ours[0][1]), str(theirs[0][1])),
                )
    console = Console(width=None if sys.stdout.isatty() else 150, highlight=False)
    console.print(table)
    verdict = next(one for one in ("takes more", "undecided", "takes no more") if one in verdicts)
    console.print(f"[dim]{time.monotonic() - began:.0f} s; wheat and nginx: {verdict}[/]")
    return int(verdict == "takes more")


if __name__ == "__main__":
    sys.exit(main())
