# SPDX-License-Identifier: Apache-2.0
import msgspec
import pytest

from steelyard.measure import plan
from tests.making import a_case, a_planned

CASES = [a_planned(a_case(n=number)) for number in range(20)]


def test_a_block_runs_every_case_once():
    assert sorted(case.case.name for case in plan.order(CASES, 1, seed=3)) == sorted(case.case.name for case in CASES)


def test_the_same_seed_gives_the_same_order():
    assert plan.order(CASES, 4, seed=3) == plan.order(CASES, 4, seed=3)


def test_another_seed_gives_another_order():
    assert plan.order(CASES, 4, seed=3) != plan.order(CASES, 4, seed=4)


def test_every_block_has_an_order_of_its_own():
    orders = [plan.order(CASES, block, seed=3) for block in range(1, 9)]
    assert all(one != other for index, one in enumerate(orders) for other in orders[:index])


def test_the_order_does_not_touch_the_plan():
    before = list(CASES)
    plan.order(CASES, 1, seed=3)
    assert before == CASES


def test_padding_is_drawn_anew_for_every_run_and_is_repeatable():
    drawn = {plan.padding(1, block, "a", attempt) for block in range(1, 20) for attempt in (1, 2)}
    assert len(drawn) > 30
    assert all(0 <= padding < plan.MOST_PADDING for padding in drawn)
    assert plan.padding(1, 2, "a", 1) == plan.padding(1, 2, "a", 1)


@pytest.mark.parametrize(
    ("overhead_s", "values"),
    [(0.0, 9), (0.020, 9), (0.0225, 9), (0.05, 20), (10.0, plan.MOST_VALUES)],
    ids=["no overhead", "little", "just as much", "more", "no end of it"],
)
def test_a_run_has_more_values_where_starting_it_takes_long(overhead_s, values):
    assert plan.values_for(overhead_s, 0.01, 9)[0] == values


def test_nobody_gets_fewer_values_than_he_asked_for():
    assert plan.values_for(10.0, 0.01, 500) == (500, 1.0)


def test_beyond_the_most_values_each_gets_longer_until_the_longest_timed_part():
    values, longer = plan.values_for(10.0, 0.01, 9)
    assert values == plan.MOST_VALUES
    assert values * longer * 0.01 == pytest.approx(plan.MOST_TIMED_S)


@pytest.mark.parametrize(("budget_s", "blocks"), [(0.0, 1), (0.19, 1), (1.0, 5), (1.19, 5)])
def test_as_many_blocks_as_fit_and_at_least_one(budget_s, blocks):
    assert plan.blocks_for(budget_s, CASES) == blocks


def test_of_an_empty_plan_there_is_no_end_of_blocks_but_no_division_by_zero():
    assert plan.blocks_for(1.0, []) >= 1


def test_the_controls_are_an_identical_pair_and_one_that_is_five_percent_slower():
    first, twin, slower = plan.controls()
    assert (first.parameters["delay_percent"], twin.parameters["delay_percent"]) == (0, 0)
    assert first.name != twin.name
    assert slower.parameters["delay_percent"] == 5


def test_variants_of_one_case_get_the_same_numbers_and_other_parameters_do_not():
    one, two = (a_case("example/steady", n=1), a_case("example/steady", n=2))
    variants = [msgspec.structs.replace(one, variant=label) for label in ("a", "b")]
    cases = [
        msgspec.structs.replace(a_planned(case), operations=number * 10, values=number, group="pair")
        for number, case in enumerate((*variants, two), start=3)
    ]
    assert [(case.operations, case.values) for case in plan.level(cases)] == [(30, 3), (30, 3), (50, 5)]


def test_cases_without_a_group_keep_their_numbers():
    cases = [msgspec.structs.replace(a_planned(a_case("example/steady")), operations=7)]
    assert plan.level(cases) == cases


def test_a_series_that_warms_up_is_no_shorter_than_it_should_be():
    values, longer = plan.values_for(0.001, 0.002, 5, least_s=0.8)
    assert values == plan.MOST_VALUES
    assert values * longer * 0.002 == pytest.approx(0.8)


def test_a_group_stays_together_in_every_block():
    cases = [
        msgspec.structs.replace(a_planned(a_case("example/steady", n=n)), group="pair" if n in (2, 5) else "")
        for n in range(8)
    ]
    for block in range(1, 30):
        order = [planned.case.parameters["n"] for planned in plan.order(cases, block, seed=1)]
        assert abs(order.index(2) - order.index(5)) == 1
        assert sorted(order) == list(range(8))


def test_a_short_budget_takes_values_away_until_six_blocks_fit():
    cases = [msgspec.structs.replace(a_planned(a_case(n=n)), values=10, run_s=1.1, overhead_s=0.1) for n in range(4)]
    shorter = plan.fit(cases, budget_s=17.0 / plan.PLANNED_SHARE)
    assert plan.blocks_for(17.0, shorter) >= plan.FEWEST_BLOCKS
    assert {case.values for case in shorter} == {6}
    assert shorter[0].run_s == pytest.approx(0.7)


