# SPDX-License-Identifier: Apache-2.0
"""The live machine."""

from __future__ import annotations

from typing import Literal

from steelyard.nouns.base import Record
from steelyard.nouns.session import Skip


class Recording(Record, frozen=True, kw_only=True):
    """How the life of a machine was recorded: every event of its scheduler, or the run queue now and then.

    ``lost``: events that the kernel had no room for. ``why``: no tracepoints could be used.
    """

    by: Literal["tracepoints", "proc"]
    events: int = 0
    lost: int = 0
    switches: int = 0
    why: str = ""


class Observation(Record, frozen=True, kw_only=True):
    """What a machine did for a while, the observer and its own doings left out.

    ``lengths[n]`` is the number of samples at which n tasks ran or were ready. ``switches`` is what all CPUs counted,
    those from and to idle included; ``voluntary`` and ``involuntary`` are of tasks that were there at the end or belong
    to the command, so the two make up less than all. Seconds of ``run_delay_s`` (ready and not running) are summed over
    tasks; ``pressure_s`` is time in which anybody at all waited for a CPU. None is what this kernel does not keep.
    """

    started: str
    machine_key: str
    cpus: int
    seconds: float
    every_s: float
    lengths: tuple[int, ...]
    switches: int
    forks: int
    voluntary: int
    involuntary: int
    tasks: int
    run_delay_s: float | None
    pressure_s: float | None
    own_cpu_s: float
    own_switches: int
    skips: tuple[Skip, ...] = ()
    recording: Recording | None = None
    command: tuple[str, ...] = ()
    command_status: int | None = None


class Effort(Record, frozen=True, kw_only=True):
    """What a process and its descendants did for a while.

    ``counts``: by what was counted; what could not be counted is missing, with its reason in ``skips``. ``tasks``:
    threads of all its processes at the beginning. ``command``: what was started, or runs; ``status``: its exit code,
    None of one that goes on.
    """

    started: str
    machine_key: str
    seconds: float
    cpu_s: float
    tasks: int
    counts: dict[str, int]
    pid: int
    command: tuple[str, ...]
    status: int | None = None
    skips: tuple[Skip, ...] = ()
