# SPDX-License-Identifier: Apache-2.0
"""What the machine takes: energy by RAPL, as the powercap framework of the kernel shows it.

A zone of the powercap tree counts microjoules since some moment and begins anew at the end of its range. The zones of
all packages are one domain, those of their memory another: https://docs.kernel.org/power/powercap/powercap.html
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from steelyard.records import Skip

_POWERCAP = Path("/sys/class/powercap")
#: How often and how long is looked at what the machine takes while it is idle; the counters move every millisecond.
_LOOKS = 10
_LOOK_S = 0.05


@dataclass(frozen=True, slots=True)
class _Zone:
    """A counter: where it stands, what it is of, and behind which number of µJ it begins anew."""

    file: Path
    domain: str
    range_uj: int


def _domain(name: str) -> str | None:
    """The domain of a zone; None of one that is a part of another, such as the cores of a package."""
    return "package" if name.startswith("package") else "dram" if name == "dram" else None


class Meter:
    """The counters of energy of a machine. ``absent`` says why there is none, and is empty where there is one."""

    def __init__(self, root: Path = _POWERCAP) -> None:
        self._zones: tuple[_Zone, ...] = ()
        self.absent = ""
        try:
            self._zones = tuple(_zones(root))
            if not self._zones:
                self.absent = (
                    f"{root} has no counter of energy (RAPL): a virtual machine seldom has one; measure on the host, "
                    "or load the module intel_rapl_msr"
                )
        except PermissionError as error:
            self.absent = f"only root may read {error.filename}: as root: chmod a+r {root}/*/energy_uj"
        except (OSError, ValueError) as error:
            self.absent = f"the counters of energy in {root} cannot be read: {error}"

    @property
    def skips(self) -> tuple[Skip, ...]:
        """That no energy is measured here and why; nothing where it is."""
        return (Skip(subject="energy", reason=self.absent),) if self.absent else ()

    def read(self) -> Mapping[Path, int]:
        """All counters in µJ, by file; empty where there is none."""
        try:
            return {zone.file: int(zone.file.read_text()) for zone in self._zones}
        except (OSError, ValueError):  # a zone may go with the module that shows it
            return {}

    def spent(self, before: Mapping[Path, int]) -> dict[str, float]:
        """Joules since these were read, by domain. Once in between a counter may have begun anew."""
        after = self.read()
        joules: dict[str, float] = {}
        for zone in self._zones:
            if zone.file in before and zone.file in after:
                more = after[zone.file] - before[zone.file]
                joules[zone.domain] = joules.get(zone.domain, 0.0) + (more + zone.range_uj * (more < 0)) / 1e6
        return joules

    def idle_w(self, looks: int = _LOOKS, look_s: float = _LOOK_S) -> dict[str, tuple[float, ...]]:
        """What the machine takes now in watts, look after look, by domain; takes no time where there is no counter."""
        found: dict[str, list[float]] = {}
        for _ in range(looks if self._zones else 0):
            before, began = self.read(), time.monotonic()
            time.sleep(look_s)
            wall_s = time.monotonic() - began
            for domain, joules in self.spent(before).items():
                found.setdefault(domain, []).append(joules / wall_s)
        return {domain: tuple(watts) for domain, watts in found.items()}


def _zones(root: Path) -> Iterator[_Zone]:
    """The zones of packages and of memory. Every zone is linked from the root, also those that lie below another."""
    # intel-rapl-mmio shows some packages a second time; control types such as dtpm are no counters of energy.
    for folder in sorted(root.glob("intel-rapl:*")):
        domain = _domain((folder / "name").read_text().strip())
        file = folder / "energy_uj"
        if domain:
            int(file.read_text())
            yield _Zone(file=file, domain=domain, range_uj=int((folder / "max_energy_range_uj").read_text()))
