# SPDX-License-Identifier: Apache-2.0
"""What is drawn of a session: its prices, its curves, the figures of studies."""

import pytest

from steelyard.judge.report import report
from tests.reporting import BIMODAL, PUBLISHED, WAYS, a_full_session, full_costs, the_golden_session
from tests.unit.judge.sessions import steady, weighed

#: Of one level.
OVERHEAD = {"fiber": 3e-9, "call": 2e-9}


@pytest.fixture(scope="module")
def judged():
    [only] = report([a_full_session()]).sessions
    return only


def plot(judged, title):
    [found] = [plot for plot in judged.curves if plot.title == title]
    return found


def test_every_case_stands_in_the_price_list_on_the_row_of_its_mechanism(judged):
    [prices] = judged.prices
    assert {spot.case for series in prices.series for spot in series.spots} == set(full_costs())
    assert all(not series.joined for series in prices.series)
    assert [series.name for series in prices.series][:2] == ["call/loop", "call/direct"]


def test_a_figure_of_others_stands_beside_the_case_that_it_is_about(judged):
    [row] = [series for series in judged.prices[0].series if series.name == "lock/counter_mutex"]
    assert PUBLISHED in {spot.case for spot in row.spots}
    assert row.reference_points
    assert all(point.source.endswith("2014") for point in row.reference_points)


def test_a_sweep_is_a_line_for_each_way_to_hold_the_rest(judged):
    found = plot(judged, "switch/yield by contexts, @same")
    assert [series.name for series in found.series] == ["kind=thread", "kind=process"]
    assert [spot.x for spot in found.series[0].spots] == [1, 2, 16, 128]
    assert all(series.joined for series in found.series)


def test_ways_of_one_family_share_a_figure(judged):
    found = plot(judged, "lock/counter_* by contexts, kind=process @free")
    assert [series.name for series in found.series] == list(WAYS)


def test_an_overhead_that_was_weighed_bounds_its_curve(judged):
    found = plot(judged, "switch/yield by contexts, @same")
    assert [bound.name for bound in found.bounds] == ["overhead: call/loop@same"]
    assert found.unbounded is None
    assert plot(judged, "lock/counter_* by contexts, kind=process @free").unbounded


def test_an_overhead_that_has_the_same_parameter_is_a_line():
    costs = {f"depth/{way}[depth={n}]@same": steady(n * cost) for way, cost in OVERHEAD.items() for n in (2, 8, 64)}
    baselines = {f"depth/fiber[depth={n}]@same": f"depth/call[depth={n}]@same" for n in (2, 8, 64)}
    [judged] = report([weighed(costs, baselines=baselines)]).sessions
    bounds = plot(judged, "depth/fiber by depth, @same").bounds
    assert [bound.name for bound in bounds] == ["overhead: depth/call@same"] * 3
    assert [bound.x for bound in bounds] == [2, 8, 64]
    assert [bound.value for bound in bounds] == pytest.approx([4e-9, 16e-9, 128e-9], rel=0.05)


def test_too_many_lines_are_drawn_apart_by_the_choice_that_has_the_fewest():
    ways, caches = ("pread", "threads", "callback", "lazy", "fiber", "hybrid"), ("cached", "direct")
    costs = {
        f"file/one[way={way},size={size},cache={cache}]@same": steady(size * 1e-9)
        for way in ways
        for size in (8192, 16384, 32768)
        for cache in caches
    }
    [judged] = report([weighed(costs)]).sessions
    for cache in caches:
        found = plot(judged, f"file/one by size, cache={cache} @same")
        assert [series.name for series in found.series] == [f"way={way}" for way in ways]


def test_a_study_s_own_figure_has_its_curves_and_ours_under_one_name():
    costs = {f"depth/{way}[depth={2**n}]@same": steady(2**n * 1e-9) for way in OVERHEAD for n in range(1, 12)}
    [judged] = report([weighed(costs)]).sessions
    [study] = judged.studies
    assert study.title == "A recursion of so many levels (alibaba/async_simple, 2022)"
    series = {one.name: one for one in study.series}
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
