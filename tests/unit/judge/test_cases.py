# SPDX-License-Identifier: Apache-2.0
"""One case over all its runs: its figures and every doubt about them."""

import pytest

from steelyard.judge.findings import judge
from steelyard.records import Histogram, Plan
from steelyard.show.reasons import said
from tests.making import (
    a_case,
    a_descriptor,
    a_failed_run,
    a_header,
    a_metric,
    a_planned,
    a_run,
    a_run_each,
    a_session,
    a_value,
    counted,
)

CASE = a_case()


def only_case(findings):
    [case] = findings.cases
    return case


def test_a_case_has_median_interval_minimum_and_its_number_of_runs():
    figure = only_case(judge(a_session(*a_run_each(CASE, *(n * 1e-6 for n in (3, 1, 2, 6, 5, 4, 7)))))).main
    assert (figure.n, figure.unit, figure.better) == (7, "s", "lower")
    assert (figure.median, figure.minimum) == pytest.approx((4e-6, 1e-6))
    assert figure.low <= figure.median <= figure.high
    assert figure.low == pytest.approx(1e-6)


def test_below_six_runs_there_is_no_interval_and_that_is_said():
    case = only_case(judge(a_session(*a_run_each(CASE, 1e-6, 2e-6, 3e-6, 4e-6, 5e-6))))
    assert (case.main.low, case.main.high) == (None, None)
    assert tuple(map(said, case.caveats)) == ("5 runs: at least 6 are needed for an interval at 95 %",)


def test_a_block_without_a_run_is_no_number():
    session = a_session(*a_run_each(CASE, 1e-6, 1e-6, 1e-6), a_failed_run(CASE, 4), a_failed_run(CASE, 5))
    case = only_case(judge(session))
    assert case.main.n == 3
    assert "2 of 5 runs failed" in map(said, case.caveats)


def test_a_metric_that_never_happened_is_left_out_and_the_others_stay():
    descriptor = a_descriptor(metrics=(a_metric(), a_metric("switch", per="switches")))
    value = a_value(1e-6, counts={"checked": 1000, "switches": 0})
    session = a_session(a_run(CASE, 1, values=(value,)), header=a_header(CASE, probes=(descriptor,)))
    case = only_case(judge(session))
    assert case.main.metric == "operation"
    assert case.others == ()


def test_caveats_are_said_once():
    session = a_session(*(a_run(CASE, block, caveats=("the moon was full",)) for block in range(1, 7)))
    assert only_case(judge(session)).caveats == ("the moon was full",)


UNPINNED = a_case(placement="free")


def unpinned(*runs: tuple[float, int | None]):
    """A session of runs that nobody pinned: the seconds of an operation, and on how many CPUs, if that is known."""
    made = [
        a_run(UNPINNED, block, values=(a_value(seconds, counts={"checked": 1000} | ({"cpus": cpus} if cpus else {})),))
        for block, (seconds, cpus) in enumerate(runs, start=1)
    ]
    descriptor = a_descriptor(placements=("same", "free"))
    return only_case(judge(a_session(*made, header=a_header(UNPINNED, probes=(descriptor,)))))


def test_an_unpinned_case_shows_both_modes_and_where_its_runs_were():
    case = unpinned((2e-6, 1), (2e-6, 1), (9e-6, 2), (8e-6, 2), (7e-6, 2))
    lower, upper = case.main.modes
    assert (lower.where, lower.median, lower.share) == ("one CPU", pytest.approx(2e-6), 0.4)
    assert (upper.where, upper.median, upper.share) == ("several CPUs", pytest.approx(8e-6), 0.6)
    assert {type(mode.share) for mode in (lower, upper)} == {float}, "JSON knows none of numpy's numbers"
    assert "unpinned: a mixture of one CPU and several; 3 of 5 runs were on several" in map(said, case.caveats)


def test_modes_that_hardly_differ_are_one_number_but_the_mixture_is_still_said():
    case = unpinned((2e-6, 1), (2.1e-6, 2))
    assert case.main.modes == ()
    assert "unpinned: a mixture of one CPU and several; 1 of 2 runs were on several" in map(said, case.caveats)


