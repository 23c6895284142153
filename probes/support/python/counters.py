# SPDX-License-Identifier: Apache-2.0
"""What the processor counted in a value, as probes/support/c/counters.h has it; of every thread of this process.

Opened when all values have been timed, for batches that are run again for the counts alone. Standard library only, and
Python 3.8 or later.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from typing import Dict, List, NamedTuple, Tuple

_HARDWARE, _SOFTWARE = 0, 1  # PERF_TYPE_HARDWARE, PERF_TYPE_SOFTWARE
#: Names with PERF_COUNT_HW_… and PERF_COUNT_SW_…
_EVENTS = {
    "hardware": (_HARDWARE, {"cycles": 0, "instructions": 1, "branch_misses": 5, "cache_misses": 3}),
    "software": (_SOFTWARE, {"task_clock_ns": 1, "page_faults": 2, "context_switches": 3}),
}
_SYSTEM_CALL = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}
_SIZE = 64  # PERF_ATTR_SIZE_VER0
_TIMES = 1 | 2  # PERF_FORMAT_TOTAL_TIME_ENABLED, PERF_FORMAT_TOTAL_TIME_RUNNING
_INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR = 1 << 1, 1 << 5, 1 << 6
_CLOSE_ON_EXEC = 8  # PERF_FLAG_FD_CLOEXEC
_MOST_TASKS = 128


class Counter(NamedTuple):
    """A count, the time in which it was wanted and that in which it was had."""

    count: int
    enabled_ns: int
    running_ns: int


class Absent(Exception):  # noqa: N818 - no error: a run without counts is as good
    """Nothing can be counted here, and why not."""


class Counters:
    """The open counters of all threads; raises Absent where there are none."""

    def __init__(self) -> None:
        wanted = os.environ.get("STEELYARD_COUNTERS", "hardware")
        if wanted == "off":
            raise Absent("turned off by STEELYARD_COUNTERS")
        kind, self._events = _EVENTS["software" if wanted == "software" else "hardware"]
        number = _SYSTEM_CALL.get(platform.machine())
        if number is None:
            raise Absent(f"the number of the system call perf_event_open is not known on {platform.machine()}")
        tasks = sorted(map(int, os.listdir("/proc/self/task")))
        if len(tasks) > _MOST_TASKS:
            raise Absent(
                f"more than {_MOST_TASKS} contexts are not counted: reading so many counters would take too long"
            )
        self._open: Dict[str, List[int]] = {}
        self.absent = ""  #: which events are missing, if some are
        flags, who = _INHERIT, "user and kernel"
        error = self._open_all(number, kind, flags, tasks)
        if error in (errno.EACCES, errno.EPERM):
            flags, who = flags | _EXCLUDE_KERNEL | _EXCLUDE_HYPERVISOR, "user only"  # an ordinary user's own
            error = self._open_all(number, kind, flags, tasks)
        if error:
            raise Absent(_why(error))
        self.scope = f"{'software' if kind == _SOFTWARE else 'hardware'}, {who}"

    def _open_all(self, number: int, kind: int, flags: int, tasks: List[int]) -> int:
        """Every event for every task. 0, or the error of the first event if none could be opened."""
        errors: Dict[str, int] = {}
        for name, config in self._events.items():
            attributes = struct.pack("=IIQQQQQIIQ", kind, _SIZE, config, 0, 0, _TIMES, flags, 0, 0, 0)
            try:
                self._open[name] = _open_everywhere(number, attributes, tasks)
            except OSError as error:
                errors[name] = error.errno or 0
                if error.errno in (errno.EACCES, errno.EPERM, errno.EMFILE):
                    break
        if self._open and errors:
            self.absent = f"{', '.join(errors)}: {os.strerror(list(errors.values())[-1])}"
        return 0 if self._open else next(iter(errors.values()))

    def read(self) -> Dict[str, Counter]:
        """What has been counted so far."""
        return {name: _sum(files) for name, files in self._open.items()}

    def close(self) -> None:
        """Count no more."""
        for files in self._open.values():
            for file in files:
                os.close(file)
        self._open = {}


def _sum(files: List[int]) -> Counter:
    readings: List[Tuple[int, ...]] = [struct.unpack("=QQQ", os.read(file, 24)) for file in files]
    return Counter(*map(sum, zip(*readings)))


def _open_everywhere(number: int, attributes: bytes, tasks: List[int]) -> List[int]:
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    files: List[int] = []
    for task in tasks:
        numbers = (ctypes.c_long(task), ctypes.c_long(-1), ctypes.c_long(-1), ctypes.c_long(_CLOSE_ON_EXEC))
        file = library.syscall(ctypes.c_long(number), attributes, *numbers)
        if file < 0:
            error = ctypes.get_errno()
            for opened in files:
                os.close(opened)
            raise OSError(error, os.strerror(error))
        files.append(file)
    return files


def _why(error: int) -> str:
    said = os.strerror(error)
    if error in (errno.EACCES, errno.EPERM):
        return (
            f"counting is not permitted here ({said}): sysctl kernel.perf_event_paranoid=2 or less permits it; a "
            "container needs perf_event_open in its seccomp profile"
        )
    if error in (errno.EMFILE, errno.ENFILE):
        return f"too many open files to count so many contexts ({said}): a higher ulimit -n permits it"
    return f"the machine has no such counters ({said}): virtual machines have them only where the host passes them on"
