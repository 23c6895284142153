# SPDX-License-Identifier: Apache-2.0
"""What disturbs measurements on this machine, before, during and after a session, with what to do about it."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import psutil

from steelyard.errors import BusyError
from steelyard.measure import pressure
from steelyard.measure.machine import read
from steelyard.records import Disturbance, Machine, Run
from steelyard.units import counted

#: Share of a run's CPUs that others may take before the run counts as disturbed and is measured again.
FOREIGN_LIMIT = 0.15
STEAL_LIMIT = 0.05
#: /proc/stat counts in ticks of 10 ms; a reading before and one after are wrong by up to one tick each.
_TICKS_OF_DOUBT = 2

#: How long is looked for whether the machine is idle, and how long until the next look if it is not.
_LOOK_S = 0.5
_LOOK_AGAIN_S = 1.0

#: Share of the time in which some task may wait for a resource.
_WAITED_LIMIT = {"cpu": 0.1, "memory": 0.02, "io": 0.1}

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_USER, _NICE, _SYSTEM, _IDLE, _IOWAIT, _IRQ, _SOFTIRQ, _STEAL = range(8)


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """Seconds that some CPUs together were busy and were stolen by the hypervisor, since boot."""

    busy_s: float
    steal_s: float


def cpu_times(cpus: Sequence[int]) -> CpuTimes:
    """Read the times of these CPUs; zero where /proc/stat has none."""
    times = _each_cpu(cpus)
    return CpuTimes(busy_s=sum(one.busy_s for one in times), steal_s=sum(one.steal_s for one in times))


def _each_cpu(cpus: Sequence[int]) -> list[CpuTimes]:
    wanted = {f"cpu{cpu}" for cpu in cpus}
    found = []
    for line in (read("/proc/stat") or "").splitlines():
        name, *numbers = line.split()
        if name in wanted:
            ticks = [int(number) for number in numbers[:8]]
            busy = sum(ticks[field] for field in (_USER, _NICE, _SYSTEM, _IRQ, _SOFTIRQ))
            found.append(CpuTimes(busy_s=busy * _TICK_S, steal_s=ticks[_STEAL] * _TICK_S))
    return found


def shares(before: CpuTimes, after: CpuTimes, own_s: float, wall_s: float, cpus: int) -> tuple[float, float]:
    """Share of the CPUs' time that others used and that was stolen, beyond the doubt that coarse ticks leave."""
    capacity = max(wall_s * cpus, _TICK_S)

    def share(seconds: float) -> float:
        beyond_doubt = seconds - _TICKS_OF_DOUBT * _TICK_S
        return min(1.0, max(0.0, beyond_doubt / capacity))

    return share(after.busy_s - before.busy_s - own_s), share(after.steal_s - before.steal_s)


def disturbances_of_run(run: Run, *, alone: bool) -> tuple[str, ...]:
    """Why a run counts as disturbed. ``alone``: the case has one context, so any run delay was caused by others.

    A neighbour that was put on its CPUs makes it wait, and is no disturbance.
    """
    found = []
    alone = alone and all(set(run.cpus).isdisjoint(one.cpus) for one in run.beside)
    if run.foreign_share is not None and run.foreign_share > FOREIGN_LIMIT:
        found.append(f"others used {run.foreign_share:.0%} of its CPUs")
    if run.steal_share is not None and run.steal_share > STEAL_LIMIT:
        found.append(f"the hypervisor stole {run.steal_share:.0%} of its CPUs")
    if run.throttled_s > 0:
        found.append(f"{run.throttled_by or 'its CPU quota'} stopped it for {run.throttled_s:.2g} s")
    if run.heat:
        found.append(f"heat slowed its CPUs down {counted(run.heat, 'time')}")
    if (waited := run.waited.get("memory", 0.0)) > _WAITED_LIMIT["memory"]:
        found.append(f"some task waited for memory {waited:.0%} of the time")
    delay = sum(value.run_delay_ns or 0 for value in run.values) / 1e9
    if alone and run.timed_s and delay / run.timed_s > FOREIGN_LIMIT:
        found.append(f"it waited for its CPU {delay / run.timed_s:.0%} of the time")
    return tuple(found)


