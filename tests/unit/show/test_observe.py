# SPDX-License-Identifier: Apache-2.0
"""An observed machine on a terminal."""

import io

from steelyard.judge.findings import judge
from steelyard.judge.placing import place
from steelyard.records import Recording
from steelyard.show import observe
from steelyard.show.console import Console
from tests.unit.judge.sessions import steady, weighed
from tests.unit.judge.test_placing import a_session, an_observation


def shown(observation, findings=None) -> str:
    text = io.StringIO()
    observe.show(place(observation, findings, why_not="no session"), Console(file=text, width=200))
    return text.getvalue()


def test_distribution_rates_and_place_are_all_there():
    text = shown(an_observation(25, 50, 25), judge(a_session()))
    assert "50.0 %" in text
    assert "mean 1.00" in text
    assert "switches 400 a second: 150 given away, 50 taken away, 200 from idle" in text
    assert "forks 2.0 a second" in text
    assert "10.0 % of the time" in text
    assert "switch/yield kind=process" in text
    assert "observing took 0.20 % of a CPU" in text


def test_how_long_a_sleeper_takes_is_there_where_it_was_measured():
    wakes = {f"wake/timer[load={load},loads=1]@same": steady(s) for load, s in (("none", 5e-5), ("spin", 2e-3))}
    session = weighed({**wakes, **{f"switch/yield[contexts={n}]@same": steady(1e-6) for n in (2, 40)}})
    text = shown(an_observation(0, 9), judge(session))
    assert "how long a sleeper takes to run here" in text
    assert "wake/timer" in text
    assert "2.00 ms" in text
    assert "sleeper" not in shown(an_observation(), judge(a_session()))


def test_what_was_recorded_is_said_with_what_is_missing():
    traced = Recording(by="tracepoints", events=90, lost=2, switches=40)
    assert "recorded by tracepoints: 90 events, 40 switches; 2 events are missing" in shown(
        an_observation(recording=traced)
    )
    by_proc = shown(an_observation(recording=Recording(by="proc", why="only root may trace the kernel")))
    assert "of 4000 switches only the number is known (only root may trace the kernel)" in by_proc


def test_a_long_queue_stays_a_page():
    text = shown(an_observation(*[1] * 5000))
    assert len(text.splitlines()) < 50
    assert "over 4" in text


def test_what_a_kernel_does_not_keep_is_left_out_or_said():
    assert "run delay" not in shown(an_observation())
    assert "run delay 2.0 s" in shown(an_observation(run_delay_s=2.0))
    assert "no session" in shown(an_observation())


def test_a_command_is_named_with_its_end():
    assert "beside make -j2, which ended with 2" in shown(an_observation(command=("make", "-j2"), command_status=2))


def test_the_sentence_says_what_a_switch_costs_here_beside_the_benchmark():
    text = shown(an_observation(0, 100), judge(a_session()))
    assert "Your run queue is 1.0 long" in text
    assert "not the 40" in text
    assert "400 switches a second are 0.08 %" in text
    alike = weighed({f"switch/yield[contexts={n},kind=process]@same": steady(1e-6) for n in (2, 40)})
    assert "about what the benchmark shows" in shown(an_observation(), judge(alike))
    titled = weighed(
        {f"switch/yield[contexts={n}]@same": steady(1e-6) for n in (2, 40)}, titles={"switch/yield": "handing on"}
    )
    assert "handing on  switch/yield" in shown(an_observation(), judge(titled))
    assert "Your run queue is 1.0 long, 99 % of the time at most 2, over 1 CPU." in shown(an_observation())
