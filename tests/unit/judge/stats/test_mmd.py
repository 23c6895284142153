# SPDX-License-Identifier: Apache-2.0
import itertools

import numpy as np
import pytest

from steelyard.judge.stats import mmd


def generator(seed=1):
    return np.random.default_rng(seed)


def discrepancy_by_kernel(x, y, found):
    """The squared discrepancy as Gretton and others define it, from the kernel that the features stand for."""
    kernel = found @ found.T
    return kernel[np.ix_(x, x)].mean() + kernel[np.ix_(y, y)].mean() - 2 * kernel[np.ix_(x, y)].mean()


def test_it_is_the_discrepancy_of_the_kernel():
    found = mmd.features(generator().normal(size=(30, 2)))
    owner = np.arange(30) % 3
    by_column = mmd.discrepancies(found, owner, 3)
    assert by_column.shape == (3, 2)
    for group in range(3):
        inside, outside = np.flatnonzero(owner == group), np.flatnonzero(owner != group)
        assert by_column[group].sum() == pytest.approx(discrepancy_by_kernel(inside, outside, found))


def test_the_kernel_is_nearly_a_gaussian_of_ranks_away_from_the_ends():
    n = 401
    found = mmd.features(np.arange(float(n))[:, np.newaxis])
    kernel = found @ found.T + 1  # the constant wave, which no discrepancy sees
    ranks = (np.arange(n) + 0.5) / n
    middle = kernel[n // 2]
    shape = np.exp(-((ranks - 0.5) ** 2) / (2 * (mmd._WIDTH / np.sqrt(1)) ** 2))
    assert np.corrcoef(middle, shape)[0, 1] > 0.99


def test_neither_unit_nor_wild_values_matter():
    values = generator().normal(size=(40, 1))
    wild = np.where(values == values.max(), 1e9, np.exp(values))
    assert mmd.features(values) == pytest.approx(mmd.features(wild))


def test_shuffling_all_labels_of_a_small_group_gives_its_exact_distribution():
    found = mmd.features(generator().normal(size=(7, 1)))
    by_hand = []
    for members in itertools.combinations(range(7), 2):
        owner = np.ones(7, dtype=int)
        owner[list(members)] = 0
        by_hand.append(mmd.discrepancies(found, owner, 2)[0, 0])
    drawn = mmd.shuffled(found, 2, 6000, generator())[:, 0]
    assert set(np.round(drawn, 9)) == set(np.round(by_hand, 9))
    assert drawn.mean() == pytest.approx(np.mean(by_hand), rel=0.03)


@pytest.mark.parametrize(("n", "size"), [(10, 5), (1000, 5)])
def test_subsets_are_sets_and_all_equally_likely(n, size):
    found = mmd._subsets(n, size, 4000, generator())
    assert all(len(set(row)) == size for row in found.tolist())
    assert np.bincount(found.ravel(), minlength=n).mean() == pytest.approx(4000 * size / n)
    assert found.min() >= 0
    assert found.max() < n


def test_another_spread_and_a_second_mode_are_seen_and_the_same_distribution_is_not():
    rng = generator()
    others = rng.normal(size=(400, 1))
    own = {
        "same": rng.normal(size=(40, 1)),
        "wider": 4 * rng.normal(size=(40, 1)),
        "two modes": np.where(rng.random((40, 1)) < 0.5, -2.0, 2.0) + 0.1 * rng.normal(size=(40, 1)),
    }
    found = {}
    for name, values in own.items():
        waves = mmd.features(np.vstack([values, others]))
        apart = mmd.discrepancies(waves, np.repeat([0, 1], [40, 400]), 2)[0, 0]
        found[name] = np.mean(mmd.shuffled(waves, 40, 999, rng)[:, 0] >= apart)
    assert found["same"] > 0.05
    assert found["wider"] == found["two modes"] == 0.0


def test_missing_values_say_nothing():
    values = generator().normal(size=(20, 2))
    values[:, 1] = np.nan
    found = mmd.features(values)
    assert np.isfinite(found).all()
    assert (mmd.discrepancies(found, np.arange(20) % 2, 2)[:, 1] == 0).all()
    with pytest.raises(ValueError, match="observations, columns"):
        mmd.features(values[0])


def test_an_empty_group_has_no_discrepancy():
    found = mmd.features(generator().normal(size=(6, 1)))
    assert mmd.discrepancies(found, np.zeros(6, dtype=int), 2)[1, 0] == 0.0
