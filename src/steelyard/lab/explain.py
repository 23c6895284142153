# SPDX-License-Identifier: Apache-2.0
"""The session that explains a composite cost: exactly the cases that it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from steelyard.errors import SelectionError, SessionFileError
from steelyard.judge import explain
from steelyard.judge.explain import Composite
from steelyard.keep import session as sessions
from steelyard.lab.messages import Messages
from steelyard.lab.planning import Planner, Question
from steelyard.lab.session import Lab
from steelyard.measure import plan
from steelyard.records import Case, CasePattern, Run, Session
from steelyard.settings import Settings


def of_the_same_machine(path: Path, here: Session) -> Session:
    """The session at ``path``; raises SessionFileError if it is of another machine than ``here``."""
    other = sessions.read(path)
    if other.header.machine.key != here.header.machine.key:
        raise SessionFileError(
            f"{path} is of machine {other.header.machine.key} and {here.path} of {here.header.machine.key}: parts must "
            "come from the machine of the whole"
        )
    return other


def measure_parts(
    composites: Mapping[str, Composite],
    asked: str | None,
    settings: Settings,
    path: Path | None,
    messages: Messages,
) -> Session:
    """A session of what these composites need; a message names each that cannot be measured here."""
    lab = Lab(only={plan.NULL}.union(*(composite.probes for composite in composites.values())), messages=messages)
    wanted: dict[str, Case] = {}
    units: dict[str, tuple[str, ...]] = {}
    impossible: dict[str, SelectionError] = {}
    for name, composite in composites.items():
        try:
            wholes = _wholes(lab, composite, asked)
        except SelectionError as error:
            impossible[name] = error
            continue
        for whole in wholes:
            parts = [part for needed in explain.needed(composite, whole) for part in _if_it_can(lab, needed)]
            wanted.update((case.name, case) for case in (whole, *parts) if case.name not in wanted)
            units[whole.name] = tuple(case.name for case in (whole, *parts))
    if impossible and not wanted:
        raise next(iter(impossible.values()))
    for name, reason in impossible.items():
        messages.say(f"{name} is left out: {reason}")
    # A cost whose parts are missing is not explained: what a budget has no room for is left out with its parts.
    question = Question(
        one="cost",
        many="costs",
        units=lambda pilots: [tuple(name for name in unit if _ran(pilots, name)) for unit in units.values()],
        blocks=lambda _: plan.FEWEST_BLOCKS,
    )
    planner = Planner(question, settings, messages)
    return lab.measure(lab.header(list(wanted.values()), settings), path, settings, planner=planner)


def _ran(pilots: Mapping[str, Run], name: str) -> bool:
    return name in pilots and pilots[name].status == "ok"


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
