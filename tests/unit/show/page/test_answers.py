# SPDX-License-Identifier: Apache-2.0
"""A page begins with what a first session answers."""

from steelyard.judge import rules
from steelyard.judge.answers import operands
from steelyard.judge.report import report
from steelyard.records import CasePattern
from steelyard.show import html
from tests.unit.judge.sessions import steady, weighed


def page_of(costs):
    made = report([weighed(costs)])
    return html.page(made, rules.check(made))


def test_it_begins_with_prices_in_words_and_statements_with_both_numbers():
    cases = {operand.case for operand in operands() if CasePattern.parse(operand.case).placement}
    page = page_of({case: steady(64e-6) for case in sorted(cases)})
    assert page.index('id="answers"') < page.index('id="prices"')
    first = page[page.index('id="answers"') : page.index('id="prices"')]
    assert "pipe</th>" in first
    assert "64.0 µs [63." in first
    assert "two CPUs" in first
    assert first.count("Here ") == first.count(", claimed ") > 3
    assert "✗" in first


def test_a_session_of_other_cases_begins_with_its_price_list():
    assert 'id="answers"' not in page_of({"switch/condvar[kind=thread]@same": steady(1e-6)})


def test_a_command_of_many_cases_does_not_fill_the_first_screen():
    assert html._cut("steelyard run " + "call/direct@same " * 100).endswith(" …")
    assert html._cut("steelyard run") == "steelyard run"
