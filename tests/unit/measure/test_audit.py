# SPDX-License-Identifier: Apache-2.0
import os
import resource

import pytest

from steelyard.errors import BusyError
from steelyard.measure import audit, pressure
from steelyard.measure.audit import CpuTimes, shares
from tests.making import a_machine, a_run, a_value

TICK = audit._TICK_S
NOTHING = CpuTimes(busy_s=100.0, steal_s=3.0)


def after(busy_s: float = 0.0, steal_s: float = 0.0) -> CpuTimes:
    return CpuTimes(busy_s=NOTHING.busy_s + busy_s, steal_s=NOTHING.steal_s + steal_s)


def test_what_the_run_used_itself_is_not_foreign():
    assert shares(NOTHING, after(busy_s=1.0), own_s=1.0, wall_s=1.0, cpus=1) == (0.0, 0.0)


def test_what_others_used_is_a_share_of_all_cpus_of_the_run():
    foreign, _ = shares(NOTHING, after(busy_s=1.0 + 2 * TICK), own_s=0.0, wall_s=1.0, cpus=2)
    assert foreign == pytest.approx(0.5)


def test_stolen_time_is_apart():
    assert shares(NOTHING, after(steal_s=0.25 + 2 * TICK), 0.0, 1.0, 1) == pytest.approx((0.0, 0.25))


def test_two_ticks_prove_nothing():
    assert shares(NOTHING, after(busy_s=2 * TICK, steal_s=2 * TICK), 0.0, 0.02, 1) == pytest.approx((0.0, 0.0))


def test_shares_stay_between_nothing_and_all():
    assert shares(NOTHING, after(busy_s=99.0), 0.0, 1.0, 1)[0] == 1.0
    assert shares(NOTHING, after(), own_s=5.0, wall_s=1.0, cpus=1)[0] == 0.0
    assert shares(NOTHING, after(), own_s=0.0, wall_s=0.0, cpus=1) == (0.0, 0.0)


def test_the_times_of_all_cpus_grow():
    first = audit.cpu_times(range(1024))
    second = audit.cpu_times(range(1024))
    assert 0 < first.busy_s <= second.busy_s
    assert audit.cpu_times([100_000]) == CpuTimes(busy_s=0, steal_s=0)


def test_a_quiet_run_is_not_disturbed():
    assert audit.disturbances_of_run(a_run(foreign_share=0.1, steal_share=0.01), alone=True) == ()


def test_a_run_of_which_nothing_is_known_is_not_called_disturbed():
    assert audit.disturbances_of_run(a_run(), alone=True) == ()


def test_why_a_run_is_disturbed_is_said():
    run = a_run(foreign_share=0.5, steal_share=0.07)
    assert audit.disturbances_of_run(run, alone=False) == (
        "others used 50% of its CPUs",
        "the hypervisor stole 7% of its CPUs",
    )


def test_waiting_for_the_cpu_disturbs_only_who_is_alone_on_it():
    value = a_value(1e-6, 1_000_000, run_delay_ns=300_000_000)
    run = a_run(values=(value,))
    assert audit.disturbances_of_run(run, alone=True) == ("it waited for its CPU 30% of the time",)
    assert audit.disturbances_of_run(run, alone=False) == ()


def a_disturbed_machine(**environment: str):
    calm = {"governor": "performance", "smt": "0", "clocksource": "tsc", "cgroup cpu limit": "max 100000", "aslr": "2"}
    return a_machine(environment={**calm, **environment})


def found(check, machine) -> str:
    return " ".join(f"{d.what} {d.advice}" for d in check(machine))


@pytest.mark.parametrize(
    ("check", "environment", "words"),
    [
        (audit._frequency, {"governor": "powersave"}, "powersave"),
        (audit._frequency, {"governor": "unknown"}, "no cpufreq"),
        (audit._topology, {"smt": "1"}, "SMT"),
        (audit._clock, {"clocksource": "hpet"}, "hpet"),
        (audit._limits, {"cgroup cpu limit": "50000 100000"}, "cpu.max"),
        (audit._limits, {"aslr": "0"}, "randomize_va_space"),
    ],
)
def test_what_disturbs_is_found_in_the_environment(check, environment, words):
    assert words in found(check, a_disturbed_machine(**environment))


@pytest.mark.parametrize("check", [audit._topology, audit._clock, audit._limits])
def test_a_calm_machine_has_nothing_to_say(check):
    assert found(check, a_disturbed_machine()) == ""


def test_warnings_come_first(monkeypatch):
    monkeypatch.setattr(audit, "_CHECKS", (audit._topology, audit._clock))
    severities = [d.severity for d in audit.audit(a_disturbed_machine(smt="1", clocksource="hpet"))]
    assert severities == ["warning", "note"]


def busy(monkeypatch, *shares_seen: float) -> list[float]:
    """Let the machine be as busy as this, look after look."""
    left = list(shares_seen)
    monkeypatch.setattr(audit, "busiest_share", lambda _cpus: left.pop(0) if len(left) > 1 else left[0])
    monkeypatch.setattr(audit, "_LOOK_AGAIN_S", 0.0)
    return left


