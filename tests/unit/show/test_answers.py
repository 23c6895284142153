# SPDX-License-Identifier: Apache-2.0
"""The screen: its size, its words, and what it says of a session that cannot be used."""

import io

import msgspec

from steelyard.judge.answers import answer, operands
from steelyard.judge.findings import judge
from steelyard.judge.verdicts import judge_claims
from steelyard.records import CasePattern
from steelyard.show import answers as screen
from steelyard.show.console import Console
from tests.unit.judge.sessions import steady, weighed


def full_session():
    """A first session of everything: each case twice as dear as the one before, so that many statements fail."""
    costs = {}
    for number, operand in enumerate(operands()):
        pattern = CasePattern.parse(operand.case)
        if pattern.placement is not None:
            costs.setdefault(operand.case, steady(1e-9 * 2 ** (number % 20)))
    skips = {f"request/{name}": "wrk is not installed: apt-get install wrk" for name in "abcdefg"}
    skips |= {f"switch/{name}": f"reason {name}" for name in "abcdefg"}
    return weighed(costs, skips=skips)


def printed(session, width=100, void=None):
    findings = judge(session)
    findings = msgspec.structs.replace(findings, void=void)
    out = io.StringIO()
    screen.show(findings, answer(findings, judge_claims(session)), Console(file=out, width=width))
    return out.getvalue()


def test_everything_fits_into_sixty_lines_of_a_hundred_columns():
    lines = printed(full_session()).splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 100


def test_a_narrow_terminal_gets_one_column():
    assert max(map(len, printed(full_session(), width=70).splitlines()[3:30])) <= 50


def test_prices_have_their_interval_and_their_ratio():
    text = printed(weighed({"create/thread[form=join]@same": steady(10e-6), "create/goroutine@same": steady(0.5e-6)}))
    (line,) = (line for line in text.splitlines() if line.startswith("thread"))
    assert line.split() == ["thread", "10.0", "µs", "±1", "%", "20"]


def test_across_two_cpus_is_said_in_words():
    pipe = "message/latency_pipe[size=1,kind=process]"
    text = printed(weighed({f"{pipe}@same": steady(4e-6), f"{pipe}@cross": steady(100e-6)}))
    assert "one CPU" in text
    assert "two CPUs" in text
    assert "25 times as much" in text


def test_a_statement_stands_with_both_numbers():
    text = printed(weighed({"create/fork[resident_mib=0]@same": steady(64e-6)}))
    assert "✗ Creating a process takes about a millisecond." in text
    assert "here 64.0 µs [63.4, 64.6], claimed 800 µs to 1.25 ms" in text


def test_skips_are_grouped_by_what_to_do():
    text = printed(full_session())
    assert "7 of request/: wrk is not installed: apt-get install wrk" in text
    assert text.count("wrk is not installed") == 1
    assert "6 more mechanisms, for 6 other reasons" in text


def test_a_void_session_says_what_to_do_and_keeps_its_figures_off_the_screen():
    text = printed(weighed({"create/goroutine@same": steady(0.5e-6)}), void="sentinel: changed by +57.9 %")
    assert "VOID" in text
    assert "steelyard doctor" in text
    assert "steelyard show --all" in text
    assert "goroutine" not in text
