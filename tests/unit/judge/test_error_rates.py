# SPDX-License-Identifier: Apache-2.0
import math
from pathlib import Path

import msgspec
import pytest

from steelyard.judge import error_rates
from steelyard.judge.proving import NOISES, OUR_RULES, ProofRow, ProofTable
from steelyard.show import proof

DOCUMENTED = Path(__file__).parents[3] / "docs" / "reference" / "error-rates.md"


def test_the_page_of_the_documentation_and_the_report_have_the_same_rates():
    assert DOCUMENTED.read_text() == proof.markdown(error_rates.measured())


def test_every_rule_of_ours_is_in_every_noise():
    there = {(row.rule, row.noise) for row in error_rates.measured().rows}
    assert {(rule.name, noise.name) for rule in OUR_RULES for noise in NOISES} <= there


def test_a_table_is_read_as_it_was_written():
    row = ProofRow(
        rule="a",
        noise="iid",
        trials=2,
        false_positive_rate=0.5,
        false_positive_bound=0.9,
        power=1.0,
        coverage=math.nan,
    )
    table = ProofTable(seed=3, rows=(row,), family=(), sequential=())
    again = error_rates.read(error_rates.write(table))
    assert math.isnan(again.rows[0].coverage)
    assert error_rates.write(again) == error_rates.write(table)


def test_a_table_of_another_shape_is_refused():
    with pytest.raises(msgspec.DecodeError):
        error_rates.read(b'{"seed": 1}')
