# SPDX-License-Identifier: Apache-2.0
"""The instrument of serve/: starts a model of the service, loads it by load.c, and accounts for its processes.

    drive.py MODEL [what a probe takes]

A model is a program that serves on a port when it is started with --serve PORT THREADS, and says --about itself.
Started otherwise it starts this, which measures it: so a model is one file in its own language. All are weighed alike:

- The service runs on `cores` CPUs and the client on another (`cross`); the launcher keeps the service's processes.
- It is ready when it has answered one request rightly. Each answer is checked: its checksum, and that it did its work.
- CPU time is that of the service's whole tree, on the kernel's precise clocks.
- Latency counts from the intended time of a request. How late the client was stands beside; where that was as long as
  a tenth of what it measured, the latency is the client's and is not reported.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import zlib
from typing import Any, Dict, List, NoReturn, Optional, Sequence, Tuple

_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(_HERE, "..", name) for name in ("python", "request")]

from daemons import Daemon  # noqa: E402
from probe import Choice, Integer, Metric, Probe, Value, fail, main, skip  # noqa: E402
from processes import descendants, held, open_connections, used  # noqa: E402
from workloads import PLACEMENTS  # noqa: E402

HOST = "127.0.0.1"
_READY_WITHIN_S = 20.0
_ENDS_WITHIN_S = 3.0
#: A load shorter than this has too few requests for a tail; and a wait of a second has to be waited for some times.
_SHORTEST_S = 0.25
_LONGEST_S = 20.0
#: The client may be this share of the median latency late, at its 99th percentile, before the latency is its own.
_LATE = 0.1
#: Work that was said to be done has to have taken this share of its time at least.
_WORKED = 0.5
_PERCENT = 100.0

_LATENCIES = ("mean", "p50", "p90", "p99", "p999", "longest")
_METRICS = (
    Metric("cpu", "s", "lower", "service_cpu", "operations", "CPU time of all processes of the service for a request"),
    Metric("beside_work", "s", "lower", "beside_work", "operations", "the same without the work that was asked for"),
    Metric("requests", "1/s", "higher", "operations", "seconds", "requests answered in a second"),
    Metric("mean", "s", "lower", "mean", "on_time", "mean time from when a request was due until it is answered"),
    Metric("p50", "s", "lower", "p50", "on_time", "time within which half of the requests are answered"),
    Metric("p90", "s", "lower", "p90", "on_time", "time within which 90 of 100 requests are answered"),
    Metric("p99", "s", "lower", "p99", "on_time", "time within which 99 of 100 requests are answered"),
    Metric("p999", "s", "lower", "p999", "on_time", "time within which 999 of 1000 requests are answered"),
    Metric("longest", "s", "lower", "longest", "on_time", "time of the longest request"),
    Metric("late", "s", "lower", "late_p99", "open_load", "how late the client itself was, at its 99th percentile"),
    Metric("errors", "1", "lower", "broken", "offered", "share of requests that had no answer"),
    Metric("of_rate", "1", "higher", "operations", "at_a_rate", "share of a given rate that was answered"),
    Metric("idle_connection", "B", "lower", "idle_bytes", "connections", "memory that an open connection takes"),
    Metric("busy_connection", "B", "lower", "busy_bytes", "connections", "the same after the load"),
    Metric("switches", "1", "lower", "switched", "operations", "how often its threads left their CPU, a request"),
    Metric("share", "1", "neither", "service_cpu", "seconds_of_cores", "share of its CPUs that the service used"),
    Metric("ready", "s", "lower", "ready", "one", "time from its start to its first right answer"),
)  # fmt: skip


class Service(Probe):
    """One model of the service."""

    operation = "one request, from the time for which it was intended to the last byte of its answer"
    source = "written for this purpose; after Schroeder, Wierman & Harchol-Balter (NSDI 2006) and wrk2"
    statistic = "median"
    placements = PLACEMENTS
    uses = ("cpu", "sched", "net")
    metrics = _METRICS
    family = "serve"
    rehearsals = 0
    works_itself = False
    #: How the model is started.
    command: Sequence[str]
    #: What it says of itself: title, source, threads, version; `ends` if its processes do, `lacks` why it can't run.
    about: Dict[str, Any]

    # --- a run --------------------------------------------------------------------------------------------------------

    def setup(self) -> None:
        if reason := self.about.get("lacks"):
            skip(reason)
        _check_limits(self.given["connections"])
        cores, free = self.given["cores"], len(self.cpus) - (self.placement == "cross")
        if cores > max(1, free):
            skip(
                f"{cores} CPUs for the service and one for the client are more than this process has: {len(self.cpus)}"
            )
        self.folder = tempfile.mkdtemp(prefix="serve-")
        self.port = _free_port()
        # The client has the first CPU: that is the one that interrupts prefer.
        service = self.cpus[-cores:]
        os.sched_setaffinity(0, self.cpus[:1])
        if self.placement == "same":
            self.caveat("service and client share one CPU, so that latency is that of both")
        threads = str(self.given.get("threads") or self.about["threads"])
        environment = {**os.environ, "STEELYARD_SERVE_CORES": str(len(service))}
        began = time.monotonic_ns()
        self._daemon = Daemon(
            [*self.command, "--serve", str(self.port), threads, "--placement", "free"],
            self.folder,
            service,
            environment,
        )
        self._wait_until_ready()
        self._ready_ns = time.monotonic_ns() - began
        self._client = subprocess.Popen(
            [os.path.join(_HERE, "load")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="ascii"
        )
        self._command("load 0.1 0 constant 1 0 0 1 0 16 64", opened=8)  # its first requests are slower
        self._command(f"open {self.port} 0")
        self._resident = held(self._daemon.pid).proportional
        opened = self._command(f"open {self.port} {self.given['connections']}")
        if "error" in opened:
            asked = f"{self.given['connections']} connections"
            fail(f"{self.title} does not take {asked}: {opened['error']}{self._daemon.said()}")
        time.sleep(0.05)  # what a model makes for a connection it makes when it has seen it
        self._idle = held(self._daemon.pid).proportional
        self._first_tree = used(self._daemon.pid)
        self._loads = 0
        self._rate: Optional[float] = None

    def batch(self, operations: int, value: Value) -> None:
        given = self.given
        rate = given["rate"] or self._rate
        seconds = _SHORTEST_S if rate is None else min(max(_SHORTEST_S, operations / rate), _LONGEST_S)
        seconds = max(seconds, 10 * given["wait_us"] / 1e6)
        self._loads += 1
        before, switched = used(self._daemon.pid), _switches(self._daemon.pid)
        value.start()
        load = self._command(
            f"load {seconds} {given['rate']} {given['arrivals']} {self._loads} {given['work_ns']} {given['wait_us']} "
            f"{given['depth']} {given['locked_percent'] / _PERCENT} {given['size']} {given['answer']}"
        )
        value.stop()
        self._check(load)
        after = used(self._daemon.pid)
        self._rate = load["answered"] / seconds
        self._account(value, load, seconds, after.cpu_ns - before.cpu_ns)
        value.counts["switched"] = max(0, _switches(self._daemon.pid) - switched)

    def teardown(self) -> None:
        self._client.stdin.close()
        self._client.wait()
        end = time.monotonic() + _ENDS_WITHIN_S
        while left := open_connections(self.port):
            if time.monotonic() > end:
                fail(f"{self.title} leaks connections: {left} are open {_ENDS_WITHIN_S:g} s after their clients went")
            time.sleep(0.01)
        self._daemon.end(signal.SIGKILL, _ENDS_WITHIN_S)

    def versions(self) -> Dict[str, str]:
        return {self.title: self.about["version"]}

    # --- its parts ----------------------------------------------------------------------------------------------------

    def _wait_until_ready(self) -> None:
        last = "it refuses connections"
        end = time.monotonic() + _READY_WITHIN_S
        while time.monotonic() < end:
            if self._daemon.has_ended():
                fail(f"{self.title} {self._daemon.how_it_ended()} before it was ready{self._daemon.said()}")
            try:
                answer = ask(self.port, "/1000/0/1/0/64", b"ready?")
            except OSError as error:
                last = str(error)
                time.sleep(0.005)
                continue
            if complaint := complaint_about(answer, "/1000/0/1/0/64", b"ready?"):
                fail(f"{self.title} answers wrongly: {complaint}{self._daemon.said()}")
            return
        fail(f"{self.title} was not ready within {_READY_WITHIN_S:g} s: {last}{self._daemon.said()}")

    def _command(self, words: str, opened: int = 0) -> Dict[str, Any]:
        if opened:
            self._command(f"open {self.port} {opened}")
        assert self._client.stdin  # noqa: S101 - a pipe
        assert self._client.stdout  # noqa: S101 - a pipe
        try:
            self._client.stdin.write(words + "\n")
            self._client.stdin.flush()
            line = self._client.stdout.readline()
        except OSError:
            line = ""
        if not line:
            fail(f"the client ended with code {self._client.wait()}")
        said: Dict[str, Any] = json.loads(line)
        return said

    def _check(self, load: Dict[str, Any]) -> None:
        if self._daemon.is_gone():
            fail(f"{self.title} {self._daemon.how_it_ended()} under load{self._daemon.said()}")
        if load["wrong"]:
            fail(f"{self.title} answers wrongly: {load['wrong']} of {load['answered']} answers ({load['reason']})")
        if not load["answered"]:
            fail(f"{self.title} answered nothing within {load['seconds']:.1f} s ({load['reason'] or 'no answer came'})")
        lost = self._first_tree.alive - used(self._daemon.pid).alive
        if lost and not self.about.get("ends"):
            self.caveat(f"{len(lost)} of its processes ended under load")

    def _account(self, value: Value, load: Dict[str, Any], seconds: float, cpu_ns: int) -> None:
        work_ns = load["answered"] * self.given["work_ns"]
        if cpu_ns < _WORKED * work_ns:
            fail(f"{self.title} used {cpu_ns / 1e6:.1f} ms of CPU for {work_ns / 1e6:.1f} ms of work")
        value.operations = load["answered"]
        value.stands_for(round(seconds * 1e9), cpu_ns)
        at_a_rate = load["offered"] if self.given["rate"] else 0
        # A client that was late has measured itself; in a closed load nothing is due.
        own = at_a_rate and load["late_p99"] > _LATE * load["p50"]
        if own:
            self.caveat("the client was late by more than a tenth of the median latency, which is not reported",
                        metrics=_LATENCIES)  # fmt: skip
        unanswered = load["offered"] - load["answered"]
        value.counts.update(
            checked=load["answered"],
            broken=load["broken"] + load["unanswered"],
            offered=at_a_rate or load["offered"],
            at_a_rate=at_a_rate,
            unanswered=unanswered,
            connections=self.given["connections"],
            idle_bytes=max(0, self._idle - self._resident),
            busy_bytes=max(0, held(self._daemon.pid).proportional - self._resident),
        )
        value.readings.update(
            service_cpu=cpu_ns / 1e9,
            beside_work=max(0.0, (cpu_ns - work_ns) / 1e9),
            seconds=seconds,
            seconds_of_cores=seconds * self.given["cores"],
            ready=self._ready_ns / 1e9,
            on_time=0.0 if own else 1.0,
            open_load=1.0 if at_a_rate else 0.0,
            late_p99=load["late_p99"],
            **{name: load[name] for name in _LATENCIES},
        )
        if load["broken"]:
            self.caveat(f"breaks connections under load ({load['reason']})", fault=True)


def _switches(root: int) -> int:
    """How often the threads below `root` have left their CPUs; ended threads are left out."""
    switches = 0
    for pid in descendants(root):
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/status") as file:
                    switches += sum(int(line.split()[1]) for line in file if "voluntary_ctxt_switches" in line)
        except OSError:  # it ended meanwhile
            continue
    return switches


def _check_limits(connections: int) -> None:
    import resource

    needed = connections + 100
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < needed:
        if hard != resource.RLIM_INFINITY and hard < needed:
            skip(f"{connections} connections need {needed} open files and the limit is {hard}: ulimit -Hn {needed}")
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def request(target: str, body: bytes) -> bytes:
    """A request as the service takes it."""
    return f"POST {target} HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def read_answer(connection: socket.socket, so_far: bytes = b"") -> Tuple[bytes, bytes]:
    """One answer, and what came after it; raises OSError where the connection ends before."""
    while True:
        head, end, rest = so_far.partition(b"\r\n\r\n")
        if end:
            said = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
            length = int(said[0].split(b":")[1]) if said else 0
            if len(rest) >= length:
                return head + end + rest[:length], rest[length:]
        chunk = connection.recv(1 << 16)
        if not chunk:
            raise ConnectionError(f"the connection was closed after {len(so_far)} bytes of an answer")
        so_far += chunk


def ask(port: int, target: str, body: bytes) -> bytes:
    """One answer over a connection of its own."""
    with socket.create_connection((HOST, port), timeout=5) as connection:
        connection.sendall(request(target, body))
        return read_answer(connection)[0]


def complaint_about(answer: bytes, target: str, body: bytes) -> Optional[str]:
    """What is wrong with an answer, or None."""
    head, _, text = answer.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        return f"its status line is {head[:40]!r}"
    numbers: List[int] = [int(word, 16) for word in text[:26].split()]
    crc = zlib.crc32(body, zlib.crc32(target.encode()))
    if len(numbers) != 3 or len(text) != int(target.rpartition("/")[2]):
        return "its body is not as long as was asked for, or lacks its numbers"
    state = crc
    for _step in range(numbers[1]):
        state = state * 1664525 + 1013904223 & 0xFFFFFFFF
    if numbers[0] != crc:
        return "its checksum is not that of the request"
    return None if state == numbers[2] else "its work was not done"


def _parameters(about: Dict[str, Any]) -> Tuple[Any, ...]:
    threads = about["threads"]
    return (
        Integer("rate", "requests a second that are due whatever comes back; 0: as soon as one is answered",
                "1/s", (1000,), 0, 1_000_000, curves=("p99", "cpu")),
        Choice("arrivals", "when they are due: evenly, at random, or a hundred at a time",
               ("constant", "poisson", "burst"),
               ("poisson",)),
        Integer("connections", "connections of the client", "1", (100,), 1, 20_000, curves=("idle_connection",)),
        Integer("work_ns", "CPU time of the work of a request", "ns", (50_000,), 0, 1_000_000_000),
        Integer("wait_us", "how long a request waits between the halves of its work", "us", (1000,), 0, 60_000_000),
        Integer("depth", "calls below which a request waits", "1", (1,), 1, 1000),
        Integer("locked_percent", "requests of a hundred that do half of their work under the service's lock", "1",
                (0,), 0, 100),
        Integer("size", "bytes of a request's body", "B", (100,), 0, 1 << 20),
        Integer("answer", "bytes of an answer's body", "B", (100,), 27, 1 << 20),
        Integer("cores", "CPUs of the service", "1", (1,), 1, 1024),
        *((Integer("threads", "threads or processes of the model; 0: as many as it has", "1", (0,), 0, 20_000),)
          if threads else ()),
    )  # fmt: skip


def _about(program: str) -> Dict[str, Any]:
    """What a model says of itself."""
    said = subprocess.run([program, "--about"], capture_output=True, check=False)
    if said.returncode != 0:
        words = said.stderr.decode(errors="replace").strip().splitlines()
        skip(words[-1] if words else f"{program} --about exits with code {said.returncode}")
    about: Dict[str, Any] = json.loads(said.stdout)
    return about


def drive(command: Sequence[str], about: Dict[str, Any]) -> NoReturn:
    """Be the probe of a model that is started so, and says this about itself."""
    Service.command = command
    Service.about = about
    Service.title = str(about["title"])
    Service.question = f"What does a request cost that is served by this model: {about['title']}?"
    Service.parameters = _parameters(about)
    main(Service)


if __name__ == "__main__":
    _program = os.path.abspath(sys.argv[1])
    sys.argv[:2] = [_program]
    drive([_program], _about(_program))
