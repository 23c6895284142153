# SPDX-License-Identifier: Apache-2.0
"""What a live process does, counted for a while: switches, system calls, page faults, processes and threads made.

What every user may read in /proc of the own processes is enough for switches, faults and CPU time: of each task when
the count begins, when it ends, and every 20 ms between, so that a task that ends has been seen. System calls, waits for
locks, and tasks however short, are counted by tracepoints where the kernel allows it (root, and a mounted tracefs):
each task of the process gets a counter that its children inherit.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import resource
import signal
import struct
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from shutil import which
from typing import IO

from steelyard.errors import UsageError
from steelyard.measure.observe import voluntary_and_involuntary
from steelyard.records import Effort, Skip

_EVERY_S = 0.02
#: Between two looks at thousands of tasks lies this many times as long as one takes.
_PAUSE = 20
_TRACING = Path("/sys/kernel/tracing")
#: Tracepoints by what they count; a filter is the kernel's (Documentation/trace/events.rst).
_TRACEPOINTS = {
    "system_calls": ("raw_syscalls/sys_enter", ""),
    "made": ("task/task_newtask", ""),
    "threads": ("task/task_newtask", "clone_flags & 0x10000"),
    # FUTEX_WAIT, FUTEX_WAIT_BITSET, FUTEX_LOCK_PI and FUTEX_LOCK_PI2 with their flags (linux/futex.h).
    "lock_waits": (
        "syscalls/sys_enter_futex",
        " || ".join(f"op == {op + flag}" for op in (0, 9, 6, 13) for flag in (0, 128, 256, 384)),
    ),
}
#: What a kernel with the others need not have: CONFIG_FTRACE_SYSCALLS.
_OPTIONAL = "lock_waits"
_SYS_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
_TYPE_TRACEPOINT, _INHERIT, _CLOSE_ON_EXEC = 2, 1 << 1, 1 << 3
_SET_FILTER = 0x40082406


@dataclass(slots=True)
class _Seen:
    """What a task has been counted with: at first and at last."""

    process: int
    first: tuple[int, ...]
    last: tuple[int, ...]


@dataclass(slots=True)
class _Tree:
    """The tasks of a process and its descendants: switches, faults, nanoseconds on a CPU."""

    pid: int
    seen: dict[int, _Seen] = field(default_factory=dict)
    processes: set[int] = field(default_factory=set)
    at_first: set[int] = field(default_factory=set)

    def look(self, *, first: bool = False) -> None:
        """Read the counts of every task that is there."""
        found = ((key, _counts(*key)) for key in self._tasks())
        self.note({key: counts for key, counts in found if counts is not None}, first=first)

    def note(self, found: Mapping[tuple[int, int], tuple[int, ...]], *, first: bool) -> None:
        """Keep what was read, by process and task."""
        for (process, task), counts in found.items():
            if task in self.seen:
                self.seen[task].last = counts
            else:
                self.seen[task] = _Seen(process, counts if first else (0,) * len(counts), counts)
            self.processes.add(process)
        if first:
            self.at_first = set(self.seen)

    def _tasks(self) -> Iterator[tuple[int, int]]:
        waiting = [self.pid, *(process for process in self.processes if process != self.pid)]
        known = set(waiting)
        while waiting:
            process = waiting.pop()
            with contextlib.suppress(OSError):
                for task in os.listdir(f"/proc/{process}/task"):  # noqa: PTH208 - looking must not be what is seen
                    yield process, int(task)
                    for child in Path(f"/proc/{process}/task/{task}/children").read_text().split():
                        if int(child) not in known:
                            known.add(int(child))
                            waiting.append(int(child))

    def total(self) -> tuple[int, ...]:
        """What all tasks did since the first look, or since they were made."""
        gone = [[max(0, b - a) for a, b in zip(one.first, one.last, strict=True)] for one in self.seen.values()]
        return tuple(map(sum, zip(*gone, strict=True))) if gone else (0, 0, 0, 0, 0)

    def made(self) -> tuple[int, int]:
        """How many processes and threads were seen that were not there at first."""
        new = [task for task in self.seen if task not in self.at_first]
        processes = sum(self.seen[task].process == task for task in new)
        return processes, len(new) - processes


def _counts(process: int, task: int) -> tuple[int, ...] | None:
    """Voluntary and involuntary switches, faults without and with a disk, nanoseconds; None if it ended meanwhile."""
    folder = f"/proc/{process}/task/{task}"
    try:
        with open(f"{folder}/status", "rb") as file:  # noqa: PTH123 - as above
            switches = voluntary_and_involuntary(file.read())
        with open(f"{folder}/stat", "rb") as file:  # noqa: PTH123
            fields = file.read().rpartition(b")")[2].split()
        with open(f"{folder}/schedstat", "rb") as file:  # noqa: PTH123
            on_cpu_ns = int(file.read().split()[0])
    except (OSError, ValueError, IndexError):
        return None
    return (*switches, int(fields[7]), int(fields[9]), on_cpu_ns)


class _Counter:
    """A tracepoint on every task of a process; children inherit it."""

    def __init__(self, name: str, tasks: Sequence[int]) -> None:
        point, chosen = _TRACEPOINTS[name]
        config = int((_TRACING / "events" / point / "id").read_text())
        # struct perf_event_attr up to config1, as in version 0 of its layout (linux/perf_event.h).
        attributes = struct.pack("=IIQQQQQIIQ", _TYPE_TRACEPOINT, 64, config, 0, 0, 0, _INHERIT, 0, 0, 0)
        libc = ctypes.CDLL(None, use_errno=True)
        self._files: list[int] = []
        for task in tasks:
            file = libc.syscall(_SYS_PERF_EVENT_OPEN[os.uname().machine], attributes, task, -1, -1, _CLOSE_ON_EXEC)
            if file >= 0:
                self._files.append(file)
                if chosen:
                    fcntl.ioctl(file, _SET_FILTER, chosen.encode() + b"\0")
            elif Path(f"/proc/{task}").exists():
                self.close()
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    def read(self) -> int:
        """What was counted so far."""
        return sum(struct.unpack("=Q", os.read(file, 8))[0] for file in self._files)

    def close(self) -> None:
        """Count no more."""
        for file in self._files:
            os.close(file)
        self._files = []


def count(*, pid: int | None, command: Sequence[str], seconds: float, machine_key: str, words: IO[str]) -> Effort:
    """Count what a process, or a command that is started for it, does for so long, or until it ends.

    The command is not ended with the count: what is left of it is waited for. ``words`` is where its output goes.
    Raises UsageError if there is no such process, or the command cannot be started.
    """
    started = datetime.now(UTC).isoformat(timespec="seconds")
    child = _Child(command, words) if pid is None else None
    root = child.pid if child else pid or 0
    tree = _Tree(root)
    tree.look(first=True)
    if not tree.seen:
        raise UsageError(f"there is no process {root} that can be read: give the PID of one of your own")
    tasks = len(tree.seen)
    counters, skips = _counters(list(tree.seen))
    title = tuple(command) or _command_of(root)
    begin = time.monotonic()
    if child:
        child.go()
    with contextlib.suppress(KeyboardInterrupt):
        looked_s = 0.0
        while (left := begin + seconds - time.monotonic()) > 0 and _is_there(root) and not (child and child.ended()):
            time.sleep(min(left, max(_EVERY_S, _PAUSE * looked_s)))
            before = time.monotonic()
            tree.look()
            looked_s = time.monotonic() - before
    taken = time.monotonic() - begin
    counted = {name: counter.read() for name, counter in counters.items()}
    for counter in counters.values():
        counter.close()
    voluntary, involuntary, minor, major, on_cpu_ns = tree.total()
    if child and child.ended() and child.usage is not None:  # the kernel's own sum, with whatever was too short to see
        usage = child.usage
        voluntary, involuntary = max(voluntary, usage.ru_nvcsw), max(involuntary, usage.ru_nivcsw)
        minor, major = max(minor, usage.ru_minflt), max(major, usage.ru_majflt)
        on_cpu_ns = max(on_cpu_ns, round((usage.ru_utime + usage.ru_stime) * 1e9))
    processes, threads = tree.made()
    if "made" in counted:
        threads = counted.pop("threads")
        processes = counted.pop("made") - threads
    return Effort(
        started=started,
        machine_key=machine_key,
        seconds=taken,
        cpu_s=on_cpu_ns / 1e9,
        tasks=tasks,
        counts={
            "voluntary": voluntary,
            "involuntary": involuntary,
            "minor_faults": minor,
            "major_faults": major,
            "processes": processes,
            "threads": threads,
            **counted,
        },
        pid=root,
        command=title,
        status=child.wait() if child else None,
        skips=skips,
    )


def _counters(tasks: Sequence[int]) -> tuple[dict[str, _Counter], tuple[Skip, ...]]:
    """The tracepoints, or why there are none."""
    made: dict[str, _Counter] = {}
    skips: tuple[Skip, ...] = ()
    try:
        for name, (point, _) in _TRACEPOINTS.items():
            if name == _OPTIONAL and not (_TRACING / "events" / point).exists():
                skips = (Skip(subject="waits for a lock", reason=f"the kernel has no tracepoint {point}"),)
                continue
            made[name] = _Counter(name, tasks)
    except (OSError, KeyError, ValueError) as error:
        for counter in made.values():
            counter.close()
        why = "no tracefs is mounted here" if not (_TRACING / "events").exists() else f"the kernel forbids it ({error})"
        advice = "as root, after `mount -t tracefs tracefs /sys/kernel/tracing`, they are counted"
        return {}, (
            Skip(subject="system calls", reason=f"{why}: {advice}"),
            Skip(subject="processes and threads made", reason="those that live for less than 20 ms may be missing"),
        )
    return made, skips


def _is_there(pid: int) -> bool:
    """Whether a process is there, and not only what its parent has not waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (OSError, IndexError):
        return False


