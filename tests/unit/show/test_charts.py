# SPDX-License-Identifier: Apache-2.0
import json
import struct
import xml.etree.ElementTree as ET

import msgspec
import pytest

from steelyard.judge.findings import judge
from steelyard.judge.plots import Bound
from steelyard.judge.report import report as reported
from steelyard.show import charts
from tests.reporting import MARKUP, a_full_session, a_report, hostile
from tests.unit.judge.sessions import steady, weighed
from tests.unit.judge.test_loaded import CURVE, session


@pytest.fixture(scope="module")
def report():
    return a_report()


def curve(report, subject):
    [found] = [plot for plot in report.sessions[0].curves if plot.subject == subject]
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
    bimodal = "switch/pipe, kind thread, unpinned"
    assert cases.count(bimodal) == 2
    assert [mark["kind"] for mark in marks if mark["tip"].startswith(bimodal)] == ["mode", "mode"]


def test_questions_come_in_the_order_of_their_cheapest_mechanism(report):
    [prices] = report.sessions[0].prices
    assert [group for group, _ in charts.price_order(prices)] == ["call", "lock", "switch"]


def test_a_curve_has_its_intervals_its_overhead_and_a_line_for_what_may_be_joined(report):
    drawn = charts.curves(curve(report, "switch/yield"))["datasets"]
    assert {row["series"] for row in drawn["lines"]} == {"kind thread", "kind process"}
    assert len(drawn["intervals"]) == len(drawn["bands"]) == 8
    assert all(row["low"] <= row["high"] for row in drawn["intervals"])
    [bound] = drawn["bounds"]
    assert bound["tip"].startswith("overhead: call/loop, one CPU, 0.3")


def test_an_overhead_that_grows_is_a_line_and_not_one_across_for_each_point(report):
    plot = curve(report, "switch/yield")
    bounds = tuple(Bound(kind="overhead", title="call", settings=(), value=x * 1e-9, x=x) for x in (1, 16, 128))
    spec = charts.curves(msgspec.structs.replace(plot, bounds=bounds))
    assert "bounds" not in spec["datasets"]
    assert [row["x"] for row in spec["datasets"]["floors"]] == [1, 16, 128]
    [layer] = [layer for layer in spec["layer"] if layer["data"]["name"] == "floors"]
    assert layer["mark"]["type"] == "line"


def test_a_published_figure_is_a_reference_point_that_says_where_it_is_from_and_what_is_wrong_with_it(report):
    reference_points = charts.curves(curve(report, "counter"))["datasets"]["reference_points"]
    assert any("2014" in point["tip"] and "but:" in point["tip"] for point in reference_points)


def test_ratios_keep_what_reaches_too_far_inside_the_figure(report):
    [compared] = report.comparisons
    drawn = charts.ratios(compared.cases, compared, "all")["datasets"]["ratios"]
    assert {row["verdict"] for row in drawn} >= {"different"}
    assert all(0 < row["low"] <= row["high"] for row in drawn)


def test_a_ratio_stands_in_the_words_of_its_mechanism_where_they_tell_it_apart(report):
    [compared] = report.comparisons
    titles = {"switch/yield": "sched_yield", "lock/counter_mutex": "lock", "lock/counter_atomic": "lock"}
    found = msgspec.structs.replace(compared, titles=titles)
    rows = [row["case"] for row in charts.ratios(compared.cases, found, "all")["datasets"]["ratios"]]
    assert len(set(rows)) == len(compared.cases)
    assert "switch/sched_yield, contexts 2, kind thread, one CPU" in rows
    assert "lock/counter_mutex[contexts=5,kind=process]@free" in rows


def test_series_of_a_large_family_look_different():
    looks = [charts.look(number) for number in range(24)]
    assert len({(one.colour, one.shape, one.dash) for one in looks}) == 24


def in_parts():
    """A family of which each place is a part."""
    names = [f"message/channel_{letter}" for letter in "abcdefgh"]
    costs = {
        f"{name}[size={size}]{where}": steady((size + number) * 1e-9 * (1 if where == "@same" else 30))
        for number, name in enumerate(names)
        for size in (1024, 4096, 65536)
        for where in ("@same", "@free")
    }
    [judged] = reported([weighed(costs, family="channel", titles={names[0]: "pipe"})]).sessions
    [plot] = judged.curves
    return plot


def test_a_plot_of_several_parts_shows_one_at_a_time_on_axes_that_stay():
    plot = in_parts()
    spec = charts.curves(plot)
    assert all({"filter": "datum.part === part"} in layer["transform"] for layer in spec["layer"])
    assert {"name": "part", "value": 0} in spec["params"]
    assert {row["part"] for row in spec["datasets"]["marks"]} == {0, 1}
    assert {row["series"] for row in spec["datasets"]["marks"] if row["part"] == 1} >= {"pipe", "h"}
    [low, high] = spec["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert low == min(row["low"] for row in spec["datasets"]["intervals"])
    assert high == max(row["high"] for row in spec["datasets"]["intervals"])


def test_a_file_has_one_part_and_says_which():
    plot = in_parts()
    for number, words in enumerate(("one CPU", "unpinned")):
        spec = charts.curves(plot, charts.FILE, number)
        assert spec["title"] == f"Message: channel by size, {words}"
        assert {row["part"] for row in spec["datasets"]["marks"]} == {number}
        assert not any(one["name"] == "part" for one in spec["params"])


def test_a_row_has_the_title_of_its_mechanism_and_no_two_rows_are_one():
    titles = {"message/channel_a": "pipe", "message/channel_b": "pipe"}
    costs = {f"message/channel_{way}[size={size}]@same": steady(1e-6) for way in "abcdef" for size in (1, 2)}
    [judged] = reported([weighed(costs, titles=titles)]).sessions
    rows = charts.prices(judged.prices[0])["datasets"]["marks"]
    assert {row["series"] for row in rows} == {
        *("message/pipe", "message/pipe (channel_b)", "message/channel_c", "message/channel_d"),
        *("message/channel_e", "message/channel_f"),
    }


def test_latency_by_bandwidth_is_a_mark_a_point_and_a_file_has_it(report):
    [found] = judge(session(CURVE)).loaded
    rows = charts.loaded([found], "a title")["datasets"]["loaded"]
    assert [round(row["x"] / 1e9) for row in rows] == [1, 10, 20]
    assert rows[-1]["tip"].endswith("200 ns at 20.0 GB/s")
    assert all(row["low"] <= row["value"] <= row["high"] for row in rows)
    assert "loaded" not in charts.files(report)


def test_a_layer_without_data_is_left_out(report):
    spec = charts.curves(curve(report, "switch/yield"))
    assert {layer["data"]["name"] for layer in spec["layer"]} == set(spec["datasets"])


def test_no_text_of_a_session_gets_into_an_expression_or_a_field():
    [judged] = reported([hostile(a_full_session())]).sessions
    for plot in (*judged.prices, *judged.curves):
        assert plot.drawn or plot.kind == "curves"
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
