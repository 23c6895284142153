# SPDX-License-Identifier: Apache-2.0
"""How much more several threads do than one, as a session says it."""

import pytest
from msgspec.structs import replace

from steelyard.judge.findings import judge
from tests.unit.judge.sessions import steady, weighed


def session(times, probe="parallel/a", settings="", blocks=8, name="threads", **more):
    """A session of this probe in which so many threads took so many nanoseconds for an operation."""
    costs = {f"{probe}[{name}={n}{settings}]@free": steady(cost * 1e-9, blocks) for n, cost in times.items()}
    return weighed(costs, **more)


def of(*arguments, **more):
    return judge(session(*arguments, **more)).scalings


def test_two_threads_that_share_all_the_work_do_twice_as_much():
    [found] = of({1: 10.0, 2: 5.0}, titles={"parallel/a": "tasks"})
    assert (found.title, found.fixed, found.threads, found.answer) == ("tasks", ("@free",), 2, "scales")
    assert found.work.value == pytest.approx(2)
    assert found.work.low <= 2 <= found.work.high
    assert found.contention is found.coherence is found.best is None


def test_the_law_is_told_from_three_numbers_on():
    law = {n: 10 / n * (1 + 0.1 * (n - 1) + 0.01 * n * (n - 1)) for n in (1, 2, 4, 8)}
    [found] = of(law)
    assert found.answer == "does not"
    assert found.contention.value == pytest.approx(0.1, abs=0.02)
    assert found.coherence.value == pytest.approx(0.01, abs=0.003)
    assert found.best.value == pytest.approx(9.5, abs=1.5)


def test_the_best_number_of_what_never_falls_is_none():
    [found] = of({n: 10 / n for n in (1, 2, 4)})
    assert found.best.value is None or found.best.high is None


def test_cases_that_differ_in_more_are_apart():
    costs = {
        f"parallel/a[threads={n},way={way}]@free": steady(10e-9 / (n if way == "x" else 1))
        for n in (1, 2)
        for way in ("x", "y")
    }
    found = {one.fixed: round(one.work.value, 2) for one in judge(weighed(costs)).scalings}
    assert found == {("way=x", "@free"): 2.0, ("way=y", "@free"): 1.0}


def with_lanes(lanes, **more):
    """A session over 1 to 4 contexts, with so many lanes by the number of contexts."""
    whole = session({n: 10 / n for n in (1, 2, 4)}, name="contexts", **more)
    runs = tuple(
        replace(run, values=tuple(replace(value, lanes=lanes(int(run.case[-7]))) for value in run.values))
        for run in whole.runs
    )
    return judge(replace(whole, runs=runs))


def test_contexts_that_have_a_cpu_each_share_the_work():
    [found] = with_lanes(lambda contexts: contexts).scalings
    assert (found.threads, found.who, found.answer) == (4, "threads", "scales")


def test_contexts_that_take_turns_are_no_scaling():
    assert with_lanes(lambda contexts: 1).scalings == ()


def test_contexts_beyond_the_cpus_are_left_out():
    [found] = with_lanes(lambda contexts: min(contexts, 2)).scalings
    assert found.threads == 2


def test_processes_are_called_so():
    costs = {f"scale/a[kind=process,threads={n}]@free": steady(10e-9 / n) for n in (1, 2)}
    [found] = judge(weighed(costs)).scalings
    assert found.who == "processes"


@pytest.mark.parametrize("times", [{1: 10.0}, {2: 10.0, 4: 5.0}])
def test_without_one_thread_and_others_nothing_is_said(times):
    assert of(times) == ()


def test_no_block_with_all_runs_says_nothing():
    costs = {"parallel/a[threads=1]@free": [1e-9, None] * 4, "parallel/a[threads=2]@free": [None, 1e-9] * 4}
    assert judge(weighed(costs)).scalings == ()


def test_few_blocks_have_no_interval():
    [found] = of({1: 10.0, 2: 5.0}, blocks=4)
    assert found.answer == "cannot tell"
    assert (found.work.low, found.work.high) == (0, None)
