# SPDX-License-Identifier: Apache-2.0
"""The lives of tasks on the live machine: how long each ran, how long it slept, whom it woke, when it ended.

The kernel's tracepoints of the scheduler say so, event by event, to who may read them: root, where tracefs is mounted.
An instance of the tracer of our own is used, so that nobody else's tracing is disturbed, and it is removed at the end.

A sleep that another task ends is kept as a wait for that task, because under another scheduler that one would come to
it earlier or later. A sleep that an interrupt ends (a timer, a disk, the network) is kept as a time.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import platform
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

_EVENTS = ("sched_switch", "sched_waking", "sched_wakeup", "sched_wakeup_new", "sched_process_exec")
_BUFFER_KIB = 8192
_MOST_CLASSES = 10
_OTHERS = "others"
_ASLEEP = "asleep throughout"
_NS_PER_US = 1000
_NICE_0_PRIORITY = 120

_EVENT = re.compile(
    r"^.*?-(?P<current>\d+) +\[(?P<cpu>\d+)\] (?P<flags>\S+) +(?P<s>\d+)\.(?P<us>\d+): (?P<name>sched_\w+): "
    r"(?P<rest>.*)$"
)
_SWITCH = re.compile(
    r"prev_comm=(?P<name>.*) prev_pid=(?P<pid>\d+) prev_prio=(?P<prio>-?\d+) prev_state=(?P<state>\S+) ==> "
    r"next_comm=(?P<next_name>.*) next_pid=(?P<next>\d+) next_prio=(?P<next_prio>-?\d+)"
)
_WOKEN = re.compile(r"comm=(?P<name>.*) pid=(?P<pid>\d+) prio=(?P<prio>-?\d+)")
_EXECUTED = re.compile(r"filename=.* pid=(?P<pid>\d+) old_pid=(?P<old>\d+)$")
_LOST = re.compile(r"\[LOST (\d+) EVENTS\]")
#: Where in the third sign of an event's flags stands that an interrupt, hard or soft, is at work.
_INTERRUPT = frozenset("hHsSzZ")

Act = tuple[str, int]


def tick_ns() -> int | None:
    """Time between two interrupts of the kernel's timer, from its configuration; None where that is not kept."""
    for path in (Path("/proc/config.gz"), Path(f"/boot/config-{platform.release()}")):
        with contextlib.suppress(OSError):
            text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            if found := re.search(rb"^CONFIG_HZ=(\d+)$", text, re.MULTILINE):
                return round(1e9 / int(found[1]))
    return None


@dataclass(slots=True)
class _Life:
    """What is known of a task, up to now."""

    number: int
    name: str
    nice: int
    beginning: Literal["awake", "asleep", "unborn"]
    state: Literal["running", "ready", "asleep", "ended"]
    since_ns: int
    acts: list[Act | None] = field(default_factory=list)
    ran_ns: int = 0
    total_ns: int = 0
    #: The act by which another task has begun to wake this one.
    waker: tuple[list[Act | None], int] | None = None

    def run_until(self, now_ns: int) -> None:
        """Count the time on the CPU until now."""
        if self.state == "running":
            self.ran_ns += now_ns - self.since_ns
            self.since_ns = now_ns

    def act(self, kind: str, number: int, now_ns: int) -> None:
        """What it does now, after it has run until now."""
        self.run_until(now_ns)
        if self.ran_ns > 0:
            self.acts.append(("run", self.ran_ns))
            self.total_ns += self.ran_ns
        self.ran_ns = 0
        self.acts.append((kind, number))


