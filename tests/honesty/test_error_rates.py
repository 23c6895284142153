# SPDX-License-Identifier: Apache-2.0
"""The verdicts are wrong no more often than promised, on seeded synthetic noise.

Every bound is the exact 95 % upper bound of what the trials show, so the promise is tested, not its echo.
"""

import numpy as np
import pytest

from steelyard.judge import proving
from steelyard.judge.proving import binomial_bound
from steelyard.judge.stats.comparison import VERDICT_CONFIDENCE, Verdict, compare_paired
from steelyard.judge.stats.unpaired import BETWEEN_SESSIONS, compare_unpaired


@pytest.fixture(scope="module")
def table():
    return proving.prove_quickly(seed=20)


OURS = [rule.name for rule in proving.OUR_RULES]
NOISES = [noise.name for noise in proving.NOISES]


def row(table, rule, noise):
    return next(row for row in table.rows if (row.rule, row.noise) == (rule, noise))


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("rule", OURS)
def test_identical_programs_are_called_different_in_at_most_5_percent(table, rule, noise):
    assert row(table, rule, noise).trials >= 2000
    assert row(table, rule, noise).false_positive_bound <= 0.05


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("rule", OURS)
def test_a_program_5_percent_slower_is_found(table, rule, noise):
    assert row(table, rule, noise).power >= 0.9


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("rule", OURS)
def test_intervals_cover_as_they_say(table, rule, noise):
    assert 0.93 <= row(table, rule, noise).coverage <= 0.97


@pytest.mark.parametrize("noise", NOISES)
def test_a_suite_of_100_cases_errs_in_at_most_5_percent(table, noise):
    family = next(row for row in table.family if row.noise == noise)
    assert family.sessions >= 2000
    assert family.error_rate <= 0.05
    assert family.mixed_error_rate <= 0.05


def test_the_bound_of_all_suites_together_is_at_most_5_percent(table):
    sessions = sum(row.sessions for row in table.family)
    for rates in ([row.error_rate for row in table.family], [row.mixed_error_rate for row in table.family]):
        assert binomial_bound(round(sum(rates) / len(rates) * sessions), sessions) <= 0.05


@pytest.mark.parametrize("noise", NOISES)
def test_stopping_early_keeps_the_promise(table, noise):
    ours, peeking = (row for row in table.sequential if row.noise == noise)
    assert ours.false_positive_bound <= 0.05
    assert ours.power >= 0.9
    assert 0.93 <= ours.coverage <= 0.975
    assert ours.coverage_slower >= 0.93
    assert ours.blocks_slower < proving.BLOCKS
    assert peeking.false_positive_rate > 0.1


@pytest.mark.parametrize("rule", [rule.name for rule in proving.OTHER_RULES if "hyperfine" not in rule.name])
def test_other_rules_err_where_processes_differ(table, rule):
    assert row(table, rule, "process").false_positive_rate > 0.05


@pytest.mark.parametrize("rule", [rule.name for rule in proving.OTHER_RULES])
def test_other_rules_err_where_the_machine_drifts(table, rule):
    assert row(table, rule, "drift").false_positive_rate > 0.15


def test_a_ratio_on_the_edge_of_the_margin_is_seldom_called_either():
    rng = np.random.default_rng(8)
    trials, verdicts = 4000, []
    for _ in range(trials):
        a, b = np.exp(rng.normal(0, 0.005, (2, 20)))
        verdicts.append(compare_paired(a, 1.02 * b, margin=0.02).verdict)
    for verdict in (Verdict.DIFFERENT, Verdict.EQUIVALENT):
        assert binomial_bound(verdicts.count(verdict), trials) <= 0.05


@pytest.mark.parametrize("n", [6, 20])
@pytest.mark.parametrize("sentinels", [2, 20])
def test_two_sessions_of_one_program_are_seldom_called_different(n, sentinels):
    rng = np.random.default_rng(9)
    trials, covered = 400, 0
    for _ in range(trials):
        machine, moved = rng.normal(0, 0.3), rng.normal(0, BETWEEN_SESSIONS)
        noise = [np.exp(rng.normal(0, 0.02, size)) for size in (n, n, sentinels, sentinels)]
        b, sentinel_b = noise[1] * np.exp(machine + moved), noise[3] * np.exp(machine)
        comparison = compare_unpaired(noise[0], b, noise[2], sentinel_b)
        covered += comparison.low <= 1 <= comparison.high
    assert binomial_bound(trials - covered, trials) <= 1 - VERDICT_CONFIDENCE + 0.03
