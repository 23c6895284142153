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
- Quantiles are of all requests of a run, and are reported where ten of these are expected beyond them.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import zlib
from typing import Any, Dict, Iterable, List, NamedTuple, NoReturn, Optional, Sequence, Tuple, Union

_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(_HERE, "..", name) for name in ("python", "request")]

from daemons import Daemon  # noqa: E402
from ports import HOST, free_port, wait_until_let_go  # noqa: E402
from probe import Choice, Integer, Metric, Probe, Value, fail, main, skip  # noqa: E402
from processes import Used, descendants, held, used  # noqa: E402
from workloads import PLACEMENTS  # noqa: E402

_READY_WITHIN_S = 20.0
_ENDS_WITHIN_S = 10.0
#: A load is not shorter than this, and longer than some waits of its requests. A run has five and one before them, and
#: all models three loads and eight blocks, in six minutes.
_SHORTEST_S = 0.05
_WAITS_OF_A_LOAD = 3
_LONGEST_S = 20.0
#: Where no rate is given: requests a second at the most, the share of its CPUs that the service spends on their work,
#: and the share of the connections that are in use at a time, if a request takes no longer than its work and its wait.
_MOST_RATE = 2500
_OF_CPU = 0.2
_OF_CONNECTIONS = 0.5
#: How often the range is halved in which the knee lies, how long a rate is tried, and what part of it must be answered.
_HALVINGS = 6
_TRIED_S = 0.2
_KEPT = 0.98
#: More processes take longer to start and to end than they serve.
_MOST_PROCESSES = 2000
#: Characters that the folder of a UNIX socket may have, so that the kernel's 107 are enough.
_MOST_OF_PATH = 80
#: Connections of the load that warms it up.
_FIRST_CONNECTIONS = 8
#: Where a request is to wait on every connection: the first wait that is tried, and how long it is for each connection
#: at least; by what the next one is longer, the longest one, and at what share of it memory is looked at.
_HOLDS_S = 0.1
_HOLDS_EACH_S = 40e-6
_HOLDS_LONGER = 4
_HOLDS_MOST_S = 8.0
_LOOKS_AT = 0.75
#: How long strace takes to attach to all threads; how long a load under it lasts, and at what share of the usual rate.
_ATTACHED_S = 0.1
_TRACED_S = 0.5
_OF_RATE_TRACED = 0.1
#: Requests that have to be expected beyond a quantile.
_BEYOND = 10
#: From so many threads on, how often they slept is read once a run: reading it takes longer than a load.
_MANY_THREADS = 500
#: The client may be this share of the median latency late, at its 99th percentile, before the latency is its own.
_LATE = 0.1
#: Work that was said to be done has to have taken this share of its time at least.
_WORKED = 0.5
_PERCENT = 100.0

_QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
_LATENCIES = ("mean", *_QUANTILES, "longest")
_SLOWED = ("cpu", "beside_work", "requests", "share", "switches", "wakeups", *_LATENCIES)
_METRICS = (
    Metric("cpu", "s", "lower", "service_cpu", "operations", "CPU time of all processes of the service for a request"),
    Metric("beside_work", "s", "lower", "beside_work", "operations", "the same without the work that was asked for"),
    Metric("requests", "1/s", "higher", "operations", "seconds", "requests answered in a second"),
    Metric("mean", "s", "lower", "mean", "on_time", "mean time from when a request was due until it is answered"),
    Metric("p50", "s", "lower", "p50", "tells_p50", "time within which half of the requests are answered"),
    Metric("p90", "s", "lower", "p90", "tells_p90", "time within which 90 of 100 requests are answered"),
    Metric("p99", "s", "lower", "p99", "tells_p99", "time within which 99 of 100 requests are answered"),
    Metric("p999", "s", "lower", "p999", "tells_p999", "time within which 999 of 1000 requests are answered"),
    Metric("longest", "s", "lower", "longest", "on_time", "time of the longest request"),
    Metric("late", "s", "lower", "late_p99", "open_load", "how late the client itself was, at its 99th percentile"),
    Metric("knee", "1/s", "higher", "knee", "looked_for", "the highest rate at which its p99 keeps the goal"),
    Metric("due", "1/s", "neither", "rate", "open_load", "requests a second that were due"),
    Metric("errors", "1", "lower", "broken", "sent", "share of requests that had no answer"),
    Metric("of_rate", "1", "higher", "operations", "offered", "share of the requests that were due which was answered"),
    Metric("idle_connection", "B", "lower", "idle_bytes", "connections", "memory that an open connection takes"),
    Metric("busy_connection", "B", "lower", "busy_bytes", "connections", "the same after the load"),
    Metric("waiting_connection", "B", "lower", "waiting_bytes", "waited", "the same while a request waits on each"),
    Metric("wakeups", "1", "lower", "slept", "watched", "how often its threads slept and were woken, a request"),
    Metric("switches", "1", "lower", "switched", "watched", "how often its threads left their CPU, a request"),
    Metric("calls", "1", "lower", "called", "traced", "its system calls, a request"),
    Metric("share", "1", "neither", "service_cpu", "seconds_of_cores", "share of its CPUs that the service used"),
    Metric("ready", "s", "lower", "ready", "one", "time from its start to its first right answer"),
)  # fmt: skip


