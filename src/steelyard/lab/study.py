# SPDX-License-Identifier: Apache-2.0
"""A study run again: its cases, what of it cannot be asked here, how long it takes, and its session."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from steelyard.errors import NothingMeasuredError, SelectionError, StudyError
from steelyard.judge import replication
from steelyard.judge.replication import Need, Outlook
from steelyard.judge.studies import Library, Study
from steelyard.keep import session as sessions
from steelyard.lab.messages import Messages
from steelyard.lab.session import Lab
from steelyard.measure import catalog, plan
from steelyard.measure.catalog import Catalog, Probe
from steelyard.records import Case, CasePattern, Header, Plan, PlannedCase, Run, Session, Skip
from steelyard.settings import Settings
from steelyard.units import format_duration

#: How long all studies together are measured, unless a length is given.
BUDGET_OF_ALL = "38m"
#: What is around the values of a run beside the start of its program, about: the launcher, its case, a warm-up.
_AROUND_S = 0.03
#: The same where a server is started, warmed and asked, by question.
_AROUND_SERVER_S = {"request": 0.8, "serve": 0.6}
#: What contexts that nobody pins run untimed beside that (docs/reference/protocol.md, Unpinned).
_UNPINNED_S = 0.1


def meant(library: Library, names: Sequence[str]) -> list[Study]:
    """The studies that these names or beginnings of ids stand for. Raises StudyError for what stands for none."""
    found: dict[str, Study] = {}
    for name in names:
        some = {study.place: study for study in library.studies if study.source.is_meant_by(name)}
        if not some:
            known = [study.source.name for study in library.studies]
            close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(close)}?" if close else "`steelyard study` lists those there are"
            raise StudyError(f'no study is called "{name}"; {hint}')
        found |= some
    return list(found.values())


def in_short_runs(settings: Settings) -> Settings:
    """The same with few values a run, unless a number was given: further runs tell more than further values."""
    return settings if settings.values is not None else replace(settings, values=plan.FEWEST_VALUES)


def outlooks(studies: Sequence[Study], settings: Settings) -> list[Outlook]:
    """What each of these studies takes here."""
    wanted = {study.place: replication.needs(study) for study in studies}
    probes = {place: {pattern.probe for pattern in _patterns(needs)} for place, needs in wanted.items()}
    folders = catalog.probe_folders()
    found = catalog.load_only(folders, set().union(*probes.values()))
    languages = catalog.languages(folders)
    return [_outlook(study, wanted[study.place], probes[study.place], found, languages, settings) for study in studies]


def _patterns(needs: Iterable[Need]) -> list[CasePattern]:
    return [pattern for need in needs if (pattern := CasePattern.parse(need.case))]


def _outlook(
    study: Study,
    needs: Sequence[Need],
    probes: Collection[str],
    found: Catalog,
    languages: Mapping[str, str],
    settings: Settings,
) -> Outlook:
    chosen, missing = choose(found, needs)
    return Outlook(
        study=study,
        run_s={case: _about_s(case, found.probes[case.probe], settings) for case in chosen},
        blocks_of=_as_asked(chosen, settings),
        languages=tuple(sorted({languages[probe] for probe in probes if probe in languages})),
        missing=tuple(missing),
    )


def _as_asked(blocks_of: Mapping[Case, int], settings: Settings) -> dict[Case, int]:
    """As many blocks of each case as its verdicts need, or the number that was asked for; of few no more."""
    if settings.blocks is None and not settings.quick:
        return dict(blocks_of)
    asked, most = settings.planned_blocks or 1, max(blocks_of.values(), default=0)
    return {case: asked if blocks == most else min(blocks, asked) for case, blocks in blocks_of.items()}


def _about_s(case: Case, probe: Probe, settings: Settings) -> float:
    """About how long a run takes before its pilot has said it: its start, its values, and what is around them."""
    descriptor = probe.descriptor
    value_s = min(settings.target_s, descriptor.value_ms / 1e3 or settings.target_s)
    least_s = plan.WARM_S if descriptor.warms_up else 0.0
    around_s = _AROUND_SERVER_S.get(descriptor.probe.partition("/")[0], _AROUND_S)
    around_s += _UNPINNED_S if case.placement == "free" else 0.0
    return probe.start_s + max(settings.planned_values * value_s, least_s) + around_s


# --- which cases ------------------------------------------------------------------------------------------------------


def choose(found: Catalog, needs: Sequence[Need]) -> tuple[dict[Case, int], list[Skip]]:
    """The cases that fill these needs here, each with its blocks, and what is missing with the reason."""
    chosen: dict[Case, int] = {}
    missing: dict[str, Skip] = {}
    reasons = {skip.subject: skip.reason for skip in found.skips}
    reasons |= {name: probe.descriptor.lacks for name, probe in found.probes.items() if probe.descriptor.lacks}
    for need in sorted(needs, key=lambda need: need.whatever):
        pattern = CasePattern.parse(need.case)
        if pattern is None:
            continue
        if pattern.probe in reasons or pattern.probe not in found.probes:
            reason = reasons.get(pattern.probe, "Steelyard has no such probe")
            missing[pattern.probe] = Skip(subject=pattern.probe, reason=reason)
            continue
        if need.whatever and any(pattern.matches(case) for case in chosen):
            continue
        try:
            for case in _cases(found, need, pattern):
                chosen[case] = max(need.blocks, chosen.get(case, 0))
        except SelectionError as error:
            missing.setdefault(need.case, Skip(subject=need.case, reason=str(error)))
    return chosen, list(missing.values())


def _cases(found: Catalog, need: Need, pattern: CasePattern) -> list[Case]:
    """The one case of a need, or the points of its sweep. What the pattern leaves open is as a first session has it."""
    descriptor = found.probes[pattern.probe].descriptor
    given = {
        parameter.name: [str((parameter.brief or parameter.sweep)[0])]
        for parameter in descriptor.parameters
        if parameter.name not in pattern.parameters
    }
    if need.along is not None and (swept := descriptor.parameter(need.along.parameter)):
        most = need.along.largest
        within = [x for x in swept.sweep if isinstance(x, int) and need.along.smallest <= x <= (most or x)]
        given[swept.name] = [str(x) for x in thinned(within, need.points)]
    placements = [pattern.placement or descriptor.placements[0]]
    return catalog.select(found, [need.case], given, placements)


def thinned(values: Sequence[int], most: int) -> list[int]:
    """At most ``most`` of these, the first and the last among them, evenly spread."""
    if len(values) <= most:
        return list(values)
    return [values[round(number * (len(values) - 1) / (most - 1))] for number in range(most)]


# --- measuring --------------------------------------------------------------------------------------------------------


def measure(studies: Sequence[Study], settings: Settings, path: Path | None, messages: Messages) -> Session:
    """A session of the cases of these studies, in as many blocks as their verdicts need or the budget has room for."""
    settings = in_short_runs(settings)
    outlook = outlooks(studies, settings)
    together = _together(outlook)
    missing = tuple(dict.fromkeys(skip for one in outlook for skip in one.missing))
    if not together.run_s:
        reason = f"{missing[0].subject}: {missing[0].reason}" if missing else "no case is named"
        raise NothingMeasuredError(f"nothing of {studies[0].place} can be measured here: {reason}")
    messages.say(_plan(studies, together, settings))
    lab = Lab(only={plan.NULL} | {case.probe for case in together.run_s}, messages=messages)
    # What no probe here can do is in the session as well: it is why a statement was not asked.
    lab.found = replace(lab.found, skips=missing)
    header = lab.header(list(together.run_s), settings.with_blocks(together.blocks))
    return _measured(lab, header, path, settings, together)


def _together(outlook: Sequence[Outlook]) -> Outlook:
    """Several as one: a case that two of them have is in as many blocks as either needs."""
    most: dict[Case, int] = {}
    for one in outlook:
        most |= {case: max(blocks, most.get(case, 0)) for case, blocks in one.blocks_of.items()}
    run_s = {case: seconds for one in outlook for case, seconds in one.run_s.items()}
    return msgspec.structs.replace(outlook[0], run_s=run_s, blocks_of=most)


class PlannedBlocks:
    """As many blocks as the verdicts need; of a budget that is too short for them, as many as it has room for."""

    def __init__(self, wanted: Mapping[Case, int], messages: Messages, before: Plan | None) -> None:
        self._wanted = {case.name: blocks for case, blocks in wanted.items()}
        self._most = max(wanted.values())
        self._planned = before.blocks if before else self._most
        self._messages = messages

    def plan(self, cases: Sequence[PlannedCase], _: Mapping[str, Run], left_s: float | None) -> Plan:
        """The plan of the blocks, as conduct.Planner asks for it."""
        if left_s is not None:
            room_s = left_s * plan.PLANNED_SHARE
            fitting = (blocks for blocks in range(self._most, 1, -1) if self._seconds(cases, blocks) <= room_s)
            self._planned = next(fitting, 1)
            if self._planned < self._most:
                self._messages.say(
                    f"the budget has room for {self._planned} of {self._most} blocks: all take about "
                    f"{format_duration(self._seconds(cases, self._most) / plan.PLANNED_SHARE)} after the pilot"
                )
        return Plan(cases=tuple(cases), blocks=self._planned)

    def enough(self, block: int) -> bool:
        """Whether this is the last block."""
        return block >= self._planned

    def _seconds(self, cases: Sequence[PlannedCase], blocks: int) -> float:
        return sum(case.run_s * min(self._wanted.get(case.case.name, blocks), blocks) for case in cases)


def _measured(
    lab: Lab, header: Header, path: Path | None, settings: Settings, outlook: Outlook, before: Session | None = None
) -> Session:
    """A budget is the most that may be spent: the verdicts need no more blocks than planned."""
    blocks = PlannedBlocks(outlook.blocks_of, lab.messages, before.plan if before else None)
    return lab.measure(
        header,
        path,
        settings,
        before=before,
        enough=lambda block: header.blocks is None and blocks.enough(block),
        fewer={case.name: blocks for case, blocks in outlook.blocks_of.items() if blocks < outlook.blocks},
        repays=False,
        planner=blocks.plan,
    )


def go_on(studies: Sequence[Study], settings: Settings, path: Path, messages: Messages) -> Session:
    """The session of these studies that was interrupted, measured to its end."""
    before = sessions.read(path)
    lab = Lab(only=before.header.probes, messages=messages)
    lab.check_interrupted(before)
    planned = replace(settings, blocks=before.header.blocks)
    return _measured(lab, before.header, path, settings, _together(outlooks(studies, planned)), before)


def _plan(studies: Sequence[Study], outlook: Outlook, settings: Settings) -> str:
    """What is about to be measured, and how long it takes."""
    names = ", ".join(study.source.name for study in studies)
    statements = sum(len(study.claims) for study in studies)
    few = sum(blocks < outlook.blocks for blocks in outlook.blocks_of.values())
    tables = f" ({few} of them, which only tables and figures need, in fewer)" if few else ""
    bounded = f"; {settings.budget} at the most" if settings.budget else ""
    return (
        f"{names}: {len(outlook.run_s)} cases in {outlook.blocks} blocks{tables}, by which {statements} statements can "
        f"be decided together; about {format_duration(outlook.seconds)}{bounded}"
    )
