# SPDX-License-Identifier: Apache-2.0
"""Looks after programs: starts the command line, finds what is left of a run. Processes are found by a mark that they
inherit in their environment, which no session, group or parent of their own can hide."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

import pytest

MARK = "STEELYARD_TEST_MARK"
PACKAGES = Path(__file__).parents[1] / ".ci" / "packages"
#: Longest that anything is waited for. No test measures this: it only ends what would hang.
PATIENCE_S = 300.0
#: Between two looks lies this many times as long as one takes: what is waited for needs the CPU more.
_PAUSE = 3


def a_mark() -> str:
    """A mark for one test."""
    return secrets.token_hex(8)


def marked(mark: str, name: str = MARK) -> list[int]:
    """All processes that live and have this mark in their environment; zombies have none and are not found."""
    wanted = f"{name}={mark}".encode()
    found = []
    with os.scandir("/proc") as entries:
        for entry in entries:
            if entry.name.isdecimal():
                try:
                    environment = Path(entry.path, "environ").read_bytes()
                except OSError:
                    continue
                if wanted in environment.split(b"\0"):
                    found.append(int(entry.name))
    return found


def until(holds: Callable[[], object], what: str, patience_s: float = PATIENCE_S) -> None:
    """Wait until something holds; fails saying what did not. What takes long to look at is looked at less often."""
    end = time.monotonic() + patience_s
    while True:
        began = time.monotonic()
        if holds():
            return
        now = time.monotonic()
        if now > end:
            pytest.fail(f"waited in vain for this: {what}")
        time.sleep(max(0.01, _PAUSE * (now - began)))


def gone(mark: str, name: str = MARK) -> bool:
    """Whether no process with this mark lives."""
    return not marked(mark, name)


def kill_marked(mark: str, name: str = MARK) -> None:
    """End all processes of a test, so that a failure does not disturb the next one."""
    for pid in marked(mark, name):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def first_key(run_id: str) -> int:
    """The first of a run's 16 System V keys: FNV-1a of its id, as in launch.c."""
    digest = 2166136261
    for character in run_id.encode():
        digest = (digest ^ character) * 16777619 & 0xFFFFFFFF
    return 0x53000000 | (digest & 0xFFFFF) << 4


def ipc_objects(run_id: str) -> list[str]:
    """Every shared memory, semaphore and queue, of both kinds, under the names of a run."""
    found = [str(path) for path in Path("/dev/shm").glob(f"*steelyard-{run_id}-*")]
    libc = ctypes.CDLL(None, use_errno=True)
    for number in range(16):
        queue = libc.mq_open(f"/steelyard-{run_id}-{number}".encode(), os.O_RDONLY)
        if queue >= 0:
            os.close(queue)
            found.append(f"queue /steelyard-{run_id}-{number}")
    keys = range(first_key(run_id), first_key(run_id) + 16)
    for kind in ("shm", "sem", "msg"):
        for line in Path(f"/proc/sysvipc/{kind}").read_text().splitlines()[1:]:
            if int(line.split()[0]) in keys:
                found.append(f"System V {kind} {line.split()[0]}")
    return found


def command(*arguments: object) -> list[str]:
    """The command line as a user's shell would start it."""
    return [sys.executable, "-m", "steelyard", *map(str, arguments)]


@functools.cache
def tool(*names: str) -> str:
    """Path of a program that tests need, the first of these that is there; where none is, the test is skipped, but
    fails on a machine that is there to test."""
    folders = [str(Path(sys.executable).parent), os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"]
    found = [path for name in names if (path := shutil.which(name, path=os.pathsep.join(folders)))]
    if not found:
        missing(f"{' or '.join(names)} is not installed{_package(names)}")
    return found[0]


def _package(names: Sequence[str]) -> str:
    """What to install for one of these programs, if it is one of Debian's."""
    lines = [line.split() for line in PACKAGES.read_text().splitlines() if not line.startswith("#")]
    named = [package for package, *programs in lines if set(programs) & set(names)]
    return f" (Debian: apt-get install {' or '.join(named)})" if named else ""


def missing(reason: str) -> NoReturn:
    """Something that a test needs is not there: skips, but fails on a machine that is there to test."""
    if os.environ.get("CI"):
        pytest.fail(f"{reason}, and CI has to have it")
    pytest.skip(reason)


def compiled(source: Path, target: Path, *more: object) -> Path:
    """A C program of a test, built as it stands, with further sources and options."""
    target.parent.mkdir(parents=True, exist_ok=True)
    cc = [tool("cc"), "-std=gnu17", "-O1", "-Wall"]
    subprocess.run([*cc, source, *map(str, more), "-o", target, "-lpthread", "-lrt", "-lm"], check=True)
    return target


def name_of(pid: int) -> str:
    """Name of a process, cut to 15 characters by the kernel; empty if it is gone."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def leader_name(pid: int) -> str:
    """Name of the leader of a process's session; that of a probe is its launcher."""
    try:
        return name_of(os.getsid(pid))
    except ProcessLookupError:
        return ""


def kill(pid: int) -> None:
    """SIGKILL."""
    os.kill(pid, signal.SIGKILL)


def kill_one(pids: Sequence[int]) -> bool:
    """SIGKILL for the first of these that still lives; whether there was one."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            kill(pid)
            return True
    return False
