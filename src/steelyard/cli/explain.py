# SPDX-License-Identifier: Apache-2.0
"""`steelyard explain`: a cost as a sum of measured simpler ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from steelyard.cli import _output as output
from steelyard.cli._session import Lab, Settings
from steelyard.errors import SelectionError, SessionFileError, UsageError
from steelyard.judge import explain
from steelyard.judge.explain import Composite
from steelyard.keep import session as sessions
from steelyard.measure import plan
from steelyard.records import Case, CasePattern, Session
from steelyard.show import explain as shown


def command(
    case: str | None = None,
    session: Path | None = None,
    *,
    parts: Annotated[list[Path] | None, Parameter(negative="")] = None,
    measure: Annotated[bool, Parameter(negative="")] = False,
    blocks: int | None = None,
    budget: str | None = None,
    quick: Annotated[bool, Parameter(negative="")] = False,
    seed: int | None = None,
    output_file: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Take a cost apart: what of it is system calls, switches, copies, and what is left unexplained.

    Parameters
    ----------
    case
        A case, a probe, a question or a way: ``switch/pipe``, ``message``. When left out: all composites, and which
        of them the session explains.
    session
        Session file; the newest one of the sessions folder when left out. Where there is none yet, what the composites
        are said to be made of is printed without figures.
    parts
        Another session of the same machine, for parts that the first one lacks. May be repeated.
    measure
        Measure exactly the cases that are needed, as a new session, and explain that.
    blocks
        With --measure: number of blocks. Default 10; 6 give the first interval.
    budget
        With --measure: measure for about this long instead: ``3m``, ``90s``.
    quick
        With --measure: shorter runs and 6 blocks.
    seed
        With --measure: seed of the order of runs; drawn and recorded when left out.
    output_file
        With --measure: session file to write; default: a new one in the sessions folder.
    json
        Print one object a cost, figures in base units (seconds, bytes).
    """
    composites = _meant(case) if case else dict(explain.library())
    settings = Settings(blocks=blocks, budget=budget, quick=quick, seed=seed)
    if measure:
        if session or parts:
            raise UsageError("--measure makes a new session: leave SESSION and --parts away")
        here = _measured(composites, case, settings, output_file)
    else:
        if settings != Settings() or output_file:
            raise UsageError("--blocks, --budget, --quick, --seed and --output say how to measure: give --measure too")
        if not (session or parts or sessions.newest()):
            _declare(composites, case, json)
            return
        here = sessions.read(session or sessions.latest())
    others = [_of_the_same_machine(path, here) for path in parts or ()]
    found = explain.explain(here, composites, asked=case, others=others)
    if json:
        output.print_json(shown.objects(found))
    elif case or measure:
        shown.show(found, output.console())
    else:
        shown.show_short(found, output.console())


def _meant(text: str) -> Mapping[str, Composite]:
    found = explain.meant(text)
    if not found:
        close = explain.nearest(text)
        hint = f"did you mean {' or '.join(close)}?" if close else "`steelyard explain` lists the composites"
        raise SelectionError(f'no composite is about "{text}"; {hint}')
    return found


def _declare(composites: Mapping[str, Composite], case: str | None, json: bool) -> None:
    """Print what costs are made of, where nothing was measured yet."""
    if json:
        output.print_json(shown.declarations(composites))
    else:
        shown.show_declarations(composites, case, output.console())


def _of_the_same_machine(path: Path, here: Session) -> Session:
    other = sessions.read(path)
    if other.header.machine.key != here.header.machine.key:
        raise SessionFileError(
            f"{path} is of machine {other.header.machine.key} and {here.path} of {here.header.machine.key}: parts must "
            "come from the machine of the whole"
        )
    return other


def _measured(composites: Mapping[str, Composite], asked: str | None, settings: Settings, path: Path | None) -> Session:
    """A session of what these composites need. What cannot be measured here is missing, and said to be."""
    lab = Lab(only={plan.NULL}.union(*(composite.probes for composite in composites.values())))
    wanted: dict[str, Case] = {}
    impossible: dict[str, SelectionError] = {}
    for name, composite in composites.items():
        try:
            wholes = _wholes(lab, composite, asked)
        except SelectionError as error:
            impossible[name] = error
            continue
        for whole in wholes:
            wanted.setdefault(whole.name, whole)
            for needed in explain.needed(composite, whole):
                wanted.update((part.name, part) for part in _if_it_can(lab, needed))
    if impossible and not wanted:
        raise next(iter(impossible.values()))
    for name, reason in impossible.items():
        lab.say(f"{name} is left out: {reason}")
    return lab.measure(lab.header(list(wanted.values()), settings), path, deadline=settings.deadline)


def _wholes(lab: Lab, composite: Composite, asked: str | None) -> list[Case]:
    """The cases to explain: those of a short sweep that agree with what was asked for."""
    own = composite.pattern
    given = CasePattern.parse(asked) if asked else None
    params = [f"{key}={value}" for key, value in given.parameters.items() if key not in own.parameters] if given else []
    placements = [given.placement] if given and given.placement else []
    return lab.select([composite.case], params, placements, brief=True)


def _if_it_can(lab: Lab, name: str) -> list[Case]:
    try:
        return lab.select([name], [], [])
    except SelectionError:
        return []
