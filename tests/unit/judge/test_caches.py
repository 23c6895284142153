# SPDX-License-Identifier: Apache-2.0
"""Steps of the latency curve beside the sizes that a machine reports."""

import msgspec
import pytest

from steelyard.judge.caches import cache_levels, reported_caches
from steelyard.judge.findings import judge
from steelyard.judge.samples import case_runs
from tests.making import a_machine
from tests.unit.judge.sessions import steady, weighed

KIB, MIB = 1024, 1024 * 1024
REPORTED = "L1d 32K, L1i 64K, L2 1024K, L3 32768K"


def latency(size, *, last=16 * MIB):
    """Nanoseconds of a load: caches of 32 KiB and 1 MiB, and a last one of this size."""
    for capacity, cost in ((32 * KIB, 1.0), (MIB, 4.0), (last, 14.0)):
        if size <= capacity:
            return cost
    return 140.0


def a_curve(last=16 * MIB, largest=64 * MIB, caches=REPORTED, hypervisor="yes"):
    sizes = [KIB << number for number in range(20) if KIB << number <= largest]
    costs = {f"cache/latency[size={size}]@same": steady(latency(size, last=last) * 1e-9) for size in sizes}
    session = weighed(costs)
    facts = {**a_machine().facts, "caches": caches, "hypervisor": hypervisor}
    return msgspec.structs.replace(
        session, header=msgspec.structs.replace(session.header, machine=a_machine(facts=facts))
    )


def found(**more):
    session = a_curve(**more)
    return cache_levels(case_runs(session), session.header.machine.facts)


def test_caches_of_data_are_read_from_the_facts():
    assert reported_caches({"caches": REPORTED}) == {"L1d": 32 * KIB, "L2": MIB, "L3": 32 * MIB}
    assert reported_caches({"caches": "unknown"}) == reported_caches({}) == {}
    assert reported_caches({"caches": "L2 3M"}) == {"L2": 3 * MIB}


def test_sizes_that_the_curve_confirms_agree():
    levels = found(last=32 * MIB, largest=128 * MIB)
    assert levels.agrees
    assert [step.cache for step in levels.steps] == ["L1d", "L2", "L3"]


def test_a_share_of_the_last_cache_does_not_agree_and_what_may_be_the_reason_is_known():
    levels = found(last=8 * MIB)
    assert not levels.agrees
    assert [step.agrees for step in levels.steps] == [True, True, False]
    assert levels.virtual
    assert not found(last=8 * MIB, hypervisor="no").virtual


def test_a_cache_without_a_step_is_missing():
    levels = found(last=32 * MIB, largest=32 * MIB)
    assert levels.missing == {"L3": 32 * MIB}
    assert not levels.agrees
    assert levels.largest == 32 * MIB


def test_a_step_without_a_cache_stands_alone():
    levels = found(caches="L1d 32K, L2 1024K")
    assert [step.cache for step in levels.steps] == ["L1d", "L2", None]


def test_where_the_machine_reports_nothing_the_steps_stand_alone():
    levels = found(caches="unknown")
    assert not levels.agrees
    assert not levels.reported
    assert len(levels.steps) == 3


def test_too_few_sizes_are_no_curve():
    assert found(largest=16 * KIB) is None
    assert judge(weighed({"call/direct@same": steady(1e-9)})).caches is None


@pytest.mark.parametrize("last", [8 * MIB, 32 * MIB])
def test_findings_have_it(last):
    assert judge(a_curve(last=last)).caches == found(last=last)
