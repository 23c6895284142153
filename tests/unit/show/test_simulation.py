# SPDX-License-Identifier: Apache-2.0
"""What a simulated load looks like: no quantile of too few, who waits is said, and what cannot be drawn."""

import msgspec
import pytest

from steelyard.errors import UsageError
from steelyard.judge.simulation import (
    Choices,
    ClassSeen,
    Compared,
    Costs,
    Fitted,
    Point,
    Quantiles,
    Recorded,
    Seen,
    Simulated,
    YieldSeen,
    held_against,
)
from steelyard.judge.stats.summary import summarise
from steelyard.show import html
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
    [[_, _, rows]] = [table for table in shown.tables(simulated(ran("cfs", count=5000))) if table[0]]
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


def test_what_a_queue_does_to_a_choice_stands_by_its_length():
    long = Choices(least=16, most=31, count=9, mean_ns=9000)
    stock, tree = (
        msgspec.structs.replace(ran(name), choices=(Choices(least=1, most=1, count=9, mean_ns=mean_ns), *more))
        for name, mean_ns, more in (("stock", 1000, (long,)), ("tree", 2000, ()))
    )
    [(_, head, rows)] = [one for one in shown.tables(simulated(stock, tree)) if one[0].startswith("what a choice")]
    assert head == ("could run", "stock", "tree")
    assert rows == [("1", "1.00 µs", "2.00 µs"), ("16 to 31", "9.00 µs", "–")]
    nothing = [one for one in shown.tables(simulated(stock, costs=Costs())) if one[0].startswith("what a choice")]
    assert nothing == [], "where scheduling costs nothing there is nothing to say"


def beside_a_kernel(runs):
    """A kernel that runs as it does, and a policy that takes 1 to 1.5 times as long to wake, run by run."""
    found = {
        "kernel": tuple(ran("kernel", p99_ns=1000) for _ in range(runs)),
        "eevdf": tuple(ran("eevdf", p99_ns=1000 + 100 * n) for n in range(runs)),
    }
    return simulated(
        *(of[0] for of in found.values()), runs=found, seeds=tuple(range(runs)), against=held_against(found)
    )


def test_by_how_much_a_policy_may_miss_the_kernel_is_said_with_both_ends():
    said = " ".join(printed(beside_a_kernel(6)).split())
    assert "eevdf over this machine's kernel, from the least to the most of the intervals of all classes: " in said
    assert "wake-up p50 1.00, wake-up" in said
    assert "wake-up p99 1.00 to 1.50" in said
    assert "of 2 runs, too few for an interval" in printed(beside_a_kernel(2))


def test_one_class_over_another_stands_beside_what_the_kernel_documents():
    def share(ratios, promised=None):
        return Compared(
            policy="kernel", figure="CPU time", of="nice 0", over="nice 5", ratio=summarise(ratios), promised=promised
        )

    said = " ".join(printed(simulated(ran("kernel"), compared=(share([3, 3.1, 3, 3.1, 3, 3.2], 3.06),))).split())
    assert "CPU time: nice 0 over nice 5 kernel 3.05 [3.00, 3.20] 3.06" in said
    assert "CPU time of nice 0 is 3.05 [3.00, 3.20] times that of nice 5 under kernel; the kernel documents" in said
    [once] = [one for one in shown.sentences(simulated(compared=(share([0.04]),))) if "nice 5" in one]
    assert once == "CPU time of nice 0 is 0.04 times that of nice 5 under kernel."


def test_what_was_left_out_is_said_on_the_terminal_and_on_both_pages():
    found = simulated(ran("cfs"), left_out=("kernel: no right to",))
    for said in (printed(found), shown.markdown([found], "x"), html.simulation_page([found], "x")):
        assert "left out: kernel: no right to" in said


def test_the_page_has_a_section_a_load_with_what_it_comes_to_its_picture_and_its_tables():
    found = [simulated(ran("cfs"), ran("o1", p99_ns=2e6), title="A <b>load</b>"), beside_a_kernel(6)]
    page = html.simulation_page(found, "steelyard simulate <x>")
    assert "<h1>Simulated schedulers beside a kernel</h1>" in page
    assert "<h2>A &lt;b&gt;load&lt;/b&gt;</h2>" in page
    assert "<b>load" not in page
    assert "steelyard simulate &lt;x&gt;" in page
    assert page.count("data-figure=") == len(found)
    for one in found:
        for sentence in shown.sentences(one):
            assert sentence.replace("'", "&#x27;") in page
        assert all(f'<th class="n" scope="col">{name}</th>' in page for name in ("p99.9", "longest"))


def test_a_load_that_nothing_waits_in_has_no_picture():
    assert "data-figure=" not in html.simulation_page([simulated(ran("cfs", count=10))], "x").rpartition("<script")[0]
