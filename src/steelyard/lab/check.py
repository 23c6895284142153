# SPDX-License-Identifier: Apache-2.0
"""Whether something became worse: what looks so is measured again before it is said."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from steelyard.errors import BusyError
from steelyard.judge import comparisons
from steelyard.judge.comparisons import Compared, Comparisons
from steelyard.lab.compare import (
    BLOCKS,
    compare_files,
    labels,
    measure_pairs,
    read_side,
    selected,
    varied_folders,
    vary,
)
from steelyard.lab.messages import Messages
from steelyard.lab.session import Lab
from steelyard.records import Session
from steelyard.settings import Settings
from steelyard.show import reasons

#: The share of a budget in which all is measured; the rest is left for what looks worse, which is measured again.
_FIRST = 2 / 3


def check_folders(
    folders: str, selectors: Sequence[str], settings: Settings, margin: float, messages: Messages
) -> Comparisons:
    """Both folders now; what looks worse once more, in a session of its own."""
    selectors = selected(folders, selectors)
    lab = Lab(varied_folders(folders), selectors=selectors, messages=messages)
    cases, variants, pairs = vary(folders, selectors, lab)
    sides = labels(folders)
    budget_s = settings.budget_s or 0.0
    some = settings.with_budget_of(_FIRST * budget_s)
    session, first = measure_pairs(lab, cases, variants, pairs, sides, some, margin, None)
    suspects = {case.case for case in first.cases if case.worse}
    if not suspects or first.void:
        return first
    messages.say(f"{len(suspects)} suspected to be worse; measuring again before saying so")
    again = [pair for pair in pairs if pair[0] in suspects]
    wanted = {name for pair in again for name in pair[1:]}
    kept = [case for case in cases if case.name in wanted]
    rest = settings.with_budget_of(budget_s - (session.end.wall_s if session.end else 0.0))
    _, second = measure_pairs(lab, kept, variants, again, sides, rest, margin, None)
    return confirm(first, second)


def check_files(base: Path, new: Path, settings: Settings, margin: float, messages: Messages) -> Comparisons:
    """Two files; what looks worse is measured again if this is the machine and these are the probes of NEW."""
    first = compare_files(base, new, margin)
    suspects = [case.case for case in first.cases if case.worse]
    if not suspects or first.void or first.kind == "files":
        return first
    sides = read_side(base), read_side(new)
    if not (isinstance(sides[0], Session) and isinstance(sides[1], Session)):
        return first
    lab = Lab(only=sides[1].header.probes, messages=messages)
    reason = _why_not_again(lab, sides[1])
    if reason is not None:
        caveat = f"what is worse could not be measured again: {reason}"
        return msgspec.structs.replace(first, caveats=(*first.caveats, caveat))
    messages.say(f"{len(suspects)} suspected to be worse; measuring again before saying so")
    selection = [case for case in sides[1].header.selection if case.name in suspects]
    settings = settings.with_blocks(BLOCKS)
    measured = lab.measure(lab.header(selection, settings), None, settings)
    return confirm(first, comparisons.compare_sessions(sides[0], measured, margin=margin))


def _why_not_again(lab: Lab, new: Session) -> str | None:
    if new.header.machine.key != lab.host.key:
        return f"NEW is of machine {new.header.machine.key} and this is {lab.host.key}"
    if new.header.variants:
        return "NEW was measured with variants"
    for name, facts in new.header.probes.items():
        if name not in lab.found.probes or lab.found.probes[name].facts().sha256 != facts.sha256:
            return f"probe {name} is not the program that NEW was measured with"
    return None


def confirm(first: Comparisons, second: Comparisons) -> Comparisons:
    """The first verdicts, but what was worse counts only if it was worse again; else it is undecided."""
    if second.void is not None:
        why = reasons.said(second.void)
        raise BusyError(f"the repetition is void ({why}): run the check again on a quieter machine")
    again = {case.case: case for case in second.cases}

    def confirmed(case: Compared) -> Compared:
        repeated = again.get(case.case)
        if not case.worse or (repeated is not None and repeated.worse):
            return case
        return msgspec.structs.replace(case, worse=False, verdict="undecided")

    gone = [case.case for case in first.cases if case.worse and not confirmed(case).worse]
    caveats = tuple(f"{name}: looked worse once and not again: undecided" for name in gone)
    cases = tuple(confirmed(case) for case in first.cases)
    return msgspec.structs.replace(first, cases=cases, caveats=(*first.caveats, *caveats))
