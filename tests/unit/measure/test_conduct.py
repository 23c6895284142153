# SPDX-License-Identifier: Apache-2.0
from collections import Counter

import msgspec
import pytest

from steelyard.errors import NothingMeasuredError
from steelyard.keep import session as sessions
from steelyard.measure import plan
from steelyard.measure.conduct import SENTINELS
from steelyard.measure.runner import MockRunner, Outcome
from steelyard.records import Audit, End, Neighbour, Plan, ProbeFacts, Run, Skip, Variant
from tests.making import NULL_CASE, Silence, a_case, a_descriptor, a_header, a_metric, conducted

FAST, SLOW = a_case("example/fast"), a_case("example/slow")
COSTS = {FAST.name: 100e-9, SLOW.name: 400e-9}


def failed_cases(lines):
    """Cases that failed at least once, with their last error."""
    return {run.case: run.error for run in lines if run.status == "failed"}


def header(*cases, **more):
    return a_header(*(cases or (FAST, SLOW)), **{"controls": tuple(plan.controls()), "blocks": 3, **more})


def runner(trouble=lambda request, count: None, **more) -> MockRunner:
    return MockRunner(costs=COSTS, trouble=trouble, **more)


def runs(lines, **fields) -> list[Run]:
    return [
        line
        for line in lines
        if isinstance(line, Run) and all(getattr(line, name) == value for name, value in fields.items())
    ]


def end_of(lines) -> End:
    assert isinstance(lines[-1], End)
    return lines[-1]


def plan_of(lines) -> Plan:
    [found] = [line for line in lines if isinstance(line, Plan)]
    return found


def failing(*names: str, blocks_only: bool = False):
    """Trouble: these cases fail, from their pilot on or only in blocks (where the number of operations is given)."""

    def trouble(request, count):
        if request.case.name in names and not (blocks_only and request.operations is None):
            return Outcome(started=float(count), wall_s=0.01, status="failed", error="exited with code 1")
        return None

    return trouble


# --- the course of a session -----------------------------------------------------------------------------------------


def test_a_session_is_pilot_plan_sentinels_blocks_sentinels_end():
    lines = conducted(header())
    stages = [line.role if isinstance(line, Run) else type(line).__name__ for line in lines]
    course = [stage for index, stage in enumerate(stages) if index == 0 or stages[index - 1] != stage]
    assert course == ["pilot", "Plan", "sentinel", "block", "sentinel", "End"]


def test_every_case_has_one_process_a_block_controls_included():
    lines = conducted(header())
    counted = Counter((run.block, run.case) for run in runs(lines, role="block"))
    assert set(counted.values()) == {1}
    assert len(counted) == 3 * (2 + len(plan.controls()))


def test_a_case_that_is_wanted_in_fewer_blocks_runs_in_the_first_ones():
    lines = conducted(header(blocks=5), runner(), fewer={SLOW.name: 2})
    assert [run.block for run in runs(lines, role="block", case=SLOW.name)] == [1, 2]
    assert [run.block for run in runs(lines, role="block", case=FAST.name)] == [1, 2, 3, 4, 5]


def test_under_a_budget_there_are_more_blocks_where_some_cases_are_wanted_in_few():
    few, all_ = (end_of(conducted(budgeted(1.0), runner(), fewer=fewer)).blocks for fewer in ({SLOW.name: 1}, {}))
    assert few > all_


def test_the_order_of_a_block_is_the_plans():
    lines = conducted(header())
    cases = plan_of(lines).cases
    for block in (1, 2, 3):
        assert [run.case for run in runs(lines, block=block, role="block")] == [
            planned.case.name for planned in plan.order(cases, block, seed=7)
        ]