@dataclass(slots=True)
class Lives:
    """Makes the lives of tasks of the events of the tracer; ``own``: the observer, which is left out."""

    own: int
    began_ns: int | None = None
    ended_ns: int = 0
    switches: int = 0
    involuntary: int = 0
    events: int = 0
    lost: int = 0
    _lives: dict[int, _Life] = field(default_factory=dict)
    #: All lives in the order of their coming: a number is used again for another task.
    _all: list[_Life] = field(default_factory=list)
    #: By CPU: who runs there and since when; and who would, had the observer never run.
    _in: dict[str, tuple[int, int]] = field(default_factory=dict)
    _on_cpu: dict[str, int] = field(default_factory=dict)
    _changes: list[tuple[int, int]] = field(default_factory=list)

    def read(self, lines: Iterable[str]) -> None:
        """Take events in, in the order of their time."""
        for line in lines:
            if lost := _LOST.search(line):
                self.lost += int(lost[1])
            elif found := _EVENT.match(line):
                self._event(found)

    def _event(self, found: re.Match[str]) -> None:
        now_ns = (int(found["s"]) * 1_000_000 + int(found["us"])) * _NS_PER_US
        if self.began_ns is None:
            self.began_ns = now_ns
        now_ns = max(now_ns, self.ended_ns)
        self.ended_ns = now_ns
        self.events += 1
        name, rest = found["name"], found["rest"]
        if name == "sched_switch" and (switch := _SWITCH.match(rest)):
            self._switch(found["cpu"], switch, now_ns)
        elif name == "sched_process_exec":
            if (executed := _EXECUTED.match(rest)) and executed["pid"] != executed["old"]:
                self._executed(found["cpu"], int(executed["old"]), int(executed["pid"]))
        elif woken := _WOKEN.match(rest):
            pid = int(woken["pid"])
            if pid == self.own:
                return
            if name == "sched_waking":
                interrupt = found["flags"][2:3] in _INTERRUPT
                self._waking(None if interrupt else int(found["current"]), pid, woken, now_ns)
            elif name == "sched_wakeup":
                self._woken(pid, woken, now_ns)
            elif name == "sched_wakeup_new":
                self._born(int(found["current"]), pid, woken, now_ns)

    def _switch(self, cpu: str, switch: re.Match[str], now_ns: int) -> None:
        before, after = int(switch["pid"]), int(switch["next"])
        came, since_ns = self._in.get(cpu, (before, now_ns))
        if came != before:
            self._unseen(came, switch, since_ns)
        self._in[cpu] = after, now_ns
        if before not in (0, self.own):
            self._leaves(before, switch, now_ns)
        if after == self.own:
            return
        # As if the observer had never run: what it interrupted goes on, or another one comes.
        if self._on_cpu.get(cpu, before) != after:
            self.switches += 1
        self._on_cpu[cpu] = after
        if after != 0:
            life = self._life(after, switch["next_name"], int(switch["next_prio"]), "awake", "ready")
            self._runs(life, now_ns)

    def _runs(self, life: _Life, now_ns: int) -> None:
        if life.state == "asleep":  # nobody saw what woke it
            self._wakes(life, now_ns)
        life.state, life.since_ns = "running", now_ns

    def _unseen(self, came: int, switch: re.Match[str], since_ns: int) -> None:
        """Nobody saw how the one that came was switched away from: it is taken to have slept at once."""
        self.lost += 1
        self.switches += 1
        life = self._lives.get(came)
        if life is not None and life.state == "running":
            life.state = "asleep"
            self._changes.append((since_ns, -1))
        if int(switch["pid"]) not in (0, self.own):
            life = self._life(int(switch["pid"]), switch["name"], int(switch["prio"]), "asleep", "asleep")
            if life.state != "running":
                self._runs(life, since_ns)

    def _executed(self, cpu: str, thread: int, process: int) -> None:
        """A thread that calls execve() takes the number of its process, and the process's first thread its own."""
        one, other = self._lives.pop(thread, None), self._lives.pop(process, None)
        if one is not None:
            self._lives[process] = one
        if other is not None:
            self._lives[thread] = other
        if cpu in self._in and self._in[cpu][0] == thread:
            self._in[cpu] = process, self._in[cpu][1]
            self._on_cpu[cpu] = process

    def _leaves(self, pid: int, switch: re.Match[str], now_ns: int) -> None:
        life = self._life(pid, switch["name"], int(switch["prio"]), "awake", "running")
        life.name = switch["name"]
        life.run_until(now_ns)
        life.since_ns = now_ns
        if switch["state"].startswith("R"):
            life.state = "ready"
            self.involuntary += int(switch["next"]) != self.own
            return
        self._changes.append((now_ns, -1))
        if switch["state"][0] in "XZx":
            life.act("end", 0, now_ns)
            life.state = "ended"
            del self._lives[pid]
        else:
            life.state = "asleep"

    def _waking(self, waker: int | None, pid: int, woken: re.Match[str], now_ns: int) -> None:
        life = self._life(pid, woken["name"], int(woken["prio"]), "asleep", "asleep")
        by = None if waker is None or waker == pid else self._lives.get(waker)
        if life.waker is None and by is not None and by.state == "running":
            by.act("wake", life.number, now_ns)
            life.waker = by.acts, len(by.acts) - 1

    def _woken(self, pid: int, woken: re.Match[str], now_ns: int) -> None:
        life = self._life(pid, woken["name"], int(woken["prio"]), "asleep", "asleep")
        if life.state == "asleep":
            self._wakes(life, now_ns)
        elif life.waker is not None:
            # It had not gone to sleep yet: nobody woke it.
            acts, place = life.waker
            acts[place] = life.waker = None

    def _wakes(self, life: _Life, now_ns: int) -> None:
        slept_ns = max(0, now_ns - life.since_ns)
        life.act(*(("sleep", slept_ns) if life.waker is None else ("wait", 0)), now_ns)
        life.waker, life.state, life.since_ns = None, "ready", now_ns
        self._changes.append((now_ns, +1))

    def _born(self, parent: int, pid: int, woken: re.Match[str], now_ns: int) -> None:
        self._lives.pop(pid, None)
        life = self._life(pid, woken["name"], int(woken["prio"]), "unborn", "ready")
        life.since_ns = now_ns
        self._changes.append((now_ns, +1))
        by = self._lives.get(parent)
        if by is not None and by.state == "running":
            by.act("wake", life.number, now_ns)
        else:
            # Its parent is the observer, or was not seen: it comes when it came.
            life.beginning = "asleep"
            life.acts.append(("sleep", now_ns - (self.began_ns or now_ns)))

    def _life(
        self,
        pid: int,
        name: str,
        priority: int,
        beginning: Literal["awake", "asleep", "unborn"],
        state: Literal["running", "ready", "asleep"],
    ) -> _Life:
        """The life of a task; one that is met for the first time began so, and has been in this state since then."""
        life = self._lives.get(pid)
        if life is None:
            nice = min(19, max(-20, priority - _NICE_0_PRIORITY))
            life = _Life(len(self._all), name, nice, beginning, state, self.began_ns or 0)
            self._lives[pid] = life
            self._all.append(life)
        return life

    def time_at_length_ns(self) -> list[int]:
        """For how long so many tasks ran or were ready."""
        lengths: Counter[int] = Counter()
        length = sum(life.beginning == "awake" for life in self._all)
        last_ns = self.began_ns or 0
        for now_ns, change in sorted(self._changes):
            lengths[length] += now_ns - last_ns
            length, last_ns = max(0, length + change), now_ns
        lengths[length] += self.ended_ns - last_ns
        return [lengths[length] for length in range(max(lengths) + 1)]

    def lines(self, *, started: str, cpus: int, tasks: int) -> Iterator[str]:
        """The recording, line by line; of ``tasks`` that exist those that did nothing are in it too, asleep."""
        for life in self._lives.values():
            life.run_until(self.ended_ns)
            if life.ran_ns > 0:
                life.act("wait", 0, self.ended_ns)
        names = Counter[str]()
        for life in self._all:
            names[_class(life.name)] += life.total_ns
        classes = [name for name, _ in names.most_common(_MOST_CLASSES)] + [_OTHERS, _ASLEEP]
        idle = max(0, tasks - len(self._lives))
        head = {
            "schedsim_trace": 2,
            "by": "tracepoints",
            "started": started,
            "cpus": cpus,
            "tasks": len(self._all) + idle,
            "length_ns": max(1, self.ended_ns - (self.began_ns or 0)),
            "tick_ns": tick_ns() or 0,
            "switches": self.switches,
            "involuntary": self.involuntary,
            "events": self.events,
            "lost": self.lost,
            "time_at_length_ns": self.time_at_length_ns(),
            "classes": classes,
        }
        yield json.dumps(head)
        for life in self._all:
            name = _class(life.name)
            yield _line(
                of=classes.index(name if name in classes else _OTHERS),
                nice=life.nice,
                beginning=life.beginning,
                acts=[act for act in life.acts if act is not None],
            )
        for _ in range(idle):
            yield _line(of=len(classes) - 1, nice=0, beginning="asleep", acts=[])