def _command_of(pid: int) -> tuple[str, ...]:
    with contextlib.suppress(OSError):
        if words := Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").decode(errors="replace"):
            return tuple(words.split("\0"))
    return ()


class _Child:
    """A command that begins when it is told to, so that its counters are there before it is."""

    def __init__(self, command: Sequence[str], words: IO[str]) -> None:
        program = which(command[0])
        if program is None:
            raise UsageError(f"{command[0]} cannot be started: there is no such program")
        read_end, self._write_end = os.pipe()
        sys.stdout.flush()
        self.usage: resource.struct_rusage | None = None
        self._status: int | None = None
        self.pid = os.fork()
        if self.pid == 0:  # nothing here may return
            try:
                os.close(self._write_end)
                os.read(read_end, 1)
                os.dup2(words.fileno(), 1)
                signal.signal(signal.SIGPIPE, signal.SIG_DFL)
                os.execv(program, [*command])  # noqa: S606 - what the user asked for
            except OSError:
                os._exit(126)
            finally:
                os._exit(127)
        os.close(read_end)

    def go(self) -> None:
        """Let it begin."""
        os.close(self._write_end)

    def ended(self) -> bool:
        """Whether it has ended."""
        if self._status is None:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self._status, self.usage = os.waitstatus_to_exitcode(status), usage
        return self._status is not None

    def wait(self) -> int:
        """Its exit code, once it has ended."""
        while not self.ended():
            time.sleep(_EVERY_S)
        return self._status if self._status is not None else 0
