# SPDX-License-Identifier: Apache-2.0
"""Laws that the statistics keep for every sample, not only for those that a test thought of."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from steelyard.judge.stats.changes import find_changes
from steelyard.judge.stats.comparison import Verdict, compare_paired
from steelyard.judge.stats.family import holm
from steelyard.judge.stats.growth import fit_growth
from steelyard.judge.stats.modes import find_modes
from steelyard.judge.stats.planning import forecast
from steelyard.judge.stats.scaling import fit_scaling
from steelyard.judge.stats.stopping import look_confidence
from steelyard.judge.stats.summary import subtract_overhead, summarise
from steelyard.judge.stats.unpaired import compare_unpaired

cost = st.floats(1e-9, 1e9)
sample = st.lists(cost, min_size=1, max_size=25)
pairs = st.lists(st.tuples(cost, cost), min_size=1, max_size=25)
margin = st.floats(0, 0.5)
# Powers of two scale floating-point numbers exactly, so that laws can be asserted without a tolerance.
scale = st.integers(-20, 20).map(lambda power: 2.0**power)
wrong = st.sampled_from([math.nan, math.inf, -math.inf])


def split(blocks):
    return [a for a, _ in blocks], [b for _, b in blocks]


@given(sample, scale)
def test_a_summary_scales_with_its_unit(values, factor):
    plain, scaled = summarise(values), summarise([value * factor for value in values])
    assert (scaled.median, scaled.low, scaled.high) == (plain.median * factor, plain.low * factor, plain.high * factor)


@given(sample, st.randoms())
def test_a_summary_knows_no_order(values, random):
    shuffled = list(values)
    random.shuffle(shuffled)
    assert summarise(shuffled) == summarise(values)


@given(sample)
def test_a_summary_is_in_order(values):
    summary = summarise(values)
    assert summary.minimum <= summary.p25 <= summary.maximum
    assert summary.minimum <= summary.median <= summary.maximum
    assert summary.low <= summary.median <= summary.high
    assert (len(values) < 6) == math.isinf(summary.low) == math.isinf(summary.high)


@given(sample, st.floats(0.5, 0.999), st.floats(0.5, 0.999))
def test_more_confidence_is_never_narrower(values, one, other):
    less, more = (summarise(values, confidence) for confidence in sorted((one, other)))
    assert more.low <= less.low <= less.high <= more.high


@given(pairs)
def test_overhead_taken_off_the_other_way_round_is_the_negative(blocks):
    a, b = split(blocks)
    there, back = subtract_overhead(a, b), subtract_overhead(b, a)
    assert (there.median, there.low, there.high) == (-back.median, -back.high, -back.low)
    assert there.may_be_zero == back.may_be_zero
    assert not (there.contradicts and back.contradicts)


@given(pairs, margin)
def test_swapping_a_and_b_mirrors_the_comparison(blocks, band):
    a, b = split(blocks)
    there, back = compare_paired(a, b, band), compare_paired(b, a, band)
    assert there.ratio * back.ratio == pytest.approx(1)
    if there.low > 0:
        assert there.low * back.high == pytest.approx(1)
        assert there.high * back.low == pytest.approx(1)
    assert (there.verdict, there.p_value) == (back.verdict, back.p_value)


@given(pairs, margin, st.floats(1e-3, 1e3))
def test_a_comparison_knows_no_unit(blocks, band, factor):
    a, b = split(blocks)
    plain = compare_paired(a, b, band)
    scaled = compare_paired([factor * x for x in a], [factor * x for x in b], band)
    assert scaled.ratio == pytest.approx(plain.ratio)
    assert scaled.high == pytest.approx(plain.high)


@given(pairs, margin, st.randoms())
def test_a_comparison_knows_no_order_of_blocks(blocks, band, random):
    shuffled = list(blocks)
    random.shuffle(shuffled)
    assert compare_paired(*split(shuffled), band) == compare_paired(*split(blocks), band)


@given(pairs, margin)
def test_a_comparison_holds_its_ratio_and_its_verdict_fits_its_interval(blocks, band):
    comparison = compare_paired(*split(blocks), band)
    assert comparison.low <= comparison.ratio <= comparison.high
    edge = 1 + band
    if comparison.verdict is Verdict.DIFFERENT:
        assert comparison.low >= edge * (1 - 1e-12) or comparison.high <= (1 + 1e-12) / edge
    if comparison.verdict is Verdict.EQUIVALENT:
        assert comparison.low >= (1 - 1e-12) / edge
        assert comparison.high <= edge * (1 + 1e-12)
    if comparison.n < 6:
        assert comparison.verdict is Verdict.UNDECIDED


@given(pairs, margin, margin)
def test_a_wider_margin_never_makes_a_difference(blocks, one, other):
    narrow, wide = (compare_paired(*split(blocks), band) for band in sorted((one, other)))
    assert narrow.p_value <= wide.p_value
    assert narrow.p_equivalent >= wide.p_equivalent


@given(pairs, margin, st.floats(0, 1000))
def test_a_forecast_is_zero_only_when_decided(blocks, band, seconds):
    comparison = compare_paired(*split(blocks), band)
    planned = forecast(comparison, seconds)
    if planned is not None:
        assert (planned.blocks == 0) == (comparison.verdict is not Verdict.UNDECIDED)
        assert planned.minutes == pytest.approx(planned.blocks * seconds / 60)


@settings(max_examples=25)
@given(sample, sample, sample, sample)
def test_sessions_swapped_mirror_each_other(a, b, sentinel_a, sentinel_b):
    there = compare_unpaired(a, b, sentinel_a, sentinel_b)
    back = compare_unpaired(b, a, sentinel_b, sentinel_a)
    assert there.ratio * back.ratio == pytest.approx(1)
    assert there.verdict is back.verdict
    assert there.low <= there.ratio <= there.high


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holm_raises_p_values_and_keeps_their_order(p_values):
    adjusted = holm(p_values)
    assert (adjusted >= np.array(p_values)).all()
    assert (adjusted <= 1).all()
    assert (np.diff(adjusted[np.argsort(p_values, kind="stable")]) >= 0).all()


@given(st.lists(st.integers(1, 60), min_size=1, max_size=8, unique=True).map(sorted), st.integers(1, 60))
def test_a_look_is_never_laxer_than_a_single_one(looks, planned):
    assert 0.95 - 1e-12 <= look_confidence(looks, planned, 0.05) <= 1


@given(st.lists(cost, min_size=1, max_size=40), scale)
def test_modes_scale_with_the_unit(values, factor):
    modes = find_modes(values)
    scaled = find_modes([value * factor for value in values])
    assume((modes is None) == (scaled is None))
    if modes is not None and scaled is not None:
        assert [mode.share for mode in modes] == [mode.share for mode in scaled]
        assert sum(mode.share for mode in modes) == pytest.approx(1)
        assert modes[0].median < modes[1].median


@given(st.lists(cost, min_size=1, max_size=60))
def test_changes_are_in_order_and_inside(values):
    indices = [change.index for change in find_changes(values)]
    assert indices == sorted(set(indices))
    assert all(0 < index < len(values) for index in indices)


@given(st.lists(st.tuples(st.integers(1, 10**6), cost), min_size=1, max_size=20), st.integers(1, 64))
def test_growth_always_answers(points, cpus):
    n, costs = split(points)
    growth = fit_growth(n, costs, cpus=cpus)
    assert 0 <= growth.confidence <= 1 + 1e-9
    assert growth.base >= 0
    assert growth.slope >= 0
    assert growth.extra >= 0
    assert growth.rise_low <= growth.rise_high
    if growth.form != "cannot tell":
        assert growth.candidates == (growth.form,)


@given(st.integers(2, 6), st.integers(1, 12), st.data())
def test_scaling_always_answers(points, blocks, data):
    row = st.lists(cost, min_size=blocks, max_size=blocks)
    times = data.draw(st.lists(row, min_size=points, max_size=points))
    found = fit_scaling([2**i for i in range(points)], times)
    law = (found.law.contention, found.law.coherence, found.law.best) if found.law else ()
    assert all(each.interval.low <= each.value <= each.interval.high for each in (found.efficiency, *law))
    assert (found.answer == "cannot tell") or blocks >= 6
    assert points > 2 or found.law is None


@given(st.integers(1, 30), cost)
def test_constant_samples_never_crash(n, value):
    values = [value] * n
    assert summarise(values).median == value
    assert compare_paired(values, values).ratio == 1
    assert compare_paired(values, values).verdict is Verdict.UNDECIDED
    assert find_modes(values) is None
    assert find_changes(values) == ()
    assert fit_growth(range(1, n + 1), values).form in {"1", "cannot tell"}


@given(sample, wrong, st.integers(0, 25))
def test_what_is_not_finite_is_refused(values, bad, where):
    spoiled = [*values[:where], bad, *values[where:]]
    fine = [1.0] * len(spoiled)
    for refuse in (
        lambda: summarise(spoiled),
        lambda: compare_paired(spoiled, fine),
        lambda: compare_paired(fine, spoiled),
        lambda: compare_unpaired(fine, fine, spoiled, fine),
        lambda: find_modes(spoiled),
        lambda: find_changes(spoiled),
        lambda: fit_growth(fine, spoiled),
    ):
        with pytest.raises(ValueError, match=r"finite|above zero"):
            refuse()