@pytest.mark.parametrize(
    ("cpus", "doubt"),
    [(None, "unpinned: a mixture of one CPU and several"), (1, "unpinned, and yet on one CPU in all runs")],
    ids=["not known", "always one"],
)
def test_an_unpinned_case_says_so_also_where_its_runs_did_not_differ(cpus, doubt):
    assert doubt in map(said, unpinned((2e-6, cpus), (9e-6, cpus)).caveats)


def test_a_pinned_case_is_no_mixture():
    assert not any(
        "unpinned" in said(caveat) for caveat in only_case(judge(a_session(*a_run_each(CASE, 1e-6)))).caveats
    )


def test_runs_that_stayed_disturbed_are_counted():
    first = a_run(CASE, 1, foreign_share=0.5, disturbed=("x",))
    again = a_run(CASE, 1, attempt=2, foreign_share=0.6, disturbed=("x",))
    findings = judge(a_session(first, again, *(a_run(CASE, block) for block in range(2, 7))))
    assert "1 of 6 runs were disturbed, also when repeated" in map(said, only_case(findings).caveats)
    assert (findings.disturbed_runs, findings.runs) == (2, 7)


LOOP = a_case("example/loop")


BLOCKS = 8


def with_baseline(costs: list[float], overheads: list[float]):
    plan = Plan(cases=(a_planned(CASE, baseline=LOOP.name), a_planned(LOOP, control=True)), blocks=BLOCKS)
    session = a_session(plan, *a_run_each(CASE, *costs), *a_run_each(LOOP, *overheads), header=a_header(CASE, LOOP))
    return next(case for case in judge(session).cases if case.case == CASE.name).main


def test_the_overhead_of_the_baseline_is_subtracted_with_its_uncertainty():
    net = with_baseline([(50 + n) * 1e-9 for n in range(BLOCKS)], [10e-9] * BLOCKS).net
    assert net.baseline == LOOP.name
    assert net.low <= net.median <= net.high
    assert net.median == pytest.approx(43.5e-9, rel=1e-3)
    assert not net.at_most


def test_what_cannot_be_told_from_zero_is_at_most():
    jitter = [(-1) ** n * (1 + n / 10) * 1e-9 for n in range(BLOCKS)]
    net = with_baseline([10e-9 + j for j in jitter], [10e-9] * BLOCKS).net
    assert net.at_most
    assert net.low < 0 < net.high


def test_a_difference_surely_below_zero_is_kept_as_it_is_and_is_no_at_most():
    net = with_baseline([8e-9] * BLOCKS, [10e-9] * BLOCKS).net
    assert net.median == pytest.approx(-2e-9)
    assert not net.at_most


def test_without_a_common_block_nothing_is_subtracted():
    plan = Plan(cases=(a_planned(CASE, baseline=LOOP.name), a_planned(LOOP, control=True)), blocks=2)
    session = a_session(plan, a_run(CASE, 1), a_run(LOOP, 2), header=a_header(CASE, LOOP))
    assert next(case for case in judge(session).cases if case.case == CASE.name).main.net is None


def test_a_baseline_is_a_control_and_marked_as_such():
    plan = Plan(cases=(a_planned(CASE, baseline=LOOP.name), a_planned(LOOP, control=True)), blocks=1)
    session = a_session(plan, a_run(CASE, 1), a_run(LOOP, 1), header=a_header(CASE, LOOP))
    assert {case.case: case.control for case in judge(session).cases} == {CASE.name: False, LOOP.name: True}


def test_user_and_system_time_and_switches_are_per_operation():
    value = a_value(1e-6, 1000, user_ns=600_000, system_ns=400_000, voluntary=3000, involuntary=500)
    case = only_case(judge(a_session(a_run(CASE, 1, values=(value,)))))
    assert (case.user_s, case.system_s, case.switches) == pytest.approx((600e-9, 400e-9, 3.5))


def test_what_is_not_known_is_not_said_to_be_nothing():
    case = only_case(judge(a_session(a_run(CASE, 1))))
    assert (case.user_s, case.system_s, case.switches) == (None, None, None)


WARMING = a_descriptor("example/warming", warms_up=True)


