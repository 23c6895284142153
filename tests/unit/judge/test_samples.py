# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest

from steelyard.judge.samples import CaseRuns, case_runs, counting_run, number_of, runs_of
from tests.making import a_case, a_descriptor, a_failed_run, a_header, a_metric, a_planned, a_run, a_session, a_value

CASE = a_case()
METRIC = a_metric()


def attempt(number: int, foreign_share: float = 0.0, **more):
    disturbed = ("others used it",) if foreign_share > 0.15 else ()
    return a_run(CASE, attempt=number, foreign_share=foreign_share, disturbed=disturbed, **more)


def test_a_pure_cost_is_the_lower_quartile_of_its_values_and_waiting_their_median():
    run = a_run(CASE, 1, 1e-6, 2e-6, 3e-6, 4e-6, 100e-6)
    number = {s: number_of((v.figure(METRIC) for v in run.values), s) for s in ("lower_quartile", "median")}
    assert number == pytest.approx({"lower_quartile": 2e-6, "median": 3e-6})


def test_values_without_the_quantity_do_not_count():
    happened = a_value(2e-6, counts={"checked": 1000, "switches": 1000})
    nothing = a_value(2e-6, counts={"checked": 1000, "switches": 0})
    per_switch = a_metric(per="switches")
    run = a_run(CASE, values=(happened, nothing))
    assert number_of((v.figure(per_switch) for v in run.values), "median") == pytest.approx(2e-6)
    never = a_run(CASE, values=(nothing,))
    assert math.isnan(number_of((v.figure(per_switch) for v in never.values), "median"))


def test_the_first_undisturbed_attempt_counts():
    first, second = attempt(1, 0.5), attempt(2)
    assert counting_run([second, first]) is second
    assert counting_run([attempt(2), one := attempt(1)]) is one


def test_where_all_were_disturbed_the_least_disturbed_counts_whatever_its_figure():
    fast, slow = attempt(1, 0.9), attempt(2, 0.3, values=(a_value(9e-6),))
    assert counting_run([fast, slow]) is slow


def test_stolen_time_disturbs_as_well():
    foreign = a_run(CASE, attempt=1, foreign_share=0.3, disturbed=("x",))
    stolen = a_run(CASE, attempt=2, foreign_share=0.1, steal_share=0.1, disturbed=("x",))
    assert counting_run([foreign, stolen]) is stolen


def test_a_failed_attempt_never_counts():
    good = attempt(2, 0.9)
    assert counting_run([a_failed_run(CASE), good]) is good
    assert counting_run([a_failed_run(CASE)]) is None
    assert counting_run([]) is None


def test_a_sample_has_one_number_a_block_and_a_gap_where_a_run_is_missing():
    session = a_session(a_run(CASE, 1, 1e-6, 3e-6), a_failed_run(CASE, 2), a_run(CASE, 4, 5e-6))
    [runs] = case_runs(session)
    sample = runs.sample(METRIC)
    assert sample[[0, 3]] == pytest.approx([2e-6, 5e-6])
    assert np.isnan(sample[[1, 2]]).all()
    assert len(runs.counted) == 2


def test_a_repeated_run_does_not_make_a_sample_longer():
    session = a_session(
        a_run(CASE, 1, 9e-6, foreign_share=0.9, disturbed=("x",)), a_run(CASE, 1, 1e-6, attempt=2), a_run(CASE, 2, 1e-6)
    )
    [runs] = case_runs(session)
    assert runs.sample(METRIC) == pytest.approx([1e-6, 1e-6])


def test_pilots_and_sentinels_are_no_part_of_a_sample():
    session = a_session(a_run(CASE, 0, role="pilot"), a_run(CASE, 0, role="sentinel"), a_run(CASE, 1))
    [runs] = case_runs(session)
    assert len(runs.runs) == 1


def test_blocks_line_up_between_cases():
    fast, slow = a_case("example/fast"), a_case("example/slow")
    session = a_session(a_run(fast, 1, 1e-6), a_run(slow, 2, 2e-6), a_run(fast, 2, 1e-6), header=a_header(fast, slow))
    of_fast, of_slow = case_runs(session)
    assert len(of_fast.runs) == len(of_slow.runs) == 2
    assert of_slow.runs[0] is None


def test_before_its_plan_a_session_has_no_samples():
    import msgspec

    assert case_runs(msgspec.structs.replace(a_session(), plan=None)) == []


def test_all_runs_of_a_case_are_those_of_its_blocks():
    runs = [a_run(CASE, 1), a_failed_run(CASE, 2), a_run("other/case@same", 1), a_run(CASE, 0, role="pilot")]
    assert runs_of(CASE.name, runs) == runs[:2]


def test_an_empty_case_has_an_empty_sample():
    runs = CaseRuns(planned=a_planned(CASE), descriptor=a_descriptor(), runs=())
    assert runs.sample(METRIC).shape == (0,)


WARMING = a_descriptor(CASE.probe, warms_up=True)
WARM, COLD_THEN_WARM = [1e-6] * 20, [3e-6] * 12 + [1e-6] * 8
NEVER_STEADY = [1e-6] * 16 + [3e-6] * 4


def warming(*runs, descriptor=WARMING):
    blocks = tuple(a_run(CASE, block, *seconds) for block, seconds in enumerate(runs, 1))
    return CaseRuns(planned=a_planned(CASE), descriptor=descriptor, runs=blocks)


def test_a_run_that_warms_up_counts_from_its_steady_state():
    runs = warming(COLD_THEN_WARM, WARM)
    assert [runs.warm_up(run).shape for run in runs.counted] == ["warm-up", "flat"]
    assert runs.sample(METRIC) == pytest.approx([1e-6, 1e-6])


def test_a_run_that_is_in_no_block_has_the_number_of_its_steady_state_too():
    pilot = a_run(CASE, 0, *COLD_THEN_WARM, role="pilot")
    assert warming(WARM, WARM).number(pilot, lambda value: value.figure(METRIC)) == pytest.approx(1e-6)


def test_a_run_without_a_steady_state_has_no_number():
    sample = warming(NEVER_STEADY, WARM, WARM).sample(METRIC)
    assert math.isnan(sample[0])
    assert sample[1:] == pytest.approx([1e-6, 1e-6])


def test_where_most_runs_have_none_no_run_has_a_number():
    runs = warming(NEVER_STEADY, NEVER_STEADY, WARM)
    assert runs.mostly_unsteady
    assert np.isnan(runs.sample(METRIC)).all()


def test_a_probe_that_does_not_warm_up_is_not_asked_for_a_steady_state():
    runs = warming(NEVER_STEADY, descriptor=a_descriptor(CASE.probe))
    assert runs.warm_up(runs.runs[0]) is None
    assert not runs.mostly_unsteady
    assert runs.sample(METRIC) == pytest.approx([1e-6])
