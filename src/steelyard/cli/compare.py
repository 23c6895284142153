# SPDX-License-Identifier: Apache-2.0
"""`steelyard compare`: whether there is a difference."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from steelyard.cli import _output as output
from steelyard.cli._comparing import compare_files, labels, measure_pairs, parse_margin, varied_folders, vary
from steelyard.cli._session import Lab, Settings
from steelyard.errors import SelectionError, UsageError
from steelyard.judge import comparisons
from steelyard.keep import session as sessions
from steelyard.show import comparison


def command(
    *sides: str,
    vary_: Annotated[str | None, Parameter(name="--vary")] = None,
    session: Path | None = None,
    margin: str = "2%",
    blocks: int | None = None,
    budget: str | None = None,
    quick: Annotated[bool, Parameter(negative="")] = False,
    seed: int | None = None,
    target: str | None = None,
    values: int | None = None,
    deadline: str = "60s",
    output_file: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Compare two cases of a session, two sessions, two files of other tools, or two variants measured now.

    Each case gets one verdict of three: different, equivalent within the margin, or undecided with how much longer it
    would take. All verdicts together are wrong in at most 5 % of sessions.

    Parameters
    ----------
    sides
        Two cases (``switch/pipe[kind=thread]@same``), two session files, or two JSON files of pyperf, google/benchmark
        or hyperfine. With ``--vary``: what to measure, as in ``steelyard run``.
    vary_
        Measure two variants now, interleaved in blocks: ``env:MALLOC_ARENA_MAX=1,4``, ``param:size=64,4096``,
        ``probe-dir:old,new`` or ``python:python3.11,python3.13``.
    session
        Session that the two cases are of; the newest one when left out.
    margin
        Differences smaller than this do not matter: ``2%``. With ``0%`` nothing is equivalent.
    blocks
        Most blocks of a comparison that is measured now; it ends early when all is decided. Default 20.
    budget
        Measure for about this long instead, without ending early.
    quick
        Shorter runs.
    seed
        Seed of the order of runs.
    target
        Length of one value. Default 10ms.
    values
        Values a run: more where starting takes long, fewer (5) where one operation does. Default 10.
    deadline
        Longest that one run may take.
    output_file
        Session file to write.
    json
        Print one object a case.
    """
    share = parse_margin(margin)
    if vary_ is not None:
        settings = Settings(
            blocks=blocks, budget=budget, quick=quick, seed=seed, target=target, values=values, deadline=deadline
        )
        settings.check()
        lab = Lab(varied_folders(vary_))
        cases, variants, pairs = vary(vary_, sides, lab)
        _, found = measure_pairs(lab, cases, variants, pairs, labels(vary_), settings, share, output_file)
    elif len(sides) != 2:
        raise UsageError("compare takes two sides: two cases, two files, or --vary with what to measure")
    elif all(Path(side).is_file() for side in sides):
        found = compare_files(Path(sides[0]), Path(sides[1]), share)
    else:
        found = _two_cases(sides[0], sides[1], session, share)
    if json:
        output.print_json(comparison.as_json(found))
    else:
        comparison.show(found, output.console())


def _two_cases(a: str, b: str, path: Path | None, margin: float) -> comparisons.Comparisons:
    for side in (a, b):
        if "@" not in side and "[" not in side and ("." in side or side.count("/") > 1):
            raise UsageError(f"{side} is no file, and no case either")
    kept = sessions.read(path or sessions.latest())
    try:
        first, second = comparisons.find_case(kept, a), comparisons.find_case(kept, b)
    except ValueError as error:
        raise SelectionError(str(error)) from error
    return comparisons.compare_cases(kept, [(second, first, second)], (first, second), margin=margin)
