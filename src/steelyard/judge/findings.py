# SPDX-License-Identifier: Apache-2.0
"""The judged session: all that a report may say. What is not in here is not shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from steelyard.judge import studies
from steelyard.judge.caches import CacheLevels, cache_levels
from steelyard.judge.cases import CaseFinding, judge_case, unsteady
from steelyard.judge.connections import Holder, holders
from steelyard.judge.controls import Control, controls, void_reason
from steelyard.judge.curves import Curve, Matrix, find_curves, find_matrices
from steelyard.judge.knees import Knee, RatePoint, knees
from steelyard.judge.loaded import Loaded, loaded
from steelyard.judge.models import Models, models
from steelyard.judge.neighbours import Beside, beside
from steelyard.judge.prices import PriceList, price_lists
from steelyard.judge.published import Published
from steelyard.judge.reasons import Missing, Reason
from steelyard.judge.samples import case_runs
from steelyard.judge.scalings import Scales, scalings
from steelyard.judge.studies import Library
from steelyard.judge.tables import Measured, StudyTable
from steelyard.records import Disturbance, Record, Session, Skip


class Findings(Record, frozen=True, kw_only=True):
    """A session as it may be shown. ``titles``: of mechanisms, by probe."""

    path: str
    started: str
    seed: int
    machine_key: str
    machine: dict[str, str]
    environment: dict[str, str]
    complete: bool
    void: Reason | None
    controls: tuple[Control, ...]
    blocks: int
    wall_s: float | None
    timed_share: float | None
    cases: tuple[CaseFinding, ...]
    curves: tuple[Curve, ...]
    matrices: tuple[Matrix, ...]
    skips: tuple[Skip | Missing, ...]
    failures: dict[str, str]
    leftovers: dict[str, tuple[str, ...]]
    disturbances: tuple[Disturbance, ...]
    runs: int
    disturbed_runs: int
    tables: tuple[StudyTable, ...] = ()
    prices: tuple[PriceList, ...] = ()
    knees: tuple[Knee, ...] = ()
    scalings: tuple[Scales, ...] = ()
    caches: CacheLevels | None = None
    models: Models | None = None
    holders: tuple[Holder, ...] = ()
    beside: Beside | None = None
    loaded: tuple[Loaded, ...] = ()
    titles: dict[str, str] = msgspec.field(default_factory=dict)

    @property
    def known_wrong(self) -> tuple[Published, ...]:
        """The figures of others that stand in it and have a known error."""
        beside = [item for case in self.cases for item in case.main.published]
        of_tables = [entry.of for table in self.tables for column in table.columns for entry in column.entries if entry]
        there = [*beside, *(of for of in of_tables if isinstance(of, Published))]
        return tuple(dict.fromkeys(item for item in there if item.figure.error))


def _rate_points(session: Session, cases: Sequence[CaseFinding]) -> Iterator[RatePoint]:
    """What became of the operations that were offered at a rate; a rate of 0 stands for none."""
    for case in cases:
        descriptor = session.header.probes[case.probe].descriptor
        offered = next((one for one in descriptor.parameters if one.type == "integer" and one.unit == "1/s"), None)
        rate = case.parameters.get(offered.name) if offered else None
        if case.control or offered is None or not isinstance(rate, int) or rate == 0:
            continue
        answered = next(
            (one.name for one in descriptor.metrics if (one.over, one.per) == ("operations", "offered")), ""
        )
        figures = {figure.metric: figure.median for figure in case.others}
        rest = [f"{key}={value}" for key, value in case.parameters.items() if key != offered.name]
        yield RatePoint(
            probe=case.probe,
            title=case.called,
            fixed=" ".join([*rest, case.where]),
            rate=rate,
            answered=figures.get(answered),
            latency_s=figures.get(next(iter(offered.curves), "")),
        )


def measured(cases: Iterable[CaseFinding]) -> Measured:
    """The figures of cases by name and metric, as tables want them."""
    return {
        case.case: {figure.metric: (figure.median, figure.unit) for figure in (case.main, *case.others)}
        for case in cases
    }


def judge(session: Session, library: Library | None = None) -> Findings:
    """Everything that may be said of a session, beside what these studies say, or those that come with the tool."""
    others = library or studies.library()
    all_runs = case_runs(session)
    by_name = {runs.planned.case.name: runs for runs in all_runs}
    cases = [finding for runs in all_runs if (finding := judge_case(runs, by_name, session, others))]
    checks = controls(session, by_name)
    block_runs = [run for run in session.runs if run.role == "block"]
    end = session.end
    return Findings(
        path=session.path,
        started=session.header.started,
        seed=session.header.seed,
        machine_key=session.header.machine.key,
        machine=session.header.machine.facts,
        environment=session.header.machine.environment,
        complete=end is not None,
        void=void_reason(checks),
        controls=checks,
        blocks=session.blocks,
        wall_s=end.wall_s if end else None,
        timed_share=end.timed_s / end.wall_s if end and end.wall_s else None,
        cases=tuple(cases),
        curves=find_curves(session, cases),
        matrices=find_matrices(session, cases),
        tables=others.tables_beside(measured(cases)),
        prices=price_lists(session, cases),
        knees=knees(_rate_points(session, cases)),
        scalings=scalings(all_runs),
        caches=cache_levels(all_runs, session.header.machine.facts),
        models=models(session, cases, all_runs),
        holders=holders(cases),
        beside=beside(session),
        loaded=loaded(session, cases),
        skips=(*session.skips, *(unsteady(runs) for runs in all_runs if runs.mostly_unsteady)),
        failures={run.case: run.error or "" for run in session.runs if run.status == "failed"},
        leftovers={run.case: run.leftovers for run in session.runs if run.leftovers},
        disturbances=tuple(
            dict.fromkeys(disturbance for audit in session.audits for disturbance in audit.disturbances)
        ),
        runs=len(session.runs),
        disturbed_runs=sum(bool(run.disturbed) for run in block_runs),
        titles=session.header.titles,
    )