def _line(**fields: object) -> str:
    return json.dumps(fields, separators=(",", ":"))


def _class(name: str) -> str:
    """Threads and workers that differ by a number are of one class."""
    return re.sub(r"[/:_-]*[0-9].*$", "", name) or name


# --- the tracer of the kernel -----------------------------------------------------------------------------------------


def _tracefs() -> Path | str:
    """Where tracefs is mounted and may be used, or why it may not."""
    for line in Path("/proc/mounts").read_text().splitlines():
        _, folder, kind, *_ = line.split()
        if kind == "tracefs":
            return Path(folder) if os.access(Path(folder) / "instances", os.W_OK) else "only root may trace the kernel"
    if os.geteuid() != 0:
        return "only root may trace the kernel"
    return "tracefs is not mounted: `mount -t tracefs none /sys/kernel/tracing`"


class Tracer:
    """An instance of the kernel's tracer; `drain` takes out what it has seen since."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pipe = os.open(folder / "trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
        self._seen: list[bytes] = []

    def drain(self) -> None:
        """Take what the tracer holds; it is understood later, so that looking costs little."""
        with contextlib.suppress(BlockingIOError):
            while piece := os.read(self._pipe, 1 << 20):
                self._seen.append(piece)

    def stop(self) -> None:
        """See no more."""
        (self._folder / "tracing_on").write_text("0")
        self.drain()

    def close(self) -> None:
        """Let the instance go."""
        os.close(self._pipe)

    def lives(self) -> Lives:
        """What was seen, understood."""
        found = Lives(own=os.getpid())
        found.read(b"".join(self._seen).decode(errors="replace").split("\n"))
        return found


@contextlib.contextmanager
def tracing() -> Iterator[Tracer | str]:
    """The tracer at work, or why there is none. Its instance is gone afterwards."""
    root = _tracefs()
    if isinstance(root, str):
        yield root
        return
    folder = root / "instances" / f"steelyard-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        yield f"the kernel gives no instance of its tracer ({error.strerror})"
        return
    try:
        for name, value in (("trace_clock", "mono"), ("buffer_size_kb", str(_BUFFER_KIB))):
            (folder / name).write_text(value)
        for event in _EVENTS:
            (folder / "events" / "sched" / event / "enable").write_text("1")
    except OSError as error:
        folder.rmdir()
        yield f"the tracepoints of the scheduler cannot be used ({error.strerror})"
        return
    tracer = Tracer(folder)
    try:
        yield tracer
    finally:
        for event in _EVENTS:
            (folder / "events" / "sched" / event / "enable").write_text("0")
        tracer.close()
        folder.rmdir()
