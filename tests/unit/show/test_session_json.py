# SPDX-License-Identifier: Apache-2.0
import json

from steelyard.judge.findings import judge
from steelyard.show import session
from steelyard.show.visible import json_text
from tests.making import a_case, a_descriptor, a_header, a_metric, a_run, a_session, a_value, counted

CASE = a_case()


def viewed(*runs, header=None):
    return json.loads(json_text(session.as_json(judge(a_session(*runs, header=header)))))


def test_a_case_is_one_object_with_figures_in_base_units():
    [case] = viewed(*(a_run(CASE, block, block * 1e-6) for block in range(1, 8)))
    assert case["case"] == "example/steady@same"
    assert (case["unit"], case["median"], case["minimum"], case["n"]) == ("s", 4e-6, 1e-6, 7)
    assert case["low"] <= case["median"] <= case["high"]
    assert case["caveats"] == []
    assert case["control"] is False


def test_what_is_not_known_is_null_and_never_a_number_that_json_does_not_have():
    [case] = viewed(a_run(CASE, 1))
    assert (case["low"], case["high"], case["user"], case["net"]) == (None, None, None, None)


def test_further_metrics_are_beside_the_main_one():
    header = a_header(CASE, probes=(a_descriptor(metrics=(a_metric(), a_metric("twice", per="one"))),))
    [case] = viewed(a_run(CASE, 1, 1e-6), header=header)
    assert [(other["metric"], other["median"]) for other in case["others"]] == [("twice", 1e-3)]


def test_what_the_processor_counted_is_there_where_it_did():
    value = a_value(counters=counted(500, cycles=1000))
    [case] = viewed(a_run(CASE, 1, values=(value,)))
    assert [(figure["metric"], figure["unit"], figure["median"]) for figure in case["counters"]] == [("cycles", "1", 2)]
    [without] = viewed(a_run(CASE, 1))
    assert "counters" not in without
