# SPDX-License-Identifier: Apache-2.0
"""The sessions behind the choice of a model: what is measured of a model that a session lacks, and for how long."""

from types import SimpleNamespace

import msgspec
import pytest

from steelyard.errors import NothingMeasuredError
from steelyard.judge.model import predict
from steelyard.lab import model
from steelyard.records import Plan
from steelyard.settings import Settings
from tests.making import a_case, a_planned, a_run, a_value
from tests.many import lines_of, write
from tests.unit.judge.test_model import LANGUAGES, a_demand, served


@pytest.fixture
def laboratory(monkeypatch):
    """A lab with three models, in which each is predicted as soon as it is measured; and what was measured."""
    measured = []

    def to_predict(lab, load, settings, models):
        measured.append(models)
        return served(dict.fromkeys((name.removeprefix("serve/") for name in models), 90e-6), at=load)

    monkeypatch.setattr(model, "to_predict", to_predict)
    monkeypatch.setattr(model, "languages", lambda: LANGUAGES)
    session = served({"epoll": 20e-6, "thread": 30e-6, "goroutine": 10e-6})
    probes = {name: SimpleNamespace(descriptor=of.descriptor) for name, of in session.header.probes.items()}
    return SimpleNamespace(found=SimpleNamespace(probes=probes), host=session.header.machine), measured


def test_models_that_a_session_lacks_are_measured(laboratory):
    lab, measured = laboratory
    load, session = a_demand(languages=("c",)), served({"epoll": 20e-6})
    found = model.with_missing(lab, session, predict(session, load, LANGUAGES), Settings())
    assert measured == [["serve/thread"]]
    assert [one.way for one in found.models] == ["epoll", "thread"]


def test_on_another_machine_nothing_is_measured(laboratory):
    lab, measured = laboratory
    lab.host = msgspec.structs.replace(lab.host, key="another")
    session = served({"epoll": 20e-6})
    predictions = predict(session, a_demand(), LANGUAGES)
    assert model.with_missing(lab, session, predictions, Settings()) == predictions
    assert measured == []


def test_what_no_model_could_serve_is_not_measured(laboratory):
    lab, measured = laboratory
    session, load = served({"epoll": 20e-6}), a_demand(depth=10**6)
    model.with_missing(lab, session, predict(session, load, LANGUAGES), Settings())
    assert measured == []


def test_where_no_model_serves_the_load_the_prediction_is_left(laboratory):
    lab, _ = laboratory
    said = []

    def measure(*_, **__):
        raise NothingMeasuredError("no selected case could be measured here")

    lab.messages = SimpleNamespace(say=said.append)
    lab.select = lambda models, *_: [a_case(name) for name in models]
    lab.header, lab.measure = lambda *_: None, measure
    predictions = predict(served({"epoll": 20e-6}), a_demand(), LANGUAGES)
    assert model.to_verify(lab, predictions, Settings(), None) is None
    assert said == ["none of the best models served the load: what is said is the prediction alone"]


def test_every_model_has_requests_enough_for_a_p99_and_the_controls_are_as_they_were():
    planned = [a_planned(a_case(n=1), operations=350, values=2), a_planned(a_case(n=2), values=2, control=True)]
    seen = []
    model._with_tails(lambda cases, pilots, left_s: seen.extend(cases), planned, {}, None)
    assert [case.values for case in seen] == [4, 2]
    assert seen[0].operations * seen[0].values >= 1000
    assert seen[0].least_values == 4


@pytest.mark.parametrize(("costs", "decided"), [({"epoll": 20e-6, "thread": 90e-6}, True), ({"epoll": 20e-6}, False)])
def test_a_verification_ends_when_the_runner_up_is_decided(tmp_path, costs, decided):
    """Of 11 blocks it is looked at after 8, among others."""
    load = a_demand(work_ns=0)
    watch = model._Watch(load, write(tmp_path / "a.session.jsonl", lines_of(served(costs, at=load))), 0.05)
    watch.plan(lambda *_: Plan(cases=(), blocks=11), [], {}, None)
    assert [watch.enough(block) for block in (7, 8, 11)] == [False, decided, True]
    assert watch.alpha(8) < watch.alpha(11) < 0.05


def test_the_cheapest_model_is_measured_first_with_all_of_its_cases():
    cases = served({"thread": 40e-6, "epoll": 20e-6}, at=a_demand(cores=2), share=1.0).header.selection
    cost = {"serve/thread": 40e-6, "serve/epoll": 20e-6}
    pilots = {case.name: a_run(case, 0, values=(a_value(cpu_ns=round(cost[case.probe] * 1e12)),)) for case in cases}
    [first, second] = model._by_model(pilots)
    assert [len(first), len(second)] == [2, 2]
    assert all(name.startswith("serve/epoll[") for name in first)
