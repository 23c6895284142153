# SPDX-License-Identifier: Apache-2.0
import pytest

from steelyard.judge.report import report
from tests.reporting import BIMODAL, PUBLISHED, WAYS, a_full_session, a_report, full_costs, the_golden_session


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
    assert row.ghosts
    assert all(ghost.source.endswith("2014") for ghost in row.ghosts)


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


def test_a_mixture_comes_with_both_its_modes(judged):
    [spot] = [spot for series in judged.prices[0].series for spot in series.spots if spot.case == BIMODAL]
    assert [mode.median for mode in spot.modes] == pytest.approx([2e-6, 80e-6], rel=0.05)


def test_the_setup_says_how_to_do_it_again(judged):
    setup = judged.setup
    assert setup.command == "steelyard run 'call/*' --seed 7"
    [technique] = [one for one in setup.techniques if one.probe == "switch/yield"]
    assert technique.factors == {"contexts": (1, 2, 16, 128), "kind": ("thread", "process")}
    assert technique.placements == ("same",)


def test_a_session_of_the_same_machine_is_compared_and_one_of_another_stands_apart():
    made = a_report()
    [compared] = made.comparisons
    assert (compared.a, compared.b) == ("a", "b")
    assert made.apart == ("session C",)
    assert [judged.label for judged in made.sessions] == ["session A", "session B", "session C"]


def test_controls_are_planned_and_drawn_nowhere():
    [judged] = report([the_golden_session()]).sessions
    drawn = {spot.case for plot in (*judged.prices, *judged.curves) for series in plot.series for spot in series.spots}
    assert not any(name.startswith("null/") for name in drawn)
    assert any(name.startswith("null/") for name in judged.planned)