class _Sleeps(NamedTuple):
    """How often threads left their CPU: because they slept, and in all."""

    slept: int
    switched: int


class Service(Probe):
    """One model of the service."""

    operation = "one request, from the time for which it was intended to the last byte of its answer"
    statistic = "median"
    placements = PLACEMENTS
    uses = ("cpu", "sched", "net")
    metrics = _METRICS
    value_ms = 10
    family = "serve"
    rehearsals = 0
    works_itself = False
    #: How the model is started.
    command: Sequence[str]
    #: What it says of itself: title, source, threads, version; `lacks` why it can't run, `each` of what it has a thread
    #: or a process each (serve.h), `ends` if its processes end with their connections.
    about: Dict[str, Any]

    # --- a run --------------------------------------------------------------------------------------------------------

    def setup(self) -> None:
        if reason := self.about.get("lacks"):
            skip(reason)
        _check_limits(self.given["connections"], self.about.get("each"), self.given["over"])
        cores = self.given["cores"]
        if cores > len(self.cpus):
            skip(f"{cores} CPUs for the service are more than this process has: cores={len(self.cpus)}")
        if cores == len(self.cpus):
            self.caveat("service and client share a CPU, so that latency is that of both", metrics=_LATENCIES)
        if self.given["calls"] == "counted":
            self._check_tracer()
            self.caveat("strace counts its system calls, which slows it: no other figure is its own", metrics=_SLOWED)
        self.folder = tempfile.mkdtemp(prefix="serve-")
        over_tcp = self.given["over"] == "tcp"
        self.where: Union[int, str] = free_port() if over_tcp else os.path.join(self.folder, "socket")
        # The client has the first CPU: that is the one that interrupts prefer.
        service = self.cpus[-cores:]
        os.sched_setaffinity(0, self.cpus[:1])
        threads = str(self.given.get("threads") or self._own_threads(len(service)))
        environment = dict(os.environ)
        if self.given["waits_for"] == "service":
            environment["STEELYARD_SERVE_ASKED"] = self._start_the_asked()
        began = time.monotonic_ns()
        self._daemon = Daemon(
            [*self.command, "--serve", str(self.where), threads, "--placement", "free"],
            self.folder,
            service,
            environment,
        )
        self._wait_until_ready()
        self._ready_ns = time.monotonic_ns() - began
        self._client = subprocess.Popen(
            [os.path.join(_HERE, "load")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="ascii"
        )
        self._command(f"open {self.where} {_FIRST_CONNECTIONS}")
        self._command("load 0.02 0 closed 1 0 0 1 0 16 64")  # its first requests are slower
        self._command(f"open {self.where} 0")
        self._resident = held(self._daemon.pid).proportional
        opened = self._command(f"open {self.where} {self.given['connections']}")
        if "error" in opened:
            asked = f"{self.given['connections']} connections"
            fail(f"{self.title} does not take {asked}: {opened['error']}{self._daemon.said()}")
        time.sleep(0.02)  # what a model makes for a connection it makes when it has seen it
        self._idle = held(self._daemon.pid).proportional
        self._alive = used(self._daemon.pid).alive
        self._loads = self._batches = 0
        self._waiting = self._held_in_the_wait() if self.given["held"] == "waiting" else None
        self._answered_per_s: Optional[float] = None
        self._timed: List[_Times] = []
        self._watched = False
        self._rate = 0.0 if self.given["arrivals"] == "closed" else self.given["rate"] or rate_for(self.given)
        self._knee = 0.0
        if self.given["goal_us"]:
            self._knee = self._find_knee()
            self._rate = self._knee * self.given["at_percent"] / _PERCENT

    def batch(self, operations: int, value: Value) -> None:
        rate = self._rate or self._answered_per_s
        seconds = _SHORTEST_S if rate is None else min(max(_SHORTEST_S, operations / rate), _LONGEST_S)
        traced = self.given["calls"] == "counted"
        seconds = max(seconds, _WAITS_OF_A_LOAD * self.given["wait_us"] / 1e6, _TRACED_S if traced else 0.0)
        # Whoever looks for its processes looks at all of the machine's: once before a load, and once after it.
        alive = descendants(self._daemon.pid)
        # What has many threads is watched once, in the first value: the batch before it is none.
        watches = (self._batches > 0 and not self._watched) or _threads(alive) < _MANY_THREADS
        self._batches += 1
        before, slept = used(self._daemon.pid, alive), _sleeps(alive) if watches else None
        value.start()
        load, calls = self._load_traced(seconds) if traced else (self._load(seconds), 0)
        value.stop()
        alive = descendants(self._daemon.pid)
        after = used(self._daemon.pid, alive)
        self._check(load, after)
        self._answered_per_s = load["answered"] / seconds
        self._account(value, load, seconds, after.cpu_ns - before.cpu_ns)
        value.counts["busy_bytes"] = max(0, held(self._daemon.pid, alive).proportional - self._resident)
        now = _sleeps(alive) if slept else None
        value.counts.update(
            called=calls,
            traced=load["answered"] if calls else 0,
            slept=max(0, now.slept - slept.slept) if now and slept else 0,
            switched=max(0, now.switched - slept.switched) if now and slept else 0,
            watched=load["answered"] if now else 0,
        )
        self._watched = self._watched or now is not None

    def teardown(self) -> None:
        assert self._client.stdin  # noqa: S101 - a pipe
        self._client.stdin.close()
        self._client.wait()
        wait_until_let_go(self.title or "", self.where, _ENDS_WITHIN_S)
        self._daemon.end(signal.SIGKILL, _ENDS_WITHIN_S)
        self._time_the_run()

    def histograms(self) -> Dict[str, Dict[int, int]]:
        return {"latency": self._latency} if self._latency else {}

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
                answer = ask(self.where, "/1000/0/1/0/64", b"ready?")
            except OSError as error:
                last = str(error)
                time.sleep(0.005)
                continue
            if complaint := complaint_about(answer, "/1000/0/1/0/64", b"ready?"):
                fail(f"{self.title} answers wrongly: {complaint}{self._daemon.said()}")
            return
        fail(f"{self.title} was not ready within {_READY_WITHIN_S:g} s: {last}{self._daemon.said()}")

    def _own_threads(self, cpus: int) -> int:
        """As many as the model has itself: what holds a connection as long as it is open is one for each."""
        each = self.about.get("each")
        if each == "CPU":
            return cpus
        own: int = self.about["threads"]
        return max(_FIRST_CONNECTIONS, self.given["connections"]) if each else own

    def _start_the_asked(self) -> str:
        """Start the service that requests wait for, beside the client; returns its port."""
        self._asked = subprocess.Popen(
            [os.path.join(_HERE, "asked")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="ascii"
        )
        assert self._asked.stdout  # noqa: S101 - a pipe
        return self._asked.stdout.readline().strip() or fail("the service that requests wait for did not start")

    def _load(self, seconds: float, rate: Optional[float] = None) -> Dict[str, Any]:
        return self._command(self._demand(seconds, self._rate if rate is None else rate))

    def _demand(self, seconds: float, rate: float, **instead: Any) -> str:
        """The words by which the client is asked for a load; ``instead`` of what was given."""
        given = {**self.given, **instead}
        self._loads += 1
        return (
            f"load {seconds} {rate} {given['arrivals']} {self._loads} "
            f"{given['work_ns']} {given['wait_us']} {given['depth']} {given['locked_percent'] / _PERCENT} "
            f"{given['size']} {given['answer']}"
        )

    def _held_in_the_wait(self) -> Optional[int]:
        """Its memory while a request waits on every connection; None where they never do so at once."""
        connections, each = self.given["connections"], self.about.get("each")
        blocked = 0 if each == "CPU" else self.given.get("threads") or (0 if each else self.about["threads"])
        most_at_once = blocked or connections
        wait_s = max(_HOLDS_S, connections * _HOLDS_EACH_S)
        while most_at_once >= connections and wait_s <= _HOLDS_MOST_S:
            # The client has patience beyond the wait: a slow service takes seconds to answer all.
            patience_s = wait_s + _HOLDS_MOST_S
            self._say(self._demand(patience_s, 0.0, arrivals="together", work_ns=0, wait_us=round(wait_s * 1e6)))
            time.sleep(_LOOKS_AT * wait_s)
            began = time.monotonic_ns()
            memory = held(self._daemon.pid).proportional
            ended = time.monotonic_ns()
            load = self._hear()
            self._check(load, used(self._daemon.pid))
            if waited_at_once(load, round(wait_s * 1e9), began, ended):
                return memory
            wait_s *= _HOLDS_LONGER
        self.caveat(
            f"requests never waited on all {connections} connections at once: their memory in the wait is unknown",
            metrics=("waiting_connection",),
        )
        return None

    def _find_knee(self) -> float:
        """The highest rate at which the service answers in time: that of a closed load, and halving below it."""
        goal_s = self.given["goal_us"] / 1e6
        low, high = 0.0, self._load(_TRIED_S, 0.0)["answered"] / _TRIED_S
        for _ in range(_HALVINGS):
            rate = (low + high) / 2
            load = self._load(max(_TRIED_S, _WAITS_OF_A_LOAD * self.given["wait_us"] / 1e6), rate)
            self._check(load, used(self._daemon.pid))
            kept = load["answered"] >= _KEPT * load["offered"]
            p99 = quantile(dict(load["latency"]), _QUANTILES["p99"])
            low, high = (rate, high) if kept and p99 <= goal_s else (low, rate)
        return low or fail(f"{self.title} has no rate at which 99 of 100 requests are answered in {goal_s * 1e3:g} ms")

    def _check_tracer(self) -> None:
        self._tracer = shutil.which("strace")
        if self._tracer is None:
            skip("system calls are counted by strace, which is not installed: apt-get install strace")
        # The client ends at once where nobody has commands for it.
        command = [self._tracer, "-qq", "-o", os.devnull, os.path.join(_HERE, "load")]
        tried = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if tried.returncode != 0:
            words = tried.stderr.decode(errors="replace").strip().splitlines()
            skip(f"strace may not trace here: {words[-1] if words else 'it says nothing'}")

    def _load_traced(self, seconds: float) -> Tuple[Dict[str, Any], int]:
        """A load under strace, and how many system calls the service made: nothing else of it is fit to report."""
        counts = os.path.join(self.folder, "calls")
        processes = [word for pid in descendants(self._daemon.pid) for word in ("-p", str(pid))]
        tracer = subprocess.Popen(
            [self._tracer, "-f", "-c", "-U", "calls,name", "-o", counts, *processes],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8",
        )  # fmt: skip
        assert tracer.stderr  # noqa: S101 - a pipe
        tracer.stderr.readline()  # "attached"
        time.sleep(_ATTACHED_S)
        load = self._load(seconds)
        tracer.send_signal(signal.SIGINT)
        tracer.communicate()
        with open(counts) as file:
            total = [line.split() for line in file if line.split()[-1:] == ["total"]]
        return load, int(total[0][0]) if total else 0

    def _command(self, words: str) -> Dict[str, Any]:
        self._say(words)
        return self._hear()

    def _say(self, words: str) -> None:
        assert self._client.stdin  # noqa: S101 - a pipe
        try:
            self._client.stdin.write(words + "\n")
            self._client.stdin.flush()
        except OSError:  # it has ended, which is heard
            return

    def _hear(self) -> Dict[str, Any]:
        assert self._client.stdout  # noqa: S101 - a pipe
        line = self._client.stdout.readline()
        if not line:
            fail(f"the client ended with code {self._client.wait()}")
        said: Dict[str, Any] = json.loads(line)
        return said

    def _check(self, load: Dict[str, Any], now: Used) -> None:
        if self._daemon.is_gone():
            fail(f"{self.title} {self._daemon.how_it_ended()} under load{self._daemon.said()}")
        if load["wrong"]:
            fail(f"{self.title} answers wrongly: {load['wrong']} of {load['answered']} answers ({load['reason']})")
        if not load["answered"]:
            fail(f"{self.title} answered nothing within {load['seconds']:.1f} s ({load['reason'] or 'no answer came'})")
        lost = self._alive - now.alive
        if lost and not self.about.get("ends"):
            self.caveat(f"{len(lost)} of its processes ended under load")

    def _account(self, value: Value, load: Dict[str, Any], seconds: float, cpu_ns: int) -> None:
        work_ns = load["answered"] * self.given["work_ns"]
        if cpu_ns < _WORKED * work_ns:
            fail(f"{self.title} used {cpu_ns / 1e6:.1f} ms of CPU for {work_ns / 1e6:.1f} ms of work")
        value.operations = load["answered"]
        value.stands_for(round(seconds * 1e9), cpu_ns)
        value.counts.update(
            checked=load["answered"],
            broken=load["broken"] + load["unanswered"],
            sent=load["offered"],
            offered=load["offered"] if self._rate else 0,
            connections=self.given["connections"],
            idle_bytes=max(0, self._idle - self._resident),
            waiting_bytes=max(0, (self._waiting or 0) - self._resident),
            waited=0 if self._waiting is None else self.given["connections"],
        )
        value.readings.update(
            service_cpu=cpu_ns / 1e9,
            beside_work=max(0.0, (cpu_ns - work_ns) / 1e9),
            seconds=seconds,
            seconds_of_cores=seconds * self.given["cores"],
            ready=self._ready_ns / 1e9,
            rate=self._rate,
            knee=self._knee,
            looked_for=1.0 if self._knee else 0.0,
            open_load=1.0 if self._rate else 0.0,
        )
        self._timed.append(_Times(value, load))
        if load["broken"]:
            self.caveat(f"breaks connections under load ({load['reason']})", fault=True)

    def _time_the_run(self) -> None:
        """The latencies of all its requests, in each of its values: their parts have no tails."""
        kept = [times for times in self._timed if times.value in self.values]
        self._latency = merged(times.load["latency"] for times in kept)
        late = quantile(merged(times.load["late"] for times in kept), _QUANTILES["p99"])
        count, median = sum(self._latency.values()), quantile(self._latency, _QUANTILES["p50"])
        # A client that was late has measured itself; in a closed load nothing is due.
        own = self._rate > 0 and late > _LATE * median
        if own:
            self.caveat("the client was late by more than a tenth of the median latency, which is not reported",
                        metrics=_LATENCIES)  # fmt: skip
        on_time = 0.0 if own else 1.0
        for times in kept:
            times.value.readings.update(
                on_time=on_time,
                late_p99=late,
                mean=sum(each.load["sum"] for each in kept) / max(1, count),
                longest=max(each.load["longest"] for each in kept),
                **{name: quantile(self._latency, share) for name, share in _QUANTILES.items()},
                **{
                    f"tells_{name}": on_time if count * min(share, 1 - share) >= _BEYOND else 0.0
                    for name, share in _QUANTILES.items()
                },
            )


def waited_at_once(load: Dict[str, Any], wait_ns: int, began_ns: int, ended_ns: int) -> bool:
    """Whether all requests of a load were in their wait while something else began and ended.

    The one that was answered last began its wait that long before, and nobody was answered earlier than the first.
    """
    return (
        load["answered"] == load["offered"] > 0
        and load["last_ns"] - wait_ns <= began_ns
        and ended_ns <= load["first_ns"]
    )


def _threads(processes: Iterable[int]) -> int:
    return sum(len(_listed(f"/proc/{pid}/task")) for pid in processes)


def _sleeps(processes: Iterable[int]) -> _Sleeps:
    """How often the threads of processes have left their CPUs; ended threads are left out."""
    slept = switched = 0
    for pid in processes:
        for thread in _listed(f"/proc/{pid}/task"):
            try:
                with open(f"/proc/{pid}/task/{thread}/status", "rb") as file:
                    both = file.read().rpartition(b"\nvoluntary_ctxt_switches:")[2].split()
            except OSError:  # it ended meanwhile
                continue
            slept += int(both[0])
            switched += int(both[0]) + int(both[2])
    return _Sleeps(slept, switched)


class _Times(NamedTuple):
    """A value with what the client said of its load."""

    value: Value
    load: Dict[str, Any]


def merged(histograms: Iterable[Iterable[Tuple[int, int]]]) -> Dict[int, int]:
    """Several histograms as one: how many, by the least number that a bucket holds."""
    together: Dict[int, int] = {}
    for buckets in histograms:
        for least, count in buckets:
            together[least] = together.get(least, 0) + count
    return together


def quantile(histogram: Dict[int, int], share: float) -> float:
    """Seconds below which this share of a histogram of nanoseconds lies, as histogram.h has it; 0 of none."""
    wanted, seen = share * sum(histogram.values()), 0
    for least, count in sorted(histogram.items()):
        seen += count
        if seen >= wanted:
            width = 1 << max(0, least.bit_length() - 8)
            return (least + (width - 1) / 2) / 1e9
    return 0.0


def rate_for(given: Dict[str, Any]) -> float:
    """Requests a second that leave room to every model: neither its CPUs nor the connections are the limit."""
    work_s, wait_s = given["work_ns"] / 1e9, given["wait_us"] / 1e6
    limits = [_MOST_RATE * given["cores"]]
    if work_s:
        limits.append(_OF_CPU * given["cores"] / work_s)
    if work_s + wait_s:
        limits.append(_OF_CONNECTIONS * given["connections"] / (work_s + wait_s))
    # What is traced is slow, and would find more to do each time that it looks.
    return min(limits) * (_OF_RATE_TRACED if given["calls"] == "counted" else 1)


def _listed(folder: str) -> List[str]:
    try:
        return os.listdir(folder)
    except OSError:  # the process ended meanwhile
        return []


def _check_limits(connections: int, each: Optional[str], over: str = "tcp") -> None:
    """Skip what the limits of open files, or of what the model makes for `each` connection, have no room for."""
    needed = connections + 100
    first, last = map(int, _words_of("/proc/sys/net/ipv4/ip_local_port_range"))
    folder = tempfile.gettempdir()
    if over == "unix" and (len(folder) > _MOST_OF_PATH or " " in folder):
        skip(f"{folder} is too long, or has a space, for the path of a UNIX socket: TMPDIR=/tmp")
    if each == "process" and connections > _MOST_PROCESSES:
        skip(
            f"{connections} connections need a process each, and to start and end more than {_MOST_PROCESSES} takes "
            f"longer than a run may: connections={_MOST_PROCESSES}"
        )
    if over == "tcp" and needed > last - first:
        skip(
            f"{connections} connections need {needed} ports and {last - first} are to be had: "
            "sysctl net.ipv4.ip_local_port_range='1024 65535'"
        )
    _raise_limit(resource.RLIMIT_NOFILE, needed, f"{connections} connections need {needed} open files", "ulimit -Hn")
    if each in ("process", "thread"):
        _check_tasks(needed, f"{connections} connections need a {each} each, {needed} in all")


def _check_tasks(needed: int, why: str) -> None:
    """Skip what the machine, a user, or the control group of this process may not have so many tasks for."""
    most = int(_words_of("/proc/sys/kernel/pid_max")[0])
    if needed > most:
        skip(f"{why} and the machine has {most}: sysctl kernel.pid_max={2 * needed}")
    if os.geteuid() != 0:  # root has as many as it likes
        _raise_limit(resource.RLIMIT_NPROC, needed, why, "ulimit -Hu")
    groups = [line.partition("::")[2] for line in _words_of("/proc/self/cgroup") if line.startswith("0::")]
    for group in groups:
        limit = _words_of(f"/sys/fs/cgroup{group}/pids.max") or ["max"]
        if limit[0] != "max" and int(limit[0]) < needed:
            skip(f"{why}, and the control group {group} may have {limit[0]}: set its pids.max to {needed}")


def _raise_limit(which: int, needed: int, why: str, command: str) -> None:
    """Raise a limit of this process and of what it starts; skip where it may not."""
    soft, hard = resource.getrlimit(which)
    if resource.RLIM_INFINITY in (soft, hard) or hard >= needed:
        if soft != resource.RLIM_INFINITY and soft < needed:
            resource.setrlimit(which, (needed, hard))
        return
    skip(f"{why} and the limit is {hard}: {command} {needed}")


def _words_of(path: str) -> List[str]:
    """The words of a file of the kernel's; none if there is no such file."""
    try:
        with open(path) as file:
            return file.read().split()
    except OSError:
        return []


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


def connect(where: Union[int, str], within_s: float = 5.0) -> socket.socket:
    """A connection to a port of the loopback interface, or to the path of a UNIX socket."""
    if isinstance(where, int):
        return socket.create_connection((HOST, where), timeout=within_s)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(within_s)
    try:
        connection.connect(where)
    except OSError:
        connection.close()
        raise
    return connection


def ask(where: Union[int, str], target: str, body: bytes) -> bytes:
    """One answer over a connection of its own."""
    with connect(where) as connection:
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
        Integer("rate", "requests a second that are due whatever comes back; 0: as many as leave every model room",
                "1/s", (0,), 0, 1_000_000, curves=("p99",)),
        Choice("arrivals", "when they are due: evenly, at random, a hundred at a time, or when one is answered",
               ("constant", "poisson", "burst", "closed"),
               ("poisson",)),
        Integer("goal_us", "find the highest rate at which 99 of 100 requests take at most this; 0: find none",
                "us", (0,), 0, 60_000_000),
        Integer("at_percent", "percent of the rate that was found at which the service is measured", "1",
                (80,), 1, 100),
        Integer("connections", "connections of the client", "1", (100,), 1, 20_000, curves=("idle_connection",)),
        Integer("work_ns", "CPU time of the work of a request", "ns", (50_000,), 0, 1_000_000_000),
        Integer("wait_us", "how long a request waits between the halves of its work", "us", (0, 1000, 20_000),
                0, 60_000_000),
        Choice("waits_for", "for what it waits: a timer of its own, or another service, which it asks by a socket",
               ("timer", "service"), ("timer",)),
        Integer("depth", "calls below which a request waits", "1", (1,), 1, 1000),
        Integer("locked_percent", "requests of a hundred that do half of their work under the service's lock", "1",
                (0,), 0, 100),
        Integer("size", "bytes of a request's body", "B", (100,), 0, 1 << 20),
        Integer("answer", "bytes of an answer's body", "B", (100,), 27, 1 << 20),
        Integer("cores", "CPUs of the service", "1", (1,), 1, 1024),
        Choice("calls", "whether its system calls are counted, which slows it so that nothing else is reported",
               ("ignored", "counted"), ("ignored",)),
        Choice("held", "whether memory is looked at before the load only while connections are idle, or also while a "
               "request waits on each", ("idle", "waiting"), ("idle",)),
        Choice("over", "what a connection is: of TCP by the loopback interface, or of a UNIX socket",
               ("tcp", "unix"), ("tcp",)),
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
    Service.source = f"{about['source']}; the load after Schroeder, Wierman & Harchol-Balter (NSDI 2006) and wrk2"
    Service.question = f"What does a request cost that is served by this model: {about['title']}?"
    Service.parameters = _parameters(about)
    main(Service)


if __name__ == "__main__":
    _program = os.path.abspath(sys.argv[1])
    sys.argv[:2] = [_program]
    drive([_program], _about(_program))
