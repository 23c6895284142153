# SPDX-License-Identifier: Apache-2.0
import json
import struct
import xml.etree.ElementTree as ET

import msgspec
import pytest

from steelyard.judge.plots import Bound
from steelyard.show import charts
from tests.reporting import BIMODAL, MARKUP, a_full_session, a_report, hostile


@pytest.fixture(scope="module")
def report():
    return a_report()


def curve(report, title):
    [found] = [plot for plot in report.sessions[0].curves if plot.title.startswith(title)]
    return found


def strings(node, key=""):
    """Every string of a specification outside its data, with the name of its field."""
    match node:
        case dict():
            for name, value in node.items():
                if name != "datasets":
                    yield from strings(value, name)
        case list():
            for value in node:
                yield from strings(value, key)
        case str():
            yield key, node


def test_every_case_of_the_price_list_is_a_mark_and_a_mixture_is_two(report):
    [prices] = report.sessions[0].prices
    marks = charts.prices(prices)["datasets"]["marks"]
    cases = [mark["tip"].split("\n")[0] for mark in marks]
    assert len(set(cases)) == sum(len(series.spots) for series in prices.series)
    assert cases.count(BIMODAL) == 2
    assert [mark["kind"] for mark in marks if mark["tip"].startswith(BIMODAL)] == ["mode", "mode"]


def test_questions_come_in_the_order_of_their_cheapest_mechanism(report):
    [prices] = report.sessions[0].prices
    assert [group for group, _ in charts.price_order(prices)] == ["call", "lock", "switch"]


def test_a_curve_has_its_intervals_its_overhead_and_a_line_for_what_may_be_joined(report):
    drawn = charts.curves(curve(report, "switch/yield"))["datasets"]
    assert {row["series"] for row in drawn["lines"]} == {"kind=thread", "kind=process"}
    assert len(drawn["intervals"]) == len(drawn["bands"]) == 8
    assert all(row["low"] <= row["high"] for row in drawn["intervals"])
    [bound] = drawn["bounds"]
    assert bound["tip"].startswith("overhead: call/loop@same")


def test_an_overhead_that_grows_is_a_line_and_not_one_across_for_each_point(report):
    plot = curve(report, "switch/yield")
    bounds = tuple(Bound(name="overhead: call", value=x * 1e-9, x=x) for x in (1, 16, 128))
    spec = charts.curves(msgspec.structs.replace(plot, bounds=bounds))
    assert "bounds" not in spec["datasets"]
    assert [row["x"] for row in spec["datasets"]["floors"]] == [1, 16, 128]
    [layer] = [layer for layer in spec["layer"] if layer["data"]["name"] == "floors"]
    assert layer["mark"]["type"] == "line"


def test_a_published_figure_is_a_reference_point_that_says_where_it_is_from_and_what_is_wrong_with_it(report):
    reference_points = charts.curves(curve(report, "lock/counter"))["datasets"]["reference_points"]
    assert any("2014" in point["tip"] and "but:" in point["tip"] for point in reference_points)


def test_ratios_keep_what_reaches_too_far_inside_the_figure(report):
    [compared] = report.comparisons
    drawn = charts.ratios(compared.cases, compared.margin, "all")["datasets"]["ratios"]
    assert {row["verdict"] for row in drawn} >= {"different"}
    assert all(0 < row["low"] <= row["high"] for row in drawn)


def test_series_of_a_large_family_look_different():
    looks = [charts.look(number) for number in range(24)]
    assert len({(one.colour, one.shape, one.dash) for one in looks}) == 24


def test_a_layer_without_data_is_left_out(report):
    spec = charts.curves(curve(report, "switch/yield"))
    assert {layer["data"]["name"] for layer in spec["layer"]} == set(spec["datasets"])


def test_no_text_of_a_session_gets_into_an_expression_or_a_field():
    from steelyard.judge.report import report as reported

    [judged] = reported([hostile(a_full_session())]).sessions
    for plot in (*judged.prices, *judged.curves):
        spec = charts.prices(plot) if plot.x is None else charts.curves(plot)
        spoilt = {key for key, text in strings(spec) if MARKUP in text}
        assert spoilt <= {"title", "domain"}
        assert MARKUP in json.dumps(spec["datasets"], ensure_ascii=False).replace('\\"', '"')


def test_every_figure_is_written_as_svg_and_png_without_a_browser(report):
    drawn = charts.files(report)
    assert {name.split("-")[-2] for name in drawn} == {"prices", "curve", "ratios", "study"}
    for spec in drawn.values():
        assert ET.fromstring(charts.svg(spec)).tag.endswith("svg")
    picture = charts.png(next(iter(drawn.values())))
    assert picture.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", picture[16:24])
    assert min(width, height) > 300


def test_files_take_no_colour_from_a_style_sheet(report):
    assert not any("var(" in text for spec in charts.files(report).values() for _, text in strings(spec))
