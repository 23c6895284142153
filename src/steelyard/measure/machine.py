# SPDX-License-Identifier: Apache-2.0
"""Facts about the host and the machine key.

The key is made of what stays the same over a reboot: models, counts and sizes, never MHz, host name or kernel. What may
change (kernel, mitigations, governor, libc …) is the environment and is recorded beside it.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import hashlib
import math
import os
import platform
import re
import shlex
import socket
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import psutil

from steelyard.errors import BusyError
from steelyard.records import Machine, Placement

_CPU = Path("/sys/devices/system/cpu")
_DMI = Path("/sys/class/dmi/id")
# One lock for all users of the machine, on purpose; tests, whose figures nobody reads, name others.
_LOCK = Path(os.environ.get("STEELYARD_LOCK", "/tmp/steelyard-machine.lock"))  # noqa: S108
_LOCK_POLL_S = 0.05


def read(path: Path | str) -> str | None:
    """Contents of a file of /proc or /sys without white space around; None where it can't be read."""
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None


def _cpuinfo() -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in (read("/proc/cpuinfo") or "").splitlines():
        key, colon, value = line.partition(":")
        if colon:
            fields.setdefault(key.strip(), value.strip())
    return fields


def _caches() -> str:
    """Sizes of CPU 0's caches, such as ``L1d 32K, L2 1024K``."""
    found = []
    for index in sorted((_CPU / "cpu0/cache").glob("index*")):
        level, kind, size = (read(index / name) for name in ("level", "type", "size"))
        if level and kind and size:
            found.append(f"L{level}{kind[0].lower() if kind != 'Unified' else ''} {size}")
    return ", ".join(found) or "unknown"


def _facts() -> dict[str, str]:
    info = _cpuinfo()
    model = info.get("model name") or info.get("CPU part") or platform.processor() or "unknown"
    family = "/".join(info.get(key, "?") for key in ("cpu family", "model", "stepping"))
    return {
        "architecture": platform.machine(),
        "cpu": model,
        "cpu family/model/stepping": family,
        "logical cpus": str(psutil.cpu_count() or "unknown"),
        "cores": str(psutil.cpu_count(logical=False) or "unknown"),
        "numa nodes": str(len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) or 1),
        "caches": _caches(),
        # In whole GiB: the kernel keeps a little more or less for itself from version to version.
        "memory": f"{round(psutil.virtual_memory().total / 2**30)} GiB",
        "hypervisor": "yes" if "hypervisor" in info.get("flags", "").split() else "no",
    }


def _mitigations() -> str:
    folder = _CPU / "vulnerabilities"
    if not folder.is_dir():
        return "unknown"
    states = {path.name: read(path) or "unknown" for path in sorted(folder.iterdir())}
    return "; ".join(f"{name}: {state}" for name, state in states.items() if not state.startswith("Not affected"))


def _timer_slack_ns() -> str:
    PR_GET_TIMERSLACK = 30  # noqa: N806 - the kernel's name
    return str(ctypes.CDLL(None).prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0))


def _huge_pages() -> str:
    chosen = re.search(r"\[(\w+)\]", read("/sys/kernel/mm/transparent_hugepage/enabled") or "")
    return chosen[1] if chosen else "unknown"


def cpu_cgroups() -> Iterator[Path]:
    """The folders of the cgroup that limits this process's CPU time and of those above it, of version 2 and of 1."""
    mounted = Path("/sys/fs/cgroup")
    for line in (read("/proc/self/cgroup") or "").splitlines():
        number, controllers, own = line.split(":", 2)
        if number == "0":
            roots = [mounted, mounted / "unified"]
        elif "cpu" in controllers.split(","):
            roots = [mounted / controllers, mounted / "cpu"]
        else:
            continue
        if root := next((root for root in roots if (root / "cgroup.procs").exists()), None):
            folder = root / own.lstrip("/")
            yield from (one for one in (folder, *folder.parents) if one == root or root in one.parents)


def cpu_quota(folder: Path) -> str | None:
    """The quota of CPU time of a cgroup and its period, in µs, or ``max``; None where the folder has none."""
    if limit := read(folder / "cpu.max"):
        return limit
    quota = read(folder / "cpu.cfs_quota_us")
    return (
        None if quota is None else "max" if quota.startswith("-") else f"{quota} {read(folder / 'cpu.cfs_period_us')}"
    )


def _cpu_limit() -> str | None:
    """The first limit of CPU time on the way up from this process's cgroup: quota and period in µs, or ``max``."""
    limits = (cpu_quota(folder) for folder in cpu_cgroups())
    return next((limit for limit in limits if limit and not limit.startswith("max")), "max")


def _instance_type() -> str | None:
    """What the cloud calls this kind of machine, where the firmware says it: of the large ones only Amazon's does."""
    return read(_DMI / "product_name") if read(_DMI / "sys_vendor") == "Amazon EC2" else None