def test_the_same_seed_measures_in_the_same_order():
    first, again, other = ([run.case for run in runs(conducted(header(seed=seed)))] for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_the_number_of_operations_is_found_once_and_kept():
    lines = conducted(header(), runner())
    for case in (FAST, SLOW):
        assert len({run.operations for run in runs(lines, case=case.name)}) == 1
    assert runs(lines, case=FAST.name)[0].operations == 4 * runs(lines, case=SLOW.name)[0].operations


def test_the_pilot_searches_and_the_blocks_do_not():
    mock = runner()
    conducted(header(), mock)
    pilots = [request for request in mock.requests if request.operations is None]
    assert [request.target_ns for request in pilots] == [1_000_000] * 5
    assert all(request.target_ns is None for request in mock.requests[len(pilots) :])


def test_operations_are_timed_one_by_one_where_probes_can_and_not_in_controls():
    can = {
        name: ProbeFacts(descriptor=a_descriptor(name, tails=True), sha256="00")
        for name in (FAST.probe, NULL_CASE.probe)
    }
    mock = runner()
    head = header(tails_ns=7000)
    conducted(msgspec.structs.replace(head, probes={**head.probes, **can}), mock)
    asked = {request.case.probe: request.tails_ns for request in mock.requests}
    assert asked == {FAST.probe: 7000, SLOW.probe: 0, NULL_CASE.probe: 0}


def test_a_sentinel_runs_first_and_last():
    lines = conducted(header())
    sentinels = runs(lines, role="sentinel")
    assert [run.block for run in sentinels] == [0] * SENTINELS + [4] * SENTINELS
    assert {run.case for run in sentinels} == {NULL_CASE.name}


def test_without_the_null_probe_there_is_no_sentinel():
    lines = conducted(header(controls=()))
    assert runs(lines, role="sentinel") == []
    assert end_of(lines).reason == "blocks"


def test_a_case_that_is_a_control_too_is_measured_once_and_is_no_control():
    lines = conducted(header(NULL_CASE))
    assert [planned.control for planned in plan_of(lines).cases] == [False, True, True]


def test_a_baseline_is_measured_with_the_case_that_needs_it():
    head = header(SLOW, probes=(a_descriptor(FAST.probe),))
    lines = conducted(head, runner(), baselines={SLOW.name: FAST})
    planned = {p.case.name: p for p in plan_of(lines).cases}
    assert planned[SLOW.name].baseline == FAST.name
    assert planned[FAST.name].control
    assert len(runs(lines, role="block", case=FAST.name)) == 3


def test_the_environment_of_every_run_is_padded_by_another_size():
    mock = runner()
    lines = conducted(header(), mock)
    paddings = [run.padding for run in runs(lines, role="block")]
    assert len(set(paddings)) > len(paddings) // 2
    assert [request.padding for request in mock.requests if request.operations][:-SENTINELS] != []


# --- trouble ---------------------------------------------------------------------------------------------------------


def test_a_case_that_fails_in_its_pilot_is_not_tried_again_and_the_others_go_on():
    lines = conducted(header(), runner(failing(FAST.name)))
    assert len(runs(lines, case=FAST.name)) == 1
    assert len(runs(lines, case=SLOW.name, role="block", status="ok")) == 3
    assert failed_cases(runs(lines)) == {FAST.name: "exited with code 1"}
    assert end_of(lines).blocks == 3


def test_a_case_that_fails_later_is_dropped_after_three_failures():
    lines = conducted(header(blocks=6), runner(failing(FAST.name, blocks_only=True)))
    assert len(runs(lines, case=FAST.name, status="failed")) == 3
    assert len(runs(lines, case=SLOW.name, role="block")) == 6


def test_a_skip_is_recorded_as_one_with_its_reason():
    def trouble(request, count):
        if request.case == FAST:
            return Outcome(started=0.0, wall_s=0.0, status="skipped", error="needs two CPUs")
        return None

    lines = conducted(header(), runner(trouble))
    assert [line for line in lines if isinstance(line, Skip)] == [Skip(subject=FAST.name, reason="needs two CPUs")]
    assert failed_cases(runs(lines)) == {}


def test_where_nothing_can_be_measured_the_session_ends_in_an_error():
    with pytest.raises(NothingMeasuredError):
        conducted(header(), runner(failing(FAST.name, SLOW.name)))


def disturbing(*, times: int):
    """Trouble: the neighbours disturb the first so many attempts of every run of SLOW in block 2."""
    seen = Counter()
    calm = MockRunner(costs=COSTS)

    def trouble(request, count):
        if request.case != SLOW or request.operations is None:
            return None
        outcome = calm.run(request)
        seen[request.case.name] += 1
        disturbed = 2 <= seen[request.case.name] < 2 + times
        return msgspec.structs.replace(outcome, foreign_share=0.9 if disturbed else 0.0)

    return trouble


def test_a_disturbed_run_is_measured_again_in_its_block_and_both_are_kept():
    lines = conducted(header(), runner(disturbing(times=1)))
    second = runs(lines, case=SLOW.name, role="block", block=2)
    assert [(run.attempt, bool(run.disturbed)) for run in second] == [(1, True), (2, False)]
    assert second[0].order == second[1].order
    assert "others used 90% of its CPUs" in second[0].disturbed


def test_a_run_that_is_disturbed_again_is_left_at_that():
    lines = conducted(header(), runner(disturbing(times=2)))
    second = runs(lines, case=SLOW.name, role="block", block=2)
    assert [(run.attempt, bool(run.disturbed)) for run in second] == [(1, True), (2, True)]
    assert len(runs(lines, case=SLOW.name, role="block", block=3)) == 1


# --- budget ----------------------------------------------------------------------------------------------------------


def budgeted(budget_s: float, **more):
    return header(blocks=None, budget_s=budget_s, **more)


def test_a_budget_ends_at_the_boundary_of_a_block():
    lines = conducted(budgeted(1.0))
    end = end_of(lines)
    assert end.reason == "budget"
    assert end.blocks >= 2
    counted = Counter(run.block for run in runs(lines, role="block"))
    assert counted == dict.fromkeys(range(1, end.blocks + 1), 5)


def test_a_budget_is_nearly_used_and_not_overdrawn_by_a_block():
    lines = conducted(budgeted(1.0))
    spent = sum(run.wall_s for run in runs(lines))
    assert 0.7 < spent <= 1.0


def test_what_is_repeated_because_it_was_disturbed_belongs_to_the_budget():
    calm = MockRunner(costs=COSTS)

    def always_disturbed(request, count):
        return msgspec.structs.replace(calm.run(request), foreign_share=0.9) if request.case == SLOW else None

    found = runs(conducted(budgeted(1.0), runner(always_disturbed)))
    assert sum(run.wall_s for run in found) <= 1.0
    assert {run.attempt for run in found if run.role == "block" and run.case == SLOW.name} == {1, 2}
    one_block = runs(conducted(budgeted(1e-6), runner(always_disturbed)))
    assert {run.attempt for run in one_block} == {1}


def test_however_short_the_budget_there_is_one_block():
    assert end_of(conducted(budgeted(1e-6))).blocks == 1


def test_under_a_short_budget_runs_get_fewer_values_before_there_are_fewer_than_six_blocks():
    long_start = MockRunner(costs=COSTS)

    def trouble(request, count):
        outcome = long_start.run(request)
        return msgspec.structs.replace(outcome, wall_s=outcome.wall_s + 0.05)

    rich = plan_of(conducted(budgeted(60.0), runner(trouble)))
    poor = plan_of(conducted(budgeted(1.5), runner(trouble)))
    assert {planned.values for planned in poor.cases} == {plan.FEWEST_VALUES}
    assert all(planned.values > plan.FEWEST_VALUES for planned in rich.cases)


def slow_pilots(seconds: float):
    """Trouble: starting a run takes so long."""
    plain = MockRunner(costs=COSTS)

    def trouble(request, count):
        outcome = plain.run(request)
        return msgspec.structs.replace(outcome, wall_s=outcome.wall_s + seconds)

    return trouble


def as_many_as_fit(cases, pilots, left_s):
    """A planner that wants six blocks of each case, or one of those that have room."""
    chosen, _ = plan.as_many_as_fit(cases, [(case.case.name,) for case in cases], left_s, lambda _: 6)
    return Plan(cases=tuple(chosen), blocks=1)


def test_a_case_whose_pilot_would_eat_the_budget_is_left_out_and_recorded():
    cases = [a_case("example/fast", n=number) for number in range(20)]
    runner = MockRunner(trouble=slow_pilots(4.0))
    lines = conducted(budgeted(100.0, selection=tuple(cases)), runner, planner=as_many_as_fit)
    piloted = {run.case for run in runs(lines, role="pilot")}
    left_out = {line.subject for line in lines if isinstance(line, Skip)}
    assert {case.name for case in cases} == (piloted | left_out) - {case.name for case in plan.controls()}
    assert 2 <= len(piloted) < 15
    assert sum(run.wall_s for run in runs(lines)) <= 100.0


def test_under_a_budget_one_case_of_each_probe_has_its_pilot_before_a_second_one():
    cases = [a_case(probe, n=number) for probe in (FAST.probe, SLOW.probe) for number in range(3)]
    without, within = (
        [run.case for run in runs(conducted(header(selection=tuple(cases), **more)), role="pilot")][:2]
        for more in ({}, {"blocks": None, "budget_s": 9.0})
    )
    assert without == [cases[0].name, cases[1].name]
    assert within == [cases[0].name, cases[3].name]


def test_a_budget_holds_the_pilot_the_repeats_and_the_sentinels():
    calm = MockRunner(costs=COSTS)

    def always_disturbed(request, count):
        return msgspec.structs.replace(calm.run(request), foreign_share=0.9, wall_s=0.3)

    lines = conducted(budgeted(20.0), runner(always_disturbed))
    assert end_of(lines).wall_s <= 20.0
    assert {run.role for run in runs(lines)} == {"pilot", "sentinel", "block"}
    assert {run.attempt for run in runs(lines, role="block")} == {1, 2}


def test_what_the_planner_leaves_out_is_recorded_and_not_measured():
    asked = []

    def only_fast(cases, pilots, left_s):
        asked.append((len(cases), pilots[FAST.name].role, left_s))
        return Plan(cases=tuple(case for case in cases if case.case != SLOW), blocks=2)

    lines = conducted(header(), runner(), planner=only_fast)
    assert asked == [(5, "pilot", None)]
    assert runs(lines, case=SLOW.name, role="block") == []
    assert [line.subject for line in lines if isinstance(line, Skip)] == [SLOW.name]
    assert end_of(lines).blocks == 2


# --- resuming --------------------------------------------------------------------------------------------------------


def resumed_at(lines, head, cut: int, trouble=lambda request, count: None):
    """What is in the file when a session that was cut after so many lines has been gone on with."""
    kept = [head, Audit(moment="before", disturbances=()), *lines[:cut]]
    before = sessions.decode(b"".join(msgspec.json.encode(line) + b"\n" for line in kept), "cut")
    return [*lines[:cut], *conducted(head, runner(trouble), before=before)]


def measured(lines) -> set[tuple]:
    return {(run.role, run.block, run.order, run.case) for run in runs(lines)}


@pytest.mark.parametrize(
    "settings", [{"blocks": 3}, *({"blocks": None, "budget_s": budget_s} for budget_s in (0.05, 0.11, 0.2))], ids=str
)
def test_a_session_cut_anywhere_goes_on_to_the_same_runs_without_a_double(settings):
    head = header(**settings)
    whole = conducted(head, runner())
    for cut in range(len(whole)):
        lines = resumed_at(whole, head, cut)
        again = [(run.role, run.block, run.order, run.case, run.attempt) for run in runs(lines)]
        assert len(again) == len(set(again)), f"cut after line {cut}: a run was done twice"
        assert plan_of(lines).cases[0] == plan_of(whole).cases[0]
        blocks = {run.block for run in runs(lines, role="block")}
        assert blocks == set(range(1, end_of(lines).blocks + 1)), f"cut after line {cut}"
        assert {run.block for run in runs(lines, role="sentinel")} == {0, end_of(lines).blocks + 1}
        for block in blocks:
            assert len(runs(lines, role="block", block=block)) == 5, f"cut after line {cut}: block {block} is not whole"
        if "budget_s" not in settings:
            assert measured(lines) == measured(whole)


def test_a_session_with_failures_is_resumed_without_trying_them_again():
    trouble = failing(FAST.name, blocks_only=True)
    head = header(blocks=6)
    whole = conducted(head, runner(trouble))
    for cut in range(len(whole)):
        lines = resumed_at(whole, head, cut, trouble)
        assert len(runs(lines, case=FAST.name, status="failed")) == 3


def test_what_was_measured_before_counts_in_the_end():
    head = header()
    whole = conducted(head, runner())
    resumed = resumed_at(whole, head, len(whole) - 3)
    assert end_of(resumed).timed_s == pytest.approx(end_of(whole).timed_s)


def test_a_budget_counts_what_was_spent_before_the_interruption():
    head = budgeted(1.0)
    whole = conducted(head, runner())
    resumed = resumed_at(whole, head, len(whole) - 10)
    assert end_of(resumed).wall_s == pytest.approx(end_of(whole).wall_s, rel=0.2)


def test_a_probe_that_warms_up_keeps_its_length_under_a_short_budget_and_others_do_not():
    warming = a_descriptor(FAST.probe, warms_up=True)
    lines = conducted(header(probes=(warming,), blocks=None, budget_s=0.5), runner())
    planned = {case.case: case for case in plan_of(lines).cases}
    assert planned[FAST].values * planned[FAST].operations * COSTS[FAST.name] == pytest.approx(plan.WARM_S, rel=0.2)
    assert planned[SLOW].values < planned[FAST].values


def test_what_is_no_time_does_not_repay_a_long_start_with_more_values():
    bytes_each = a_metric("resident", unit="B", over="resident_bytes")
    long_start = runner(trouble=lambda request, _: msgspec.structs.replace(runner().run(request), wall_s=1.0))
    lines = conducted(header(probes=(a_descriptor(FAST.probe, metrics=(bytes_each,)),)), long_start)
    planned = {case.case: case.values for case in plan_of(lines).cases}
    assert (planned[FAST], planned[SLOW] > 3) == (3, True)


def length_of_values(lines) -> dict:
    return {case.case: case.operations * COSTS[case.case.name] for case in plan_of(lines).cases if not case.control}


@pytest.mark.parametrize(("target_given", "length"), [(False, 1e-3), (True, 10e-3)])
def test_values_are_no_longer_than_a_probe_needs_them_unless_the_user_says_so(target_given, length):
    head = header(probes=(a_descriptor(FAST.probe, value_ms=1),), target_ns=10_000_000, target_given=target_given)
    lengths = length_of_values(conducted(head, runner()))
    assert lengths == {FAST: pytest.approx(length, rel=0.01), SLOW: pytest.approx(10e-3, rel=0.01)}


def test_what_a_probe_asks_for_is_no_reason_to_measure_longer_than_was_asked_for():
    head = header(probes=(a_descriptor(FAST.probe, value_ms=100),))
    assert length_of_values(conducted(head, runner()))[FAST] == pytest.approx(1e-3, rel=0.01)


def test_a_long_start_is_repaid_with_more_and_longer_values_but_not_where_few_short_ones_will_do():
    long_start = runner(trouble=lambda request, _: msgspec.structs.replace(runner().run(request), wall_s=1.0))
    lines = conducted(header(probes=(a_descriptor(FAST.probe, value_ms=1),)), long_start)
    planned = {case.case: case for case in plan_of(lines).cases}
    assert (planned[FAST].values, planned[SLOW].values) == (3, plan.MOST_VALUES)
    lengths = length_of_values(lines)
    assert lengths[FAST] == pytest.approx(1e-3, rel=0.01)
    assert lengths[SLOW] > 10e-3


@pytest.mark.parametrize(
    ("value_ms", "values"),
    [(1, 10), (2, 10), (3, 7), (25, plan.FEWEST_VALUES)],
    ids=["short", "full", "longer", "long"],
)
def test_operations_that_are_longer_than_a_value_need_be_make_fewer_values(value_ms, values):
    assert plan.short_values_for(value_ms / 1e3, 2e-3, 10) == values


def test_where_blocks_tell_more_than_values_a_long_start_is_not_repaid():
    long_start = runner(trouble=lambda request, _: msgspec.structs.replace(runner().run(request), wall_s=1.0))
    planned = {case.case: case for case in plan_of(conducted(header(values=5), long_start, repays=False)).cases}
    assert (planned[FAST].values, planned[SLOW].values) == (5, 5)


def beside_a_sleeper(case, **more):
    """The case, the same beside a sleeper, and a header and groups for both."""
    neighbour = Neighbour(case=a_case("beside/sleeper"), where="other", does="sleeps")
    other = msgspec.structs.replace(case, variant="beside sleeper")
    variant = Variant(label="beside sleeper", beside=(neighbour,))
    made = header(case, other, FAST, probes=(a_descriptor("beside/sleeper"),), variants=(variant,), **more)
    return other, made, {case.name: case.name, other.name: case.name}


def test_a_case_beside_neighbours_is_run_with_them_and_right_before_or_after_itself_alone():
    other, made, groups = beside_a_sleeper(SLOW)
    measured = runner()
    lines = conducted(made, measured, groups=groups)
    helpers = {request.case.name: [one.name for one in request.beside] for request in measured.requests}
    assert helpers[other.name] == ["beside/sleeper@same"]
    assert helpers[SLOW.name] == helpers[FAST.name] == []
    for block in (1, 2, 3):
        order = {run.case: run.order for run in runs(lines, role="block", block=block)}
        assert abs(order[SLOW.name] - order[other.name]) == 1


def test_runs_beside_neighbours_are_so_long_that_these_can_prove_their_work_and_those_alone_are_alike():
    other, made, groups = beside_a_sleeper(SLOW, target_ns=1_000_000, values=2)
    measured = runner()
    planned = {one.case.name: one for one in plan_of(conducted(made, measured, groups=groups)).cases}
    for name in (SLOW.name, other.name):
        one = planned[name]
        assert one.values * one.operations * COSTS[SLOW.name] >= 0.9 * plan.BESIDE_S
        assert one.least_values == one.values
    assert planned[SLOW.name].operations == planned[other.name].operations
    assert planned[FAST.name].values * planned[FAST.name].operations * COSTS[FAST.name] < plan.BESIDE_S / 2
    pilot = next(request for request in measured.requests if request.case.name == other.name)
    assert pilot.values * pilot.target_ns / 1e9 >= plan.BESIDE_S


def test_no_more_time_to_go_is_said_than_the_budget_leaves():
    """The machine becomes ten times slower after the pilot."""
    said = []

    class Told(Silence):
        def ran(self, run, seconds_left):
            if run.role == "block":
                said.append(seconds_left)

    def slower(request, count):
        outcome = runner().run(request)
        return msgspec.structs.replace(outcome, wall_s=1.0 if request.operations else 0.1)

    conducted(header(blocks=None, budget_s=30.0), runner(slower), progress=Told())
    assert said
    assert max(said) <= 30.0
