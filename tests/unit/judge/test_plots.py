# SPDX-License-Identifier: Apache-2.0
"""What is drawn of a session: its prices, its curves, the figures of studies."""

import pytest

from steelyard.judge import rules
from steelyard.judge.answers import first_session
from steelyard.judge.report import report
from tests.reporting import BIMODAL, PUBLISHED, WAYS, a_full_session, full_costs, the_golden_session
from tests.unit.judge.sessions import steady, weighed

#: Of one level.
OVERHEAD = {"fiber": 3e-9, "call": 2e-9}


@pytest.fixture(scope="module")
def judged():
    [only] = report([a_full_session()]).sessions
    return only


def plot(judged, subject):
    [found] = [plot for plot in judged.curves if plot.subject == subject]
    return found


def words_of(plot):
    """The series of each part, by what sets them apart."""
    return [
        [" ".join([series.title, *series.settings]).strip() for series in plot.series if series.part == number]
        for number in range(max(1, len(plot.parts)))
    ]


def test_every_case_stands_in_the_price_list_on_the_row_of_its_mechanism(judged):
    [prices] = judged.prices
    assert {spot.case for series in prices.series for spot in series.spots} == set(full_costs())
    assert all(not series.joined for series in prices.series)
    assert [series.title for series in prices.series][:2] == ["call/loop", "call/direct"]


def test_a_figure_of_others_stands_beside_the_case_that_it_is_about(judged):
    [row] = [series for series in judged.prices[0].series if series.title == "lock/counter_mutex"]
    assert PUBLISHED in {spot.case for spot in row.spots}
    assert row.reference_points
    assert all(point.source.endswith("2014") for point in row.reference_points)


def test_a_sweep_is_a_line_for_each_way_to_hold_the_rest(judged):
    found = plot(judged, "switch/yield")
    assert (found.x, found.alike) == ("contexts", ("@same",))
    assert words_of(found) == [["kind=thread", "kind=process"]]
    assert [spot.x for spot in found.series[0].spots] == [1, 2, 16, 128]
    assert all(series.joined for series in found.series)


def test_ways_of_one_family_share_a_figure(judged):
    found = plot(judged, "counter")
    assert found.alike == ("kind=process", "@free")
    assert words_of(found) == [list(WAYS)]


#: Calls of several languages that are recursions of one kind.
CHAINS = {"depth/call": "C++ call", "depth/js_await": "JavaScript async function", "depth/await_chain": "Python await"}


def test_mechanisms_of_one_family_share_a_figure_whatever_they_are_called():
    costs = {f"{probe}[depth={n}]@same": steady(n * 1e-9) for probe in CHAINS for n in (1, 10, 50, 100)}
    [judged] = report([weighed(costs, family=dict.fromkeys(CHAINS, "chain"), titles=CHAINS)]).sessions
    [found] = judged.curves
    assert (found.subject, found.question, found.drawn) == ("chain", "depth", True)
    assert words_of(found) == [list(CHAINS.values())]
    [again] = report([weighed(costs, titles=CHAINS)]).sessions
    assert [found.subject for found in again.curves] == list(CHAINS.values())


def test_curves_of_few_points_are_no_picture_and_lose_no_point():
    costs = {f"create/fork[resident_mib={n}]@same": steady(n * 1e-6) for n in (1, 64, 256)}
    [judged] = report([weighed(costs)]).sessions
    [found] = judged.curves
    assert not found.drawn
    assert [spot.x for spot in found.series[0].spots] == [1, 64, 256]
    assert all(rule.broken == () for rule in rules.check(report([weighed(costs)])) if rule.number == 12)


def test_an_overhead_that_was_weighed_bounds_its_curve(judged):
    found = plot(judged, "switch/yield")
    assert [(bound.kind, bound.title, bound.settings) for bound in found.bounds] == [
        ("overhead", "call/loop", ("@same",))
    ]
    assert found.unbounded is None
    assert plot(judged, "counter").unbounded == "none is known"


