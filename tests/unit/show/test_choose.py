# SPDX-License-Identifier: Apache-2.0
"""The answer of `choose message` as a person and as a program read it."""

import io
import re

import msgspec
import pytest

from steelyard.judge.choose import choose
from steelyard.records import Skip
from steelyard.show import choose as shown
from steelyard.show.console import Console
from steelyard.show.visible import json_text
from tests.making import a_run
from tests.unit.judge.sessions import noisy
from tests.unit.judge.test_choose import TWO_SIZES, a_load, exchanged, paced

ALIKE = {"pipe": {200: 2e-6}, "ring": {200: 2e-6}}


def printed(session, load):
    text = io.StringIO()
    shown.show(choose(session, load), Console(file=text, width=140))
    return text.getvalue()


@pytest.mark.parametrize(
    ("costs", "load", "words"),
    [
        (TWO_SIZES, a_load(), "200 B: take ring in shared memory; pipe is next, at 2.00 times its there and back"),
        (ALIKE, a_load(), "200 B: take pipe or ring in shared memory: they are equal within 5 %"),
        ({"pipe": {200: 1e-6}}, a_load(), "200 B: take pipe, the only one"),
        (TWO_SIZES, a_load(4096), "4 KiB: no channel that can was measured"),
        (
            TWO_SIZES,
            a_load(goal="p99", at_most=1e-6),
            "200 B: none is sure to meet the goal; ring in shared memory comes nearest, with 2.00 µs",
        ),
        (
            TWO_SIZES,
            a_load(goal="p99", at_most=3e-6),
            "200 B: take ring in shared memory, the only one that is sure to meet the goal",
        ),
        (
            TWO_SIZES,
            a_load(goal="p99_9", at_most=3e-6),
            "200 B: whether any meets the goal is not known: no p99_9 could be measured",
        ),
    ],
)
def test_the_answer_is_one_sentence(costs, load, words):
    assert words in printed(exchanged(costs), load)


def test_the_channels_their_properties_and_the_switch_over_stand_below():
    text = printed(exchanged(TWO_SIZES), a_load(200, 65536, needs={"boundaries": "no"}))
    assert text.startswith("messages of 200 B and 64 KiB between two processes on two CPUs, boundaries: no\n")
    assert "CPU of both" in text
    assert "what they can          boundaries" in text
    assert "The answer changes at about 3.54 KiB: ring in shared memory below, pipe above." in text
    assert "latency_queue: boundaries: yes, not no" in text
    assert "∞" not in text


def test_what_may_miss_the_goal_says_what_it_may_take():
    text = printed(exchanged(TWO_SIZES), a_load(goal="p99", at_most=3e-6))
    assert "p99 may be" in text
    [pipe] = [line for line in text.splitlines() if line.startswith("pipe ") and "latency_pipe" in line]
    assert pipe.count("4.00 µs") == 2


def test_nearest_to_a_goal_that_none_keeps_is_not_the_cheapest():
    session = exchanged(TWO_SIZES, p99={"ring": 90e-6, "pipe": 9e-6, "queue": 8e-6})
    text = printed(session, a_load(goal="p99", at_most=1e-6))
    assert "none is sure to meet the goal; queue comes nearest, with 8.00 µs" in text
    session = paced({"pipe": 25e-6, "ring": 40e-6}, responses={"pipe": 9e-6, "ring": 1e-6})
    assert "none keeps up; pipe comes nearest, with 0.80 times the rate" in printed(session, a_load(rate=50_000))


def test_it_says_what_it_costs_to_be_wrong():
    session = exchanged({"pipe": {200: 2e-6}, "ring": {200: 2.1e-6}})
    runs = [
        *session.runs[:8],
        *(a_run(run.case, run.block, cost) for run, cost in zip(session.runs[8:], noisy(2.1e-6), strict=True)),
    ]
    text = printed(msgspec.structs.replace(session, runs=tuple(runs)), a_load())
    assert re.search(r"take pipe, which costs at worst \d+ % more than the next; whether ring in shared memory", text)


def test_a_reason_does_not_name_its_probe_twice():
    skips = [
        Skip(subject="message/latency_mq[size=200,kind=process]@cross", reason="message/latency_mq: raise msg_max")
    ]
    assert "  latency_mq: raise msg_max" in printed(exchanged(TWO_SIZES, skips=skips), a_load())


def test_objects_name_what_is_recommended():
    made = msgspec.json.decode(json_text(shown.as_json(choose(exchanged(TWO_SIZES), a_load(200, 65536)))))
    assert [(one["recommended"], one["runner_up"]) for one in made["choices"]] == [
        ("latency_ring", "latency_pipe"),
        ("latency_pipe", "latency_ring"),
    ]


def test_at_a_rate_it_says_what_each_could_do():
    session = paced({"pipe": 5e-6, "ring": 2e-6}, responses={"pipe": 4e-6, "ring": 9e-6})
    text = printed(session, a_load(rate=50_000))
    assert text.startswith("50,000 messages of 200 B a second between two processes on two CPUs\n")
    assert "200 B: take pipe; ring in shared memory is next, at 2.25 times its response time" in text
    assert "could do" in text
    assert "10.0 times" in text
