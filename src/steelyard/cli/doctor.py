# SPDX-License-Identifier: Apache-2.0
"""`steelyard doctor`: what this machine is, what disturbs measurements on it and what it refuses."""

from __future__ import annotations

from steelyard.cli import _output as output
from steelyard.measure import catalog, machine
from steelyard.measure.audit import audit
from steelyard.measure.energy import Meter
from steelyard.measure.refusals import refusals
from steelyard.show import machine as shown


def command(*, json: bool = False) -> None:
    """Say what this machine is, what disturbs measurements, what is refused or can't be measured here, and what to do.

    Parameters
    ----------
    json
        Print the same as JSON.
    """
    host = machine.survey()
    found = catalog.load(catalog.probe_folders())
    disturbances = (*audit(host), *refusals(host))
    skips = (*found.skips, *Meter().skips)
    if json:
        output.print_json({"machine": host, "disturbances": disturbances, "skips": skips})
    else:
        shown.show(host, disturbances, skips, output.console())
