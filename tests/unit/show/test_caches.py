# SPDX-License-Identifier: Apache-2.0
"""What the steps of the latency curve say of the caches, in words."""

from steelyard.show.caches import sentences
from tests.unit.judge.test_caches import MIB, found


def test_sizes_that_agree():
    assert sentences(found(last=32 * MIB, largest=128 * MIB))[0] == (
        "L1d: the machine reports 32 KiB, and the curve says 28.7 KiB to 64 KiB (1.00 ns a load below, 4.00 ns above): "
        "they agree"
    )


def test_a_share_of_the_last_cache_may_be_a_neighbour_s_on_a_virtual_machine():
    said = sentences(found(last=8 * MIB))[2]
    assert "L3: the machine reports 32 MiB" in said
    assert "do not agree; a virtual machine is told the whole size" in said
    assert "virtual" not in sentences(found(last=8 * MIB, hypervisor="no"))[2]


def test_a_cache_without_a_step_and_a_step_without_a_cache():
    missing = sentences(found(last=32 * MIB, largest=32 * MIB))
    assert "no step was found for it; larger working sets would show it" in missing[-1]
    assert "no cache is reported for this step" in sentences(found(caches="L1d 32K, L2 1024K"))[2]


def test_where_the_machine_reports_nothing_the_steps_stand_alone():
    said = sentences(found(caches="unknown"))
    assert said[0] == "the machine reports no cache sizes to compare with"
    assert len(said) == 4
