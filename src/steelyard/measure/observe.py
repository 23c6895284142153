# SPDX-License-Identifier: Apache-2.0
"""The live machine: how long its run queue is, how often it switches and forks, how long its tasks wait.

Reads only what every user may read in /proc. A sample is one short read of /proc/loadavg, whose fourth field counts the
tasks that run or are ready at that moment on all CPUs; the one that reads is always among them and is left out. Samples
are taken at random distances around the wanted one: equal ones could keep step with the timer that wakes them.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from steelyard.errors import UsageError
from steelyard.measure.recording import Tracer, tick_ns, tracing
from steelyard.records import Observation, Recording, Skip

SHORTEST_S = 1e-3
_PROC = Path("/proc")
_JITTER = 0.5
_SEED = 1
_LONGEST = 1 << 16


def running(loadavg: bytes) -> int:
    """Tasks that run or are ready, the reader included, from the contents of /proc/loadavg."""
    return int(loadavg.split(b" ", 4)[3].split(b"/")[0])


def tasks(loadavg: bytes) -> int:
    """Tasks that exist, from the contents of /proc/loadavg."""
    return int(loadavg.split(b" ", 4)[3].split(b"/")[1])


def switches_and_forks(stat: bytes) -> tuple[int, int]:
    """Switches and created tasks since the machine started, from the contents of /proc/stat."""
    at = stat.index(b"\nctxt ") + 6
    switches = int(stat[at : stat.index(b"\n", at)])
    at = stat.index(b"\nprocesses ", at) + 11
    return switches, int(stat[at : stat.index(b"\n", at)])


def run_delay_s(schedstat: str) -> float:
    """Seconds that tasks were ready and not running, over all CPUs, from the contents of /proc/schedstat."""
    lines = (line.split() for line in schedstat.splitlines())
    return sum(int(fields[8]) for fields in lines if fields and fields[0].startswith("cpu") and len(fields) > 8) / 1e9


def pressure_s(pressure: str) -> float:
    """Seconds in which some task waited for a CPU, from the contents of /proc/pressure/cpu."""
    some = next(line for line in pressure.splitlines() if line.startswith("some "))
    return int(some.rpartition("total=")[2]) / 1e6


def voluntary_and_involuntary(status: bytes) -> tuple[int, int]:
    """How often a task gave the CPU away, and how often it was taken from it, from the contents of its status."""
    at = status.rindex(b"\nvoluntary_ctxt_switches:")
    words = status[at:].split(None, 4)
    return int(words[1]), int(words[3])


def _read(path: Path) -> str | None:
    try:
        return path.read_text()
    except OSError:
        return None


def _each_task() -> Iterator[tuple[str, tuple[int, int]]]:
    """Identity and switches of every task that can be read, this process left out.

    Paths are plain text here: there may be thousands of tasks, and looking must not be what is seen.
    """
    own = str(os.getpid())
    for process in os.listdir(_PROC):  # noqa: PTH208
        if not process.isdigit() or process == own:
            continue
        with contextlib.suppress(OSError, ValueError):  # it ended meanwhile
            for task in os.listdir(f"{_PROC}/{process}/task"):  # noqa: PTH208
                file = os.open(f"{_PROC}/{process}/task/{task}/status", os.O_RDONLY)
                try:
                    yield task, voluntary_and_involuntary(os.read(file, 1 << 16))
                finally:
                    os.close(file)


@dataclass(frozen=True, slots=True)
class _Counters:
    """Everything that is counted since the machine started, at one moment."""

    at_ns: int
    switches: int
    forks: int
    run_delay_s: float | None
    pressure_s: float | None
    own_cpu_s: float
    own_switches: int
    children: tuple[int, int]


def _own() -> tuple[float, int]:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime, usage.ru_nvcsw + usage.ru_nivcsw


def _children() -> tuple[int, int]:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_nvcsw, usage.ru_nivcsw


def _count() -> _Counters:
    schedstat = _read(_PROC / "schedstat")
    pressure = _read(_PROC / "pressure" / "cpu")
    own_cpu_s, own_switches = _own()
    switches, forks = switches_and_forks((_PROC / "stat").read_bytes())
    return _Counters(
        at_ns=time.monotonic_ns(),
        switches=switches,
        forks=forks,
        run_delay_s=None if schedstat is None else run_delay_s(schedstat),
        pressure_s=None if pressure is None else pressure_s(pressure),
        own_cpu_s=own_cpu_s,
        own_switches=own_switches,
        children=_children(),
    )


@dataclass(slots=True)
class _Sampler:
    """Takes the samples. Meanwhile it drains the tracer, or writes each sample as a line of a trace."""

    every_s: float
    trace: IO[str] | None
    tracer: Tracer | None = None
    lengths: list[int] = field(default_factory=list)
    _chance: random.Random = field(default_factory=lambda: random.Random(_SEED))  # noqa: S311 - when to look, no secret

    def sample_until(self, end_ns: int | None, command: subprocess.Popen[bytes] | None) -> None:
        """Until this moment, or until the command has ended, whichever comes first."""
        loadavg = os.open(_PROC / "loadavg", os.O_RDONLY)
        stat = os.open(_PROC / "stat", os.O_RDONLY) if self.trace else None
        before_ns, before = time.monotonic_ns(), self._counts(stat)
        try:
            while (end_ns is None or before_ns < end_ns) and (command is None or command.poll() is None):
                wait_s = self.every_s * (1 + _JITTER * (2 * self._chance.random() - 1))
                if end_ns is not None:
                    wait_s = min(wait_s, max(0, end_ns - time.monotonic_ns()) / 1e9)
                time.sleep(wait_s)
                length = min(_LONGEST, running(os.pread(loadavg, 128, 0)) - 1)
                self._note(length)
                now_ns = time.monotonic_ns()
                if stat is not None:
                    now = self._counts(stat)
                    # The observer's own coming and going is left out here too.
                    self._write(now_ns - before_ns, length, max(0, now[0] - before[0] - 2), now[1] - before[1])
                    before = now
                before_ns = now_ns
                if self.tracer is not None:
                    self.tracer.drain()
        finally:
            os.close(loadavg)
            if stat is not None:
                os.close(stat)

    def _note(self, length: int) -> None:
        if length >= len(self.lengths):
            self.lengths.extend([0] * (length + 1 - len(self.lengths)))
        self.lengths[length] += 1

    @staticmethod
    def _counts(stat: int | None) -> tuple[int, int]:
        return (0, 0) if stat is None else switches_and_forks(os.pread(stat, 1 << 20, 0))

    def _write(self, *interval: int) -> None:
        assert self.trace is not None  # noqa: S101 - only with a trace there are counts to write
        self.trace.write(json.dumps(interval, separators=(",", ":")) + "\n")


def observe(
    *,
    seconds: float | None,
    every_s: float,
    command: Sequence[str],
    trace: Path | None,
    machine_key: str,
    words: IO[str],
) -> Observation:
    """Watch the machine for so long, or until the command ends; an interruption ends it early.

    The command is not ended with the observation: what is left of it is waited for. ``words`` is where its output goes.
    Raises UsageError if the command can't be started or the trace not be written.
    """
    if every_s < SHORTEST_S:
        raise UsageError(f"--every must be at least {SHORTEST_S * 1e3:.0f} ms: oftener, looking is what is seen")
    started = datetime.now(UTC).isoformat(timespec="seconds")
    with _opened(trace) as file, tracing() if file else contextlib.nullcontext("") as tracer:
        if isinstance(tracer, Tracer):
            sampler = _Sampler(every_s, trace=None, tracer=tracer)
        else:
            sampler = _Sampler(every_s, trace=file)
            if file:
                file.write(_head(started, every_s))
        # The walks over all tasks lie within what is counted, so that no more is told apart than there is.
        before = _count()
        tasks_before = dict(_each_task())
        end_ns = None if seconds is None else time.monotonic_ns() + round(seconds * 1e9)
        child = _start(command, words) if command else None
        with contextlib.suppress(KeyboardInterrupt):
            sampler.sample_until(end_ns, child)
        if isinstance(tracer, Tracer):
            tracer.stop()
        tasks_after = dict(_each_task())
        counted = _count()
        recording = _recorded(tracer, file, started) if file else None
    return Observation(
        started=started,
        machine_key=machine_key,
        cpus=len(os.sched_getaffinity(0)),
        seconds=(counted.at_ns - before.at_ns) / 1e9,
        every_s=every_s,
        lengths=tuple(sampler.lengths) or (0,),
        switches=max(0, counted.switches - before.switches - 2 * (counted.own_switches - before.own_switches)),
        forks=counted.forks - before.forks - (child is not None),
        voluntary=_sum(0, tasks_before, tasks_after) + counted.children[0] - before.children[0],
        involuntary=_sum(1, tasks_before, tasks_after) + counted.children[1] - before.children[1],
        tasks=tasks(_loadavg()) - 1,
        run_delay_s=_difference(counted.run_delay_s, before.run_delay_s),
        pressure_s=_difference(counted.pressure_s, before.pressure_s),
        own_cpu_s=counted.own_cpu_s - before.own_cpu_s,
        own_switches=counted.own_switches - before.own_switches,
        skips=_skips(counted),
        recording=recording,
        command=tuple(command),
        command_status=None if child is None else child.wait(),
    )


def _difference(after: float | None, before: float | None) -> float | None:
    return None if after is None or before is None else after - before


def _sum(kind: int, before: dict[str, tuple[int, int]], after: dict[str, tuple[int, int]]) -> int:
    """Switches of one kind of the tasks that are there now, since then or since they were born."""
    # A number may have been given to another task meanwhile, whose count is smaller than the first one's.
    return sum(max(0, counts[kind] - before.get(task, (0, 0))[kind]) for task, counts in after.items())


def _skips(counters: _Counters) -> tuple[Skip, ...]:
    found = []
    if counters.run_delay_s is None:
        found.append(
            Skip(subject="run delay", reason="the kernel keeps no /proc/schedstat: it was built without SCHEDSTATS")
        )
    if counters.pressure_s is None:
        found.append(
            Skip(
                subject="pressure", reason="the kernel keeps no /proc/pressure: built without PSI, or booted with psi=0"
            )
        )
    if "hidepid=" in (_read(_PROC / "mounts") or "") and os.geteuid() != 0:
        found.append(
            Skip(subject="voluntary and involuntary switches", reason="tasks of others are hidden (hidepid of /proc)")
        )
    return tuple(found)


def _start(command: Sequence[str], words: IO[str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(command, stdout=words)
    except OSError as error:
        raise UsageError(f"{command[0]} cannot be started: {error.strerror}") from error


def _recorded(tracer: Tracer | str, file: IO[str], started: str) -> Recording:
    """What the recording is; that of the tracer is written here."""
    if isinstance(tracer, str):
        return Recording(by="proc", why=tracer)
    lives = tracer.lives()
    existing = min(_LONGEST, tasks(_loadavg()))
    for line in lives.lines(started=started, cpus=len(os.sched_getaffinity(0)), tasks=existing):
        file.write(line + "\n")
    return Recording(by="tracepoints", events=lives.events, lost=lives.lost, switches=lives.switches)


@contextlib.contextmanager
def _opened(trace: Path | None) -> Iterator[IO[str] | None]:
    if trace is None:
        yield None
        return
    try:
        file = trace.open("x")
    except FileExistsError:
        raise UsageError(f"{trace} exists: recordings are never overwritten; choose another --record") from None
    except OSError as error:
        raise UsageError(f"{trace} cannot be written ({error.strerror}): choose another --record") from error
    with file:
        yield file


def _head(started: str, every_s: float) -> str:
    """The first line of a recording by /proc, which has a line for each look."""
    head = {
        "schedsim_trace": 1,
        "by": "proc",
        "cpus": len(os.sched_getaffinity(0)),
        "tasks": min(_LONGEST, tasks(_loadavg())),
        "started": started,
        "every_ns": round(every_s * 1e9),
        "tick_ns": tick_ns() or 0,
    }
    return json.dumps(head) + "\n"


def _loadavg() -> bytes:
    return (_PROC / "loadavg").read_bytes()
