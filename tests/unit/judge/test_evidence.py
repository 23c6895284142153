# SPDX-License-Identifier: Apache-2.0
"""What a session has for a claim, and the reason where it has nothing."""

import msgspec
import numpy as np
import pytest

from steelyard.judge.claims import ClaimVerdict, Operand, Sweep
from steelyard.judge.evidence import Measured, NoAnswer
from steelyard.show.reasons import said
from tests.making import a_failed_run
from tests.unit.judge.sessions import steady, the_case, weighed

A = "question/a@same"


def column(session, **operand):
    return Measured(session).column(Operand(**operand))


def refusal(session, **operand):
    with pytest.raises(NoAnswer) as raised:
        column(session, **operand)
    return raised.value.verdict, said(raised.value.reason)


def test_a_column_has_one_number_a_block():
    found = column(weighed({A: [1e-6, None, 3e-6]}), case=A)
    assert found.case == A
    assert found.metric.name == "operation"
    assert found.values == pytest.approx([1e-6, np.nan, 3e-6], nan_ok=True)


def test_another_metric_may_be_named():
    session = weighed({A: steady(1e-6, 3)}, shares={A: [0.1, 0.2, 0.3]})
    assert column(session, case=A, metric="share").values == pytest.approx([0.1, 0.2, 0.3])


def test_a_pattern_may_leave_out_what_the_session_leaves_no_choice_about():
    session = weighed({"question/a[size=1]@same": steady(1e-6)})
    assert column(session, case="question/a@same").case == "question/a[size=1]@same"


def test_a_pattern_that_leaves_a_choice_is_not_answered():
    session = weighed({"question/a[size=1]@same": steady(1e-6), "question/a[size=2]@same": steady(1e-6)})
    verdict, reason = refusal(session, case="question/a@same")
    assert verdict is ClaimVerdict.NOT_MEASURED
    assert "stands for 2 cases" in reason


def test_the_overhead_is_taken_off_block_by_block():
    session = weighed({A: [5e-6, 6e-6], "question/loop@same": [1e-6, 3e-6]}, baselines={A: "question/loop@same"})
    assert column(session, case=A, net=True).values == pytest.approx([4e-6, 3e-6])


def test_without_its_overhead_there_is_no_net_figure():
    verdict, reason = refusal(weighed({A: steady(1e-6)}), case=A, net=True)
    assert verdict is ClaimVerdict.NOT_MEASURED
    assert "overhead" in reason


@pytest.mark.parametrize("subject", ["question/b", "question/b[size=1]@same", "question/b[size=1,kind=x]@same"])
def test_what_was_skipped_is_not_comparable_and_says_why(subject):
    session = weighed({A: steady(1e-6)}, skips={subject: "no such system call"})
    verdict, reason = refusal(session, case="question/b[size=1]@same")
    assert verdict is ClaimVerdict.NOT_COMPARABLE
    assert reason == f"{subject}: no such system call"


@pytest.mark.parametrize("subject", ["question/bb", "question/b[size=2]@same", "question/b[size=1]@free"])
def test_another_skip_is_no_reason(subject):
    session = weighed({A: steady(1e-6)}, skips={subject: "no such system call"})
    verdict, reason = refusal(session, case="question/b[size=1]@same")
    assert verdict is ClaimVerdict.NOT_MEASURED
    assert reason == "the session has no question/b[size=1]@same"


def test_what_failed_says_with_what():
    session = weighed({A: steady(1e-6)})
    session = msgspec.structs.replace(
        session, runs=(*session.runs, a_failed_run("question/b@same", error="exited with 1"))
    )
    verdict, reason = refusal(session, case="question/b@same")
    assert verdict is ClaimVerdict.NOT_MEASURED
    assert reason == "question/b@same failed: exited with 1"


def test_a_metric_that_the_probe_lacks_is_named():
    verdict, reason = refusal(weighed({A: steady(1e-6)}), case=A, metric="colour")
    assert verdict is ClaimVerdict.NOT_MEASURED
    assert "colour" in reason


def test_a_metric_that_never_came_to_be_is_no_figure():
    verdict, reason = refusal(weighed({A: steady(1e-6)}), case=A, metric="share")
    assert verdict is ClaimVerdict.NOT_MEASURED
    assert "never happened" in reason


def test_a_variant_is_not_what_a_claim_is_about():
    session = weighed({A: steady(1e-6)})
    case = msgspec.structs.replace(the_case(A), variant="x")
    plan = msgspec.structs.replace(
        session.plan, cases=tuple(msgspec.structs.replace(planned, case=case) for planned in session.plan.cases)
    )
    runs = tuple(msgspec.structs.replace(run, case=case.name) for run in session.runs)
    verdict, _ = refusal(msgspec.structs.replace(session, plan=plan, runs=runs), case=A)
    assert verdict is ClaimVerdict.NOT_MEASURED


def test_a_sweep_is_in_the_order_of_its_parameter_and_within_its_ends():
    session = weighed({f"question/a[n={n}]@same": steady(n * 1e-6) for n in (64, 1, 8, 2)})
    points = Measured(session).sweep(Sweep(of=Operand(case="question/a@same"), parameter="n", smallest=2, largest=8))
    assert list(points) == [2, 8]


def test_a_point_without_any_figure_is_left_out_of_a_sweep():
    cases = {f"question/a[n={n}]@same": steady(1e-6, 3) for n in (1, 2)}
    session = weighed(cases, shares={"question/a[n=2]@same": [1.0, 1.0, 1.0]})
    sweep = Sweep(of=Operand(case="question/a@same", metric="share"), parameter="n")
    assert list(Measured(session).sweep(sweep)) == [2]


def test_a_sweep_that_leaves_a_choice_is_not_answered():
    session = weighed({f"question/a[n=1,kind={kind}]@same": steady(1e-6) for kind in ("x", "y")})
    with pytest.raises(NoAnswer) as raised:
        Measured(session).sweep(Sweep(of=Operand(case="question/a@same"), parameter="n"))
    assert "leaves a choice at n=1" in said(raised.value.reason)
