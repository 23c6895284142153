# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys

import pytest

from steelyard.errors import BusyError
from steelyard.measure import machine
from steelyard.measure.machine import cpus_for


@pytest.fixture
def pairs(monkeypatch):
    """CPUs 2n and 2n+1 are two threads of one core."""
    monkeypatch.setattr(machine, "_siblings", lambda cpu: {cpu & ~1, cpu | 1})


def test_free_is_everywhere():
    assert cpus_for("free", (0, 3, 5)) == (0, 3, 5)


def test_same_is_the_last_cpu_because_the_first_takes_the_interrupts():
    assert cpus_for("same", (0, 3, 5)) == (5,)


def test_cross_prefers_another_core(pairs):
    assert cpus_for("cross", (0, 1, 2, 3)) == (1, 3)


def test_cross_takes_the_sibling_where_there_is_no_other_core(pairs):
    assert cpus_for("cross", (2, 3)) == (2, 3)


def test_cross_needs_two_cpus(pairs):
    assert cpus_for("cross", (3,)) == ()


def test_siblings_are_read_from_lists_and_ranges(tmp_path, monkeypatch):
    folder = tmp_path / "cpu0" / "topology"
    folder.mkdir(parents=True)
    (folder / "thread_siblings_list").write_text("0-1,8\n")
    monkeypatch.setattr(machine, "_CPU", tmp_path)
    assert machine._siblings(0) == {0, 1, 8}
    assert machine._siblings(7) == {7}


def test_the_key_outlives_a_reboot_a_new_kernel_and_another_governor(monkeypatch):
    before = machine.survey()
    changed = dict.fromkeys(machine._ENVIRONMENT, lambda: "something else")
    monkeypatch.setattr(machine, "_ENVIRONMENT", changed)
    after = machine.survey()
    assert after.environment != before.environment
    assert after.key == before.key


@pytest.mark.parametrize(
    ("vendor", "product", "instance"),
    [("Amazon EC2", "m7a.large", "m7a.large"), ("Google", "Google Compute Engine", "unknown"), (None, None, "unknown")],
)
def test_the_instance_type_is_known_where_the_firmware_says_it(tmp_path, monkeypatch, vendor, product, instance):
    if vendor:
        (tmp_path / "sys_vendor").write_text(f"{vendor}\n")
        (tmp_path / "product_name").write_text(f"{product}\n")
    monkeypatch.setattr(machine, "_DMI", tmp_path)
    environment = machine.survey().environment
    assert environment["instance type"] == instance
    assert environment["platform"] == (vendor or "unknown")
    assert environment["microcode"]


def test_the_key_has_nothing_of_clock_speed_host_name_or_kernel():
    facts = " ".join(f"{name} {fact}" for name, fact in machine._facts().items())
    assert os.uname().release not in facts
    assert "MHz" not in facts


def test_another_machine_has_another_key(monkeypatch):
    before = machine.survey().key
    facts = machine._facts()
    monkeypatch.setattr(machine, "_facts", lambda: {**facts, "memory": "3 GiB"})
    assert machine.survey().key != before


def test_the_cpus_are_those_that_this_process_may_use():
    assert machine.survey().cpus == tuple(sorted(os.sched_getaffinity(0)))


def test_what_cannot_be_read_is_unknown_and_no_error(monkeypatch):
    monkeypatch.setattr(machine, "read", lambda path: None)
    survey = machine.survey()
    assert survey.environment["governor"] == "unknown"
    assert survey.facts["caches"] == "unknown"


def test_a_file_that_is_not_there_reads_as_none(tmp_path):
    assert machine.read(tmp_path / "nothing") is None


HOLD = """
import sys
from pathlib import Path
from steelyard.errors import BusyError
from steelyard.measure import machine
machine._LOCK = Path(sys.argv[1])
with machine.lock(lambda _: None):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_machine_is_measured_by_one_at_a_time(tmp_path, monkeypatch):
    lock = tmp_path / "lock"
    monkeypatch.setattr(machine, "_LOCK", lock)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout.readline() == "held\n"
        waited = []

        def let_go(who):
            waited.append(who)
            holder.stdin.close()

        with machine.lock(let_go):
            assert waited
    with machine.lock(lambda _: pytest.fail("nobody holds it")):
        pass


@pytest.fixture
def held_elsewhere(tmp_path, monkeypatch):
    """The lock of this machine, held by another process; gives what ends that, and the path of the lock."""
    lock = tmp_path / "lock"
    monkeypatch.setattr(machine, "_LOCK", lock)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout.readline() == "held\n"
        yield holder, lock
        holder.kill()


def test_patience_with_another_measurement_ends_and_says_which_one_it_is(held_elsewhere):
    holder, _ = held_elsewhere
    waited = []
    with pytest.raises(BusyError, match="try again later") as refused, machine.lock(waited.append, patience_s=0.1):
        pytest.fail("another one holds it")
    for said in (*waited, str(refused.value)):
        assert said.startswith(f"process {holder.pid} (since ")
        assert "-c" in said
    assert len(waited) == 1


def test_without_patience_nothing_is_waited_for(held_elsewhere):
    with (
        pytest.raises(BusyError, match=rf"(?s)process {held_elsewhere[0].pid} .* still measures on this machine: try"),
        machine.lock(lambda _: pytest.fail("it waits"), patience_s=0),
    ):
        pytest.fail("another one holds it")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/null")])
def test_what_is_no_file_where_the_lock_should_be_is_said_and_does_not_hang(tmp_path, monkeypatch, make):
    lock = tmp_path / "lock"
    make(lock)
    monkeypatch.setattr(machine, "_LOCK", lock)
    with pytest.raises(BusyError, match="remove it"), machine.lock(lambda _: None):
        pytest.fail("that is no lock")


def test_the_lock_of_one_who_was_killed_is_free(held_elsewhere):
    held_elsewhere[0].kill()
    with machine.lock(lambda _: None):
        pass


def test_a_job_with_a_tmp_of_its_own_is_kept_out_as_well(held_elsewhere):
    _, lock = held_elsewhere
    lock.unlink()  # the file that this process will make is another one, as in a /tmp of its own
    with pytest.raises(BusyError), machine.lock(lambda _: None, patience_s=0.1):
        pytest.fail("another one holds it")


def test_a_child_that_is_given_the_lock_holds_it_until_it_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "_LOCK", tmp_path / "lock")
    with machine.lock(lambda _: None) as held:
        child = subprocess.Popen(["sleep", "600"], pass_fds=held)
    with child:
        with pytest.raises(BusyError), machine.lock(lambda _: None, patience_s=0.1):
            pytest.fail("the child holds it")
        child.kill()
        child.wait()
    with machine.lock(lambda _: pytest.fail("nobody holds it")):
        pass
