# SPDX-License-Identifier: Apache-2.0
"""What neighbours do, in words."""

import json

import msgspec
import pytest

from steelyard.judge.findings import judge
from steelyard.records import Neighbour
from steelyard.show import neighbours
from steelyard.show import session as shown
from tests.making import a_case
from tests.unit.judge.sessions import noisy, steady
from tests.unit.judge.test_neighbours import session


def said(*costs, blocks=12, **more):
    found = judge(session(steady(1e-6, blocks), *costs, **more)).beside
    return neighbours.sentences(found)


def test_what_suffers_comes_first_with_how_much():
    lines = said(steady(1e-6, 12), steady(1.4e-6, 12))
    assert lines[0].startswith("pipe (one CPU) suffers 1.4 times (1.4 to 1.4")
    assert lines[0].endswith(") from a neighbour that streams memory, on the other CPUs")
    assert lines[1].startswith("pipe (one CPU) does not suffer more than 2 % from a neighbour that streams memory")


def test_what_gains_is_said_to_gain():
    [line] = said(steady(0.5e-6, 12))
    assert line.startswith("pipe (one CPU) gains 2 times (2 to 2")


def test_what_is_undecided_says_between_what_it_lies_and_what_would_tell():
    [line] = said(noisy(1e-6, 12))
    assert ": undecided, 0.499 to 2.01 times" in line


def test_too_few_blocks_have_no_interval():
    [line] = said(steady(2e-6, 2), blocks=2)
    assert line.endswith("2 times, of 2 blocks too few for an interval")


def test_several_neighbours_are_one_sentence():
    [one] = judge(session(steady(1e-6, 12), steady(1.4e-6, 12))).beside.cases
    other = Neighbour(case=a_case("call/syscall"), where="same", does="makes system calls")
    both = msgspec.structs.replace(one, neighbours=(*one.neighbours, other))
    line = neighbours.sentence(both, 0.02)
    assert line.endswith("that streams memory and one that makes system calls, on the same CPU and the others")


def test_programs_get_the_same_beside_the_case():
    findings = judge(session(steady(1e-6, 12), steady(1.4e-6, 12)))
    alone, beside = json.loads(msgspec.json.encode(shown.as_json(findings)))
    assert "beside" not in alone
    assert beside["beside"]["alone"] == "example/pipe@same"
    assert beside["beside"]["suffers"] == pytest.approx(1.4, rel=0.02)
    assert beside["beside"]["neighbours"] == [
        {"case": "cache/bandwidth@same", "where": "other", "does": "streams memory"}
    ]
    assert beside["beside"]["verdict"] == "different"


def test_nothing_is_said_where_there_was_no_neighbour():
    assert neighbours.sentences(None) == []
