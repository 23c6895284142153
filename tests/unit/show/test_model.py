# SPDX-License-Identifier: Apache-2.0
"""The choice of a model as a person and as a program read it."""

import io

import msgspec
import pytest

from steelyard.judge.model import predict
from steelyard.show import model as shown
from steelyard.show.console import Console
from tests.unit.judge.test_model import LANGUAGES, a_demand, served


def printed(predictions):
    text = io.StringIO()
    shown.show(predictions, None, Console(file=text, width=160))
    return text.getvalue()


@pytest.mark.parametrize(
    ("beside", "load", "words"),
    [
        ({"epoll": 20e-6, "thread": 90e-6}, a_demand(), "take epoll, by prediction; thread is next, at 2.00 times its"),
        (
            {"epoll": 20e-6, "thread": 21e-6},
            a_demand(),
            "take epoll or thread: the prediction cannot tell which is cheaper; at worst epoll costs ",
        ),
        ({"epoll": 20e-6}, a_demand(), "take epoll, the only one, by prediction"),
        ({"epoll": 20e-6}, a_demand(at_most=1e-3), "none would serve this load: the reasons stand below"),
    ],
)
def test_the_answer_is_one_sentence(beside, load, words):
    assert words in printed(predict(served(beside), load, LANGUAGES))


def test_where_the_answer_flips_stands_beside_it():
    text = printed(predict(served({"epoll": 20e-6, "thread": 90e-6}), a_demand(), LANGUAGES))
    assert text.startswith("1,000 requests a second over 100 connections, each works 50.0 µs, waits 1.00 ms, on 1 CPU;")
    assert "By prediction epoll keeps the goal until " in text
    assert "no other does so for longer" in text


def test_how_many_connections_the_memory_is_enough_for_stands_beside_it():
    text = printed(predict(served({"epoll": 20e-6}, connection=1000.0), a_demand(memory_bytes=900_000), LANGUAGES))
    assert "epoll fits into the memory until about 900 connections." in text


def test_objects_have_the_prediction_and_no_verification():
    made = shown.as_json(predict(served({"epoll": 20e-6}), a_demand(), LANGUAGES), None)
    made = msgspec.json.decode(msgspec.json.encode(made))
    assert made["recommended_by_prediction"] == "epoll"
    assert (made["verified"], made["checked"]) == (None, [])