def _warning(what: str, advice: str) -> Disturbance:
    return Disturbance(what=what, advice=advice, severity="warning")


def _note(what: str, advice: str) -> Disturbance:
    return Disturbance(what=what, advice=advice, severity="note")


def _load(_: Machine) -> Iterator[Disturbance]:
    processes = list(psutil.process_iter(["pid", "name"]))
    for process in processes:
        _percent(process)
    started = psutil.cpu_times(percpu=False)
    time.sleep(_LOOK_S)
    ended = psutil.cpu_times(percpu=False)
    for process in processes:
        percent = _percent(process)
        if process.pid != os.getpid() and percent > 5:
            yield _warning(
                f"process {process.pid} ({process.info['name']}) uses {percent:.0f} % of a CPU",
                "stop it while measuring, or measure at another time",
            )
    stolen = (getattr(ended, "steal", 0.0) - getattr(started, "steal", 0.0)) / _LOOK_S
    if stolen > 0.02:
        yield _warning(
            f"the hypervisor takes {stolen:.0%} of a CPU",
            "measure at another time or on a dedicated host; disturbed runs are measured again",
        )


def _percent(process: psutil.Process) -> float:
    try:
        return float(process.cpu_percent(None))
    except psutil.Error:
        return 0.0


def _frequency(machine: Machine) -> Iterator[Disturbance]:
    governor = machine.environment["governor"]
    if governor not in ("performance", "unknown"):
        yield _warning(f"the frequency governor is {governor}", "as root: cpupower frequency-set -g performance")
    if governor == "unknown":
        yield _note(
            "the clock speed can neither be seen nor held here (no cpufreq)",
            "usual in a virtual machine; blocks in random order cancel slow changes",
        )
    if (
        read("/sys/devices/system/cpu/intel_pstate/no_turbo") == "0"
        or read("/sys/devices/system/cpu/cpufreq/boost") == "1"
    ):
        yield _note(
            "turbo is on: the clock speed depends on temperature and neighbours",
            "switch it off while measuring if you compare machines",
        )


def _topology(machine: Machine) -> Iterator[Disturbance]:
    if machine.environment["smt"] == "1":
        yield _note(
            "two threads share a core (SMT)",
            "keep the sibling idle, or switch SMT off: echo off > /sys/devices/system/cpu/smt/control",
        )
    if len(machine.cpus) == 1:
        yield _warning(
            "only one CPU may be used: placement cross is skipped and the lab disturbs the probes",
            "allow a second CPU (taskset, cpuset)",
        )
    if machine.facts["hypervisor"] == "yes":
        yield _note(
            "this is a virtual machine: neighbours disturb without leaving a trace",
            "compare within one session; prefer more blocks",
        )


def _clock(machine: Machine) -> Iterator[Disturbance]:
    source = machine.environment["clocksource"]
    if source not in ("tsc", "kvm-clock", "arch_sys_counter", "unknown"):
        yield _warning(
            f"the clock source is {source}: reading the clock is a slow system call",
            "boot with clocksource=tsc if the hardware allows it",
        )


def _limits(machine: Machine) -> Iterator[Disturbance]:
    quota = machine.environment["cgroup cpu limit"]
    if quota not in ("unknown", "") and not quota.startswith("max"):
        yield _warning(
            f"a cgroup limits CPU time ({quota}): probes are stopped when it is used up",
            "raise cpu.max, or measure outside the container",
        )
    if machine.environment["aslr"] == "0":
        yield _note(
            "address space randomisation is off: all runs share one memory layout and its luck",
            "as root: sysctl kernel.randomize_va_space=2",
        )


