# SPDX-License-Identifier: Apache-2.0
"""The two sessions behind the choice of a model: one to predict from, and one in which the best few serve the load."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from steelyard.errors import NothingMeasuredError, UsageError
from steelyard.judge import choose
from steelyard.judge.choose import Chosen
from steelyard.judge.comparisons import alpha_at
from steelyard.judge.curves import way_of
from steelyard.judge.model import FAMILY, Predictions, Serving, predict, together
from steelyard.judge.stats.comparison import VERDICT_CONFIDENCE
from steelyard.judge.stats.planning import fewest_blocks
from steelyard.keep import session as sessions
from steelyard.lab.choose import able_among
from steelyard.lab.messages import Messages
from steelyard.lab.planning import Planner, Question, look_blocks, with_operations
from steelyard.lab.session import Lab
from steelyard.measure import catalog, conduct
from steelyard.records import Case, Plan, PlannedCase, Run, Scalar, Session
from steelyard.settings import Settings
from steelyard.units import format_duration, parse_duration

#: How long it all takes, unless it is said otherwise.
BUDGET = "4m"
#: The share of it that predicting takes; the rest is for building the best few.
_PREDICTING = 0.55
#: How many models are built.
_BUILT = 3
#: Blocks of the session to predict from: intervals are of resampled blocks.
_BLOCKS = 3
#: Values of a run: starting a model takes longer than one.
_VALUES = 2
#: Requests of a run that have a p99: it takes 1000 of them, and how many come in a time is drawn at random. A value is
#: planned for some more, as a pilot that finds a few less would add a whole value.
_REQUESTS = 1060
_SOME_MORE = 1.05
#: Shortest and longest value, in seconds: rarer requests take more values of them.
_VALUE_S = (0.06, 0.35)
#: Rarer requests have no p99 within the budget.
_LEAST_RATE = 250


def languages() -> Mapping[str, str]:
    """What each model is written in, by its probe."""
    return catalog.languages(catalog.probe_folders())


def lab_for(load: Serving, messages: Messages) -> Lab:
    """The lab with the models that the load may be served by; raises UsageError for a load that none can be."""
    if 10 * load.wait_us / 1e6 > parse_duration(BUDGET):
        wait = format_duration(load.wait_us / 1e6)
        raise UsageError(f"a wait of {wait} is too long for the {BUDGET} that all may take: describe a shorter one")
    if load.goal is not None and load.rate < _LEAST_RATE:
        raise UsageError(
            f"a rate of {load.rate}/s is too low for a goal: the {BUDGET} that all may take have no time for the 1000 "
            f"requests of a p99; leave the goal away, or describe {_LEAST_RATE}/s or more"
        )
    written = {probe: language for probe, language in languages().items() if probe.startswith(f"{FAMILY}/")}
    there = sorted(set(written.values()))
    if unknown := [name for name in load.languages if name not in there]:
        raise UsageError(f"languages: no model is written in {unknown[0]}; there are {', '.join(there)}")
    allowed = [probe for probe, language in written.items() if language in load.languages]
    return Lab(selectors=allowed or [FAMILY], messages=messages)


def with_missing(lab: Lab, session: Session, predictions: Predictions, settings: Settings) -> Predictions:
    """The predictions, with those of models that their session lacks; these are measured now, if on its machine."""
    load, there = predictions.load, {model.way for model in predictions.models}
    missing = [
        name
        for name in _models(lab, load)
        if way_of(name) not in there and choose.lacks(lab.found.probes[name].descriptor, load) is None
    ]
    if not missing or session.header.machine.key != lab.host.key:
        return predictions
    return together(predictions, predict(to_predict(lab, load, settings, models=missing), load, languages()))


def to_predict(
    lab: Lab, load: Serving, settings: Settings, output: Path | None = None, models: Sequence[str] | None = None
) -> Session:
    """A session of these models, or of every one that may be used, with the load's requests but without their work."""
    settings.check()
    chosen = _models(lab, load) if models is None else models
    cases = [case for point in load.to_measure for case in _cases(lab, chosen, load, point)]
    question = Question(one="model", many="models", units=_by_model, blocks=lambda _: _BLOCKS)
    return _measured(lab, cases, load, settings.with_budget(BUDGET), _PREDICTING, question, output)


