# SPDX-License-Identifier: Apache-2.0
from hypothesis import given
from hypothesis import strategies as st

from steelyard.measure import plan
from tests.making import a_case, a_planned

cases = st.lists(st.integers(0, 10_000), unique=True, max_size=60).map(
    lambda numbers: [a_planned(a_case(n=number)) for number in numbers]
)
seeds = st.integers(0, 2**64)
blocks = st.integers(1, 10_000)


@given(cases, blocks, seeds)
def test_every_block_is_a_permutation_of_the_cases(planned, block, seed):
    ordered = plan.order(planned, block, seed)
    assert sorted(case.case.name for case in ordered) == sorted(case.case.name for case in planned)


@given(cases, blocks, seeds)
def test_the_same_seed_gives_the_same_order_whatever_was_asked_for_before(planned, block, seed):
    before = plan.order(planned, block, seed)
    plan.order(planned, block + 1, seed)
    plan.padding(seed, block, "another", 1)
    assert plan.order(planned, block, seed) == before


@given(seeds, blocks, st.text(max_size=20), st.integers(1, 5))
def test_padding_is_within_its_limits(seed, block, name, attempt):
    assert 0 <= plan.padding(seed, block, name, attempt) < plan.MOST_PADDING


@given(st.floats(0, 1e4), st.floats(1e-6, 10), st.integers(1, 1000))
def test_a_run_has_no_fewer_values_than_wanted_and_no_more_than_are_worth_it(overhead_s, target_s, values):
    found, longer = plan.values_for(overhead_s, target_s, values)
    assert longer >= 1.0
    assert values <= found <= max(values, plan.MOST_VALUES)


@given(st.floats(0, 1e5), st.floats(0, 1e5), st.floats(1e-6, 10), st.integers(1, 99))
def test_more_overhead_never_gives_fewer_values(one, other, target_s, values):
    less, more = sorted((one, other))
    assert plan.values_for(less, target_s, values) <= plan.values_for(more, target_s, values)  # values, then length


@given(st.floats(0, 1e6), st.lists(st.floats(1e-3, 100), min_size=1, max_size=20))
def test_the_blocks_of_a_budget_fit_into_it(budget_s, lengths_s):
    planned = [a_planned(a_case(n=n), run_s=run_s) for n, run_s in enumerate(lengths_s)]
    found = plan.blocks_for(budget_s, planned)
    assert found >= 1
    assert found == 1 or found * plan.block_seconds(planned) <= budget_s * (1 + 1e-9)