def _pressure(machine: Machine) -> Iterator[Disturbance]:
    for name, what in pressure.RESOURCES.items():
        share = pressure.waiting_share(name)
        if share is not None and share > _WAITED_LIMIT[name]:
            yield _warning(
                f"some task waited for {what} {share:.0%} of the last 10 s (/proc/pressure/{name})",
                "stop what else runs, or measure at another time",
            )
    seen = pressure.look(machine.cpus)
    for folder, bucket in seen.buckets.items():
        if bucket.quota and bucket.stopped:
            yield _warning(
                f"the CPU quota of {folder} ({bucket.quota}) has run out {counted(bucket.stopped, 'time')}, and "
                f"stopped its processes for {bucket.stopped_s:.3g} s",
                "raise the quota, or measure outside of it: how fast a run is depends on what ran before it",
            )
    if seen.heat:
        yield _note(
            f"heat has slowed these CPUs down {counted(seen.heat, 'time')} since boot",
            "cool the machine better; a run in which it happens is measured again",
        )
    for device, state in pressure.cooling():
        if state:
            yield _warning(f"{device} slows CPUs down against heat (state {state})", "let the machine cool down first")


_POLICIES = {
    os.SCHED_BATCH: "SCHED_BATCH",
    os.SCHED_IDLE: "SCHED_IDLE",
    os.SCHED_FIFO: "SCHED_FIFO",
    os.SCHED_RR: "SCHED_RR",
}


def _scheduling(_: Machine) -> Iterator[Disturbance]:
    if nice := os.getpriority(os.PRIO_PROCESS, 0):
        yield _warning(
            f"this program runs at nice {nice}, and so does every probe",
            "start it without nice: others get the CPU before it"
            if nice > 0
            else "start it without nice: it takes the CPU from others, as a program of yours would not",
        )
    if policy := _POLICIES.get(os.sched_getscheduler(0)):
        yield _warning(
            f"this program runs under {policy}, and so does every probe",
            "start it under the ordinary policy: chrt --other 0 steelyard …",
        )


#: Of each limit: what it counts, and what a session needs of it.
_NEEDED = {
    resource.RLIMIT_NOFILE: ("open files", "ulimit -n", 256),
    resource.RLIMIT_NPROC: ("processes of this user", "ulimit -u", 512),
    resource.RLIMIT_AS: ("bytes of address space", "ulimit -v", 4 << 30),
}


def _ulimits(_: Machine) -> Iterator[Disturbance]:
    for limit, (what, command, needed) in _NEEDED.items():
        # A probe raises its own limit of files as far as it may; nothing raises the others.
        soft, hard = resource.getrlimit(limit)
        allowed = hard if limit == resource.RLIMIT_NOFILE else soft
        if allowed != resource.RLIM_INFINITY and allowed < needed:
            yield _warning(
                f"only {allowed} {what} are allowed: probes, the report or queries may fail for want of them",
                f"raise it with {command} to {needed} or more",
            )


_CHECKS: tuple[Callable[[Machine], Iterator[Disturbance]], ...] = (
    _load,
    _frequency,
    _topology,
    _clock,
    _limits,
    _pressure,
    _scheduling,
    _ulimits,
)


def busiest_share(cpus: Sequence[int], seconds: float = _LOOK_S) -> float:
    """The share of the busiest of these CPUs that others use, looked at for so long."""
    before, started = _each_cpu(cpus), time.monotonic()
    time.sleep(seconds)
    after, wall_s = _each_cpu(cpus), time.monotonic() - started
    both = zip(before, after, strict=False)  # a CPU may go offline in between
    return max((sum(shares(first, second, 0.0, wall_s, 1)) for first, second in both), default=0.0)


def wait_until_idle(machine: Machine, patience_s: float) -> None:
    """Return when nobody else uses the machine; raises BusyError, naming who does, when patience is over."""
    end = time.monotonic() + patience_s
    while (share := busiest_share(machine.cpus)) > FOREIGN_LIMIT:
        if time.monotonic() > end:
            who = "; ".join(found.what for found in _load(machine)) or f"others use {share:.0%} of a CPU"
            raise BusyError(f"this machine is not idle ({who}): stop that, or measure at another time")
        time.sleep(_LOOK_AGAIN_S)


def audit(machine: Machine) -> tuple[Disturbance, ...]:
    """Look at the machine for half a second; warnings first."""
    found = [disturbance for check in _CHECKS for disturbance in check(machine)]
    return tuple(sorted(found, key=lambda disturbance: disturbance.severity != "warning"))
