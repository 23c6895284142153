# SPDX-License-Identifier: Apache-2.0
"""Counters of energy, on a powercap tree as the kernel lays it out for two packages and their memory."""

import os
from pathlib import Path

import pytest

from steelyard.measure.energy import Meter

RANGE = 262_143_328_850
#: As on a server with two Xeon Gold: what lies below a package is linked from the root as well.
TREE = {
    "intel-rapl:0": ("package-0", 57_000_000, RANGE),
    "intel-rapl:0:0": ("core", 31_000_000, RANGE),
    "intel-rapl:0:1": ("dram", 9_000_000, 65_712_999_613),
    "intel-rapl:1": ("package-1", 53_000_000, RANGE),
    "intel-rapl:1:0": ("dram", 8_000_000, 65_712_999_613),
    "intel-rapl:2": ("psys", 99_000_000, RANGE),
    "intel-rapl-mmio:0": ("package-0", 57_000_000, RANGE),
}


@pytest.fixture
def powercap(tmp_path) -> Path:
    """The root of the tree."""
    (tmp_path / "intel-rapl").mkdir()  # the control type has no counter
    for zone, (name, energy_uj, range_uj) in TREE.items():
        folder = tmp_path / zone
        folder.mkdir()
        (folder / "name").write_text(f"{name}\n")
        (folder / "max_energy_range_uj").write_text(f"{range_uj}\n")
        (folder / "energy_uj").write_text(f"{energy_uj}\n")
    return tmp_path


def count(powercap: Path, zone: str, energy_uj: int) -> None:
    (powercap / zone / "energy_uj").write_text(f"{energy_uj}\n")


def test_packages_are_one_domain_and_their_memory_another(powercap):
    meter = Meter(powercap)
    before = meter.read()
    count(powercap, "intel-rapl:0", 59_000_000)
    count(powercap, "intel-rapl:0:0", 32_000_000)
    count(powercap, "intel-rapl:1", 54_500_000)
    count(powercap, "intel-rapl:1:0", 8_250_000)
    count(powercap, "intel-rapl:2", 199_000_000)
    assert meter.spent(before) == pytest.approx({"package": 3.5, "dram": 0.25})
    assert (meter.absent, meter.skips) == ("", ())


def test_a_counter_that_began_anew_goes_on(powercap):
    count(powercap, "intel-rapl:0:1", 65_712_000_000)
    meter = Meter(powercap)
    before = meter.read()
    count(powercap, "intel-rapl:0:1", 500_387)
    assert meter.spent(before)["dram"] == pytest.approx(1.5, abs=1e-6)


def test_what_an_idle_machine_takes_is_looked_at_several_times(powercap):
    found = Meter(powercap).idle_w(looks=3, look_s=0.001)
    assert found == {"package": (0.0, 0.0, 0.0), "dram": (0.0, 0.0, 0.0)}


def test_a_machine_without_counters_says_why_and_takes_no_time(tmp_path):
    meter = Meter(tmp_path)
    assert (meter.read(), meter.spent({}), meter.idle_w(looks=1000, look_s=1000)) == ({}, {}, {})
    [skip] = meter.skips
    assert skip.subject == "energy"
    assert "a virtual machine seldom has one" in skip.reason


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_counters_that_only_root_may_read_are_a_skip_with_the_command(powercap):
    (powercap / "intel-rapl:0" / "energy_uj").chmod(0)
    assert "as root: chmod a+r" in Meter(powercap).absent


def test_the_command_is_said_also_where_the_kernel_refuses(powercap, monkeypatch):
    text = Path.read_text

    def refuse(path, *more):
        if path.name == "energy_uj":
            raise PermissionError(13, "Permission denied", str(path))
        return text(path, *more)

    monkeypatch.setattr(Path, "read_text", refuse)
    assert Meter(powercap).absent == (
        f"only root may read {powercap}/intel-rapl:0/energy_uj: as root: chmod a+r {powercap}/*/energy_uj"
    )


def test_a_counter_that_is_no_number_is_a_skip(powercap):
    (powercap / "intel-rapl:1" / "energy_uj").write_text("much\n")
    assert "cannot be read" in Meter(powercap).absent


def test_counters_that_go_in_the_middle_count_nothing(powercap):
    meter = Meter(powercap)
    before = meter.read()
    (powercap / "intel-rapl:1" / "energy_uj").unlink()
    assert meter.spent(before) == {}
