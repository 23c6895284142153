# SPDX-License-Identifier: Apache-2.0

from steelyard.judge.findings import judge
from steelyard.records import Audit, Disturbance, End, Skip
from tests.making import (
    a_case,
    a_failed_run,
    a_run,
    a_run_each,
    a_session,
)
from tests.unit.judge.sessions import steady, weighed

CASE = a_case()


def test_a_case_that_never_came_to_a_number_is_not_shown_but_its_failure_is():
    findings = judge(a_session(a_failed_run(CASE, 1, "exited with code 3")))
    assert findings.cases == ()
    assert findings.failures == {CASE.name: "exited with code 3"}


def test_a_session_without_end_is_not_complete():
    findings = judge(a_session(*a_run_each(CASE, 1e-6, 1e-6, 1e-6)))
    assert (findings.complete, findings.blocks, findings.wall_s) == (False, 3, None)


def test_a_complete_session_says_how_much_of_it_was_timed():
    end = End(at="2026", reason="blocks", blocks=3, wall_s=2.0, timed_s=1.5)
    findings = judge(a_session(*a_run_each(CASE, 1e-6), end))
    assert (findings.complete, findings.blocks, findings.timed_share) == (True, 3, 0.75)


def test_skips_leftovers_and_disturbances_come_along():
    noise = Disturbance(what="noise", advice="close the window", severity="warning")
    skip = Skip(subject="switch/gosched", reason="no Go compiler")
    audits = [Audit(moment=moment, disturbances=(noise,)) for moment in ("before", "after")]
    findings = judge(a_session(skip, *audits, a_run(CASE, 1, leftovers=("a queue",))))
    assert findings.skips == (skip,)
    assert findings.leftovers == {CASE.name: ("a queue",)}
    assert findings.disturbances == (noise,)


def test_what_is_known_to_be_wrong_is_gathered_from_beside_the_cases_and_from_the_tables_of_studies():
    findings = judge(weighed({"depth/fiber[depth=2]@same": steady(1e-8)}))
    wrong = [item.figure.mechanism for item in findings.known_wrong]
    assert "stackful: recursion of 2 levels" in wrong
    assert "stackful: recursion of 2048 levels" in wrong, "of the table, whose other points were not measured"
    assert "stackless: recursion of 2 levels" not in wrong
    assert len(wrong) == len(set(wrong))
