# SPDX-License-Identifier: Apache-2.0
"""`steelyard fleet compare`: two kernels or settings over the same machines."""

from __future__ import annotations

from steelyard.cli import _output as output
from steelyard.cli._output import Margin
from steelyard.errors import SessionFileError
from steelyard.judge.comparisons import compare_machines
from steelyard.judge.fleet import FleetData
from steelyard.lab.fleet_numbers import numbers_of
from steelyard.show import comparison, reasons


def command(a: str, b: str, *, margin: Margin = 0.02, json: bool = False) -> None:
    """Compare two kernels, or two settings, over the machines that have measured under both.

    Each machine is compared with itself, and the fleet says how much these ratios differ. Each case gets one verdict of
    three for each kind of machine: different, equivalent within the margin, or undecided.

    Parameters
    ----------
    a
        Folder, URL or store of the fleet as it was measured first.
    b
        Folder or store of the same machines under the other kernel or setting.
    json
        Print one object a case.
    """
    found = compare_machines(_side(a), _side(b), (a, b), margin=margin)
    if not found:
        raise SessionFileError(f"{a} and {b} have no machine in common: machines are matched by name and key")
    if json:
        output.print_json([case for one in found for case in comparison.as_json(one)])
        return
    for one in found:
        comparison.show(one, output.console())


def _side(place: str) -> FleetData:
    data, left_out = numbers_of([place], [], output.complain)
    for line in left_out:
        output.complain(reasons.said(line))
    return data
