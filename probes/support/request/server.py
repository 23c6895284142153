# SPDX-License-Identifier: Apache-2.0
"""The instrument of request/: starts a server, checks what it answers, loads it and accounts for its processes.

A probe under request/ derives from `Server`, says how its server is started, and ends in `main(...)`. All else is
here, so that all are weighed alike:

- The server runs on one CPU and the generator on another (`cross`), the launcher keeping the server's processes. A
  server of several workers can also have all CPUs, which it then shares with the generator (`free`).
- It is ready when it has answered one request rightly.
- Bodies are compared before the timed part and after it, when wrk has every one compared under load. In the timed part
  what the generator can see is checked: statuses, and lengths (wrk: bytes received; ab: the length of each body).
- CPU time is that of the server's whole tree, on the kernel's precise clocks.
- A server that ends, answers wrongly, keeps connections that were closed or never becomes ready fails its run with that
  reason.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import tempfile
import time
from contextlib import contextmanager
from importlib import util
from typing import Dict, Iterator, List, NamedTuple, NoReturn, Optional, Sequence, Tuple

_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(_HERE, "..", "python"))

import conformance  # noqa: E402
import workloads  # noqa: E402
from daemons import Daemon  # noqa: E402
from generators import BROWSER_HEADERS, GENERATORS, SHORTEST_S, Demand, GeneratorError, Load, Wrk, installed  # noqa: E402
from ports import HOST, free_port, wait_until_let_go  # noqa: E402
from probe import Choice, Integer, Metric, Probe, Value, fail, main, skip  # noqa: E402
from processes import Held, Used, held, used  # noqa: E402

__all__ = ["HOST", "Server", "backlog", "main"]

#: Where to look for servers that the environment of this interpreter lacks.
_BORROW = os.environ.get("STEELYARD_REQUEST_BORROW")
sys.path += filter(None, [_BORROW])
#: How long it may be loaded for without a single answer, or so that each connection has its turns.
_LONGEST_S = 2.5
#: At a rate what is under way at the end is lost, which must not look as if it had not been answered.
_SHORTEST_AT_A_RATE_S = 0.5
#: A server that has become far slower than its search found does not get more time than this for a value.
_LONGEST_VALUE_S = 20.0
#: The generator is the limit from this share of its CPU on, unless the server has as little left.
_BUSY = 0.95
#: Bytes by which the heads of two answers may differ: some say that they keep or close the connection, some do not.
_OF_A_HEAD = 100
#: How often each connection is to be answered in a value at least, on average.
_TURNS = 4

_METRICS = (
    Metric("cpu", "s", "lower", "server_cpu", "operations", "CPU time of all processes of the server for one request"),
    Metric("requests", "1/s", "higher", "operations", "seconds_if_server_bound", "requests answered in a second"),
    Metric("mean", "s", "lower", "mean", "server_bound", "mean time until a request is answered"),
    Metric("p50", "s", "lower", "p50", "server_bound", "time within which half of the requests are answered"),
    Metric("p90", "s", "lower", "p90", "server_bound", "time within which 90 of 100 requests are answered"),
    Metric("p99", "s", "lower", "p99", "server_bound", "time within which 99 of 100 requests are answered"),
    Metric("longest", "s", "lower", "max", "server_bound", "time of the longest request"),
    Metric("errors", "1", "lower", "broken", "attempts", "share of requests whose connection broke or timed out"),
    Metric("resident", "B", "lower", "resident", "one", "resident memory after the load, summed over its processes"),
    Metric("proportional", "B", "lower", "proportional", "one", "the same, with shared pages divided by their sharers"),
    Metric("ready", "s", "lower", "ready", "one", "time from its start to its first right answer"),
    Metric("server_share", "1", "neither", "server_cpu", "watched", "share of a CPU that the server used"),
    Metric("generator_share", "1", "neither", "generator_cpu", "watched", "the same of the generator"),
    Metric("store_cpu", "s", "lower", "store_cpu", "with_a_store", "CPU time of the database or search daemon"),
    Metric("of_rate", "1", "higher", "operations", "offered", "share of a given rate that was answered"),
)  # fmt: skip


class Answer(NamedTuple):
    """One answer as it came over the connection."""

    status: int
    body: bytes
    size: int  #: bytes with its head
    kept_open: bool


class Server(Probe):
    """A server. What has no value here is required; the rest is what most have."""

    #: As people call it.
    title: str
    #: The module that has to be importable, or None for a program.
    module: Optional[str] = None
    #: Where to get what is missing.
    package: str = ""
    #: Modules that it needs beside its own.
    needs: Tuple[str, ...] = ()
    #: Applications that it cannot be asked for, each with the reason.
    cannot: Dict[str, str] = {}
    #: What else it cannot be, as parameter=value, each with the reason.
    refuses: Dict[str, str] = {}
    most_workers = 64
    most_threads = 64
    stop_signal = signal.SIGTERM
    #: How long it may take to answer its first request.
    ready_within_s = 15.0
    #: How long it may take to end after it was asked to.
    ends_within_s = 2.0
    #: How long after its client it may hold a connection.
    lets_go_within_s = 3.0

    operation = "one GET request over TCP on the loopback, from the client's sending to its last byte"
    source = "written for this purpose; generators wrk, ab and oha"
    statistic = "median"
    placements = workloads.PLACEMENTS
    uses = ("cpu", "sched", "net")
    metrics = _METRICS
    rehearsals = 0  # no interpreter to be warmed up here; the server is, by the first batch
    works_itself = False
    parameters: Tuple = ()

    def __init_subclass__(cls) -> None:
        """Give each server the parameters, without what it cannot do."""
        can = tuple(name for name in workloads.NAMES if name not in cls.cannot)
        here = installed() or ["wrk"]
        cls.placements = workloads.PLACEMENTS_OF_SERVERS if cls.most_workers > 1 else workloads.PLACEMENTS
        cls.question = cls.__dict__.get("question") or f"What does a request cost that {cls.title} answers?"
        cls.parameters = (
            Choice("application", workloads.DOC, can,
                   tuple(name for name in ("hello",) if name in can) or can[:1]),
            Integer("connections", "connections of the client, or fewer", "1", (50,), 1, 10_000),
            Choice("generator", "the program that loads the server", tuple(GENERATORS), (here[0],)),
            Integer("rate", "requests a second that are sent whatever comes back; 0: as fast as answers come", "1/s",
                    (0,), 0, 1_000_000, curves=("p50", "p99")),
            Choice("keep_alive", "whether a connection is used again", ("yes", "no"),
                   ("no",) if "keep_alive=yes" in cls.refuses else ("yes",)),
            Integer("headers", "headers of a request, Host included; ab adds two and oha one of its own", "1",
                    (1,), 1, 1 + len(BROWSER_HEADERS)),
            Integer("workers", "worker processes of the server", "1", (1,), 1, cls.most_workers),
            Integer("threads", "threads a worker that run the application; 0: as many as the server comes with", "1",
                    (0,), 0, cls.most_threads),
        )  # fmt: skip

    # --- what a server says ---------------------------------------------------------------------------------------

    def command(self) -> List[str]:
        """How it is started on self.port; the first word is a program's path."""
        raise NotImplementedError

    def environment(self) -> Dict[str, str]:
        """What it needs in its environment beside what all get."""
        return {}

    def version(self) -> str:
        """Its version, for the record."""
        if self.module is None:
            return ""
        from importlib import metadata

        name = self.package or self.module
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            return ""

    # --- for the use of its command ---------------------------------------------------------------------------------

    def python(self, program: str) -> List[str]:
        """The command of a server that is a Python program, which finds `application`, `host` and `port`."""
        found = (
            "import os, sys\nfrom importlib import import_module\n"
            'module, _, name = os.environ["STEELYARD_REQUEST_APPLICATION"].partition(":")\n'
            "application = getattr(import_module(module), name)\n"
            f'host, port = "{HOST}", {self.port}\n'
        )
        return [sys.executable, "-c", found + program]

    def support(self, name: str) -> str:
        """The path of a program that belongs to this instrument."""
        return os.path.join(_HERE, name)

    @property
    def application(self) -> str:
        """As module:callable, which can be imported."""
        return self.workload.application

    @property
    def files(self) -> Optional[str]:
        """The folder whose files are asked for below /static/; None if an application is asked."""
        return self.workload.files

    @property
    def workers(self) -> int:
        return self.given["workers"]

    @property
    def threads(self) -> int:
        return self.given["threads"]

    # --- a run --------------------------------------------------------------------------------------------------------

    def setup(self) -> None:
        self._check_what_is_asked()
        self.folder = tempfile.mkdtemp(prefix="request-")
        self.workload = workloads.make(self.given["application"], self.folder, self.cpu_of(1))
        self.port = free_port()
        self.keep_alive = self.given["keep_alive"] == "yes"
        self.place(1)  # from here on with the generator, away from the server
        if self.placement == "free":
            self.caveat("server and generator share all CPUs: throughput and latency are those of both together")
        elif self.workers > 1 or self.threads > 1:
            self.caveat("several workers or threads share the server's one CPU")
        if self.workload.body is None:
            self.caveat("its body changes from request to request, so that only statuses are checked")
        if self.placement == "same":
            self.caveat("server and generator share one CPU, as the machine has no other")
        self._start()
        self._wait_until_ready()
        self._first_tree = used(self._daemon.pid)
        self._compare_bodies()
        self._results: List[Value] = []
        self._loads: List[Load] = []
        self._rate: Optional[float] = None  # answers a second, as the last load had it

    def batch(self, operations: int, value: Value) -> None:
        requests, seconds = self._length(operations)
        before, asked_before = used(self._daemon.pid), self._used_by_the_store()
        value.start()
        load = self._load(requests, seconds)
        value.stop()
        after, asked_after = used(self._daemon.pid), self._used_by_the_store()
        self._check_processes(after)
        self._account(value, load, after.cpu_ns - before.cpu_ns, asked_after - asked_before)

    def _length(self, operations: int) -> Tuple[int, float]:
        """How many requests, and for how long."""
        rate = self.given["rate"] or self._rate
        if rate is None:  # in the first batch, which is never kept: it warms the server up, and finds this out
            return operations, SHORTEST_S
        # Each connection has its turn some times, or the slow ones would be missing.
        turns_s = min(_TURNS * self.given["connections"] / rate, 1.0 if self.given["rate"] else _LONGEST_S)
        shortest_s = max(_SHORTEST_AT_A_RATE_S if self.given["rate"] else SHORTEST_S, turns_s)
        seconds = max(shortest_s, min(operations / rate, _LONGEST_VALUE_S))
        return round(seconds * rate), seconds

    def teardown(self) -> None:
        wait_until_let_go(self.title, self.port, self.lets_go_within_s)
        self._compare_bodies()
        self._compare_bodies_under_load()
        if self.workload.own_folder:
            for complaint in conformance.wrong_with(self.port, self.workload.path, self.workload.data):
                self.caveat(complaint, fault=True)
        self._end()
        if self.workload.store:
            self.workload.store.end()
        self._judge_generator()

    def selftest(self) -> None:
        """Nothing beyond: what a batch proves and a teardown looks for is all there is."""

    def versions(self) -> Dict[str, str]:
        return {self.title: self.version(), "generator": self.generator.version()}

    # --- its parts ----------------------------------------------------------------------------------------------------

    def _check_what_is_asked(self) -> None:
        """Refuse what cannot be measured, with the reason."""
        for name, value in self.given.items():
            if reason := self.refuses.get(f"{name}={value}"):
                skip(f"{self.title} {reason}")
        if self.placement == "free" and self.workers == 1:
            skip(
                "a server of one worker has no use for several CPUs: placement cross measures it, or workers=2 and more"
            )
        self.generator = GENERATORS[self.given["generator"]]
        if self.generator.program() is None:
            skip(f"{self.generator.name} is not installed: {self.generator.package}")
        if self.given["rate"] and not self.generator.holds_a_rate:
            skip(_no_rate(self.generator.name))
        if missing := _no_loopback():
            skip(missing)

    @classmethod
    def lacks(cls) -> Optional[str]:
        """A module of it, a program, or whatever could load it."""
        for module in (*((cls.module,) if cls.module else ()), *cls.needs):
            if util.find_spec(module) is None:
                return f"{cls.title} is not installed for {sys.executable}: pip install {cls.package or module}"
        if missing := cls.missing():
            return missing
        first = next(iter(GENERATORS.values()))
        return None if installed() else f"{first.name} is not installed: {first.package}"

    @classmethod
    def missing(cls) -> Optional[str]:
        """Why a server that is not a module cannot be started here."""
        return None

    def _start(self) -> None:
        # The user's application may look for its files in the folder where it was written.
        own = self.workload.own_folder
        command = [*(("/usr/bin/env", f"--chdir={own}") if own else ()), *self.command()]
        environment = {**os.environ, **self.workload.environment, **self.environment()}
        borrowing = (os.path.join(_HERE, "borrowed"),) if _BORROW else ()
        folders = (*borrowing, *self.workload.import_folders, os.environ.get("PYTHONPATH", ""))
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, folders))
        self._started_ns = time.monotonic_ns()
        cpu = self.cpu_of(0)
        self._daemon = Daemon(command, self.folder, None if cpu is None else (cpu,), environment)

    def _wait_until_ready(self) -> None:
        """Ask until the answer is right: a port that listens is no server yet."""
        last = "it refuses connections"
        end = time.monotonic() + self.ready_within_s
        while time.monotonic() < end:
            if self._daemon.has_ended():
                self._ended("before it was ready")
            try:
                answer = self._ask()
            except (OSError, ValueError) as error:
                last = str(error) or type(error).__name__
            else:
                self._ready_ns = time.monotonic_ns() - self._started_ns
                if complaint := self.workload.complaint(answer.status, answer.body):
                    fail(f"{self.title} answers wrongly: {complaint}{self._daemon.said()}")
                return
            time.sleep(0.005)
        fail(f"{self.title} was not ready within {self.ready_within_s:g} s: {last}{self._daemon.said()}")

    def _ask(self, timeout_s: float = 2.0) -> Answer:
        with socket.create_connection((HOST, self.port), timeout=timeout_s) as connection:
            return ask(connection, self.workload.path, self._headers())

    def _headers(self) -> Tuple[Tuple[str, str], ...]:
        return BROWSER_HEADERS[: self.given["headers"] - 1]

    def _demand(self) -> Demand:
        return Demand(
            url=f"http://{HOST}:{self.port}{self.workload.path}",
            connections=self.given["connections"],
            keep_alive=self.keep_alive,
            headers=self._headers(),
            rate=self.given["rate"],
            length=None if self.workload.body is None else len(self.workload.body),
            folder=self.folder,
        )

    def _compare_bodies(self) -> None:
        """Every body of a few requests."""
        with self._blamed():
            answers = [self._ask() for _ in range(2)]
        for answer in answers:
            if complaint := self.workload.complaint(answer.status, answer.body):
                fail(f"{self.title} answers wrongly: {complaint}")
        self._size = answers[-1].size if answers[0].size == answers[-1].size else None

    def _compare_bodies_under_load(self) -> None:
        """Every body of many requests at once, where wrk is installed."""
        wrk = GENERATORS["wrk"]
        if not isinstance(wrk, Wrk) or not wrk.program() or self.workload.body is None:
            return
        right, statuses, seconds = 0, {}, SHORTEST_S
        while not statuses and seconds < _LONGEST_S:
            with self._blamed():
                right, statuses = wrk.compare_bodies(self._demand()._replace(rate=0), self.workload.body, seconds)
            seconds *= 5
        answered = sum(statuses.values())
        if right < answered:
            mix = ", ".join(f"{count} of status {status}" for status, count in sorted(statuses.items()))
            fail(f"{self.title} answers wrongly under load: {answered - right} of {answered} answers ({mix})")

    @contextmanager
    def _blamed(self) -> Iterator[None]:
        """What goes wrong in here is the server's end, if it has ended; the launcher then removes all files."""
        try:
            yield
        except (GeneratorError, OSError, ValueError) as error:
            if self._daemon.is_gone():
                self._ended("under load")
            fail(f"{self.title} under load: {error}{self._daemon.said()}")

    def _load(self, requests: int, seconds: float) -> Load:
        """Load it; for longer where not a single answer came."""
        load = self._load_once(requests, seconds)
        while load.answered < 1 and seconds < _LONGEST_S:
            seconds *= 5
            load = self._load_once(requests, seconds)
        if load.answered < 1:
            words = ", ".join(f"{count} {kind}" for kind, count in load.broken.items() if count)
            fail(f"{self.title} answered nothing within {seconds:.1f} s of load (errors: {words or 'none'})")
        self._rate = load.answered / load.seconds
        return load

    def _load_once(self, requests: int, seconds: float) -> Load:
        with self._blamed():
            load = self.generator.load(self._demand(), requests, seconds)
        if self._daemon.is_gone():
            self._ended(f"under load, after {load.answered} answers")
        if wrong := {kind: count for kind, count in load.wrong.items() if count}:
            words = ", ".join(f"{count} with {kind}" for kind, count in wrong.items())
            fail(f"{self.title} answers wrongly under load: {words}, of {load.answered}")
        if load.received is not None and self._size and not self._right_bytes(load):
            fail(
                f"{self.title} answers wrongly under load: {load.received} bytes came for {load.answered} answers of "
                f"{self._size} bytes"
            )
        return load

    def _right_bytes(self, load: Load) -> bool:
        """Whether what came is what so many answers are, and those that were under way at the end."""
        size, received = self._size or 0, load.received or 0
        most = load.answered + self.given["connections"] + sum(load.broken.values())
        return load.answered * (size - _OF_A_HEAD) <= received <= most * (size + _OF_A_HEAD)

    def _check_processes(self, after: Used) -> None:
        lost = self._first_tree.alive - after.alive
        if lost:
            self.caveat(f"{len(lost)} of its processes ended under load")
            self._first_tree = after

    def _used_by_the_store(self) -> int:
        """CPU time in ns of what the application asks, where that is a process of ours."""
        store = self.workload.store
        return used(store.pid).cpu_ns if store and store.pid else 0

    def _account(self, value: Value, load: Load, cpu_ns: int, store_cpu_ns: int) -> None:
        memory: Held = held(self._daemon.pid)
        value.operations = load.answered
        value.stands_for(round(load.seconds * 1e9), cpu_ns)
        broken = sum(load.broken.values())
        value.counts.update(
            checked=load.answered - sum(load.wrong.values()),
            broken=broken,
            attempts=load.answered + broken,
            resident=memory.resident,
            proportional=memory.proportional,
            offered=round(load.seconds * self.given["rate"]),
            with_a_store=load.answered if store_cpu_ns else 0,
        )
        value.readings.update(
            server_cpu=cpu_ns / 1e9,
            generator_cpu=load.cpu_s,
            store_cpu=store_cpu_ns / 1e9,
            load_seconds=load.seconds,
            watched=load.busy_s,
            ready=self._ready_ns / 1e9,
            **load.percentiles,
        )
        for kind, count in load.broken.items():
            if count:
                self.caveat(f"breaks connections: {kind} errors, as {self.generator.name} counts them", fault=True)
        self._results.append(value)
        self._loads.append(load)
        self._set_bound(value, True)

    def _set_bound(self, value: Value, by_server: bool) -> None:
        """Without it the generator was weighed: such a value has neither a throughput nor a latency."""
        value.readings["server_bound"] = 1.0 if by_server else 0.0
        value.readings["seconds_if_server_bound"] = value.readings["load_seconds"] if by_server else 0.0

    def _judge_generator(self) -> None:
        """Decided once a run, from all its values, so that no value is left out by its own figure."""
        seconds = sum(load.busy_s for load in self._loads)
        # What the application asks runs on the CPU of the generator.
        beside = sum(load.cpu_s for load in self._loads) + self._readings("store_cpu")
        cpus = len(self.cpus) if self.placement == "free" else 1  # of the server
        if beside / seconds >= _BUSY > self._readings("server_cpu") / seconds / cpus:
            for value in self._results:
                self._set_bound(value, False)
            store = self.workload.store
            who = f"{self.generator.name}{f' with {store.title} on its CPU' if store else ''}"
            limit = f"{who} was the limit: it had no CPU time left, and the server had"
            without = "neither throughput nor latency would be the server's"
            self.caveat(f"{limit}; {without}, and in those runs is not reported",
                        metrics=("requests", "mean", "p50", "p90", "p99", "longest"))  # fmt: skip

    def _readings(self, name: str) -> float:
        """The sum of a reading over the values."""
        return sum(value.readings[name] for value in self._results)

    def _end(self) -> None:
        for complaint in self._daemon.end(self.stop_signal, self.ends_within_s):
            self.caveat(complaint)

    def _ended(self, when: str) -> NoReturn:
        """The server is gone: say how."""
        fail(f"{self.title} {self._daemon.how_it_ended()} {when}{self._daemon.said()}")


