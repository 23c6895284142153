# SPDX-License-Identifier: Apache-2.0
"""One application over many servers, as a person sees it."""

import io

import msgspec

from steelyard.judge.servers import knee, weigh
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
    table = text[text.index("server  ") :]
    assert table.index(" k/s") < table.index(" /s"), "the most requests first"
    assert "20%" in text
    assert "  a, b: answers a HEAD request with a body" in text, "a fault is said once for all that have it"
    assert "  c: c never ready" in text
    assert "  a: read errors" in text
    assert "  elsewhere: elsewhere is not installed" in text
    assert "recommended: a, as a answers more requests than every other" in text
    assert "12 blocks" in text


def test_servers_are_called_by_their_titles_and_the_names_to_type_stand_once():
    titles = {"a": "server A", "b 1 4": "B", "b": "B"}
    text = printed(served({"a": around(5000), "b 1 4": around(900), "b 2 4": around(800)}, titles=titles), width=200)
    table = text[text.index("server  ") :].splitlines()
    assert [line.split("  ")[0] for line in table[1:4]] == [
        "server A",
        "B, 1 worker of 4 threads",
        "B, 2 workers of 4 threads",
    ]
    assert "--server takes a for server A, b for B" in text
    assert "recommended: server A, as server A answers more requests" in text
    assert "--server takes" not in printed(served({"a": around(5000), "b": around(900)}))


def test_what_all_do_wrong_is_said_of_all_and_a_name_with_a_comma_is_told_from_the_next():
    fault = ("answers a HEAD request with a body",)
    rates = {"a 1 4": around(5000), "a 2 4": around(900), "b": around(800)}
    some = printed(served(rates, faults={"a 1 4": fault, "a 2 4": fault}), width=200)
    assert "  a, 1 worker of 4 threads; a, 2 workers of 4 threads: answers a HEAD" in some
    assert "  all: answers a HEAD" in printed(served(rates, faults=dict.fromkeys(rates, fault)), width=200)


def test_no_recommendation_says_why():
    text = printed(served({"a": around(5000, 3), "b": around(4990, 3)}))
    assert "no recommendation: " in text
    assert "may decide it" in text


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


def test_whether_the_server_matters_is_said_first():
    rates = {"a": around(5000), "b": around(900)}
    own = printed(served(rates, cpu={"a": 100e-6, "b": 160e-6}, alone=80e-6), width=300)
    assert own.splitlines()[1] == (
        "Your code is 80% of the CPU time of a request (80.0 µs of 100 µs with a, 50% with b): no server gains over "
        "20% on a. Make your code cheaper."
    )
    servers = printed(served(rates, cpu={"a": 100e-6, "b": 400e-6}, alone=20e-6), width=300)
    assert servers.splitlines()[1].endswith(": the server matters, as the dearest takes 4.0 times the cheapest.")


def test_each_row_has_its_verdict_and_the_confidence_is_the_one_that_is_used():
    rates = {"fast": around(5000), "even": around(5000)[::-1], "slow": around(1000)}
    text = printed(served(rates, alone=20e-6, pilot={"fast": 6000}))
    assert "against: its requests against those of fast" in text
    row = {line.split()[0]: line for line in text.splitlines() if line}
    assert " equal " in row["even"]
    assert " −80.0 % " in row["slow"]
    assert "verdicts hold together at 96 %" in text


def test_development_servers_and_the_formula_are_marked_and_explained():
    rates = {"toy 1 0": around(900), "gunicorn 5 0": around(2000), "gunicorn 1 0": around(1000)}
    text = printed(served(rates, development=["toy"]))
    assert "* toy: for development, not for production; never recommended" in text
    assert "gunicorn, 5 workers †" in text
    assert "† 2 × CPUs + 1 workers, as gunicorn's documentation advises" in text
    assert "*" not in printed(served({"a": around(5000), "b": around(900)}))


def test_what_is_missing_for_a_recommendation_is_said_in_blocks_and_minutes():
    text = printed(served({"a": around(5000, 3), "b": around(4990, 3)}))
    assert "  about 4 more blocks, 0.1 s, may decide it (--blocks 7)" in text


def test_the_knee_stands_beside_the_formula():
    rates = {"gunicorn 1 0": around(1000), "gunicorn 2 0": around(3000), "gunicorn 5 0": around(2400)}
    text = io.StringIO()
    servers.knee(knee(weigh(served(rates))), Console(file=text, width=120))
    assert "the knee: gunicorn, 2 workers, with " in text.getvalue()
    assert "gunicorn's formula, gunicorn, 5 workers, answers 0.80 times as many" in text.getvalue()
