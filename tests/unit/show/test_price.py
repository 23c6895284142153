# SPDX-License-Identifier: Apache-2.0
"""`steelyard price` as a person reads it."""

import io

from steelyard.judge.price import price
from steelyard.show import price as shown
from steelyard.show.console import Console
from tests.unit.judge.test_price import YIELD, an_effort, prices


def printed(priced):
    text = io.StringIO()
    shown.show(priced, Console(file=text, width=160))
    return text.getvalue()


def test_the_answer_is_a_share_and_what_it_would_be_as_coroutines():
    text = printed(price(an_effort(voluntary=50_000, minor_faults=1000), prices()))
    assert text.startswith("example (process 7, 1 thread), 10 s\n")
    assert "It keeps 0.10 CPUs busy: 10.0 % of that goes into 5,000 waits a second" in text
    assert "The same switches would be less than 0.1 % as C++ coroutines, stackless." in text
    assert "not counted" in text
    assert "without switches although it was ready and system calls and processes made and threads made" not in text
    assert "without switches although it was ready, system calls, processes made, threads made" in text


def test_a_price_below_zero_is_at_most_its_upper_end():
    text = printed(price(an_effort(involuntary=5), prices(**{YIELD: 0.05e-6})))
    assert "at most" in text


def test_a_process_that_slept_is_said_to():
    assert "It used no CPU time" in printed(price(an_effort(cpu_s=0.0), prices()))
