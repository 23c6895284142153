# SPDX-License-Identifier: Apache-2.0
"""`steelyard fleet plan`: say what every machine of a fleet shall measure."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

import steelyard
from steelyard.cli._session import Lab, Settings
from steelyard.errors import UsageError
from steelyard.keep.fleet import write_json
from steelyard.records import FleetPlan


def command(
    *selectors: str,
    param: Annotated[list[str] | None, Parameter(name=["--param", "-p"], negative="")] = None,
    placement: Annotated[list[str] | None, Parameter(negative="")] = None,
    blocks: int | None = None,
    budget: str | None = None,
    brief: Annotated[bool, Parameter(negative="")] = False,
    quick: Annotated[bool, Parameter(negative="")] = False,
    seed: int | None = None,
    target: str | None = None,
    values: int | None = None,
    deadline: str = "60s",
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
    blocks
        Number of blocks of a session. Default 10.
    budget
        Measure for about this long instead: ``3m``.
    brief
        Of long sweeps only a few points, also where there are selectors.
    quick
        Shorter runs and 6 blocks.
    seed
        Seed of the order of runs, from which each session takes its own; drawn when left out.
    target
        Length of one value. Default 10ms.
    values
        Values a run: more where starting takes long, fewer (5) where one operation does. Default 10.
    deadline
        Longest that one run may take.
    output_file
        File to write.
    """
    settings = Settings(
        blocks=blocks, budget=budget, quick=quick, seed=seed, target=target, values=values, deadline=deadline
    )
    settings.check()
    cases = Lab().select(selectors, param or [], placement or [], brief=brief or not selectors)
    plan = FleetPlan(
        id=os.urandom(6).hex(),
        steelyard=steelyard.__version__,
        cases=tuple(case.name for case in cases),
        seed=random.SystemRandom().randrange(2**32) if seed is None else seed,
        blocks=blocks,
        budget=budget,
        quick=quick,
        target=target,
        values=values,
        deadline=deadline,
    )
    try:
        with output_file.open("xb") as file:
            file.write(write_json(plan))
    except FileExistsError:
        raise UsageError(f"{output_file} exists: name another file with -o, or remove it") from None
    except OSError as error:
        raise UsageError(f"{output_file} cannot be written ({error.strerror}): choose another place with -o") from error
    sys.stdout.write(f"{output_file}: {len(cases)} cases; `steelyard fleet run {output_file}` measures them\n")