_ENVIRONMENT: dict[str, Callable[[], str | None]] = {
    "kernel": platform.release,
    "kernel version": platform.version,
    "libc": lambda: " ".join(platform.libc_ver()),
    "mitigations": _mitigations,
    "governor": lambda: read(_CPU / "cpu0/cpufreq/scaling_governor"),
    "clocksource": lambda: read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    "smt": lambda: read(_CPU / "smt/active"),
    "aslr": lambda: read("/proc/sys/kernel/randomize_va_space"),
    "transparent huge pages": _huge_pages,
    "timer slack ns": _timer_slack_ns,
    "cgroup cpu limit": _cpu_limit,
    "microcode": lambda: _cpuinfo().get("microcode"),
    "platform": lambda: read(_DMI / "sys_vendor"),
    "instance type": _instance_type,
    "boot id": lambda: read("/proc/sys/kernel/random/boot_id"),
}


def survey() -> Machine:
    """The machine as it is now."""
    facts = _facts()
    digest = hashlib.sha256("\n".join(f"{key}={facts[key]}" for key in sorted(facts)).encode()).hexdigest()
    environment = {name: ask() or "unknown" for name, ask in _ENVIRONMENT.items()}
    return Machine(key=digest[:12], facts=facts, environment=environment, cpus=tuple(sorted(os.sched_getaffinity(0))))


def _siblings(cpu: int) -> set[int]:
    """The CPUs that share a core with this one, itself included."""
    found: set[int] = set()
    for part in (read(_CPU / f"cpu{cpu}/topology/thread_siblings_list") or str(cpu)).split(","):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def cpus_for(placement: Placement, allowed: tuple[int, ...]) -> tuple[int, ...]:
    """The CPUs on which a run of this placement goes; empty where the machine can't do it.

    The last CPU, because CPU 0 takes most interrupts; for `cross` its partner is on another core where there is one.
    """
    match placement:
        case "free":
            return allowed
        case "same":
            return allowed[-1:]
        case "cross":
            last = allowed[-1]
            others = [cpu for cpu in reversed(allowed) if cpu != last]
            apart = [cpu for cpu in others if cpu not in _siblings(last)]
            partner = (apart or others)[:1]
            return tuple(sorted((*partner, last))) if partner else ()


def cpus_beside(where: Literal["other", "same"], run: tuple[int, ...], allowed: tuple[int, ...]) -> tuple[int, ...]:
    """The CPUs of a neighbour of a run on ``run``; empty where the run leaves none."""
    return run if where == "same" else tuple(cpu for cpu in allowed if cpu not in run)


@contextmanager
def lock(waiting: Callable[[str], None], patience_s: float | None = None) -> Iterator[tuple[int, ...]]:
    """Hold the lock of this machine: one measurement at a time, whoever starts it.

    Yields the descriptors that hold it; a child that is given them holds the lock as well, and the kernel lets go when
    the last of them ends, however it ends. Where another one holds it, ``waiting`` is told once which process that is,
    and then this waits; raises BusyError when ``patience_s`` is over, at once when that is 0.

    It is held by two things at once. The file is shared by all who share a /tmp; where Slurm gives each job a /tmp of
    its own (job_container/tmpfs), the abstract socket's name, which no folder holds, is still shared.
    """
    handle = _lock_file()
    name = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if not _taken(handle, name):
            if patience_s != 0:
                waiting(holder(handle))
            if patience_s is None:  # in a queue: whoever looks again and again may find it taken each time
                fcntl.flock(handle, fcntl.LOCK_EX)
            end = math.inf if patience_s is None else time.monotonic() + patience_s
            while not _taken(handle, name):
                if time.monotonic() > end:
                    waited = f" after {patience_s:g} s" if patience_s else ""
                    raise BusyError(f"{holder(handle)} still measures on this machine{waited}: try again later")
                time.sleep(_LOCK_POLL_S)
        yield handle, name.fileno()
    finally:
        name.close()
        os.close(handle)


def _lock_file() -> int:
    """Open the file of the lock without following a link and without waiting, as one would for a pipe of that name."""
    how = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        try:
            handle = os.open(_LOCK, how | os.O_CREAT, 0o666)
        except OSError:  # another user's file in a sticky folder may be opened but not created
            handle = os.open(_LOCK, how)
    except OSError as error:
        raise BusyError(f"{_LOCK}, the lock of this machine, cannot be opened ({error.strerror}): remove it") from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise BusyError(f"{_LOCK} is not a regular file, so it cannot lock this machine: remove it")
    return handle


def holder(handle: int) -> str:
    """Which process holds the lock whose file this is: its number, since when it runs, and its command."""
    inode = os.fstat(handle).st_ino
    for line in (read("/proc/locks") or "").splitlines():
        # 1: FLOCK  ADVISORY  WRITE 25996 fe:00:9977858 0 EOF; a line of one who waits has an arrow before FLOCK.
        _, kind, *_, process, place, _, _ = line.split()
        if kind == "FLOCK" and place.endswith(f":{inode}") and int(process) != os.getpid():
            with contextlib.suppress(psutil.Error, ValueError):
                found = psutil.Process(int(process))
                since = time.strftime("%H:%M:%S", time.localtime(found.create_time()))
                return f"process {process} (since {since}: {shlex.join(found.cmdline())})"
            return f"process {process}, or one that it has started,"
    return "another process, which this one cannot see,"


def _taken(handle: int, name: socket.socket) -> bool:
    """Whether both halves of the lock are ours now; never waits."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    try:
        name.bind(f"\0{_LOCK}")
    except OSError as error:
        # A sandbox without such sockets leaves the file; only "in use" means another measurement.
        return error.errno != errno.EADDRINUSE
    return True