def test_where_the_fewest_values_are_too_many_they_get_shorter():
    cases = [msgspec.structs.replace(a_planned(a_case(n=n)), values=10, run_s=1.1, overhead_s=0.1) for n in range(4)]
    [length] = {case.operations / 1000 for case in plan.fit(cases, budget_s=10.0 / plan.PLANNED_SHARE)}
    assert length == plan.SHORTER[1]


def test_a_short_budget_leaves_a_series_that_warms_up_its_length():
    cases = [msgspec.structs.replace(a_planned(a_case(n=n)), values=24, least_values=20, run_s=1.0) for n in range(4)]
    assert {(case.values, case.operations) for case in plan.fit(cases, budget_s=1.0)} == {(20, 1000)}


def test_a_long_budget_takes_nothing_away():
    cases = [a_planned(a_case(n=n)) for n in range(4)]
    assert plan.fit(cases, budget_s=100.0) == cases


def test_a_budget_for_nothing_leaves_the_fewest_values():
    cases = [msgspec.structs.replace(a_planned(a_case(n=n)), values=10, run_s=9.0) for n in range(4)]
    assert {case.values for case in plan.fit(cases, budget_s=1.0)} == {plan.FEWEST_VALUES}


# --- what there is no time for ---------------------------------------------------------------------------------------


def test_one_case_of_each_probe_comes_before_a_second_one_and_ends_of_a_sweep_before_its_middle():
    cases = [a_case(probe, n=number) for probe in ("a/x", "b/y") for number in range(5)]
    ordered = plan.most_telling_first(cases)
    assert sorted(case.name for case in ordered) == sorted(case.name for case in cases)
    assert [case.probe for case in ordered] == ["a/x", "b/y"] * 5
    assert [case.parameters["n"] for case in ordered if case.probe == "a/x"] == [0, 4, 2, 1, 3]


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_every_case_of_a_sweep_has_its_place(count):
    assert len(set(plan.most_telling_first([a_case(n=number) for number in range(count)]))) == count


def long_cases(count=5, **more):
    """Cases whose run takes a second, whatever is taken away from it."""
    return [a_planned(a_case(n=n), run_s=1.0, overhead_s=1.0, **more) for n in range(count)]


def each(cases):
    return [(case.case.name,) for case in cases]


def test_as_many_units_are_kept_as_get_their_blocks():
    cases = long_cases()
    kept, units = plan.as_many_as_fit(cases, each(cases), 18.0 / plan.PLANNED_SHARE, lambda _: 6)
    assert ([case.case for case in kept], units) == ([case.case for case in cases[:3]], 3)


def test_more_units_may_need_more_blocks():
    cases = long_cases()
    _, units = plan.as_many_as_fit(cases, each(cases), 18.0 / plan.PLANNED_SHARE, lambda count: 5 + count)
    assert units == 2


def test_runs_are_shortened_before_a_unit_is_left_out():
    cases = [a_planned(a_case(n=n), values=20, run_s=1.0) for n in range(4)]
    kept, units = plan.as_many_as_fit(cases, each(cases), 12.0 / plan.PLANNED_SHARE, lambda _: 6)
    assert units == 4
    assert all(case.values < 20 for case in kept)


def test_both_sides_of_a_pair_are_kept_or_left_out_together():
    cases = long_cases(4)
    names = [case.case.name for case in cases]
    kept, units = plan.as_many_as_fit(cases, [names[:2], names[2:]], 14.0 / plan.PLANNED_SHARE, lambda _: 6)
    assert ([case.case.name for case in kept], units) == (names[:2], 1)


def test_a_baseline_and_the_controls_stay_with_what_needs_them():
    base = a_planned(a_case("call/loop"), control=True)
    other = a_planned(a_case("call/other"), control=True)
    null = a_planned(plan.controls()[0], control=True)
    cases = [*long_cases(2, baseline=base.case.name), *long_cases(1), base, other, null]
    kept, _ = plan.as_many_as_fit([*cases[:2], base, other, null], [(cases[0].case.name,)], 100.0, lambda _: 6)
    assert [case.case for case in kept] == [cases[0].case, base.case, null.case]


def test_where_nothing_gets_its_blocks_one_block_of_as_many_as_fit_is_kept():
    cases = long_cases()
    kept, units = plan.as_many_as_fit(cases, each(cases), 3.0 / plan.PLANNED_SHARE, lambda _: 6)
    assert (len(kept), units) == (3, 0)
    kept, units = plan.as_many_as_fit(cases, each(cases), 0.1, lambda _: 6)
    assert (len(kept), units) == (1, 0), "there is always something to measure"
