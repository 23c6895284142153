# SPDX-License-Identifier: Apache-2.0
import msgspec
import pytest

from steelyard.judge.plausible import objection
from steelyard.records import Publication, PublishedControl, PublishedFigure, PublishedMetric
from tests.publishing import a_publication

TODAY = "2026-01-02"
PIPE = "message/latency_pipe[size=1,kind=process]@cross"
CALL = "call/direct@same"


@pytest.fixture(scope="module")
def good():
    return a_publication()


def with_figure(of: Publication, case: str, **changes) -> Publication:
    """The same with other numbers in the main figure of a case; its interval follows unless it is given."""

    def changed(one):
        if one.case != case:
            return one
        scale = changes.get("median", one.figures["operation"].median) / one.figures["operation"].median
        old = one.figures["operation"]
        ends = {"low": old.low * scale, "high": old.high * scale}
        return msgspec.structs.replace(
            one, net=None, figures={"operation": msgspec.structs.replace(old, **{**ends, **changes})}
        )

    return msgspec.structs.replace(of, cases=tuple(map(changed, of.cases)))


def test_what_was_measured_can_be_true(good):
    assert objection(good, TODAY) is None


@pytest.mark.parametrize(
    ("case", "changes", "why"),
    [
        (PIPE, {"median": 1e-10}, "from CPU to CPU"),
        (CALL, {"median": 1e-13}, "light"),
        (CALL, {"median": 2e6}, "longer than any session"),
        (CALL, {"median": 0.0, "low": 0.0, "high": 0.0}, "nothing is that cheap"),
        (CALL, {"median": -1e-9, "low": -2e-9, "high": 1e-9}, "nothing is that cheap"),
        (CALL, {"low": 2e-9}, "outside of its own interval"),
        (CALL, {"high": 1e-9, "low": 0.5e-9}, "outside of its own interval"),
        (CALL, {"low": None}, "cannot give"),
        (CALL, {"n": 5}, "cannot give"),
        (CALL, {"n": 10**18}, "runs that count in 8 blocks"),
    ],
)
def test_a_figure_that_no_machine_has_is_told(good, case, changes, why):
    said = objection(with_figure(good, case, **changes), TODAY)
    assert why in said
    assert case in said


def test_a_message_on_one_cpu_may_be_quicker_than_between_two(good):
    assert objection(with_figure(good, CALL, median=1e-10), TODAY) is None


@pytest.mark.parametrize(
    ("unit", "median", "why"),
    [("B", 10 * 2.0**30, "8 GiB"), ("B/s", 1e15, "no memory"), ("1/s", 1e14, "cycles")],
)
def test_no_machine_has_more_than_there_is(good, unit, median, why):
    probes = tuple(
        msgspec.structs.replace(probe, metrics={"operation": PublishedMetric(unit=unit, better="lower")})
        for probe in good.probes
    )
    assert why in objection(msgspec.structs.replace(with_figure(good, CALL, median=median), probes=probes), TODAY)


def test_a_cost_is_not_larger_without_its_overhead(good):
    cases = tuple(
        msgspec.structs.replace(case, net=PublishedFigure(n=8, median=2e-9, low=1.9e-9, high=2.1e-9))
        if case.case == CALL
        else case
        for case in good.cases
    )
    assert "without its overhead" in objection(msgspec.structs.replace(good, cases=cases), TODAY)


def test_the_future_has_not_been_measured(good):
    assert "2026-01-02" in objection(good, "2026-01-01")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"controls": ()}, "no controls"),
        ({"controls": (PublishedControl(name="sentinel", state="failed"),)}, "sentinel did not pass"),
        ({"controls": (PublishedControl(name="my own", state="passed"),)}, "not those of a session"),
        ({"controls": 2 * (PublishedControl(name="sentinel", state="passed"),)}, "not those of a session"),
        ({"facts": {"cpu": "AMD EPYC of alice"}}, "its fact cpu"),
        ({"facts": {"host": "build"}}, "its fact host"),
        ({"facts": {"cpu": ""}}, "its fact cpu"),
    ],
)
def test_what_publish_would_not_have_written_is_told(good, changes, why):
    assert why in objection(msgspec.structs.replace(good, **changes), TODAY)


def test_its_parts_belong_together(good):
    def said(**changes):
        return objection(msgspec.structs.replace(good, **changes), TODAY)

    first = good.cases[0]
    assert "twice" in said(cases=(first, first))
    assert "twice" in said(probes=(*good.probes, good.probes[0]))
    assert "does not describe" in said(probes=good.probes[1:])
    unused = msgspec.structs.replace(good.probes[0], probe="call/unused", main="other")
    assert "call/unused is not measured by other" in said(probes=(*good.probes, unused))
    assert "the metric other" in said(
        cases=(msgspec.structs.replace(first, figures=first.figures | {"other": first.figures["operation"]}),)
    )
    assert "the metric operation" in said(
        cases=(msgspec.structs.replace(first, figures={"share": first.figures["operation"]}),)
    )
    assert "flags" in said(cases=(msgspec.structs.replace(first, flags="-DOWNER=alice"),))
