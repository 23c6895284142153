# SPDX-License-Identifier: Apache-2.0
"""The two sessions behind the choice of a model: one to predict from, and one in which the best few serve the load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from steelyard.errors import SelectionError, UsageError
from steelyard.judge import choose
from steelyard.judge.model import FAMILY, Predictions, Serving
from steelyard.judge.stats.planning import fewest_blocks
from steelyard.lab.messages import Messages
from steelyard.lab.planning import Planner, Question
from steelyard.lab.session import Lab
from steelyard.measure import catalog
from steelyard.records import Case, Run, Scalar, Session
from steelyard.settings import Settings
from steelyard.show import reasons
from steelyard.units import format_duration, parse_duration

#: How long it all takes, unless it is said otherwise.
BUDGET = "4m"
#: The share of it that predicting takes; the rest is for building the best few.
_PREDICTING = 0.55
#: How many models are built.
_BUILT = 3
#: Values of a run: each is a quarter of a second of load at least, and starting takes longer than one.
_VALUES = 2


def languages() -> Mapping[str, str]:
    """What each model is written in, by its probe."""
    return catalog.languages(catalog.probe_folders())


def lab_for(load: Serving, messages: Messages) -> Lab:
    """The lab with the models that the load may be served by; raises UsageError for a load that none can be."""
    if 10 * load.wait_us / 1e6 > parse_duration(BUDGET):
        wait = format_duration(load.wait_us / 1e6)
        raise UsageError(f"a wait of {wait} is too long for the {BUDGET} that all may take: describe a shorter one")
    written = {probe: language for probe, language in languages().items() if probe.startswith(f"{FAMILY}/")}
    there = sorted(set(written.values()))
    if unknown := [name for name in load.languages if name not in there]:
        raise UsageError(f"languages: no model is written in {unknown[0]}; there are {', '.join(there)}")
    allowed = [probe for probe, language in written.items() if language in load.languages]
    return Lab(selectors=allowed or [FAMILY], messages=messages)


def to_predict(lab: Lab, load: Serving, settings: Settings, output: Path | None = None) -> Session:
    """A session of every model that may be used, with the load's requests but without their work."""
    settings.check()
    written = languages()
    allowed = [name for name in _models(lab) if not load.languages or written.get(name) in load.languages]
    cases = _cases(lab, allowed, load, load.without_work)
    question = Question(
        one="model",
        many="models",
        units=lambda pilots: [(name,) for name in sorted(_ran(pilots), key=lambda name: _cpu(pilots[name]))],
        blocks=lambda _: 1,
    )
    return _measured(lab, cases, settings.with_budget(BUDGET), _PREDICTING, question, output)


def to_verify(lab: Lab, predictions: Predictions, settings: Settings, output: Path | None) -> Session | None:
    """A session in which the best few serve the load itself; None if none is worth it."""
    load = predictions.load
    best = (predictions.able or predictions.models)[:_BUILT]
    if not best:
        return None
    cases = _cases(lab, [f"{load.question}/{model.way}" for model in best], load, load.points[0])
    question = Question(
        one="model beside the best one",
        many="models beside the best one",
        units=lambda pilots: [tuple(_ran(pilots))] if _ran(pilots) else [],
        blocks=lambda _: fewest_blocks(1),
    )
    return _measured(lab, cases, settings.with_budget(BUDGET), 1 - _PREDICTING, question, output)


def _measured(
    lab: Lab, cases: Sequence[Case], settings: Settings, share: float, question: Question, output: Path | None = None
) -> Session:
    """A session of these cases in a share of the budget, if there is one."""
    if settings.budget_s is not None:
        settings = settings.with_budget_of(share * settings.budget_s)
    settings = settings if settings.values else replace(settings, values=_VALUES)
    return lab.measure(lab.header(cases, settings), output, settings, planner=Planner(question, settings, lab.messages))


def _models(lab: Lab) -> list[str]:
    return [name for name, probe in lab.found.probes.items() if probe.descriptor.family == FAMILY]


def _cases(lab: Lab, models: Sequence[str], load: Serving, point: Mapping[str, Scalar]) -> list[Case]:
    lacking = {name: choose.lacks(lab.found.probes[name].descriptor, load) for name in models}
    able = [name for name, reason in lacking.items() if reason is None]
    if not able:
        every = dict.fromkeys(reasons.said(reason) for reason in lacking.values() if reason)
        said = "; ".join(f"each {reason}" for reason in every) or "none is installed"
        raise SelectionError(f"no model can serve this load: {said}")
    return lab.select(able, [f"{name}={value}" for name, value in point.items()], [load.placement])


def _ran(pilots: Mapping[str, Run]) -> list[str]:
    return [name for name, run in pilots.items() if name.startswith("serve/") and run.status == "ok"]


def _cpu(run: Run) -> float:
    return min((value.cpu_ns or 0) / value.operations for value in run.values)
