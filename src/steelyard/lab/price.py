# SPDX-License-Identifier: Apache-2.0
"""The session that prices what a live process does: the newest of this machine that has all prices, or a short one."""

from __future__ import annotations

from pathlib import Path

from steelyard.errors import SelectionError, SteelyardError
from steelyard.judge import price
from steelyard.keep import session as sessions
from steelyard.lab.messages import Messages
from steelyard.lab.planning import Planner, each_case
from steelyard.lab.session import Lab
from steelyard.measure import catalog, machine
from steelyard.records import Case, CasePattern, Session
from steelyard.settings import Settings

#: How long it takes to measure the prices, where no session has them.
_BUDGET = "8s"


def prices(session: Path | None, messages: Messages) -> Session:
    """The session at ``session``, or one of this machine that has every price; measures one where there is none."""
    if session is not None:
        return sessions.read(session)
    newest = sessions.newest()
    if newest is not None:
        try:
            found = sessions.read(newest)
        except SteelyardError as error:
            messages.say(f"{newest} is left aside: {error}")
        else:
            if found.header.machine.key == machine.survey().key and not price.lacking(found):
                return found
    wanted = price.wanted()
    programs = catalog.find_programs(catalog.probe_folders())
    probes = {pattern.probe for case in wanted if (pattern := CasePattern.parse(case)) and pattern.probe in programs}
    messages.say(f"no session has the prices yet: measuring them, {_BUDGET}")
    lab = Lab(selectors=sorted(probes), messages=messages)
    cases = [case for name in wanted for case in _if_it_can(lab, name)]
    settings = Settings(budget=_BUDGET, quick=True)
    return lab.measure(
        lab.header(cases, settings), None, settings, planner=Planner(each_case(cases), settings, messages)
    )


def _if_it_can(lab: Lab, name: str) -> list[Case]:
    try:
        return lab.select([name], [], [])
    except SelectionError:
        return []
