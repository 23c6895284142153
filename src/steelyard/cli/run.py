# SPDX-License-Identifier: Apache-2.0
"""`steelyard run`: measure and keep a session."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from steelyard.cli import _output as output
from steelyard.cli._output import Measuring
from steelyard.cli._screen import fail_for_failures, show_session
from steelyard.errors import UsageError
from steelyard.judge.findings import judge
from steelyard.judge.studies import Library
from steelyard.keep import session as sessions
from steelyard.lab import studies
from steelyard.lab.neighbours import measure_beside
from steelyard.lab.planning import Planner, each_case
from steelyard.lab.session import Lab
from steelyard.measure.neighbours import conditions, probes_of
from steelyard.records import Session
from steelyard.settings import Settings
from steelyard.show import session as shown

#: How long a first session takes, after its pilot.
FIRST_SESSION = "6m"


def command(
    *selectors: str,
    param: Annotated[list[str] | None, Parameter(name=["--param", "-p"])] = None,
    placement: list[str] | None = None,
    brief: bool = False,
    beside: list[str] | None = None,
    settings: Measuring = Settings(),
    output_file: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    resume: Path | None = None,
    json: bool = False,
) -> None:
    """Measure cases and keep them as a session.

    Parameters
    ----------
    selectors
        What to measure: globs over question/way (``switch/*``), a bare question or way (``yield``), or cases such as
        ``switch/yield[contexts=2]@same``. When left out: a first session of about six minutes, whose screen answers
        what the best-known mechanisms cost here and which well-known statements hold; with ``--quick`` ten prices in
        half a minute. ``'*'`` stands for everything, which takes hours.
    param
        Override a sweep: ``contexts=1,2,4``, or ``contexts=1..N`` for values up to the number of CPUs. For probes in
        Python ``python=python3.11,python3.13`` names the interpreters to run them by. May be repeated.
    placement
        Only these placements: same, cross, free. May be repeated.
    brief
        Of long sweeps only a few points, also where there are selectors.
    beside
        Measure each case also beside a neighbour that keeps the machine busy, and say what it suffers: cache, memory,
        switch, syscall, disk, network, or sleeper, which should do nothing. With a size (``memory=64MiB``), on the same
        CPU instead of the others (``switch@same``), several at once (``memory+network``); several with commas are each
        measured by itself. Every probe in C or C++ may be a neighbour: ``'lock/mutex'``.
    output_file
        Session file to write; default: a new one in the sessions folder.
    resume
        Go on with an interrupted session.
    json
        Print the results as JSON.
    """
    settings.check()
    library = studies.library()  # what is wrong in a study is said before the time is spent
    selection = selectors or param or placement or brief or beside
    if resume and (selection or output_file or settings != settings.for_resuming()):
        raise UsageError("--resume goes on with the plan of the session: leave selectors and other settings away")
    if beside and not selectors:
        raise UsageError("--beside needs what to measure beside the neighbour: name a probe, such as switch/pipe")
    neighbours = conditions(beside or [])
    before = sessions.read(resume) if resume else None
    only = before.header.probes if before else None
    lab = Lab(only=only, selectors=[*selectors, *probes_of(neighbours)], messages=output.Terminal())
    if before is not None:
        lab.check_interrupted(before)
        finished = lab.measure(before.header, resume, settings, before=before)
    elif neighbours:
        cases = lab.select(selectors, param or [], placement or [], brief=brief)
        finished = measure_beside(lab, cases, neighbours, settings, output_file)
    elif not selection:
        settings = settings.with_budget(FIRST_SESSION) if not settings.quick else settings
        cases = lab.first_session(known=settings.quick)
        planner = Planner(each_case(cases), settings, lab.messages)
        finished = lab.measure(lab.header(cases, settings), output_file, settings, planner=planner)
    else:
        cases, variants = lab.select_variants(selectors, param or [], placement or [], brief=brief)
        groups = {case.name: msgspec.structs.replace(case, variant=None).name for case in cases if case.variant}
        planner = Planner(each_case(cases), settings, lab.messages)
        header = lab.header(cases, settings, variants)
        finished = lab.measure(header, output_file, settings, groups=groups, planner=planner)
    _present(finished, library, json=json)


def _present(session: Session, library: Library, *, json: bool) -> None:
    findings = judge(session, library)
    if json:
        output.print_json(shown.as_json(findings))
    else:
        show_session(session, findings)
    fail_for_failures(findings)
