# SPDX-License-Identifier: Apache-2.0
"""`steelyard run`: measure and keep a session."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from steelyard.cli import _output as output
from steelyard.cli._session import Lab, Settings
from steelyard.errors import CasesFailedError, UsageError
from steelyard.judge.findings import judge
from steelyard.records import Session
from steelyard.show import jsonview, terminal


def command(
    *selectors: str,
    param: Annotated[list[str] | None, Parameter(name=["--param", "-p"], negative="")] = None,
    placement: Annotated[list[str] | None, Parameter(negative="")] = None,
    blocks: int | None = None,
    budget: str | None = None,
    brief: Annotated[bool, Parameter(negative="")] = False,
    quick: Annotated[bool, Parameter(negative="")] = False,
    seed: int | None = None,
    output_file: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    resume: Path | None = None,
    target: str | None = None,
    values: int | None = None,
    deadline: str = "60s",
    json: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Measure cases and keep them as a session.

    Parameters
    ----------
    selectors
        What to measure: globs over question/way (``switch/*``), a bare question or way (``yield``), or cases such as
        ``switch/yield[contexts=2]@same``. When left out: every mechanism, with a few points of its long sweeps
        (``'*'`` for all points).
    param
        Override a sweep: ``contexts=1,2,4``. For probes in Python ``python=python3.11,python3.13`` names the
        interpreters to run them by. May be repeated.
    placement
        Only these placements: same, cross, free. May be repeated.
    blocks
        Number of blocks; every block runs each case once in a fresh process. Default 10; 6 give the first interval.
    budget
        Measure for about this long instead: ``3m``, ``90s``, ``1h``.
    brief
        Of long sweeps only a few points, also where there are selectors.
    quick
        Shorter runs and 6 blocks: a first look.
    seed
        Seed of the order of runs; drawn and recorded when left out.
    output_file
        Session file to write; default: a new one in the sessions folder.
    resume
        Go on with an interrupted session.
    target
        Length of one value; the number of operations is found once, in a pilot. Default 10ms, or less where a probe
        says that less will do.
    values
        Values a run: more where starting takes long, fewer (5) where one operation does. Default 10.
    deadline
        Longest that one run may take.
    json
        Print the results as JSON.
    """
    settings = Settings(
        blocks=blocks, budget=budget, quick=quick, seed=seed, target=target, values=values, deadline=deadline
    )
    settings.check()
    if resume is not None:
        if selectors or param or placement or brief or output_file or settings != Settings(deadline=deadline):
            raise UsageError("--resume goes on with the plan of the session: leave selectors and other settings away")
        lab = Lab()
        before = lab.interrupted(resume)
        finished = lab.measure(before.header, resume, deadline=deadline, before=before)
    else:
        lab = Lab()
        brief = brief or not selectors
        cases, variants = lab.select_variants(selectors, param or [], placement or [], brief=brief)
        groups = {case.name: msgspec.structs.replace(case, variant=None).name for case in cases if case.variant}
        finished = lab.measure(lab.header(cases, settings, variants), output_file, deadline=deadline, groups=groups)
    _present(finished, json=json)


def _present(session: Session, *, json: bool) -> None:
    findings = judge(session)
    if json:
        output.print_json(jsonview.cases(findings))
    else:
        terminal.show(findings, output.console())
    if findings.failures:
        names = ", ".join(sorted(findings.failures)[:3])
        more = f" and {len(findings.failures) - 3} more" if len(findings.failures) > 3 else ""
        raise CasesFailedError(f"{names}{more} failed; the rest is measured and kept in {session.path}")