def to_verify(
    lab: Lab,
    predictions: Predictions,
    settings: Settings,
    output: Path | None,
    margin: float = choose.MARGIN,
    *,
    whole: bool = False,
) -> Chosen | None:
    """What a session says in which the best few serve the load itself; None if none is worth it, or none could.

    It ends when the runner-up is decided, unless it is measured as a ``whole``.
    """
    load = predictions.load
    best = (predictions.able or predictions.models)[:_BUILT]
    if not best:
        return None
    cases = _cases(lab, [f"{FAMILY}/{model.way}" for model in best], load, load.points[0])
    by_prediction = [case.name for model in best for case in cases if way_of(case.probe) == model.way]

    def units(pilots: Mapping[str, Run]) -> list[tuple[str, ...]]:
        ran = [name for name in by_prediction if name in _ran(pilots)]
        return [tuple(ran[:2]), *((name,) for name in ran[2:])] if ran else []

    question = Question(
        one="model beside the best one",
        many="models beside the best one",
        units=units,
        blocks=lambda _: fewest_blocks(1),
    )
    watch = None if whole else _Watch(load, output or sessions.new_path(lab.host.key), margin)
    path = watch.path if watch else output
    try:
        session = _measured(lab, cases, load, settings.with_budget(BUDGET), 1 - _PREDICTING, question, path, watch)
    except NothingMeasuredError:
        lab.messages.say("none of the best models served the load: what is said is the prediction alone")
        return None
    alpha = watch.alpha(session.blocks) if watch else 1 - VERDICT_CONFIDENCE
    return choose.choose(session, load, margin=margin, alpha=alpha)


class _Watch:
    """Ends a session when its runner-up is decided. Each look spends a part of the error rate (stats/stopping.py)."""

    def __init__(self, load: Serving, path: Path, margin: float) -> None:
        self.path = path
        self._load = load
        self._margin = margin
        self._planned = 1

    def plan(
        self, planner: conduct.Planner, cases: Sequence[PlannedCase], pilots: Mapping[str, Run], left_s: float | None
    ) -> Plan:
        """The plan, whose number of blocks is the most."""
        made = planner(cases, pilots, left_s)
        self._planned = made.blocks
        return made

    def alpha(self, blocks: int) -> float:
        """The error rate that a look after these blocks may spend."""
        return alpha_at(min(blocks, self._planned), look_blocks(self._planned), self._planned)

    def enough(self, block: int) -> bool:
        """Whether this was the last block; asked after each."""
        if block >= self._planned or block not in look_blocks(self._planned):
            return block >= self._planned
        seen = choose.choose(sessions.read(self.path), self._load, margin=self._margin, alpha=self.alpha(block))
        verdict = seen.choices[0].verdict
        return verdict is not None and verdict.verdict != "undecided"


def _measured(
    lab: Lab,
    cases: Sequence[Case],
    load: Serving,
    settings: Settings,
    share: float,
    question: Question,
    output: Path | None = None,
    watch: _Watch | None = None,
) -> Session:
    """A session of these cases in a share of the budget, if there is one; in runs that are long enough for a p99."""
    if settings.budget_s is not None:
        settings = settings.with_budget_of(share * settings.budget_s)
    settings = settings if settings.values else replace(settings, values=_VALUES)
    planner: conduct.Planner = Planner(question, settings, lab.messages)
    if settings.target is None and load.rate >= _LEAST_RATE:
        shortest_s, longest_s = _VALUE_S
        run_s = _SOME_MORE * _REQUESTS / load.rate
        value_s = max(shortest_s, run_s / max(_VALUES, math.ceil(run_s / longest_s)))
        settings = replace(settings, target=f"{round(1e3 * value_s)}ms")
        planner = partial(_with_tails, planner)
    header = lab.header(cases, settings)
    if watch is None:
        return lab.measure(header, output, settings, planner=planner)
    return lab.measure(header, output, settings, planner=partial(watch.plan, planner), enough=watch.enough)


def _with_tails(
    planner: conduct.Planner, cases: Sequence[PlannedCase], pilots: Mapping[str, Run], left_s: float | None
) -> Plan:
    longer = [case if case.control else with_operations(case, _REQUESTS) for case in cases]
    return planner(longer, pilots, left_s)


def _models(lab: Lab, load: Serving) -> list[str]:
    """The probes of the models that the load may be served by."""
    written = languages()
    models = [name for name, probe in lab.found.probes.items() if probe.descriptor.family == FAMILY]
    return [name for name in models if not load.languages or written.get(name) in load.languages]


def _cases(lab: Lab, models: Sequence[str], load: Serving, point: Mapping[str, Scalar]) -> list[Case]:
    able = able_among({name: lab.found.probes[name].descriptor for name in models}, load)
    return lab.select(able, [f"{name}={value}" for name, value in point.items()], [load.placement])


def _by_model(pilots: Mapping[str, Run]) -> list[tuple[str, ...]]:
    """The cases of each model that ran, the cheapest model first."""
    models: dict[str, list[str]] = {}
    for name in _ran(pilots):
        models.setdefault(name.partition("[")[0], []).append(name)
    return [tuple(names) for names in sorted(models.values(), key=lambda names: min(_cpu(pilots[n]) for n in names))]


def _ran(pilots: Mapping[str, Run]) -> list[str]:
    return [name for name, run in pilots.items() if name.startswith(f"{FAMILY}/") and run.status == "ok"]


def _cpu(run: Run) -> float:
    return min((value.cpu_ns or 0) / value.operations for value in run.values)
