# SPDX-License-Identifier: Apache-2.0
"""A good report keeps all twelve rules; each of twelve bad ones breaks its own, and no other."""

import math

import pytest
from msgspec.structs import replace

from steelyard.judge import rules
from steelyard.records import Skip
from tests.reporting import a_report


@pytest.fixture(scope="module")
def good():
    return a_report()


def broken(report):
    return [outcome.number for outcome in rules.check(report) if outcome.broken]


def first_session(report, **fields):
    """The report with other fields in its first session."""
    return replace(report, sessions=(replace(report.sessions[0], **fields), *report.sessions[1:]))


def findings(report, **fields):
    return first_session(report, findings=replace(report.sessions[0].findings, **fields))


def first_case(report, **figure):
    first, *rest = report.sessions[0].findings.cases
    return findings(report, cases=(replace(first, main=replace(first.main, **figure)), *rest))


def first_ratio(report, **fields):
    comparison = report.comparisons[0]
    changed = replace(comparison, cases=(replace(comparison.cases[0], **fields), *comparison.cases[1:]))
    return replace(report, comparisons=(changed, *report.comparisons[1:]))


def method(report, of, **fields):
    return replace(report, methods=tuple(replace(one, **fields) if one.of == of else one for one in report.methods))


def first_plot(report, **fields):
    first, *rest = report.sessions[0].prices
    return first_session(report, prices=(replace(first, **fields), *rest))


def setup(report, **fields):
    return first_session(report, setup=replace(report.sessions[0].setup, **fields))


def a_ratio_without_its_base(report):
    return first_ratio(report, a=0.0)


def a_subset_without_a_reason(report):
    return findings(report, skips=(Skip(subject="message/latency_rdma", reason=""),))


def a_mean_of_rates(report):
    return method(report, "rate", centre="arithmetic mean")


def a_mean_of_ratios(report):
    return method(report, "ratio", centre="arithmetic mean")


def a_figure_without_an_interval(report):
    return first_case(report, low=None, high=None)


def normality_that_nobody_looked_into(report):
    return method(report, "cost", assumes_normal=True)


def a_difference_that_no_test_found(report):
    return first_ratio(report, verdict="different", low=0.9, high=1.1)


def a_centre_without_its_tails(report):
    return first_case(report, p25=math.nan, p99=math.nan)


def a_kernel_that_is_not_said(report):
    return findings(report, environment={})


def a_time_of_nobody_knows_what(report):
    return setup(report, techniques=tuple(replace(one, operation="") for one in report.sessions[0].setup.techniques))


def a_figure_without_a_bound(report):
    return first_plot(report, bounds=(), unbounded=None)


def a_line_between_names(report):
    first, *rest = report.sessions[0].prices[0].series
    return first_plot(report, series=(replace(first, joined=True), *rest))


BAD = (
    a_ratio_without_its_base,
    a_subset_without_a_reason,
    a_mean_of_rates,
    a_mean_of_ratios,
    a_figure_without_an_interval,
    normality_that_nobody_looked_into,
    a_difference_that_no_test_found,
    a_centre_without_its_tails,
    a_kernel_that_is_not_said,
    a_time_of_nobody_knows_what,
    a_figure_without_a_bound,
    a_line_between_names,
)


def test_a_good_report_keeps_every_rule(good):
    assert broken(good) == []
    assert [outcome.number for outcome in rules.check(good)] == list(range(1, 13))


@pytest.mark.parametrize(
    ("number", "spoil"), list(enumerate(BAD, start=1)), ids=lambda one: getattr(one, "__name__", one)
)
def test_each_bad_report_breaks_its_rule_and_no_other(good, number, spoil):
    assert broken(spoil(good)) == [number]


def test_a_planned_case_that_is_nowhere_breaks_the_second_rule(good):
    assert broken(first_session(good, planned=("call/lost@same",))) == [2]


def test_a_case_whose_probe_was_skipped_is_explained(good):
    planned = (*good.sessions[0].planned, "message/latency_rdma[size=1]@same")
    assert broken(first_session(good, planned=planned)) == []


def test_two_modes_drawn_as_one_break_the_eighth_rule(good):
    without = tuple(
        replace(series, spots=tuple(replace(spot, modes=()) for spot in series.spots))
        for series in good.sessions[0].prices[0].series
    )
    assert broken(first_plot(good, series=without)) == [8]


def test_a_case_in_no_figure_breaks_the_twelfth_rule(good):
    fewer = tuple(
        series
        for series in good.sessions[0].prices[0].series
        if series.group != "call" or series.title != "call/direct"
    )
    assert broken(first_plot(good, series=fewer)) == [12]


def test_an_equivalence_wider_than_the_margin_breaks_the_seventh_rule(good):
    assert broken(first_ratio(good, verdict="equivalent", low=0.5, high=2.0)) == [7]


def test_what_is_broken_many_times_is_not_said_many_times(good):
    cases = tuple(
        replace(case, main=replace(case.main, low=None, high=None)) for case in good.sessions[0].findings.cases
    )
    [outcome] = [outcome for outcome in rules.check(findings(good, cases=cases)) if outcome.broken]
    assert outcome.number == 5
    assert outcome.broken[-1] == f"and {len(cases) - 5} more"
