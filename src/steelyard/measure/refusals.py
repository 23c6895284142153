# SPDX-License-Identifier: Apache-2.0
"""What a container, or a setting of the kernel, refuses to the probes here, and what would permit it.

Each is tried, because the profile of a container cannot be read from inside it. A try changes nothing.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import platform
import struct
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from steelyard.measure.machine import read
from steelyard.records import Disturbance, Machine

#: perf_event_open has a number for each architecture; io_uring_setup has one for all of them.
_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}
_IO_URING_SETUP = 425
_PTRACE_ATTACH = 16
_PR_GET_THP_DISABLE = 42
#: No process has this number: the most that the kernel gives is 2^22.
_NO_PROCESS = 2**30

#: What a container puts into its files, and what it is called. Where none is there, its control group may tell.
_FILES = {".dockerenv": "Docker", "run/.containerenv": "Podman", "var/run/secrets/kubernetes.io": "Kubernetes"}
_GROUPS = {"kubepods": "Kubernetes", "docker": "Docker", "libpod": "Podman", "lxc": "LXC", "containerd": "containerd"}


def container(root: Path = Path("/")) -> str | None:
    """What this process is contained in, by the files below ``root``; None where nothing says that it is."""
    for name, kind in reversed(_FILES.items()):  # Kubernetes also has the file of whatever it starts
        if (root / name).exists():
            return kind
    groups = read(root / "proc/self/cgroup") or ""
    named = next((kind for word, kind in _GROUPS.items() if word in groups), None)
    return named or read(root / "run/systemd/container") or None


# --- tries: each gives 0, or the error with which the kernel refused --------------------------------------------------


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _opened(number: int | None, *arguments: object) -> int:
    """Make a system call that gives a descriptor, and close that."""
    if number is None:  # this architecture is not known here, so nothing is said of it
        return 0
    descriptor = _libc().syscall(ctypes.c_long(number), *arguments)
    if descriptor < 0:
        return ctypes.get_errno()
    os.close(descriptor)
    return 0


def _perf_event_open() -> int:
    """Open a counter of the kernel's own, which every machine has, for this thread."""
    type_, size, config, flags = 1, 64, 1, 1 | 1 << 5 | 1 << 6  # PERF_TYPE_SOFTWARE, its CPU time, of the user alone
    attributes = struct.pack("=IIQQQQQ", type_, size, config, 0, 0, 0, flags).ljust(size, b"\0")
    number = _PERF_EVENT_OPEN.get(platform.machine())
    return _opened(number, attributes, *(ctypes.c_long(value) for value in (0, -1, -1, 0)))


def _io_uring_setup() -> int:
    return _opened(_IO_URING_SETUP, ctypes.c_long(1), ctypes.create_string_buffer(120))


def _ptrace() -> int:
    """Read own memory as another process would, and trace a process that does not exist."""
    libc = _libc()
    byte = ctypes.create_string_buffer(1)
    vector = (ctypes.c_size_t * 2)(ctypes.addressof(byte), 1)
    if libc.process_vm_readv(os.getpid(), vector, ctypes.c_ulong(1), vector, ctypes.c_ulong(1), ctypes.c_ulong(0)) < 0:
        return ctypes.get_errno()
    libc.ptrace(_PTRACE_ATTACH, _NO_PROCESS, None, None)
    found = ctypes.get_errno()
    return 0 if found == errno.ESRCH else found


def _real_time() -> int:
    """Put a thread that ends at once under SCHED_FIFO."""
    found = []

    def attempt() -> None:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
            found.append(0)
        except OSError as error:
            found.append(error.errno or errno.EPERM)

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    return found[0]


def _huge_pages() -> int:
    """Ask for transparent huge pages in a mapping."""
    if _libc().prctl(_PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1:
        return errno.EPERM
    try:
        with mmap.mmap(-1, 4 << 20) as mapping:
            mapping.madvise(mmap.MADV_HUGEPAGE)
    except OSError as error:
        return error.errno or errno.EINVAL
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """Something that probes need of the kernel.

    lost: what cannot be measured without it. inside: the option with which a container is started that permits it.
    outside: what permits it on a machine.
    """

    what: str
    attempt: Callable[[], int]
    lost: str
    inside: str
    outside: str


_NEEDED = (
    Needed(
        what="perf_event_open",
        attempt=_perf_event_open,
        lost="cycles, instructions and misses are not counted",
        inside="--cap-add PERFMON, with kernel.perf_event_paranoid at 2 or less on the host",
        outside="as root: sysctl kernel.perf_event_paranoid=2",
    ),
    Needed(
        what="io_uring",
        attempt=_io_uring_setup,
        lost="ways through io_uring are skipped, and coroutines use epoll",
        inside="--security-opt seccomp=FILE, a profile that allows io_uring_setup, _enter and _register",
        outside="as root: sysctl kernel.io_uring_disabled=0",
    ),
    Needed(
        what="ptrace",
        attempt=_ptrace,
        lost="messages by process_vm_readv are skipped",
        inside="--cap-add SYS_PTRACE",
        outside="start it outside the sandbox, whose filter of system calls refuses it",
    ),
    Needed(
        what="SCHED_FIFO",
        attempt=_real_time,
        lost="wake-ups under the policies fifo and rr are skipped",
        inside="--cap-add SYS_NICE --ulimit rtprio=99",
        outside="start it as root, or after ulimit -r 99",
    ),
    Needed(
        what="a huge page",
        attempt=_huge_pages,
        lost="memory and caches are measured with small pages",
        inside="nothing: the host decides; see /sys/kernel/mm/transparent_hugepage there",
        outside="as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
    ),
)


def _said(need: Needed, error: int, kind: str | None) -> Disturbance:
    advice = f"start the container with {need.inside}" if kind else need.outside
    return Disturbance(
        what=f"{need.what} is refused ({os.strerror(error)}): {need.lost}", advice=advice, severity="note"
    )


def refusals(
    machine: Machine, kind: str | None = None, errors: Mapping[str, int] | None = None
) -> tuple[Disturbance, ...]:
    """The container, if this is one, then all that is refused here.

    kind: what this process is contained in, asked when left out. errors: what each need would be refused with, by its
    name, in the place of trying.
    """
    kind = kind or container()
    errors = dict(errors or {})
    if machine.environment.get("transparent huge pages") == "never":
        errors["a huge page"] = errno.EPERM
    found = []
    for need in _NEEDED:
        error = errors[need.what] if need.what in errors else need.attempt()
        if error:
            found.append(_said(need, error, kind))
    if (online := os.cpu_count() or 1) > len(machine.cpus):
        found.append(
            Disturbance(
                what=f"only {len(machine.cpus)} of {online} CPUs may be used: others may work on the rest of a core",
                advice="give it whole cores (--cpuset-cpus of a container, taskset, cpuset.cpus)",
                severity="note",
            )
        )
    return tuple(found) if kind is None else (_contained(kind, refuses=bool(found)), *found)


def _contained(kind: str, *, refuses: bool) -> Disturbance:
    which = "holds back what stands below" if refuses else "refuses nothing that probes need"
    return Disturbance(
        what=f"this is a container ({kind}), which {which}",
        advice="say so beside the figures: kernel and neighbours are those of the host",
        severity="note",
    )
