# SPDX-License-Identifier: Apache-2.0
"""One application over many servers: the rows, and a recommendation only where the verdicts support one."""

import pytest

from steelyard.errors import NothingMeasuredError
from steelyard.judge.servers import AdviceOutcome, blocks_to_decide, knee, to_sweep, weigh
from tests.unit.judge.requests import around, served


def test_the_rows_have_the_most_requests_first_and_the_share_of_the_application():
    weighed = weigh(served({"slow": around(1000), "fast": around(5000)}, alone=25e-6))
    assert [row.server for row in weighed.rows] == ["fast", "slow"]
    assert weighed.rows[0].requests_per_s == pytest.approx(5000, rel=0.01)
    assert weighed.rows[0].cpu_s == pytest.approx(100e-6)
    assert weighed.rows[0].own_share == pytest.approx(0.25)
    assert weighed.rows[0].resident_bytes == 20_000_000
    assert weighed.alone_s == pytest.approx(25e-6)
    assert (weighed.application, weighed.path) == ("app:app", "/page")
    assert weighed.skipped == {"elsewhere": "elsewhere is not installed"}


def test_a_share_is_never_more_than_the_whole():
    weighed = weigh(served({"a": around(1000), "b": around(2000)}, alone=300e-6))
    assert weighed.rows[0].own_share == 1.0


def test_one_that_proves_faster_than_every_other_is_recommended():
    advice = weigh(served({"slow": around(1000), "fast": around(5000), "slower": around(500)})).advice
    assert advice.servers == ("fast",)
    assert (advice.outcome, set(advice.slower), advice.lower_tail) == (AdviceOutcome.FASTEST, {"slow", "slower"}, ())


def test_those_that_are_equivalent_are_recommended_together():
    advice = weigh(served({"a": around(5000), "b": around(5000)[::-1], "slow": around(900)})).advice
    assert set(advice.servers) == {"a", "b"}
    assert (advice.outcome, advice.slower) == (AdviceOutcome.EQUAL, ("slow",))


def test_a_lower_tail_elsewhere_is_said_beside_the_recommendation():
    advice = weigh(served({"fast": around(5000), "even": around(2000)}, p99={"fast": 9e-3, "even": 3e-3})).advice
    assert advice.servers == ("fast",)
    assert advice.lower_tail == ("even",)


def test_where_it_is_undecided_there_is_no_recommendation_but_how_many_more_blocks():
    restless = [4000.0, 6500.0] * 6
    advice = weigh(served({"a": around(5000), "b": restless}, pilot={"a": 6000})).advice
    assert advice.servers == ()
    assert (advice.outcome, advice.undecided) == (AdviceOutcome.UNDECIDED, ("b",))
    assert advice.more_blocks is not None


def test_where_all_is_undecided_that_is_said_of_every_server():
    advice = weigh(served({name: around(5000, 2) for name in "abcd"})).advice
    assert advice.servers == ()
    assert {advice.candidate, *advice.undecided} == set("abcd")


def test_the_pilot_chooses_and_the_blocks_may_contradict_it():
    advice = weigh(served({"a": around(1000), "b": around(5000)}, pilot={"a": 9000, "b": 5000})).advice
    assert advice.servers == ()
    assert (advice.outcome, advice.candidate, advice.faster) == (AdviceOutcome.CONTRADICTED, "a", ("b",))


def test_what_is_wrong_is_kept_apart_from_other_doubts():
    said = {"a": ("answers a HEAD request with a body", "several workers share one CPU")}
    faults = {"a": ("answers a HEAD request with a body",)}
    row = weigh(served({"a": around(1000), "b": around(500)}, caveats=said, faults=faults)).rows[0]
    assert row.wrong == ("answers a HEAD request with a body",)
    assert row.caveats == ("several workers share one CPU",)


def test_a_server_that_failed_is_a_row_with_its_reason_and_never_recommended():
    weighed = weigh(served({"a": around(1000), "b": around(500)}, failed={"c": "c was ended by signal 11 under load"}))
    assert weighed.rows[-1].server == "c"
    assert weighed.rows[-1].failed == "c was ended by signal 11 under load"
    assert weighed.advice.servers == ("a",)


def test_one_server_alone_is_compared_with_nothing():
    advice = weigh(served({"a": around(1000)})).advice
    assert advice.servers == ()
    assert advice.outcome is AdviceOutcome.TOO_FEW


