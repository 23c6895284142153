# SPDX-License-Identifier: Apache-2.0
"""The page of which model serves which load, generated from built sessions into a copy of the documentation."""

import shutil

import pytest

from steelyard.errors import UsageError
from steelyard.records import End, Plan
from tests import many
from tests.golden import which_model
from tests.making import a_case, a_descriptor, a_header, a_metric, a_planned, a_run, a_session, an_integer

COSTS = {"epoll": 60e-6, "thread": 62e-6, "fork": 95e-6}
BLOCKS = 7
PARAMETERS = (an_integer("connections", 10, 1000, maximum=20_000), an_integer("wait_us", 0, unit="us", maximum=10**6))


@pytest.fixture
def docs(tmp_path):
    """What the generator writes to, without the page."""
    for name, _before, _link in which_model.LINKS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(which_model.DOCS / name, tmp_path / name)
    for name in (which_model.PAGE, which_model.FIGURE):
        (tmp_path / name).parent.mkdir(exist_ok=True)
    return tmp_path


def a_file(folder, models=COSTS):
    """A session file: models under two numbers of connections, a thread dearer with the larger one."""
    cases = {
        a_case(f"serve/{name}", "cross", connections=connections, wait_us=0): cost
        * (1.5 if (name, connections) == ("thread", 1000) else 1)
        for name, cost in models.items()
        for connections in (10, 1000)
    }
    runs = [
        a_run(case, block, cost * (1 + block / 100)) for case, cost in cases.items() for block in range(1, 1 + BLOCKS)
    ]
    probes = tuple(
        a_descriptor(f"serve/{name}", title=f"the {name}", metrics=(a_metric("cpu"),), parameters=PARAMETERS)
        for name in models
    )
    command = ("run", "serve/*", "-o", "/somewhere/of.session.jsonl", "--blocks", "7")
    session = a_session(
        Plan(cases=tuple(a_planned(case) for case in cases), blocks=BLOCKS),
        *runs,
        End(at="2026-01-02T03:05:05+00:00", reason="blocks", blocks=BLOCKS, wall_s=60.0, timed_s=30.0),
        header=a_header(*cases, probes=probes, command=command),
    )
    return many.write(folder / "one.session.jsonl", many.lines_of(session))


def test_a_session_becomes_a_page_with_its_figure_and_links_to_it(docs):
    session = a_file(docs)
    which_model.write([session], docs)
    page = (docs / which_model.PAGE).read_text()
    assert "- this load: good enough up to 10 connections; ×1.55 with 1000" in page
    assert "| the fork | 0 of 2 | 2 |" in page
    assert "3 models under 2 loads" in page
    assert "$ steelyard run 'serve/*' --blocks 7 --seed 7" in page
    assert "/somewhere" not in page
    assert "the epoll" in (docs / which_model.FIGURE).read_text()
    for name, _before, _link in which_model.LINKS:
        assert which_model.PAGE in (docs / name).read_text()
    linked = [(docs / name).read_text() for name, *_ in which_model.LINKS]
    which_model.write([session], docs)
    assert linked == [(docs / name).read_text() for name, *_ in which_model.LINKS], "a second time changes nothing"


def test_a_session_without_a_choice_leaves_everything_as_it_is(docs):
    before = [(docs / name).read_text() for name, *_ in which_model.LINKS]
    with pytest.raises(UsageError, match="no load that three models"):
        which_model.write([a_file(docs, models={"epoll": 1e-6, "thread": 1e-6})], docs)
    assert not (docs / which_model.PAGE).exists()
    assert before == [(docs / name).read_text() for name, *_ in which_model.LINKS]
