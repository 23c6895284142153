# SPDX-License-Identifier: Apache-2.0
"""The screen of a first session, from figures."""

import pytest

from steelyard.judge.answers import MOST_FAILING, answer, first_session, operands
from steelyard.judge.claims import ClaimVerdict
from steelyard.judge.findings import judge
from steelyard.judge.verdicts import judge_claims
from tests.unit.judge.sessions import steady, weighed

PIPE = "message/latency_pipe[size=1,kind=process]"


def answers_of(costs, **more):
    session = weighed(costs, **more)
    return answer(judge(session), judge_claims(session))


def group(answers, title):
    return next(one for one in answers.groups if one.title.startswith(title))


def test_prices_stand_in_their_group_the_cheapest_first_and_rated_by_it():
    found = answers_of(
        {
            "create/fork[resident_mib=0]@same": steady(100e-6),
            "create/thread[form=join]@same": steady(10e-6),
            "create/goroutine@same": steady(0.5e-6),
        }
    )
    (created,) = found.groups
    assert [price.what for price in created.prices] == ["goroutine", "thread", "process"]
    assert [price.times for price in created.prices] == pytest.approx([1, 20, 200])


def test_a_group_of_two_placements_says_how_much_dearer_the_second_is():
    found = answers_of({f"{PIPE}@same": steady(4e-6), f"{PIPE}@cross": steady(100e-6)})
    (pipe,) = group(found, "message").prices
    assert pipe.across == pytest.approx(25)
    assert [amount.case for amount in pipe.amounts] == [f"{PIPE}@same", f"{PIPE}@cross"]


def test_a_placement_that_was_not_measured_leaves_its_column_empty():
    (pipe,) = group(answers_of({f"{PIPE}@cross": steady(100e-6)}), "message").prices
    assert pipe.amounts[0] is None
    assert pipe.times is None
    assert pipe.across is None


def test_a_cost_that_may_be_zero_is_no_measure_for_the_others():
    found = answers_of(
        {
            "call/direct@same": [1.0e-9, 1.1e-9] * 4,
            "call/loop@same": [1.1e-9, 1.0e-9] * 4,
            "call/syscall@same": steady(120e-9),
            "call/page_fault@same": steady(1.2e-6),
        },
        baselines={"call/direct@same": "call/loop@same", "call/syscall@same": "call/loop@same"},
    )
    prices = {price.what: price for price in group(found, "call").prices}
    assert prices["function"].amounts[0].at_most
    assert prices["function"].times is None
    assert prices["system call"].times == pytest.approx(1)
    assert prices["first touch of a page"].times == pytest.approx(1.2e-6 / 119e-9, rel=0.02)


def test_what_fails_by_most_comes_first_and_one_figure_is_not_held_against_two_statements():
    found = answers_of(
        {
            "create/fork[resident_mib=0]@same": steady(64e-6),
            "create/thread[form=join]@same": steady(8e-6),
            "memory/java_thread[contexts=1000]@same": steady(1e-9),
            "switch/sleep[call=usleep,slack_ns=1,contexts=1]@same": steady(15e-6),
        }
    )
    failing = [finding.claim.id for finding in found.failing]
    assert failing == ["process-one-millisecond", "sleep-limit-is-the-timer"]
    assert found.verdicts[ClaimVerdict.FAILS] > len(failing)
    assert len(failing) <= MOST_FAILING


def test_a_session_of_other_cases_has_no_prices():
    assert answers_of({"switch/condvar[kind=thread]@same": steady(1e-6)}).groups == ()


def test_skips_are_grouped_by_their_reason_without_the_name_of_the_probe():
    skips = {name: f"{name}: wrk is not installed" for name in ("request/nginx@cross", "request/wheat@cross")}
    skips = {name: reason.replace("@cross", "") for name, reason in skips.items()} | {"call/direct": "no compiler"}
    absent = answers_of({"call/syscall@same": steady(1e-7)}, skips=skips).absent
    assert [(one.subjects, one.reason) for one in absent] == [
        (("request/nginx", "request/wheat"), "wrk is not installed"),
        (("call/direct",), "no compiler"),
    ]


def test_a_quick_look_is_over_the_ten_best_known_prices():
    assert sum(price.known for one in first_session().group for price in one.price) == 10
    assert {operand.case for operand in operands(known=True)} < {operand.case for operand in operands()}
