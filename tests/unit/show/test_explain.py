# SPDX-License-Identifier: Apache-2.0
"""Costs taken apart as a person reads them: the parts, their sum, what is left, and a word for it."""

import io

import pytest

from steelyard.judge.explain import Composite, Part, explain
from steelyard.show import explain as shown
from steelyard.show.console import Console
from tests.unit.judge.sessions import steady, weighed

TUBE = Composite(
    case="message/tube@same",
    made_of="two calls and nothing else",
    source="made up",
    note="a tube is no pipe",
    part=(Part(what="calls", case="call/enter@same", times=2, because="one a side"),),
)


def findings(whole=10e-6, calls=2e-6, blocks=8, **more):
    costs = {"message/tube@same": steady(whole, blocks), "call/enter@same": steady(calls, blocks)}
    if calls is None:
        del costs["call/enter@same"]
    return explain(weighed(costs, **more), {"tube": TUBE})


def printed(found, show=shown.show, width=150):
    stream = io.StringIO()
    show(found, Console(file=stream, width=width))
    return stream.getvalue()


def test_parts_sum_residual_and_whole_stand_below_each_other():
    lines = [" ".join(line.split()) for line in printed(findings()).splitlines()]
    assert "message/tube@same operation A LARGE RESIDUAL" in lines
    assert lines.index("calls 2 2.00 µs 4.00 µs [3.96, 4.04] 40%") + 1 == lines.index(
        "explained 4.00 µs [3.96, 4.04] 40% [40, 40]"
    )
    assert "unexplained 6.00 µs [5.94, 6.06] 60% [60, 60]" in lines
    assert "operation 10.0 µs [9.90, 10.1] 100%" in lines
    assert "calls: one a side (call/enter@same)" in lines
    assert "a tube is no pipe" in lines


@pytest.mark.parametrize(
    ("costs", "word", "sentence"),
    [
        ({"whole": 4e-6}, "EXPLAINED", "cannot be told from nothing"),
        ({"whole": 4.5e-6}, "A RESIDUAL", "no part explains"),
        ({"whole": 3e-6}, "OVER-EXPLAINED", "cost more than the whole"),
        ({"blocks": 3}, "UNDECIDED", "3 blocks are too few"),
    ],
)
def test_the_verdict_is_told_by_a_word_and_a_sentence(costs, word, sentence):
    text = printed(findings(**costs))
    assert f"operation {word}" in text
    assert sentence in text


def test_what_is_missing_is_said_with_the_command_that_measures_it():
    found = explain(weighed({"message/tube@same": steady(1e-6)}), {"tube": TUBE})
    text = printed(found)
    assert "calls: the session has no call/enter@same" in text
    assert "steelyard explain 'message/tube@same' --measure" in text
    assert "1 of 1 parts were not measured" in printed(found, shown.show_short)


def test_the_list_has_a_line_a_composite():
    text = printed(findings(), shown.show_short)
    assert "60% [60, 60]" in text
    assert "a large residual" in text
    absent = printed(explain(weighed({"call/enter@same": steady(1e-6)}), {"tube": TUBE}), shown.show_short)
    assert "not in the session" in absent


def test_objects_carry_the_state_and_every_figure():
    (one,) = shown.as_json(findings())
    assert (one["state"], one["void"], one["case"]) == ("a large residual", None, "message/tube@same")
    assert one["rest"]["share"] == pytest.approx(0.6)
    assert one["parts"][0]["cost"] == pytest.approx(4e-6)
    (absent,) = shown.as_json(explain(weighed({"call/enter@same": steady(1e-6)}), {"tube": TUBE}))
    assert absent["state"] == "not measured"


def test_the_mechanism_has_its_title_beside_its_case():
    found = findings(titles={"message/tube": "tube"})
    assert "tube, one CPU message/tube@same operation A LARGE RESIDUAL" in " ".join(printed(found).split())
    assert "tube, one CPU" in printed(found, shown.show_short)
