# SPDX-License-Identifier: Apache-2.0
"""A family of ways becomes the table that studies print; what only one way has stands in its column's name."""

import io

from steelyard.judge.findings import judge
from steelyard.show import terminal
from steelyard.show.console import Console
from tests.unit.judge.sessions import steady, weighed

WAYS = ("pipe", "tcp", "queue")


def a_family(**costs):
    return judge(
        weighed(
            {
                f"message/carry_{way}[size={size},kind=process]@same": steady(cost * size)
                for way, cost in costs.items()
                for size in (1, 2)
            }
        )
    )


def test_three_ways_of_one_family_make_a_matrix():
    [matrix] = a_family(pipe=1e-6, tcp=2e-6, queue=3e-6).matrices
    assert (matrix.family, matrix.parameter, matrix.fixed) == ("message/carry", "size", "kind=process @same")
    assert matrix.ways == WAYS
    assert round(matrix.rows[2]["tcp"].median * 1e6, 1) == 4.0


def test_two_ways_make_none():
    assert a_family(pipe=1e-6, tcp=2e-6).matrices == ()


def test_a_parameter_of_one_way_is_named_in_its_column_where_it_varies():
    counted = {f"lock/count_{way}[contexts={n}]@same": steady(1e-6) for way in ("a", "b") for n in (1, 2)}
    once = {f"lock/count_c[contexts={n},undo=yes]@same": steady(1e-6) for n in (1, 2)}
    [matrix] = judge(weighed({**counted, **once})).matrices
    assert matrix.ways == ("a", "b", "c")
    twice = {f"lock/count_c[contexts={n},undo=no]@same": steady(1e-6) for n in (1, 2)}
    [matrix] = judge(weighed({**counted, **once, **twice})).matrices
    assert set(matrix.ways) == {"a", "b", "c undo=no", "c undo=yes"}


def test_placements_are_separate_matrices():
    costs = {
        f"message/carry_{way}[size={size}]@{placement}": steady(1e-6)
        for way in WAYS
        for size in (1, 2)
        for placement in ("same", "cross")
    }
    assert sorted(matrix.fixed for matrix in judge(weighed(costs)).matrices) == ["@cross", "@same"]


def test_a_narrow_terminal_gets_the_matrix_in_parts():
    shown = io.StringIO()
    terminal.show(a_family(pipe=1e-6, tcp=2e-6, queue=3e-6), Console(file=shown, width=40))
    text = shown.getvalue()
    assert text.count("message/carry") >= 2
    for way in WAYS:
        assert way in text