def test_what_is_recommended_stands_first_whatever_the_medians_say():
    """Two that are equivalent: the pilot's fastest is recommended with the other, and both stand above the third."""
    weighed = weigh(served({"slow": around(900), "b": around(5000)[::-1], "a": around(5000)}, pilot={"a": 9000}))
    assert weighed.advice.outcome is AdviceOutcome.EQUAL
    assert {row.server for row in weighed.rows[:2]} == set(weighed.advice.servers) == {"a", "b"}


def test_each_server_has_its_verdict_against_the_candidate():
    weighed = weigh(served({"slow": around(1000), "fast": around(5000)}))
    against = {row.server: row.against and row.against.verdict for row in weighed.rows}
    assert against == {"fast": None, "slow": "different"}


def test_a_development_server_is_compared_and_never_recommended():
    weighed = weigh(served({"toy": around(9000), "a": around(5000), "b": around(900)}, development=["toy"]))
    rows = {row.server: row for row in weighed.rows}
    assert [server for server, row in rows.items() if row.development] == ["toy"]
    assert (weighed.advice.servers, weighed.advice.candidate) == (("a",), "a")
    assert rows["toy"].against.ratio == pytest.approx(1.8, rel=0.01)
    only = weigh(served({"toy": around(9000), "a": around(5000)}, development=["toy"])).advice
    assert (only.outcome, only.servers) == (AdviceOutcome.TOO_FEW, ())


def test_workers_and_threads_of_one_server_are_alternatives_and_the_formula_is_marked():
    """The machine of these sessions has two CPUs: 2 × 2 + 1 workers."""
    rates = {"gunicorn 1 0": around(1000), "gunicorn 2 4": around(3000), "gunicorn 5 0": around(2000)}
    weighed = weigh(served(rates))
    assert [(row.server, row.formula) for row in weighed.rows] == [
        ("gunicorn, 2 workers of 4 threads", False),
        ("gunicorn, 5 workers", True),
        ("gunicorn, 1 worker", False),
    ]
    assert weighed.advice.servers == ("gunicorn, 2 workers of 4 threads",)


def test_the_cheapest_and_the_dearest_are_by_cpu_time_and_not_by_requests():
    weighed = weigh(served({"a": around(5000), "b": around(900)}, cpu={"a": 200e-6, "b": 50e-6}, alone=40e-6))
    assert (weighed.cheapest.server, weighed.dearest.server) == ("b", "a")
    assert weighed.cheapest.own_share == pytest.approx(0.8)


@pytest.mark.parametrize("servers", [2, 3, 13])
def test_the_blocks_that_are_planned_for_servers_are_the_fewest_that_decide(servers):
    blocks = blocks_to_decide(servers)
    fast, others = around(5000, blocks), {f"s{n}": around(900, blocks) for n in range(servers - 1)}
    assert weigh(served({"fast": fast, **others})).advice.outcome is AdviceOutcome.FASTEST
    one_fewer = {name: rates[:-1] for name, rates in {"fast": fast, **others}.items()}
    undecided = weigh(served(one_fewer)).advice
    assert (undecided.outcome, undecided.more_blocks) == (AdviceOutcome.UNDECIDED, 1)
    assert undecided.more_minutes > 0


def test_the_knee_has_the_fewest_workers_that_none_is_proven_faster_than():
    rates = {
        "gunicorn 1 0": around(1000), "gunicorn 2 0": around(3000), "gunicorn 2 4": around(3000)[::-1],
        "gunicorn 5 0": around(2400),
    }  # fmt: skip
    found = knee(weigh(served(rates)))
    assert (found.row.workers, found.row.threads) == (2, 0)
    assert found.formula.workers == 5
    assert found.formula_times == pytest.approx(0.8, rel=0.01)
    assert found.undecided == ()


def test_a_single_way_or_none_has_no_knee():
    assert knee(weigh(served({"gunicorn 1 0": around(1000)}))) is None
    assert knee(weigh(served({}))) is None


def test_what_is_swept_is_recommended_or_has_the_most_requests():
    assert to_sweep(weigh(served({"slow": around(1000), "fast": around(5000)}))) == "fast"
    assert to_sweep(weigh(served({"only": around(1000)}))) == "only"
    with pytest.raises(NothingMeasuredError):
        to_sweep(weigh(served({"a": around(1000)}, development=["a"])))
