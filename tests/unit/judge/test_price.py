# SPDX-License-Identifier: Apache-2.0
"""What a process did, times the prices of a session: shares, what a part has of another, and what is not known."""

import pytest

from steelyard.judge.price import lacking, library, price, wanted
from steelyard.records import Effort
from tests.unit.judge.sessions import steady, weighed

CALL, FUTEX, YIELD = (
    "call/syscall@same",
    "switch/futex[kind=process]@same",
    "switch/yield[contexts=2,kind=process]@same",
)
PRICES = {
    CALL: 0.1e-6,
    FUTEX: 4.4e-6,
    YIELD: 1.1e-6,
    "call/page_fault@same": 1e-6,
    "create/fork[resident_mib=0]@same": 100e-6,
    "create/thread[form=join]@same": 20e-6,
    "switch/lazy[by=resume]@same": 1e-9,
}


def prices(**changed):
    return of({case: changed.get(case, cost) for case, cost in PRICES.items()})


def of(costs):
    """The session of these costs; the loop around a system call costs nothing."""
    loop = "call/loop@same"
    return weighed({case: steady(cost) for case, cost in {**costs, loop: 1e-12}.items()}, baselines={CALL: loop})


def an_effort(cpu_s=1.0, **counts):
    return Effort(
        started="2026-01-02T03:04:05+00:00", machine_key="k", seconds=10.0, cpu_s=cpu_s, tasks=1, counts=counts, pid=7,
        command=("example",),
    )  # fmt: skip


def by_count(priced):
    return dict(zip([part.counted for part in library().part], priced.parts, strict=True))


def test_a_wait_is_half_a_round_trip_without_the_calls_that_are_counted_as_such():
    priced = price(an_effort(voluntary=50_000, system_calls=100_000), prices())
    parts = by_count(priced)
    assert parts["voluntary"].price.seconds == pytest.approx(2.0e-6, rel=0.02)
    assert parts["voluntary"].share == pytest.approx(0.1, rel=0.02)
    assert parts["voluntary"].a_second == pytest.approx(5000)
    assert parts["system_calls"].share == pytest.approx(0.01, rel=0.02)
    assert priced.share == pytest.approx(0.11, rel=0.02)


def test_what_another_part_has_already_is_not_in_the_sum():
    priced = price(an_effort(voluntary=50_000, lock_waits=25_000), prices(), prices(**{FUTEX: 8.6e-6}))
    assert by_count(priced)["lock_waits"].share == pytest.approx(0.05, rel=0.02)
    assert priced.share == pytest.approx(0.1, rel=0.02)
    assert priced.there == pytest.approx(4.1 / 2.0, rel=0.02)


def test_as_coroutines_the_same_switches_are_a_share_of_what_would_be_left():
    [coroutines] = price(an_effort(voluntary=100_000), prices()).instead
    assert coroutines.share == pytest.approx(1e-4 / (0.8 + 1e-4), rel=0.05)


def test_what_could_not_be_counted_has_no_share_and_is_not_in_the_sum():
    parts = by_count(price(an_effort(minor_faults=1000), prices()))
    assert (parts["system_calls"].count, parts["system_calls"].share) == (None, None)
    assert price(an_effort(minor_faults=1000), prices()).share == pytest.approx(1e-3, rel=0.02)


def test_a_process_that_slept_has_no_shares():
    priced = price(an_effort(cpu_s=0.0, voluntary=1), prices())
    assert priced.share is None
    assert priced.instead == ()


def test_on_another_machine_the_same_doings_are_a_ratio():
    there = prices(**{"call/page_fault@same": 3e-6})
    priced = price(an_effort(minor_faults=1000), prices(), there)
    assert priced.there == pytest.approx(3.0, rel=0.02)


def test_a_price_that_a_session_lacks_is_named():
    session = of({case: cost for case, cost in PRICES.items() if case != FUTEX})
    assert lacking(session) == [FUTEX]
    priced = price(an_effort(voluntary=1), session)
    assert by_count(priced)["voluntary"].share is None
    assert [skip.subject for skip in priced.skips] == ["switches because it waited"]
    assert set(wanted()) == set(PRICES)


def test_a_difference_that_may_be_nothing_is_not_made_positive():
    session = prices(**{YIELD: 0.05e-6})
    assert by_count(price(an_effort(involuntary=1), session))["involuntary"].price.seconds < 0
