# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from steelyard.judge import proving_fleets
from steelyard.judge.proving_fleets import KINDS, a_fleet, prove_fleets, scattering, slower


def test_a_planted_machine_differs_from_the_healthy_fleet_in_its_family_alone():
    rng = np.random.default_rng(1)
    healthy = a_fleet(rng, KINDS[1])
    ratio = slower(healthy, 3, 2).numbers / healthy.numbers
    cases = slice(12, 18)
    assert ratio[9:12, cases] == pytest.approx(1.05)
    ratio[9:12, cases] = 1
    assert ratio == pytest.approx(1)
    struck = scattering(rng, healthy, 3, 2).numbers / healthy.numbers > 1.1
    assert 0.1 < struck[9:12, cases].mean() < 0.3
    assert struck.sum() == struck[9:12, cases].sum()


def test_no_fleets_prove_nothing():
    with pytest.raises(ValueError, match="at least one fleet"):
        prove_fleets(1, fleets=0)


def test_the_same_seed_gives_the_same_rows(monkeypatch):
    monkeypatch.setattr(proving_fleets, "MACHINES", 8)
    rows = [prove_fleets(3, fleets=1) for _ in range(2)]
    assert repr(rows[0]) == repr(rows[1])
    assert len(rows[0]) == len(KINDS) + len(proving_fleets.OTHER_RULES)