def _no_rate(generator: str) -> str:
    """Why this generator cannot offer a rate, and which can; at best one that is here."""
    able = [each for each in GENERATORS.values() if each.holds_a_rate]
    here = next((each for each in able if each.program()), None)
    if here:
        return f"{generator} cannot hold a rate: take generator={here.name}"
    return f"{generator} cannot hold a rate, and none that can is installed: {able[0].package}"


def _no_loopback() -> Optional[str]:
    """Why no server can be reached here: a network namespace begins with its loopback down. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((HOST, 9))
        except OSError as error:
            return f"there is no loopback here ({error.strerror}): bring it up with ip link set lo up"
    return None


def backlog() -> str:
    """The longest queue of connections that the kernel gives a server, at most 1024: some refuse to start with more."""
    try:
        with open("/proc/sys/net/core/somaxconn") as file:
            return str(min(1024, int(file.read())))
    except OSError:
        return "128"


def ask(connection: socket.socket, path: str, headers: Sequence[Tuple[str, str]]) -> Answer:
    """Send one request and read one answer; raises ValueError for what is none."""
    lines = [f"GET {path} HTTP/1.1", f"Host: {HOST}", *(f"{name}: {text}" for name, text in headers)]
    connection.sendall("\r\n".join([*lines, "", ""]).encode("latin-1"))
    data = b""
    while b"\r\n\r\n" not in data:
        data += _more(connection, data)
    head, _, body = data.partition(b"\r\n\r\n")
    status_line, *rest = head.decode("latin-1").split("\r\n")
    fields = {name.strip().lower(): text.strip().lower() for name, _, text in (line.partition(":") for line in rest)}
    status = int(status_line.split(" ", 2)[1])
    old = status_line.startswith("HTTP/1.0")
    kept_open = fields.get("connection") == "keep-alive" if old else fields.get("connection") != "close"
    if fields.get("transfer-encoding") == "chunked":
        while not body.endswith(b"\r\n0\r\n\r\n") and body != b"0\r\n\r\n":
            body += _more(connection, body)
        size = len(head) + 4 + len(body)
        return Answer(status, _without_chunks(body), size, kept_open)
    if "content-length" in fields:
        length = int(fields["content-length"])
        while len(body) < length:
            body += _more(connection, body)
    else:
        kept_open = False
        while chunk := connection.recv(1 << 16):
            body += chunk
    return Answer(status, body, len(head) + 4 + len(body), kept_open)


def _more(connection: socket.socket, so_far: bytes) -> bytes:
    chunk = connection.recv(1 << 20)
    if not chunk:
        raise ValueError(f"the connection was closed after {len(so_far)} bytes of an answer")
    return chunk


def _without_chunks(body: bytes) -> bytes:
    whole = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        length = int(size.split(b";")[0], 16)
        whole += body[:length]
        body = body[length + 2 :]
    return whole
