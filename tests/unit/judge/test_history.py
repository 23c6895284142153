# SPDX-License-Identifier: Apache-2.0
import msgspec
import pytest

from steelyard.judge import history
from steelyard.judge.findings import judge
from steelyard.keep.session import read
from steelyard.show.reasons import said
from tests.many import WHOLE

CASE = "example/swept[n=10,kind=thread]@same"
WHOLE_SESSION = read(WHOLE)


def a_past(number, median=1.0, **more):
    facts = {"kernel": "6.1", "compiler": "gcc 12"}
    fields = {
        "case": "example/steady@same",
        "path": f"{number}.session.jsonl",
        "id": f"{number}",
        "started": f"2026-01-{number + 1:02d}T00:00:00+00:00",
        "machine_key": "one",
        "machine": "Example CPU",
        "facts": facts,
        "metric": "operation",
        "unit": "s",
        "better": "lower",
        "n": 8,
        "median": median,
        "low": median * 0.99,
        "high": median * 1.01,
        "void": None,
    }
    return history.Past(**{**fields, **more})


def stepped(count=16, change=8, **later):
    """A level that rises by a quarter, with a little noise that is the same for all."""
    return [
        a_past(
            number,
            (1.25 if number >= change else 1.0) * (1 + 0.001 * (number % 3)),
            **(later if number >= change else {}),
        )
        for number in range(count)
    ]


def test_a_case_of_a_session_has_the_figures_of_its_findings():
    past = history.past(WHOLE_SESSION, CASE)
    [found] = [case for case in judge(WHOLE_SESSION).cases if case.case == CASE]
    main = found.main
    assert (past.median, past.low, past.high, past.n) == (main.median, main.low, main.high, main.n)
    assert (past.metric, past.unit, past.better) == (main.metric, main.unit, main.better)
    assert past.void is None
    assert past.facts["kernel"] == "6.0-example"
    assert past.facts["probe program"] == "00"


def test_a_case_that_was_not_measured_has_no_past():
    assert history.past(WHOLE_SESSION, "no/body@same") is None


def test_a_pattern_stands_for_cases_and_for_controls_only_when_nothing_else_fits():
    assert history.cases_like(WHOLE_SESSION, CASE) == (CASE,)
    assert len(history.cases_like(WHOLE_SESSION, "example/swept")) == 6
    assert history.cases_like(WHOLE_SESSION, "example/swept[n=10,kind=thread]") == (CASE,)
    assert len(history.cases_like(WHOLE_SESSION, "null/null[copy=0]")) == 2
    assert history.cases_like(WHOLE_SESSION, "not a case") == ()


def test_a_change_is_found_with_what_the_headers_say_differently():
    changed = {"kernel": "6.12", "compiler": "gcc 12", "governor": "powersave"}
    found = history.history("case", stepped(facts=changed))
    [series] = found.series
    [change] = series.change_points
    assert (change.index, change.worse) == (8, True)
    assert change.ratio == pytest.approx(1.25, rel=1e-3)
    assert [(one.what, one.before, one.after) for one in change.differences] == [
        ("kernel", "6.1", "6.12"),
        ("governor", "unknown", "powersave"),
    ]


def test_more_is_not_worse_where_more_is_better():
    [series] = history.history("case", [msgspec.structs.replace(one, better="higher") for one in stepped()]).series
    assert [change.worse for change in series.change_points] == [False]


def test_a_change_smaller_than_the_margin_is_left_out():
    [series] = history.history("case", stepped(), margin=0.3).series
    assert series.change_points == ()


def test_machines_are_never_joined_to_one_series():
    """Half of the sessions on a machine that is slower by a quarter: no change on either."""
    found = history.history("case", stepped(machine_key="two"))
    assert {series.machine_key: len(series.sessions) for series in found.series} == {"one": 8, "two": 8}
    assert all(series.change_points == () for series in found.series)


def test_sessions_stand_in_the_order_of_time_whatever_the_order_of_files():
    [series] = history.history("case", stepped()[::-1]).series
    assert [one.id for one in series.sessions] == [str(number) for number in range(16)]


def test_void_sessions_are_shown_and_take_no_part():
    pasts = [
        msgspec.structs.replace(one, void="controls failed", median=50.0) if number % 2 else one
        for number, one in enumerate(stepped(32, 16))
    ]
    [series] = history.history("case", pasts).series
    assert len(series.sessions) == 32
    assert [change.index for change in series.change_points] == [16]
    assert "16 sessions are void and take no part in the changes" in map(said, series.caveats)


def test_sessions_of_another_metric_take_no_part():
    pasts = [*(a_past(n, 900.0, metric="older") for n in range(3)), *(a_past(n, 1.0) for n in range(3, 12))]
    [series] = history.history("case", pasts).series
    assert series.change_points == ()
    assert "3 sessions have another main metric and take no part in the changes" in map(said, series.caveats)


def test_few_sessions_say_that_they_are_too_few():
    [series] = history.history("case", stepped(7, 4)).series
    assert [*map(said, series.caveats)] == ["7 sessions: at least 8 are needed to find a change"]


def test_a_zero_among_the_medians_is_said_and_not_an_error():
    pasts = [*stepped(), a_past(17, 0.0)]
    [series] = history.history("case", pasts).series
    assert [*map(said, series.caveats)] == ["a median is zero: changes are found in positive figures only"]