WARMING_CASE = a_case("example/warming")


FLAT, WARMS_UP, NEVER_AT_REST = [1e-6] * 20, [3e-6] * 12 + [1e-6] * 8, [1e-6] * 16 + [3e-6] * 4


def warming(*runs):
    header = a_header(WARMING_CASE, probes=(WARMING,))
    blocks = (a_run(WARMING_CASE, block, *seconds) for block, seconds in enumerate(runs, 1))
    return judge(a_session(*blocks, header=header))


def test_the_shapes_of_runs_that_warm_up_travel_with_the_figure():
    case = only_case(warming(WARMS_UP, WARMS_UP, FLAT, NEVER_AT_REST))
    assert case.main.n == 3
    assert case.main.median == pytest.approx(1e-6)
    shapes = "shape of its 4 runs: 2 warm-up, 1 flat, 1 no steady state; 1 run without a steady state: no number"
    assert shapes in map(said, case.caveats)


def test_there_is_no_figure_where_most_runs_have_no_steady_state():
    findings = warming(NEVER_AT_REST, NEVER_AT_REST, FLAT)
    assert findings.cases == ()
    [skip] = findings.skips
    assert skip.subject == WARMING_CASE.name
    assert "no steady state (shape of its 3 runs: 2 no steady state, 1 flat" in said(skip.reason)


def counted_session(scope="hardware, user and kernel", absent="", share=1.0):
    values = [a_value(counters=counted(500, share, cycles=1000 * n, instructions=1500 * n)) for n in range(1, 7)]
    runs = [
        a_run(CASE, block, values=(value, a_value()), counters=scope, counters_absent=absent)
        for block, value in enumerate(values, start=1)
    ]
    return a_session(*runs)


def test_what_the_processor_counted_is_beside_the_other_figures_with_an_interval_over_runs():
    case = only_case(judge(counted_session()))
    cycles, instructions, per_cycle = case.counters
    assert (cycles.metric, cycles.n, cycles.median, cycles.low, cycles.high) == ("cycles", 6, 7, 2, 12)
    assert (instructions.median, per_cycle.metric, per_cycle.median) == (10.5, "instructions_per_cycle", 1.5)
    assert case.others == ()
    assert case.caveats == ()
    assert only_case(judge(a_session(*a_run_each(CASE, *[1e-6] * 6)))).counters == ()


def test_counts_that_leave_something_out_say_so():
    case = only_case(judge(counted_session("hardware, user only", "cache_misses: not supported", share=0.25)))
    assert case.counters[0].median == 28, "scaled"
    assert [said(caveat).partition(": ")[2] for caveat in case.caveats] == [
        "hardware, user only, without the kernel",
        "cache_misses: not supported",
        "counted by turns, some for 25% of the time, and scaled",
    ]


def timed_one_by_one(block, *buckets, name="operation"):
    found = Histogram(name=name, unit="s", scale=1e-9, buckets=buckets)
    return a_run(CASE, block, histograms=(found,))


def test_operations_that_were_timed_one_by_one_have_tails():
    case = only_case(judge(a_session(*(timed_one_by_one(n, (100 + n, 990), (1024, 10)) for n in range(1, 8)))))
    assert [(figure.metric, figure.n) for figure in case.others[-2:]] == [("p50", 7), ("p99", 7)]
    assert case.figure("p50").median == pytest.approx(104e-9)
    assert case.figure("p99").high == pytest.approx(107e-9)
    assert case.figure("p99_9") is None


def test_a_histogram_of_the_probes_own_is_no_tail():
    case = only_case(judge(a_session(*(timed_one_by_one(n, (100, 20_000), name="late") for n in range(1, 8)))))
    assert case.figure("p50") is None


def test_a_probe_that_pins_its_contexts_is_no_mixture():
    def caveats(pinned):
        case = a_case(placement="free", pinned=pinned)
        runs = [a_run(case, block) for block in range(1, 8)]
        return [said(caveat) for caveat in only_case(judge(a_session(*runs, header=a_header(case)))).caveats]

    assert caveats("cores") == []
    assert "unpinned" in caveats("no")[0]