def test_an_overhead_that_has_the_same_parameter_is_a_line():
    costs = {f"depth/{way}[depth={n}]@same": steady(n * cost) for way, cost in OVERHEAD.items() for n in (2, 8, 64)}
    baselines = {f"depth/fiber[depth={n}]@same": f"depth/call[depth={n}]@same" for n in (2, 8, 64)}
    [judged] = report([weighed(costs, baselines=baselines)]).sessions
    bounds = plot(judged, "depth/fiber").bounds
    assert [(bound.title, bound.settings) for bound in bounds] == [("depth/call", ("@same",))] * 3
    assert [bound.x for bound in bounds] == [2, 8, 64]
    assert [bound.value for bound in bounds] == pytest.approx([4e-9, 16e-9, 128e-9], rel=0.05)
    family = dict.fromkeys(("depth/fiber", "depth/call"), "chain")
    [together] = report([weighed(costs, baselines=baselines, family=family)]).sessions[0].curves
    assert (together.bounds, together.unbounded) == ((), "drawn among the others")


def test_too_many_lines_are_shown_in_parts_by_place_and_by_the_choice_that_has_the_fewest():
    ways = tuple(f"channel_{letter}" for letter in "abcdefghijklmn")
    costs = {
        f"message/{way}[size={size},kind={kind}]{where}": steady(size * 1e-9)
        for way in ways
        for size in (8192, 16384, 32768)
        for kind in ("process", "thread")
        for where in ("@same", "@free")
    }
    [judged] = report([weighed(costs, family=dict.fromkeys((f"message/{way}" for way in ways), "bandwidth"))]).sessions
    [found] = judged.curves
    assert found.parts == (
        ("@same", "kind=process"),
        ("@same", "kind=thread"),
        ("@free", "kind=process"),
        ("@free", "kind=thread"),
    )
    assert words_of(found) == [list(ways)] * 4
    assert {spot.case for series in found.series for spot in series.spots} == set(costs)


def test_a_first_session_has_one_picture_of_its_answers_in_their_words():
    costs = {
        f"{price.case}{'' if '@' in price.case else '@same'}": steady(1e-6)
        for group in first_session().group[:3]
        for price in group.price
    }
    [judged] = report([weighed(costs)]).sessions
    assert judged.picture is not None
    assert judged.picture.series[0].title == "function"
    assert {series.group for series in judged.picture.series} == {group.title for group in first_session().group[:3]}
    assert report([a_full_session()]).sessions[0].picture is None


def test_a_study_s_own_figure_has_its_curves_and_ours_under_one_name():
    costs = {f"depth/{way}[depth={2**n}]@same": steady(2**n * 1e-9) for way in OVERHEAD for n in range(1, 12)}
    [judged] = report([weighed(costs)]).sessions
    [study] = judged.studies
    assert (study.subject, study.source) == ("A recursion of so many levels", "alibaba/async_simple, 2022")
    series = {one.title: one for one in study.series}
    assert list(series) == ["stackless", "noexcept", "static frames", "stackful", "a plain call"]
    assert [spot.x for spot in series["stackful"].spots] == [point.x for point in series["stackful"].reference_points]
    assert not series["stackless"].spots
    assert not series["a plain call"].reference_points
    assert study.notes


def test_a_study_s_figure_of_which_two_points_were_measured_is_a_table_alone():
    [judged] = report([weighed({f"depth/fiber[depth={n}]@same": steady(n * 1e-9) for n in (2, 4)})]).sessions
    assert judged.studies == ()
    assert judged.findings.tables


def test_a_mixture_comes_with_both_its_modes(judged):
    [spot] = [spot for series in judged.prices[0].series for spot in series.spots if spot.case == BIMODAL]
    assert [mode.median for mode in spot.modes] == pytest.approx([2e-6, 80e-6], rel=0.05)


def test_controls_are_planned_and_drawn_nowhere():
    [judged] = report([the_golden_session()]).sessions
    drawn = {spot.case for plot in (*judged.prices, *judged.curves) for series in plot.series for spot in series.spots}
    assert not any(name.startswith("null/") for name in drawn)
    assert any(name.startswith("null/") for name in judged.planned)
