# SPDX-License-Identifier: Apache-2.0
"""`steelyard fleet report`: which machines are unlike the others."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from steelyard.cli import _output as output
from steelyard.cli._output import Margin
from steelyard.judge.fleet import judge_fleet
from steelyard.lab.fleet_numbers import numbers_of
from steelyard.show import fleet_report


def command(
    *places: str,
    margin: Margin = 0.02,
    month: list[str] | None = None,
    every: Annotated[bool, Parameter(name="--all")] = False,
    json: bool = False,
) -> None:
    """Say which machines are unlike the others of their kind, in which cases, and by how much.

    A machine is different when it is off by more than the margin and further than the other machines predict. In a
    healthy fleet that is said of any machine in at most 5 % of reports, and in up to 10 % where machines are throttled
    or often disturbed while they measure (`steelyard prove --fleets 100`). Machines of different keys are never held
    against each other.

    Parameters
    ----------
    places
        Folders of fleets, or of session files, or files, or URLs of such folders; or a store that `fleet pack` made.
        The sessions folder when left out.
    month
        Of a store, judge this month: ``2026-01``. May be repeated. Default: the newest.
    every
        List also the machines of which there is nothing to say.
    json
        Print one object a machine.
    """
    data, left_out = numbers_of(places, month or [], output.complain)
    found = judge_fleet(data, margin, left_out=left_out)
    if json:
        output.print_json(fleet_report.as_json(found))
    else:
        fleet_report.show(found, output.console(), every=every)
