# SPDX-License-Identifier: Apache-2.0
"""What a simulated load looks like: no quantile of too few, who waits is said, and what cannot be drawn."""

import pytest

from steelyard.errors import UsageError
from steelyard.judge.simulation import ClassSeen, Costs, Fitted, Point, Quantiles, Recorded, Seen, Simulated, YieldSeen
from steelyard.show import simulation as shown
from steelyard.show.console import Console


def times(count, p99_ns):
    return Quantiles(
        count=count, mean_ns=1, p50_ns=10, p90_ns=20, p99_ns=p99_ns, p99_9_ns=2 * p99_ns, longest_ns=4 * p99_ns
    )


def ran(policy, *, p99_ns=5000, count=20_000, overhead=0.001, switches=100.0, median=2):
    one = ClassSeen(
        name="editor", tasks=3, busy_share=0.5, fairness=0.99, wake_up=times(count, p99_ns), response=times(count, 9e6)
    )
    return Seen(
        policy=policy, seconds=60, cpus=2, busy_share=0.6, voluntary_per_s=50, involuntary_per_s=50,
        switches_per_s=switches, overhead_share=overhead, median_runnable=median, p99_runnable=5, longest=9,
        classes=(one,),
    )  # fmt: skip


def simulated(*runs, **more):
    costs = Costs(entry_ns=1, search_ns=2, recalculation_ns=3, change_ns=4)
    given = {"load": "x", "title": "A | load", "costs": costs, "costs_from": "the costs that x says", "seeds": (1,)}
    titles = {one.policy: one.policy for one in runs}
    return Simulated(**{**given, "titles": titles, "runs": {one.policy: (one,) for one in runs}, **more})


def printed(found):
    console = Console(width=200)
    with console.capture() as capture:
        shown.show(found, console)
    return capture.get()


def test_who_waits_least_and_most_is_said_last():
    said = printed(simulated(ran("cfs"), ran("o1", p99_ns=2e6)))
    assert said.rstrip().endswith(
        "Of editor 99 % of the wake-ups wait at most 5.00 µs under cfs, and 2.00 ms under o1."
    )
    assert "It matters little which of them schedules: they take 0.1 %" in said
    assert "wait alike under all of them" in printed(simulated(ran("cfs"), ran("o1", p99_ns=5100)))


def test_a_policy_that_loses_much_is_named():
    said = printed(simulated(ran("cfs"), ran("o1", overhead=0.2)))
    assert "o1 takes 20 % of the CPUs, cfs 0.1 %." in said


def test_no_quantile_is_of_too_few():
    [[_, _, rows]] = [table for table in shown._tables(simulated(ran("cfs", count=5000))) if table[0]]
    [(_, _, _, _, p50, p99, p99_9, *_)] = rows
    assert (p50, p99, p99_9) == ("10.0 ns", "5.00 µs", "–")


def test_a_page_holds_whatever_the_load_is_called():
    page = shown.markdown([simulated(ran("cfs"))], "steelyard simulate x")
    assert "## A \\| load\n" in page
    assert "| editor | cfs |" in page


def test_a_replay_stands_beside_what_was_recorded():
    recorded = Recorded(
        schedsim_trace=2, cpus=2, tasks=9, length_ns=10**9, switches=80, lost=3, time_at_length_ns=(1, 9, 1)
    )
    said = printed(simulated(ran("eevdf"), recorded=recorded))
    assert "Replayed under eevdf: +25 % switches; the median of the run queue is 2 where 1 was recorded." in said
    assert "3 events are missing" in said


def test_the_fit_is_said_with_how_well_it_predicts():
    point = Point(contexts=8, measured_s=1e-6, simulated_s=1.1e-6)
    fitted = Fitted(session="s", policy="eevdf", kernel="6.18", points=(point,), worst=0.1, worst_predicted=0.3)
    said = printed(simulated(ran("cfs"), fitted=fitted))
    assert "+10 %" in said
    in_a_line = " ".join(said.split())
    assert "to within 10 %; fitted to every second point they predict the others to within 30 %" in in_a_line


def test_yields_are_a_table_of_their_own():
    one = YieldSeen(policy="changed", contexts=2, yield_s=4e-6, switched_fraction=0.525, recalculations_per_yield=0.025)
    assert "4.00 µs (52 %)" in printed(simulated(yields=(one,), titles={"changed": "changed"}))


@pytest.mark.parametrize(
    ("runs", "ending", "sentence"),
    [([ran("cfs")], ".gif", ".svg and .png"), ([ran("cfs", count=10)], ".svg", "nothing to draw")],
)
def test_what_cannot_be_drawn_is_said(runs, ending, sentence):
    with pytest.raises(UsageError, match=sentence):
        shown.drawn(simulated(*runs), ending)
