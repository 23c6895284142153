# SPDX-License-Identifier: Apache-2.0
"""What a tree of processes has used and holds, those that ended counted in. All of it is read from /proc.

The server runs under Steelyard's launcher (src/steelyard/measure/launch.c), which is the subreaper of all that it
starts: whatever leaves its parent becomes a child of the launcher, so that the tree under it is the whole server, and
when this process dies the launcher ends the tree.
"""

from __future__ import annotations

import os
import time
from typing import Dict, List, NamedTuple, Optional, Sequence

_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
_KIB = 1024


class Used(NamedTuple):
    """CPU time of a tree since its beginning, and its processes that live."""

    cpu_ns: int
    alive: frozenset


class Held(NamedTuple):
    """Memory of a tree, in bytes: resident, where shared pages count once a process, and proportional."""

    resident: int
    proportional: int


def children(pid: int) -> List[int]:
    """The processes that were started by any thread of this one; none if it is gone."""
    found: List[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children") as file:
                found += map(int, file.read().split())
        except OSError:  # the thread ended meanwhile
            continue
    return found


def descendants(root: int) -> List[int]:
    """All processes below this one, by one pass over those there are: a process may have ten thousand threads."""
    below: Dict[int, List[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (fields := _fields_of(int(name))):
            below.setdefault(int(fields[1]), []).append(int(name))
    found, look = [], [root]
    while look:
        some = below.get(look.pop(), [])
        found += some
        look += some
    return found


def _fields_of(pid: int) -> List[bytes]:
    """The fields of /proc/PID/stat after the name, the state first; none if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []


def _clock(pid: int) -> int:
    """The id of the CPU clock of all threads of a process, ended ones as well (see clock_getcpuclockid)."""
    return (~pid << 3) | 2


def _of_the_ended_ns(pid: int) -> int:
    """CPU time of the children that a process has waited for, in ticks of the kernel's clock."""
    fields = _fields_of(pid)
    return (int(fields[13]) + int(fields[14])) * _TICK_NS if fields else 0


def used(root: int, alive: Optional[Sequence[int]] = None) -> Used:
    """What the processes below `root` have used: the living to the nanosecond, the ended to the tick.

    alive: these processes, where they have been looked for already.
    """
    alive = descendants(root) if alive is None else alive
    total = _of_the_ended_ns(root)
    for pid in alive:
        try:
            total += time.clock_gettime_ns(_clock(pid)) + _of_the_ended_ns(pid)
        except OSError:  # it ended meanwhile and stands in its parent's account from now on
            continue
    return Used(total, frozenset(alive))


def held(root: int, alive: Optional[Sequence[int]] = None) -> Held:
    """The memory of the processes below `root`; alive: these, where they have been looked for already."""
    sums: Dict[str, int] = {"Rss": 0, "Pss": 0}
    for pid in descendants(root) if alive is None else alive:
        try:
            with open(f"/proc/{pid}/smaps_rollup") as file:
                for line in file:
                    name = line.partition(":")[0]
                    if name in sums:
                        sums[name] += int(line.split()[1]) * _KIB
        except OSError:
            continue
    return Held(sums["Rss"], sums["Pss"])
