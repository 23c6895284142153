# SPDX-License-Identifier: Apache-2.0
"""`steelyard fleet plan`: say what every machine of a fleet shall measure."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

import steelyard
from steelyard.cli import _output as output
from steelyard.cli._output import Measuring
from steelyard.keep.fleet import write_json
from steelyard.lab.output import write
from steelyard.lab.session import Lab
from steelyard.records import FleetPlan
from steelyard.settings import Settings


def command(
    *selectors: str,
    param: Annotated[list[str] | None, Parameter(name=["--param", "-p"])] = None,
    placement: list[str] | None = None,
    brief: bool = False,
    settings: Measuring = Settings(),
    output_file: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("plan.json"),
) -> None:
    """Write the plan of a fleet: the cases that a selection stands for here, and how to measure them.

    Every machine measures the same cases, and says of those that it cannot measure why not. The file may be changed by
    hand.

    Parameters
    ----------
    selectors
        What to measure, as in `steelyard run`. When left out: every mechanism, with a few points of its long sweeps.
    param
        Override a sweep: ``contexts=1,2,4``. May be repeated.
    placement
        Only these placements: same, cross, free. May be repeated.
    brief
        Of long sweeps only a few points, also where there are selectors.
    output_file
        File to write.
    """
    settings.check()
    lab = Lab(selectors=selectors, messages=output.Terminal())
    cases = lab.select(selectors, param or [], placement or [], brief=brief or not selectors)
    plan = FleetPlan(
        id=os.urandom(6).hex(),
        steelyard=steelyard.__version__,
        cases=tuple(case.name for case in cases),
        settings=settings.with_seed(),
    )
    write(output_file, write_json(plan), new=True)
    output.say(f"{output_file}: {len(cases)} cases; `steelyard fleet run {output_file}` measures them")
