# SPDX-License-Identifier: Apache-2.0
"""Conducts a session: pilot, sentinel, blocks, sentinel. Hands every line to whoever keeps them.

Works with plan (what to run in which order), runner (does it) and audit (what disturbed it).
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from steelyard.errors import NothingMeasuredError
from steelyard.measure import audit, catalog, plan
from steelyard.measure.beside import Helper
from steelyard.measure.runner import Outcome, Request, Runner
from steelyard.records import (
    Case,
    Descriptor,
    End,
    Header,
    Line,
    Neighbour,
    Plan,
    PlannedCase,
    Run,
    Session,
    Skip,
    Transcript,
    Watched,
)

#: Runs of the sentinel at each end of a session.
SENTINELS = 3
#: A disturbed run is measured again this often at most.
_ATTEMPTS = 2
#: A case that failed this often is not tried again: a hanging probe would eat the session.
_FAILURES = 3
_PILOT_VALUES = 3
#: What a run keeps of all that its probe said.
_OF_TRANSCRIPT = tuple(name for name in Transcript.__struct_fields__ if name != "meta")
_OF_META = ("operations", "compiler", "flags", "timed", "counters", "counters_absent")
#: The share of a budget that the pilot may take: a case whose pilot would begin later is left out, and recorded so.
_PILOT_SHARE = 0.4
#: Cases that have a pilot whatever the budget says: two to compare, and what both are held against.
_FEWEST_PILOTS = 3
_TIMES = ("wall", "cpu", "user", "system")

Append = Callable[[Line], None]
#: Asked after each block (counted from 1) whether all that was to be found out is found out.
Enough = Callable[[int], bool]
#: Asked after the pilot which of these cases to measure, how long, and in how many blocks. It gets the pilot's runs by
#: case, and the seconds that a budget leaves for the blocks, or None.
Planner = Callable[[Sequence[PlannedCase], Mapping[str, Run], float | None], Plan]
EndReason = Literal["blocks", "budget", "decided"]
Role = Literal["pilot", "block", "sentinel"]


class Progress(Protocol):
    """Told what goes on."""

    def begin(self, stage: str, seconds: float, runs: int) -> None:
        """A stage of this number of runs begins; how long it will take, or 0 where that is not known."""

    def ran(self, run: Run, seconds_left: float) -> None:
        """A run is over; the time that is left in this stage, or 0 where that is not known."""

    def repeating(self, runs: int) -> None:
        """Some runs of this stage were disturbed and are measured again now."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What is to be conducted: the header of the session, and what was done before an interruption.

    programs: by probe, and by ``probe~variant`` where a variant has a program of its own.
    groups: by case, the group whose cases run one after the other in a block; a case without one is its own.
    fewer: by case, in how many of the first blocks it runs; a case without one runs in all.
    repays: whether a run is longer where starting and setting up takes long; without it there is time for more blocks.
    """

    header: Header
    programs: Mapping[str, Path]
    baselines: Mapping[str, Case]
    deadline_s: float
    before: Session | None = None
    groups: Mapping[str, str] = dataclasses.field(default_factory=dict)
    fewer: Mapping[str, int] = dataclasses.field(default_factory=dict)
    repays: bool = True

    def in_block(self, cases: Sequence[PlannedCase], block: int) -> list[PlannedCase]:
        """Those of the cases that run in a block, counted from 1."""
        return [case for case in cases if block <= self.fewer.get(case.case.name, block)]


class Conductor:
    """One session from its pilot to its end."""

    def __init__(
        self,
        work: Work,
        runner: Runner,
        append: Append,
        progress: Progress,
        clock: Callable[[], float] = time.monotonic,
        enough: Enough = lambda _block: False,
        planner: Planner | None = None,
    ) -> None:
        self._work = work
        self._header = work.header
        self._runner = runner
        self._append = append
        self._progress = progress
        self._clock = clock
        self._enough = enough
        self._planner = planner or self._all_cases
        self._budget_s = work.header.budget_s if work.header.blocks is None else None
        self._variants = {variant.label: variant for variant in work.header.variants}
        #: The variants with neighbours, and the groups whose cases are measured alone and beside neighbours.
        self._beside = {variant.label for variant in work.header.variants if variant.beside}
        beside = (case for case in work.header.selection if case.variant in self._beside)
        self._held_together = {group for case in beside if (group := work.groups.get(case.name))}
        runs = work.before.runs if work.before else ()
        self._spent_before_s = sum(run.wall_s for run in runs)
        self._timed_s = sum(run.timed_s for run in runs if run.role == "block")
        self._done = {(run.role, run.block, run.order if run.role == "sentinel" else run.case) for run in runs}
        self._failures = Counter(run.case for run in runs if run.status == "failed")
        self._last_s = 0.0
        self._started = clock()

    def conduct(self) -> End:
        """Run the session to its end; raises NothingMeasuredError if no case gets through the pilot."""
        planned = self._plan()
        if not [case for case in planned.cases if not case.control]:
            raise NothingMeasuredError("no selected case could be measured here; the reasons are listed above")
        self._sentinels(planned, 0)
        blocks, reason = self._blocks(planned)
        self._sentinels(planned, blocks + 1)
        end = End(
            at=time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()),
            reason=reason,
            blocks=blocks,
            wall_s=self._elapsed(),
            timed_s=self._timed_s,
        )
        self._append(end)
        return end

    def _elapsed(self) -> float:
        return self._spent_before_s + self._clock() - self._started

    # --- the pilot ----------------------------------------------------------------------------------------------------

    def _plan(self) -> Plan:
        """What the pilot of this or of the interrupted part made of the selection."""
        before = self._work.before
        if before and before.plan:
            return before.plan
        earlier = {run.case: run for run in before.runs if run.role == "pilot"} if before else {}
        cases = self._cases()
        # How long a pilot takes is not known before it: a server may take seconds to start and to end.
        self._progress.begin("pilot", 0.0, len(cases))
        planned, pilots = [], {}
        for number, (case, control) in enumerate(cases.items()):
            each_s = self._elapsed() / number if number else 0.0
            if not control and number >= _FEWEST_PILOTS and self._no_pilot_fits(each_s) and case.name not in earlier:
                self._leave_out(case)
                continue
            run = earlier.get(case.name) or self._pilot(case, number, (len(cases) - number - 1) * each_s)
            pilots[case.name] = run
            if run.status == "ok":
                planned.append(self._planned(case, run, control=control))
        result = self._planner(plan.level(planned), pilots, self._left_s(planned))
        kept = {case.case.name for case in result.cases}
        for one in planned:
            if not one.control and one.case.name not in kept:
                self._leave_out(one.case)
        self._append(result)
        return result

    def _no_pilot_fits(self, each_s: float) -> bool:
        return self._budget_s is not None and self._elapsed() + each_s > _PILOT_SHARE * self._budget_s

    def _leave_out(self, case: Case) -> None:
        plan = "the plan" if self._budget_s is None else f"a budget of {self._budget_s:g} s"
        self._append(Skip(subject=case.name, reason=f"{plan} has no room for it"))

    def _left_s(self, planned: Sequence[PlannedCase]) -> float | None:
        """What a budget leaves for the blocks: the sentinels at both ends belong to it."""
        return None if self._budget_s is None else self._budget_s - self._elapsed() - 2 * _sentinel_s(planned)

    def _cases(self) -> dict[Case, bool]:
        """Everything to be run, each case once; True for what only serves the lab or another case."""
        # A budget may have no time for all of them: then the pilot of what tells most comes first.
        ordered = self._header.selection if self._budget_s is None else plan.most_telling_first(self._header.selection)
        cases = dict.fromkeys(ordered, False)
        for case in self._header.selection:
            if baseline := self._work.baselines.get(case.name):
                cases.setdefault(baseline, True)
        for case in self._header.controls:
            cases.setdefault(case, True)
        return cases

    def _pilot(self, case: Case, number: int, seconds_left: float) -> Run:
        target_ns = self._target_ns(case)
        least_s = plan.BESIDE_S if self._together(case) else 0.0
        values = max(_PILOT_VALUES, math.ceil(1e9 * least_s / target_ns))
        request = self._request(case, values=values, target_ns=target_ns)
        outcome = self._runner.run(request)
        run = self._record(case, outcome, role="pilot", block=0, order=number, attempt=1)
        if run.status == "skipped":
            self._append(Skip(subject=case.name, reason=run.error or ""))
        self._append(run)
        self._progress.ran(run, seconds_left)
        return run

    def _short_values(self, case: Case) -> int:
        """Length in ns of values that need be no longer, as the probe says; 0 if it does not or the user said it."""
        return 0 if self._header.target_given else self._descriptor(case).value_ms * 1_000_000

    def _target_ns(self, case: Case) -> int:
        return min(self._header.target_ns, self._short_values(case) or self._header.target_ns)

    def _together(self, case: Case) -> bool:
        """Whether a case is measured beside neighbours, or alone to be held against that."""
        return case.variant in self._beside or self._work.groups.get(case.name) in self._held_together

    def _least_s(self, case: Case) -> float:
        """How long the timed part of a run has to be at least."""
        return plan.WARM_S if self._descriptor(case).warms_up else plan.BESIDE_S if self._together(case) else 0.0

    def _planned(self, case: Case, run: Run, *, control: bool) -> PlannedCase:
        """What the pilot's run makes of a case. The time of its search is not overhead of later runs."""
        value_s = max(run.timed_s / max(1, len(run.values)), 1e-6)
        descriptor = self._descriptor(case)
        least_s = self._least_s(case)
        # Bytes get no better by taking longer, so nothing has to be repaid.
        repaid_s = run.overhead_s if self._work.repays and descriptor.metrics[0].over in _TIMES else 0.0
        if (short_ns := self._short_values(case)) and not self._together(case):
            values, longer = plan.short_values_for(value_s, short_ns / 1e9, self._header.values), 1.0
        else:
            values, longer = plan.values_for(repaid_s, value_s, self._header.values, least_s)
        value_s *= longer
        baseline = self._work.baselines.get(case.name)
        control_group = plan.NULL if case in self._header.controls else ""
        return PlannedCase(
            case=case,
            operations=run.operations if longer == 1 else round(_operations_done(run) * longer),
            values=values,
            least_values=max(1, min(values, math.ceil(least_s / value_s))),
            run_s=run.overhead_s + (values + 0.125) * value_s,
            overhead_s=run.overhead_s,
            group=self._work.groups.get(case.name, control_group),
            baseline=baseline.name if baseline else None,
            control=control,
        )

    def _all_cases(self, planned: Sequence[PlannedCase], _: Mapping[str, Run], left_s: float | None) -> Plan:
        """All of them; under a budget that is too short for six blocks, runs get fewer values."""
        if left_s is None:
            return Plan(cases=tuple(planned), blocks=self._header.blocks or plan.FEWEST_BLOCKS)
        shorter = plan.fit(planned, left_s)
        return Plan(cases=tuple(shorter), blocks=plan.blocks_for(left_s, shorter))

    # --- the blocks ---------------------------------------------------------------------------------------------------

    def _blocks(self, planned: Plan) -> tuple[int, EndReason]:
        """Run the blocks; returns how many were run and what ended them."""
        budget_s = self._budget_s
        # The sentinel that comes last belongs to the budget as well.
        self._last_s = last_s = _sentinel_s(planned.cases)
        pace = 1.0  # of the last block, over what the pilot foresaw

        def expected_s(*blocks: int) -> float:
            return pace * sum(plan.block_seconds(self._work.in_block(planned.cases, block)) for block in blocks)

        runs = sum(len(self._work.in_block(planned.cases, block)) for block in range(1, planned.blocks + 1))
        self._progress.begin("blocks", expected_s(*range(1, planned.blocks + 1)), runs)
        # A resumed session repeats nothing: blocks begun before the interruption are passed or finished, whatever the
        # budget says, and after the last sentinel there is no further block.
        begun = max((block for role, block, _ in self._done if role == "block"), default=0)
        ending = any(role == "sentinel" and block > 0 for role, block, _ in self._done)
        block = 0
        while budget_s is not None or block < planned.blocks:
            began = self._clock()
            if (
                budget_s is not None
                and block >= max(1, begun)
                and (ending or self._elapsed() + expected_s(block + 1) + last_s > budget_s)
            ):
                return block, "budget"
            block += 1
            foreseen_s = expected_s(block)
            self._block(planned, block, expected_s(*range(block + 1, planned.blocks + 1)))
            if block >= begun and self._enough(block):
                return block, "decided"
            if block > begun and foreseen_s > 0:
                pace *= max((self._clock() - began) / foreseen_s, 0.5)
        return block, "blocks"

    def _block(self, planned: Plan, block: int, seconds_after: float) -> None:
        waiting = plan.order(self._work.in_block(planned.cases, block), block, self._header.seed)
        left_s = plan.block_seconds(waiting)
        again: list[tuple[int, PlannedCase]] = []
        for order, case in enumerate(waiting):
            left_s -= case.run_s
            run = self._one(case, block, order, 1, left_s + seconds_after)
            if run and run.disturbed:
                again.append((order, case))
        for attempt in range(2, _ATTEMPTS + 1):
            # Repeating belongs to the budget: what has no room in it stays as it was measured, and is marked.
            again = self._affordable(again)
            if again:
                self._progress.repeating(len(again))
            left_s = plan.block_seconds([case for _, case in again])
            still = []
            for order, case in again:
                left_s -= case.run_s
                run = self._one(case, block, order, attempt, left_s + seconds_after)
                if run and run.disturbed:
                    still.append((order, case))
            again = still

    def _affordable(self, again: Sequence[tuple[int, PlannedCase]]) -> list[tuple[int, PlannedCase]]:
        """As many of these runs, from the first, as the budget has room for."""
        if self._budget_s is None:
            return list(again)
        left_s = self._budget_s - self._elapsed() - self._last_s
        ends = itertools.accumulate(case.run_s for _, case in again)
        return [one for one, end_s in zip(again, ends, strict=True) if end_s <= left_s]

    def _one(self, case: PlannedCase, block: int, order: int, attempt: int, seconds_left: float) -> Run | None:
        """One run of a block, unless it was done before an interruption or its case failed too often."""
        name = case.case.name
        if (attempt == 1 and ("block", block, name) in self._done) or self._failures[name] >= _FAILURES:
            return None
        run = self._run(case, role="block", block=block, order=order, attempt=attempt)
        self._timed_s += run.timed_s
        self._failures[name] += run.status == "failed"
        self._progress.ran(run, self._at_most_the_budget(seconds_left))
        return run

    def _at_most_the_budget(self, seconds: float) -> float:
        """What is foreseen, or what a budget leaves where that is less: a slower machine does fewer blocks."""
        return seconds if self._budget_s is None else min(seconds, max(0.0, self._budget_s - self._elapsed()))

    def _sentinels(self, planned: Plan, block: int) -> None:
        """Run the sentinel at one end of the session."""
        sentinel = next((case for case in planned.cases if case.case == plan.controls()[0]), None)
        for number in range(SENTINELS if sentinel else 0):
            if sentinel and ("sentinel", block, number) not in self._done:
                self._run(sentinel, role="sentinel", block=block, order=number, attempt=1)

    # --- one run ------------------------------------------------------------------------------------------------------

    def _run(self, case: PlannedCase, *, role: Role, block: int, order: int, attempt: int) -> Run:
        request = self._request(
            case.case,
            values=case.values,
            operations=case.operations,
            padding=plan.padding(self._header.seed, block, case.case.name, attempt),
        )
        run = self._record(case.case, self._runner.run(request), role, block, order, attempt, request.padding)
        self._append(run)
        return run

    def _request(
        self,
        case: Case,
        *,
        values: int,
        operations: int | None = None,
        target_ns: int | None = None,
        padding: int = 0,
    ) -> Request:
        variant = self._variants.get(case.variant or "")
        program = self._work.programs.get(f"{case.probe}~{case.variant}") or self._work.programs[case.probe]
        return Request(
            case=case,
            program=program,
            # The baseline of a probe in Python need not be one.
            interpreter=variant.python if variant and variant.python and catalog.needs_interpreter(program) else None,
            environment=variant.environment if variant else {},
            descriptor=self._descriptor(case),
            values=values,
            operations=operations,
            target_ns=target_ns,
            tails_ns=self._tails_ns(case),
            deadline_s=self._work.deadline_s,
            padding=padding,
            beside=tuple(map(self._helper, variant.beside if variant else ())),
        )

    def _helper(self, neighbour: Neighbour) -> Helper:
        probe = neighbour.case.probe
        return Helper(
            neighbour=neighbour, program=self._work.programs[probe], descriptor=self._descriptor(neighbour.case)
        )

    def _tails_ns(self, case: Case) -> int:
        """For how long a run times operations one by one: not at all where its probe cannot, or in a control."""
        wanted = self._descriptor(case).tails and case not in self._header.controls
        return self._header.tails_ns if wanted else 0

    def _descriptor(self, case: Case) -> Descriptor:
        return self._header.probes[case.probe].descriptor

    def _record(
        self, case: Case, outcome: Outcome, role: Role, block: int, order: int, attempt: int, padding: int = 0
    ) -> Run:
        said: dict[str, Any] = {}
        timed_s = search_s = 0.0
        if transcript := outcome.transcript:
            said = {name: getattr(transcript, name) for name in _OF_TRANSCRIPT}
            said |= {name: getattr(transcript.meta, name) for name in _OF_META}
            timed_s = sum(value.wall_ns for value in transcript.values) / 1e9
            search_s = transcript.meta.search_ns / 1e9
        run = Run(
            case=case.name,
            role=role,
            block=block,
            order=order,
            attempt=attempt,
            overhead_s=max(0.0, outcome.wall_s - timed_s - search_s),
            padding=padding,
            **{name: getattr(outcome, name) for name in Watched.__struct_fields__},
            **said,
        )
        alone = case.placement == "same" and "sched" not in self._descriptor(case).uses
        return msgspec.structs.replace(run, disturbed=audit.disturbances_of_run(run, alone=alone))


def _sentinel_s(cases: Sequence[PlannedCase]) -> float:
    """How long the sentinel at one end of the session takes."""
    return SENTINELS * sum(case.run_s for case in cases if case.case == plan.controls()[0])


def _operations_done(run: Run) -> float:
    """Operations of a value, as they were done: with many contexts a round of all is more than what was asked for."""
    return statistics.median(value.operations for value in run.values)
