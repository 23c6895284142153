# SPDX-License-Identifier: Apache-2.0
"""Steps of made-up curves: caches of known size and policy, with the noise of a shared machine."""

import numpy as np
import pytest

from steelyard.judge.stats.steps import find_steps

KIB, MIB = 1024, 1024 * 1024
OCTAVES = [KIB << number for number in range(17)]
#: Capacity, and what a load takes that the cache before has not.
CACHES = {32 * KIB: 4.0, MIB: 14.0, 16 * MIB: 120.0}


def best(size, capacity):
    """The share that misses where what is needed soonest is kept."""
    return np.maximum(0.0, 1 - capacity / size)


def worst(size, capacity):
    """The same where the least recently used goes, and visits go round: all or nothing."""
    return (size > capacity).astype(float)


def between(size, capacity):
    """Something of both, as real caches are."""
    return (best(size, capacity) + worst(size, capacity)) / 2


def curve(sizes, missing, caches=None, blocks=10, noise=0.02, seed=1):
    """Costs of a block each: the levels, times noise, and now and then a neighbour."""
    generator = np.random.default_rng(seed)
    at = np.array(sizes, dtype=float)
    cost = np.ones(at.size)
    before = 1.0
    for capacity, after in (CACHES if caches is None else caches).items():
        cost += (after - before) * missing(at, capacity)
        before = after
    spread = np.exp(generator.normal(0, noise, (at.size, blocks)))
    spikes = np.where(generator.random((at.size, blocks)) < 0.05, 1.5, 1.0)
    return cost[:, None] * spread * spikes


@pytest.mark.parametrize("missing", [best, worst, between])
@pytest.mark.parametrize("shift", [1.0, 1.2, 1.5, 1.9])
def test_each_capacity_lies_where_its_step_says_whatever_the_policy_and_between_the_points(missing, shift):
    caches = {capacity * shift: after for capacity, after in CACHES.items()}
    found = wrong = 0
    for seed in range(20):
        steps = find_steps(OCTAVES, curve(OCTAVES, missing, caches, seed=seed))
        assert len(steps) == len(caches)
        found += len(steps)
        wrong += sum(
            not step.smallest <= capacity <= step.largest for step, capacity in zip(steps, caches, strict=True)
        )
    assert wrong <= 0.05 * found


def test_a_step_says_no_more_than_it_must_and_no_less():
    """Between two points in the worst case; up to twice as far where some of what is too large still hits."""
    for step, capacity in zip(find_steps(OCTAVES, curve(OCTAVES, worst)), CACHES, strict=True):
        assert (step.smallest, step.largest) == (pytest.approx(0.9 * capacity, rel=0.05), 2 * capacity)
    for step, capacity in zip(find_steps(OCTAVES, curve(OCTAVES, best)), CACHES, strict=True):
        assert step.largest in {2 * capacity, 4 * capacity}
        assert step.smallest == pytest.approx(0.9 * capacity, rel=0.1)


def test_levels_are_those_before_and_after():
    steps = find_steps(OCTAVES, curve(OCTAVES, worst))
    levels = [(step.before, step.after) for step in steps]
    assert np.array(levels) == pytest.approx(np.array([(1, 4), (4, 14), (14, 120)]), rel=0.1)
    assert all(step.over for step in steps[:2])


def test_a_flat_curve_has_no_step():
    for seed in range(50):
        assert find_steps(OCTAVES, curve(OCTAVES, best, {}, noise=0.05, seed=seed)) == ()


def test_a_slow_rise_is_no_step():
    slow = np.array([1.02**octave for octave in range(17)])
    assert find_steps(OCTAVES, slow[:, None] * curve(OCTAVES, best, {})) == ()


def test_a_small_rise_before_a_large_one_is_part_of_it():
    """As where a working set of just the cache's size loses a few lines to whatever else runs."""
    costs = [1, 1, 1, 1, 1, 1.06, 3.8, 3.8, 3.8, 3.8]
    (step,) = find_steps(OCTAVES[:10], np.array(costs)[:, None] * curve(OCTAVES[:10], best, {}))
    assert step.smallest <= 32 * KIB <= step.largest
    assert (step.before, step.after) == pytest.approx((1, 3.8), rel=0.05)


def test_what_only_the_medians_say_is_no_step():
    """Two points at which most blocks were disturbed, one less and one more."""
    costs = curve(OCTAVES, best, {}, blocks=6, noise=0.01)
    costs[8:, :3] *= 2
    costs[8:, 3] *= 1.6
    assert find_steps(OCTAVES, costs) == ()
    costs[8:, 4:] *= 2
    assert len(find_steps(OCTAVES, costs)) == 1


def test_a_curve_that_ends_while_it_climbs_says_so():
    steps = find_steps(OCTAVES[:7], curve(OCTAVES[:7], worst))
    assert [step.over for step in steps] == [False]
    assert find_steps(OCTAVES, curve(OCTAVES, worst))[0].over


def test_runs_that_are_missing_are_left_out_and_few_blocks_have_their_middle():
    costs = curve(OCTAVES, worst)
    costs[3, 2] = costs[6, 5] = np.nan
    assert len(find_steps(OCTAVES, costs)) == 3
    few = find_steps(OCTAVES, curve(OCTAVES, worst, blocks=2))
    assert [step.smallest <= capacity <= step.largest for step, capacity in zip(few, CACHES, strict=True)] == [True] * 3


@pytest.mark.parametrize(
    ("sizes", "costs", "said"),
    [
        ([1, 2], [[1.0], [1.0]], "no curve"),
        ([1, 3, 2], [[1.0]] * 3, "rise"),
        ([1, 2, 3], [[1.0], [0.0], [1.0]], "above zero"),
        ([1, 2, 3], [[1.0], [float("nan")], [1.0]], "no cost"),
    ],
)
def test_what_is_no_curve_is_refused(sizes, costs, said):
    with pytest.raises(ValueError, match=said):
        find_steps(sizes, costs)
