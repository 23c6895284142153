# SPDX-License-Identifier: Apache-2.0
"""Advice as a person reads it: what becomes of it is a word, and what was found stands below."""

import io

import msgspec

from steelyard.judge.advice import judge_advice
from steelyard.judge.verdicts import judge_claims
from steelyard.show import advice
from steelyard.show.console import Console
from tests.unit.judge.sessions import steady, weighed
from tests.unit.judge.test_advice import LIBRARY, gaining


def printed(*gains, void=None):
    stream = io.StringIO()
    advice.show(judge_advice(gaining(*gains)), Console(file=stream, width=100), void)
    return " ".join(stream.getvalue().split())


def test_the_conclusion_is_a_word_and_each_setting_says_by_how_much():
    text = printed(2.0, 2.0, 2.0, 0.5)
    assert "STILL WORTH FOLLOWING Do it. true of gcc -O2 following it costs: clang -O2" in text
    assert "gcc -O0 holds 2.00 times" in text
    assert "clang -O2 fails 0.50 times" in text


def test_settings_that_were_not_measured_say_only_that():
    text = printed(2.0, None, None, None)
    assert "NOT MEASURED Do it." in text
    assert "clang -O2 not measured" in text


def test_a_void_session_says_so_before_anything_else():
    assert printed(2.0, 2.0, 2.0, 2.0, void="it was disturbed").startswith(
        "VOID, do not use these figures: it was disturbed"
    )


def test_a_program_gets_conclusion_and_verdicts():
    [found] = advice.as_json(judge_advice(gaining(2.0, 1.0, 2.0, 1.0)))
    assert found["conclusion"] == "the compiler does it"
    assert found["claims"]["faster-gcc-0"] == "holds"
    assert found["claims"]["faster-clang-2"] == "fails"
    assert msgspec.json.encode(found)


def test_a_page_has_a_column_for_each_setting():
    session = judge_claims(weighed({"code/y@same": steady(1e-9)}), LIBRARY)
    text = advice.markdown(session, judge_advice(gaining(2.0, 2.0, 2.0, 0.5)), "steelyard claims")
    assert "| advice | what becomes of it | gcc -O0 | gcc -O2 | clang -O0 | clang -O2 |" in text
    assert (
        "| Do it. | **still worth following**; true of gcc -O2; following it costs: clang -O2 "
        "| ✓ 2.00 | ✓ 2.00 | ✓ 2.00 | ✗ 0.50 |"
    ) in text


def test_a_page_of_a_void_session_says_so():
    session = msgspec.structs.replace(judge_claims(weighed({"code/y@same": steady(1e-9)}), LIBRARY), void="no")
    assert "**VOID, do not use these figures: no**" in advice.markdown(session, (), "steelyard claims")
