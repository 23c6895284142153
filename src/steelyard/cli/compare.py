# SPDX-License-Identifier: Apache-2.0
"""`steelyard compare`: whether there is a difference."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from steelyard.cli import _output as output
from steelyard.cli._output import Margin, Measuring
from steelyard.errors import UsageError
from steelyard.lab.compare import (
    compare_cases_of,
    compare_files,
    labels,
    measure_pairs,
    selected,
    varied_folders,
    vary,
)
from steelyard.lab.session import Lab
from steelyard.settings import Settings
from steelyard.show import comparison


def command(
    *sides: str,
    vary_: Annotated[str | None, Parameter(name="--vary")] = None,
    session: Path | None = None,
    margin: Margin = 0.02,
    metric: str | None = None,
    settings: Measuring = Settings(),
    output_file: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    json: bool = False,
) -> None:
    """Compare two cases of a session, two sessions, two files of other tools, or two variants measured now.

    Each case gets one verdict of three: different, equivalent within the margin, or undecided with how much longer it
    would take. All verdicts together are wrong in at most 5 % of sessions.

    Parameters
    ----------
    sides
        Two cases (``switch/pipe[kind=thread]@same``), two session files, or two files of other
        tools, which ``steelyard import --help`` names. A side that stands for several cases is compared pair by pair,
        with those of the same parameters. With ``--vary``: what to measure, as in ``steelyard run``.
    vary_
        Measure two variants now, interleaved in blocks: ``env:MALLOC_ARENA_MAX=1,4``, ``param:size=64,4096``,
        ``probe-dir:old,new`` or ``python:python3.11,python3.13``.
    session
        Session that the two cases are of; the newest one when left out.
    metric
        Compare this metric instead of the main one: ``p99``, ``cpu`` or another that ``steelyard show`` prints.
    output_file
        Session file to write.
    json
        Print one object a case.
    """
    if vary_ is not None:
        settings.check()
        selectors = selected(vary_, sides)
        lab = Lab(varied_folders(vary_), selectors=selectors, messages=output.Terminal())
        cases, variants, pairs = vary(vary_, selectors, lab)
        _, found = measure_pairs(lab, cases, variants, pairs, labels(vary_), settings, margin, output_file, metric)
    elif len(sides) != 2:
        raise UsageError("compare takes two sides: two cases, two files, or --vary with what to measure")
    elif all(Path(side).is_file() for side in sides):
        found = compare_files(Path(sides[0]), Path(sides[1]), margin, metric)
    else:
        found = compare_cases_of(session, sides[0], sides[1], margin, metric)
    if json:
        output.print_json(comparison.as_json(found))
    else:
        comparison.show(found, output.console())
