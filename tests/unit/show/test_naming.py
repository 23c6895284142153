# SPDX-License-Identifier: Apache-2.0
"""What people call a mechanism stands beside what can be typed."""

import pytest

from steelyard.judge.findings import judge
from steelyard.judge.plots import Plot, Series
from steelyard.show import naming
from tests.unit.judge.sessions import steady, weighed

TITLES = {"switch/yield": "sched_yield"}


@pytest.mark.parametrize(
    ("word", "said"),
    {"kind=thread": "kind thread", "@same": "one CPU", "@cross~old": "two CPUs, old", "@free": "unpinned"}.items(),
)
def test_a_setting_is_said_in_words(word, said):
    assert naming.setting(word) == said


def test_a_case_is_said_in_words_beside_its_name():
    name = "switch/yield[contexts=2,kind=thread]@same"
    assert naming.in_words(name, TITLES) == "sched_yield, contexts 2, kind thread, one CPU"
    assert naming.with_name(name, TITLES) == f"sched_yield ({name})"


def test_a_probe_that_pins_its_contexts_is_not_called_unpinned():
    assert naming.settings(["pinned=cores", "@free"]) == "pinned cores"
    assert naming.settings(["pinned=no", "@free"]) == "pinned no, unpinned"


@pytest.mark.parametrize(
    ("name", "said"),
    {
        "switch/yield": "sched_yield",
        "switch/yield@same": "sched_yield, one CPU",
        "switch/yield[contexts=2]": "sched_yield, contexts 2",
    }.items(),
)
def test_what_a_name_leaves_out_is_left_out(name, said):
    assert naming.in_words(name, TITLES) == said


@pytest.mark.parametrize("name", ["switch/pipe@same", "BM_sort/1024", "", "[]@", "a benchmark of another tool"])
def test_without_a_title_the_name_stands_alone(name):
    assert naming.in_words(name, TITLES) == naming.with_name(name, TITLES) == name


def test_a_measured_case_is_said_alike():
    session = weighed({"switch/yield[contexts=2,kind=thread]@same": steady(1e-6)}, titles=TITLES)
    findings = judge(session)
    [case] = findings.cases
    assert naming.of_case(case) == naming.in_words(case.case, findings.titles)


def plot(**more):
    series = (Series(title="", group="", joined=False, spots=()),)
    return Plot(**{"id": "x", "kind": "prices", "unit": "s", "better": "lower", "series": series, **more})


@pytest.mark.parametrize(
    ("made", "title"),
    [
        (plot(), "What one operation costs"),
        (plot(unit="B"), "How much memory one takes"),
        (plot(unit="B/s", better="higher"), "How much goes through"),
        (plot(unit="1", better="neither"), "What was counted"),
        (plot(kind="study", subject="Costs", source="seed, 1999"), "Costs (seed, 1999)"),
    ],
)
def test_a_figure_is_titled_by_what_it_shows(made, title):
    assert naming.title(made) == title


def test_a_figure_of_curves_says_what_all_of_them_have_alike():
    curves = plot(kind="curves", question="message", subject="latency", x="size", alike=("kind=process",))
    assert naming.title(curves) == "Message: latency by size, kind process"
    parts = plot(kind="curves", question="message", subject="latency", x="size", parts=(("@same",), ("@cross",)))
    assert naming.title(parts) == "Message: latency by size"
    assert naming.title(parts, 1) == "Message: latency by size, two CPUs"