def test_a_machine_is_waited_for_until_it_is_idle(monkeypatch):
    left = busy(monkeypatch, 0.9, 0.9, 0.0)
    audit.wait_until_idle(a_machine(), patience_s=60)
    assert left == [0.0]


def test_who_uses_a_machine_that_does_not_become_idle_is_named(monkeypatch):
    busy(monkeypatch, 0.9)
    who = audit.Disturbance(what="process 7 (miner) uses 90 % of a CPU", advice="", severity="warning")
    monkeypatch.setattr(audit, "_load", lambda _: iter([who]))
    with pytest.raises(BusyError, match=r"not idle \(process 7 \(miner\) uses 90 %"):
        audit.wait_until_idle(a_machine(), patience_s=0)
    monkeypatch.setattr(audit, "_load", lambda _: iter([]))
    with pytest.raises(BusyError, match=r"others use 90% of a CPU"):
        audit.wait_until_idle(a_machine(), patience_s=0)


def test_the_busiest_cpu_counts_not_the_mean_of_all(monkeypatch):
    looks = iter([[NOTHING] * 64, [after(busy_s=10.0), *[NOTHING] * 63]])
    monkeypatch.setattr(audit, "_each_cpu", lambda _: next(looks))
    assert audit.busiest_share(range(64), seconds=0.01) == 1.0


def test_a_run_that_a_quota_stopped_is_disturbed_and_the_quota_is_named():
    assert audit.disturbances_of_run(a_run(throttled_s=0.05), alone=True) == ("its CPU quota stopped it for 0.05 s",)
    by = "the CPU quota of /sys/fs/cgroup/own (50000 of each 100000 µs), 3 times,"
    [said] = audit.disturbances_of_run(a_run(throttled_s=0.05, throttled_by=by), alone=True)
    assert said == f"{by} stopped it for 0.05 s"


def test_heat_and_waiting_for_memory_disturb_a_run():
    run = a_run(heat=2, waited={"cpu": 0.9, "memory": 0.12, "io": 0.9})
    assert audit.disturbances_of_run(run, alone=True) == (
        "heat slowed its CPUs down 2 times",
        "some task waited for memory 12% of the time",
    )
    assert audit.disturbances_of_run(a_run(waited={"memory": 0.001}), alone=True) == ()


def test_what_the_machine_says_of_pressure_is_said_with_what_to_do(monkeypatch):
    shares = {"cpu": 0.5, "memory": 0.0, "io": None}
    bucket = pressure.Bucket(quota="50000 of each 100000 µs", stopped=7, stopped_s=0.25)
    monkeypatch.setattr(pressure, "waiting_share", shares.get)
    monkeypatch.setattr(pressure, "look", lambda _: pressure.Seen(buckets={"/sys/fs/cgroup/own": bucket}, heat=3))
    monkeypatch.setattr(pressure, "cooling", lambda: iter([("Processor", 2), ("intel_powerclamp", 0)]))
    found = [item.what for item in audit._pressure(a_machine())]
    assert found == [
        "some task waited for a CPU 50% of the last 10 s (/proc/pressure/cpu)",
        "the CPU quota of /sys/fs/cgroup/own (50000 of each 100000 µs) has run out 7 times, and stopped its processes "
        "for 0.25 s",
        "heat has slowed these CPUs down 3 times since boot",
        "Processor slows CPUs down against heat (state 2)",
    ]


def test_a_machine_under_no_pressure_has_nothing_to_say(monkeypatch):
    monkeypatch.setattr(pressure, "waiting_share", lambda _: 0.0)
    monkeypatch.setattr(pressure, "look", lambda _: pressure.Seen())
    monkeypatch.setattr(pressure, "cooling", lambda: iter(()))
    assert list(audit._pressure(a_machine())) == []


@pytest.mark.parametrize(
    ("nice", "policy", "said"),
    [(0, os.SCHED_OTHER, []), (19, os.SCHED_OTHER, ["nice 19"]), (-5, os.SCHED_IDLE, ["nice -5", "SCHED_IDLE"])],
)
def test_nice_and_the_scheduling_policy_are_noticed(monkeypatch, nice, policy, said):
    monkeypatch.setattr(os, "getpriority", lambda *_: nice)
    monkeypatch.setattr(os, "sched_getscheduler", lambda _: policy)
    found = [item.what for item in audit._scheduling(a_machine())]
    assert len(found) == len(said)
    assert all(word in what for word, what in zip(said, found, strict=True))


def test_limits_that_are_too_small_are_said(monkeypatch):
    small = {resource.RLIMIT_NOFILE: (16, 32), resource.RLIMIT_NPROC: (100, 9999), resource.RLIMIT_AS: (-1, -1)}
    monkeypatch.setattr(resource, "getrlimit", lambda limit: small[limit])
    found = [item.what for item in audit._ulimits(a_machine())]
    assert [what.split()[1] for what in found] == ["32", "100"]
