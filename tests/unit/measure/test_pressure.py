# SPDX-License-Identifier: Apache-2.0
"""What a machine says of pressure, on trees of /proc and /sys that were made for it."""

import pytest

from steelyard.measure import pressure
from steelyard.measure.pressure import Bucket, Seen, between, cooling, look, waiting_share

SOME = "some avg10={avg} avg60=0.00 avg300=0.00 total={total}\nfull avg10=99.00 avg60=0.00 avg300=0.00 total=9\n"


def a_file(root, name, text):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_waiting_is_read_of_some_tasks_and_not_of_all(tmp_path):
    a_file(tmp_path, "proc/pressure/cpu", SOME.format(avg="7.50", total=2_000_000))
    assert waiting_share("cpu", tmp_path) == pytest.approx(0.075)
    assert look([], [], tmp_path).waited_s == {"cpu": 2.0}


def test_a_kernel_without_pressure_says_nothing(tmp_path):
    assert waiting_share("cpu", tmp_path) is None
    assert look([0], [tmp_path], tmp_path) == Seen()


def test_the_quota_of_a_cgroup_of_version_2_is_a_bucket(tmp_path):
    a_file(tmp_path, "own/cpu.stat", "usage_usec 7\nnr_periods 9\nnr_throttled 3\nthrottled_usec 1500\n")
    a_file(tmp_path, "own/cpu.max", "50000 100000\n")
    [bucket] = look([], [tmp_path / "own"], tmp_path).buckets.values()
    assert bucket == Bucket(quota="50000 of each 100000 µs", stopped=3, stopped_s=pytest.approx(0.0015))


def test_the_quota_of_a_cgroup_of_version_1_counts_nanoseconds(tmp_path):
    a_file(tmp_path, "own/cpu.stat", "nr_periods 9\nnr_throttled 1\nthrottled_time 3500000000\n")
    a_file(tmp_path, "own/cpu.cfs_quota_us", "20000\n")
    a_file(tmp_path, "own/cpu.cfs_period_us", "100000\n")
    [bucket] = look([], [tmp_path / "own"], tmp_path).buckets.values()
    assert bucket == Bucket(quota="20000 of each 100000 µs", stopped=1, stopped_s=pytest.approx(3.5))


@pytest.mark.parametrize("limit", ["max 100000", None])
def test_a_cgroup_without_a_quota_has_a_bucket_without_words(tmp_path, limit):
    a_file(tmp_path, "own/cpu.stat", "nr_throttled 0\nthrottled_usec 0\n")
    if limit:
        a_file(tmp_path, "own/cpu.max", limit)
    [bucket] = look([], [tmp_path / "own"], tmp_path).buckets.values()
    assert bucket == Bucket(quota="", stopped=0, stopped_s=0.0)


def test_a_cgroup_that_counts_no_throttling_is_left_out(tmp_path):
    a_file(tmp_path, "own/cpu.stat", "usage_usec 7\n")
    assert look([], [tmp_path / "own"], tmp_path).buckets == {}


def test_heat_is_that_of_the_cpus_that_matter(tmp_path):
    for cpu, core, package in ((0, 1, 5), (1, 7, 5), (2, 100, 100)):
        folder = f"sys/devices/system/cpu/cpu{cpu}/thermal_throttle"
        a_file(tmp_path, f"{folder}/core_throttle_count", f"{core}\n")
        a_file(tmp_path, f"{folder}/package_throttle_count", f"{package}\n")
    assert look([0, 1], [], tmp_path).heat == 12


def test_what_cools_by_slowing_down_is_told_from_fans(tmp_path):
    for number, (kind, state) in enumerate([("Processor", "3"), ("Fan", "2"), ("intel_powerclamp", "-1")]):
        a_file(tmp_path, f"sys/class/thermal/cooling_device{number}/type", f"{kind}\n")
        a_file(tmp_path, f"sys/class/thermal/cooling_device{number}/cur_state", f"{state}\n")
    assert list(cooling(tmp_path)) == [("Processor", 3)]


def test_what_happened_between_two_looks():
    first = Seen(
        waited_s={"cpu": 1.0, "io": 4.0}, buckets={"/a": Bucket("", 0, 0.0), "/b": Bucket("q", 5, 1.0)}, heat=2
    )
    after = Seen(
        waited_s={"cpu": 1.5, "io": 4.0, "memory": 9.0},
        buckets={"/a": Bucket("", 0, 0.0), "/b": Bucket("q", 8, 1.25), "/new": Bucket("q", 9, 9.0)},
        heat=3,
    )
    found = between(first, after, 2.0)
    assert found.waited == {"cpu": 0.25, "io": 0.0}
    assert (found.throttled_s, found.throttled_by) == (0.25, "the CPU quota of /b (q), 3 times,")
    assert found.heat == 1


def test_between_two_looks_at_a_calm_machine_nothing_happened():
    found = between(Seen(), Seen(), 1.0)
    assert (found.waited, found.throttled_s, found.throttled_by, found.heat) == ({}, 0.0, "", 0)


def test_this_machine_can_be_looked_at():
    first = look(range(4))
    assert pressure.between(first, look(range(4)), 1.0).throttled_s >= 0
