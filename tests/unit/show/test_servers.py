# SPDX-License-Identifier: Apache-2.0
"""One application over many servers, as a person sees it."""

import io

import msgspec

from steelyard.judge.servers import weigh
from steelyard.show import servers
from steelyard.show.console import Console
from tests.unit.judge.requests import around, served


def printed(session, width=120) -> str:
    text = io.StringIO()
    servers.show(weigh(session), Console(file=text, width=width))
    return text.getvalue()


def test_the_table_the_faults_and_the_recommendation():
    wrong = dict.fromkeys("ab", ("answers a HEAD request with a body",))
    session = served(
        {"a": around(5000), "b": around(900)},
        caveats={"a": ("read errors",)},
        faults=wrong,
        failed={"c": "c never ready"},
        alone=20e-6,
    )
    text = printed(session)
    assert "app:app /page over its servers" in text
    assert text.index(" k/s") < text.index(" /s"), "the most requests first"
    assert "20%" in text
    assert "  a, b: answers a HEAD request with a body" in text, "a fault is said once for all that have it"
    assert "  c: c never ready" in text
    assert "  a: read errors" in text
    assert "  elsewhere: elsewhere is not installed" in text
    assert "recommended: a, as a answers more requests than every other" in text
    assert "12 blocks" in text


def test_no_recommendation_says_why():
    text = printed(served({"a": around(5000, 3), "b": around(4990, 3)}))
    assert "no recommendation: " in text
    assert "more blocks may decide it" in text


def test_an_open_question_is_about_the_cases_that_were_judged_and_names_the_first_of_the_table():
    """The pilot's fastest is not the one that answered the most requests in the blocks."""
    restless = [4000.0, 6500.0] * 6
    text = printed(served({"quick": around(5000), "steady": restless}, pilot={"quick": 9000, "steady": 100}), width=300)
    assert (
        "steady answered the most requests in the blocks and quick, with which all were compared, in the pilot" in text
    )
    assert "whether quick is faster than steady is undecided" in text
    first = next(line for line in text.splitlines() if line.startswith(("quick", "steady")))
    assert first.startswith("steady")


def test_where_all_is_undecided_not_every_server_is_named():
    text = printed(served({name: around(5000, 2) for name in "abcd"}))
    assert "whether it is faster than any other is undecided" in text


def test_a_server_that_failed_sometimes_says_how_often():
    session = served({"a": around(5000), "b": around(900)})
    failed = msgspec.structs.replace(session.runs[2], status="failed", error="b broke", values=())
    text = printed(msgspec.structs.replace(session, runs=(*session.runs[:2], failed, *session.runs[3:])))
    assert "failed in 1 of 12 runs: b broke" in text
