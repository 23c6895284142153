# SPDX-License-Identifier: Apache-2.0
"""What it takes to repeat a session."""

import pytest

from steelyard.judge.report import report
from tests.reporting import a_full_session


@pytest.fixture(scope="module")
def judged():
    [only] = report([a_full_session()]).sessions
    return only


def test_the_setup_says_how_to_do_it_again(judged):
    setup = judged.setup
    assert setup.command == "steelyard run 'call/*' --seed 7"
    [technique] = [one for one in setup.techniques if one.probe == "switch/yield"]
    assert technique.factors == {"contexts": (1, 2, 16, 128), "kind": ("thread", "process")}
    assert technique.placements == ("same",)
