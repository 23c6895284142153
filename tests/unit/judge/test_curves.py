# SPDX-License-Identifier: Apache-2.0
"""Curves of one probe, and matrices: a family of ways becomes the table that studies print."""

import io

import pytest

from steelyard.judge.findings import judge
from steelyard.show import session
from steelyard.show.console import Console
from tests.making import a_case, a_choice, a_descriptor, a_header, a_run, a_session, an_integer
from tests.unit.judge.sessions import steady, weighed

SWEPT = a_descriptor("example/swept", parameters=(an_integer("n", 1, 2, 4), a_choice("kind", "a", "b")))


def swept(*points: tuple[int, str]):
    cases = [a_case("example/swept", n=n, kind=kind) for n, kind in points]
    header = a_header(*cases, probes=(SWEPT,))
    return judge(a_session(*(a_run(case, 1, case.parameters["n"] * 1e-6) for case in cases), header=header)).curves


def test_three_points_make_a_curve_in_the_order_of_the_parameter():
    [curve] = swept((4, "a"), (1, "a"), (2, "a"))
    assert (curve.parameter, curve.settings, curve.unit) == ("n", ("kind=a", "@same"), "s")
    assert [(point.x, point.median) for point in curve.points] == [(n, pytest.approx(n * 1e-6)) for n in (1, 2, 4)]


def test_two_points_make_no_curve():
    assert swept((1, "a"), (2, "a")) == ()


def test_what_else_differs_makes_another_curve():
    assert [curve.settings for curve in swept(*((n, kind) for kind in "ab" for n in (1, 2, 4)))] == [
        ("kind=a", "@same"),
        ("kind=b", "@same"),
    ]


WAYS = ("pipe", "tcp", "queue")


def a_family(**costs):
    return judge(
        weighed(
            {
                f"message/carry_{way}[size={size},kind=process]@same": steady(cost * size)
                for way, cost in costs.items()
                for size in (1, 2)
            },
            family="carry",
        )
    )


def test_an_underscore_in_a_name_makes_no_family():
    costs = {f"message/carry_{way}[size={size}]@same": steady(1e-6) for way in WAYS for size in (1, 2)}
    assert judge(weighed(costs)).matrices == ()


def test_three_ways_of_one_family_make_a_matrix():
    [matrix] = a_family(pipe=1e-6, tcp=2e-6, queue=3e-6).matrices
    assert (matrix.family, matrix.parameter) == ("message/carry", "size")
    assert matrix.settings == ("kind=process", "@same")
    assert matrix.ways == tuple((way,) for way in WAYS)
    assert round(matrix.rows[2][("tcp",)].median * 1e6, 1) == 4.0


def test_two_ways_make_none():
    assert a_family(pipe=1e-6, tcp=2e-6).matrices == ()


def test_a_parameter_of_one_way_is_named_in_its_column_where_it_varies():
    counted = {f"lock/count_{way}[contexts={n}]@same": steady(1e-6) for way in ("a", "b") for n in (1, 2)}
    once = {f"lock/count_c[contexts={n},undo=yes]@same": steady(1e-6) for n in (1, 2)}
    [matrix] = judge(weighed({**counted, **once}, family="count")).matrices
    assert matrix.ways == (("a",), ("b",), ("c",))
    twice = {f"lock/count_c[contexts={n},undo=no]@same": steady(1e-6) for n in (1, 2)}
    [matrix] = judge(weighed({**counted, **once, **twice}, family="count")).matrices
    assert set(matrix.ways) == {("a",), ("b",), ("c", "undo=no"), ("c", "undo=yes")}


def test_a_matrix_goes_along_the_first_number_that_varies():
    served = {
        f"serve/answer_{way}[rate=0,wait={wait}]@same": steady(1e-6 * (1 + wait)) for way in WAYS for wait in (0, 20)
    }
    [matrix] = judge(weighed(served, family="answer")).matrices
    assert (matrix.parameter, matrix.settings, list(matrix.rows)) == ("wait", ("rate=0", "@same"), [0, 20])


def test_placements_are_separate_matrices():
    costs = {
        f"message/carry_{way}[size={size}]@{placement}": steady(1e-6)
        for way in WAYS
        for size in (1, 2)
        for placement in ("same", "cross")
    }
    found = judge(weighed(costs, family="carry")).matrices
    assert sorted(matrix.settings for matrix in found) == [("@cross",), ("@same",)]


def test_a_narrow_terminal_gets_the_matrix_in_parts():
    shown = io.StringIO()
    session.show(a_family(pipe=1e-6, tcp=2e-6, queue=3e-6), Console(file=shown, width=40))
    text = shown.getvalue()
    assert text.count("message/carry") >= 2
    for way in WAYS:
        assert way in text
