# SPDX-License-Identifier: Apache-2.0
"""Single sights of the terminal; the whole of it is in tests/golden."""

import re

import pytest
from msgspec.structs import replace

from steelyard.judge.caches import CacheLevels
from steelyard.judge.cases import CaseFinding, Figure, Mode, Net
from steelyard.judge.curves import Curve, Point
from steelyard.judge.findings import Findings
from steelyard.judge.prices import PriceList
from steelyard.judge.scalings import Estimated, Scales
from steelyard.records import Disturbance, Skip
from steelyard.show import session
from tests.reporting import printed


def a_figure(**more) -> Figure:
    fields = {
        "metric": "operation",
        "doc": "time",
        "unit": "s",
        "better": "lower",
        "n": 8,
        "median": 50e-9,
        "low": 48e-9,
        "high": 52e-9,
        "minimum": 47e-9,
        "p25": 49e-9,
        "p99": 60e-9,
    }
    return Figure(**{**fields, **more})


def a_case_finding(main: Figure | None = None, **more) -> CaseFinding:
    fields = {
        "case": "example/steady@same",
        "probe": "example/steady",
        "parameters": {},
        "placement": "same",
        "operation": "one example",
        "control": False,
        "others": (),
        "user_s": None,
        "system_s": None,
        "switches": None,
        "caveats": (),
    }
    return CaseFinding(main=main or a_figure(), **{**fields, **more})


def the_findings(*cases: CaseFinding, **more) -> Findings:
    fields = {
        "path": "a.session.jsonl",
        "started": "2026-01-02",
        "seed": 1,
        "machine_key": "0123456789ab",
        "machine": {"cpu": "Example [CPU]", "logical cpus": "2", "memory": "8 GiB"},
        "environment": {"kernel": "6.0"},
        "complete": True,
        "void": None,
        "controls": (),
        "matrices": (),
        "blocks": 8,
        "wall_s": 10.0,
        "timed_share": 0.8,
        "curves": (),
        "skips": (),
        "failures": {},
        "leftovers": {},
        "disturbances": (),
        "runs": 8,
        "disturbed_runs": 0,
    }
    return Findings(cases=cases, **{**fields, **more})


def shown(*cases: CaseFinding, **more) -> str:
    return printed(session.show, the_findings(*cases, **more))


def test_a_figure_has_its_interval_in_its_own_unit():
    text = shown(a_case_finding())
    assert "50.0 ns" in text
    assert "[48.0, 52.0]" in text


def test_without_any_interval_there_is_no_column_for_it():
    assert "95 % interval" not in shown(a_case_finding(a_figure(low=None, high=None)))


def test_a_single_run_has_no_minimum_and_no_quantiles():
    text = shown(a_case_finding(a_figure(n=1, low=None, high=None)))
    assert "50.0 ns" in text
    assert "minimum" not in text
    assert "p99" not in text


def test_what_the_processor_counted_has_columns_where_it_did():
    counters = (
        a_figure(metric="branch_misses", unit="1", median=0.25),
        a_figure(metric="instructions_per_cycle", unit="1", median=2.5),
    )
    head, *rows = (line for line in shown(a_case_finding(counters=counters), a_case_finding()).splitlines() if line)
    text = "\n".join([head, *rows])
    assert re.search(r"branch misses +IPC", text)
    assert re.search(r"0\.25 +2\.50", text)
    assert "IPC" not in shown(a_case_finding())


def test_the_caches_are_said_to_agree_or_not():
    levels = CacheLevels(steps=(), missing={"L2": 1 << 20}, agrees=False, reported=True, largest=1 << 20, virtual=False)
    text = shown(a_case_finding(), caches=levels)
    assert (
        "the caches: steps of the latency curve and reported sizes do not agree\n  L2: the machine reports 1 MiB"
        in text
    )
    assert "the caches" not in shown(a_case_finding())


def test_how_much_more_several_threads_do_stands_below_the_curves():
    work = Estimated(value=1.96, low=1.9, high=1.99)
    found = Scales(probe="parallel/a", title="tasks", fixed=("@free",), threads=2, work=work, answer="scales")
    text = shown(a_case_finding(), scalings=(found,))
    assert "how much more several do than one\n  tasks (unpinned): 2 threads do 1.96 (1.90 to 1.99) times" in text
    assert "several do" not in shown(a_case_finding())


def many(number: int) -> list[CaseFinding]:
    other = a_figure(metric="another", median=1e-6)
    return [
        a_case_finding(case=f"example/steady[n={n}]@same", parameters={"n": n}, others=(other,)) for n in range(number)
    ]


def test_few_cases_show_all_their_metrics_and_many_the_main_one_and_where_the_others_are():
    assert "another" in shown(*many(75))
    text = shown(*many(76))
    assert "another" not in text
    assert "76 cases" in text
    assert "show --all" in text


def test_two_modes_are_shown_instead_of_one_number():
    modes = (Mode(median=20e-9, share=0.25), Mode(median=80e-9, share=0.75))
    text = shown(a_case_finding(a_figure(modes=modes)))
    assert "20.0 ns / 80.0 ns" in text
    assert "bimodal 25% / 75%" in text
    assert "50.0 ns" not in text


def test_modes_that_are_known_by_their_cpus_say_so():
    modes = (
        Mode(median=20e-9, share=0.25, where="one CPU"),
        Mode(median=80e-9, share=0.75, where="several CPUs"),
    )
    assert "25% one CPU / 75% several CPUs" in shown(a_case_finding(a_figure(modes=modes)))


@pytest.mark.parametrize(
    ("net", "words"),
    [
        (Net(baseline="b", median=40e-9, low=38e-9, high=42e-9, at_most=False), "40.0 ns [38.0, 42.0]"),
        (Net(baseline="b", median=1e-9, low=-1e-9, high=3e-9, at_most=True), "at most 3.00 ns"),
        (Net(baseline="b", median=-2e-9, low=-3e-9, high=-1e-9, at_most=False), "see caveats"),
        (Net(baseline="b", median=40e-9, low=None, high=None, at_most=False), "~40.0 ns"),
    ],
    ids=["a figure", "perhaps nothing", "less than nothing", "few runs"],
)
def test_what_is_left_without_the_overhead(net, words):
    assert words in shown(a_case_finding(a_figure(net=net)))


def test_controls_are_not_shown_among_the_results():
    assert "one example" not in shown(a_case_finding(control=True))


def test_words_that_look_like_markup_are_printed_as_they_are():
    text = shown(
        a_case_finding(operation="one [bold]example[/bold]", caveats=("a [doubt]",)),
        failures={"example/steady@same": "[/red] oops"},
        skips=(Skip(subject="a/b", reason="[no] compiler"),),
        disturbances=(Disturbance(what="[noise]", advice="[stop]", severity="note"),),
        leftovers={"example/steady@same": ("[a] queue",)},
    )
    for words in (
        "Example [CPU]",
        "[bold]example[/bold]",
        "a [doubt]",
        "[/red] oops",
        "[no] compiler",
        "[noise]; [stop]",
    ):
        assert words in text


def test_a_caveat_of_many_cases_is_said_once():
    cases = [a_case_finding(case=f"example/{n}@same", caveats=("few runs",)) for n in "abc"]
    assert "example/a@same and 2 more: few runs" in shown(*cases)


def test_a_session_that_is_not_over_says_how_to_go_on():
    assert "`steelyard run --resume` goes on" in shown(complete=False, wall_s=None, timed_share=None)


def test_a_void_session_says_so_first():
    text = shown(a_case_finding(), void="the sentinel drifted")
    assert text.index("VOID") < text.index("one example")
    assert "the sentinel drifted" in text


def a_curve(costs: dict[int, float], probe: str = "a/b", **more) -> Curve:
    points = tuple(
        Point(x=x, case=f"{probe}[n={x}]@same", median=cost, low=None, high=None) for x, cost in costs.items()
    )
    fields = {"metric": "operation", "unit": "s", "doc": "", "better": "lower", "parameter": "n", "where": "@same"}
    return Curve(probe=probe, points=points, **{**fields, **more})


def test_a_curve_has_a_longer_bar_for_a_greater_cost():
    curve = a_curve({n: n * 1e-6 for n in (1, 10, 100)})
    bars = [line.count("█") for line in shown(curves=(curve,)).splitlines() if "µs" in line]
    assert bars == sorted(bars)
    assert bars[0] > 0
    assert bars[-1] == 40


def price_list(*cases: CaseFinding, unit: str = "s") -> list[str]:
    """The lines of the price list of these cases, in this order, below its heads."""
    prices = PriceList(question="switch", unit=unit, cases=tuple(case.case for case in cases))
    lines = iter(shown(*cases, prices=(prices,)).splitlines())
    title = next(line for line in lines if "the price list" in line)
    assert title.startswith("switch, the price list")
    return [next(lines) for _ in range(len(cases) + 1)]


def test_a_price_list_has_a_line_a_way_with_its_runtime_and_the_switches_that_were_real():
    told = a_case_finding(case="switch/chan@same", probe="switch/chan", switches=1e-5, switched=0.004, runtime="go1.26")
    sure = a_case_finding(case="switch/jump@same", probe="switch/jump", switches=2.0, runtime="gcc 12 (Debian)")
    heads, first, second = price_list(told, sure)
    assert heads.split()[-3:] == ["switches", "switched", "runtime"]
    assert first.split() == ["chan", "@same", "50.0", "ns", "[48.0,", "52.0]", "operation", "0.00", "0.00", "go1.26"]
    assert second.split()[-3:] == ["2.00", "gcc", "12"]


def test_a_price_list_of_bytes_has_the_other_bytes_beside_them_and_no_switches():
    bytes_each = {"unit": "B", "median": 8000.0}
    stack = a_figure(metric="kernel_stack", **bytes_each | {"median": 16000.0})
    case = a_case_finding(a_figure(**bytes_each), others=(stack, a_figure(metric="resume")), switches=1.0)
    heads, line = price_list(case, unit="B")
    assert "kernel_stack" in heads
    assert not {"switches", "resume"} & set(heads.split())
    assert "16.0 kB" in line


def served(*models: str, waits: tuple[int, ...] = (0, 20)) -> list[CaseFinding]:
    """Cases with as many settings as those of a server have, of which one varies."""
    held = {name: number for number, name in enumerate(("rate", "connections", "work_ns", "depth", "locked_percent"))}
    return [
        a_case_finding(
            case=f"switch/{model}[{','.join(f'{key}={value}' for key, value in held.items())},wait={wait}]@same",
            probe=f"switch/{model}",
            title=f"model {model}",
            parameters={**held, "wait": wait},
        )
        for model in models
        for wait in waits
    ]


def test_what_all_cases_of_a_question_have_alike_is_said_once_and_no_figure_is_cut_for_it():
    cases = served("a", "b", "c")
    prices = PriceList(question="switch", unit="s", cases=tuple(case.case for case in cases[::2]), sizes=("wait=0",))
    with_doubts = [replace(case, caveats=("it was Monday",)) for case in cases]
    text = printed(session.show, the_findings(*with_doubts, prices=(prices,)), width=100)
    assert text.count("all: rate=0 connections=1 work_ns=2 depth=3 locked_percent=4") == 2  # of the list and the table
    assert text.count("locked_percent") == 2
    assert "switch wait=0, the price list" in text
    assert text.count("[48.0, 52.0]") == 3 + 6
    assert "model a, wait 0, one CPU and 5 more: it was Monday" in text


def test_of_two_cases_each_has_all_its_settings():
    text = shown(*served("a"))
    assert "all:" not in text
    assert text.count("locked_percent=4") == 2


def test_every_metric_is_there_for_who_asks_for_the_whole():
    others = tuple(a_figure(metric=f"another{number}") for number in range(30))
    findings = the_findings(*(replace(case, others=others) for case in served("a", "b", "c")))
    assert "another29" not in printed(session.show, findings)
    assert printed(session.show, findings, whole=True).count("another29") == 6


def curves(number: int, *costs: float) -> tuple[Curve, ...]:
    return tuple(a_curve(dict(enumerate(costs)), probe=f"a/b{n}") for n in range(number))


def test_many_curves_have_a_line_each_with_their_first_and_last_point():
    text = shown(curves=curves(13, 1e-6, 2e-6, 4e-6))
    assert "█" * 2 not in text
    [line] = [line for line in text.splitlines() if line.startswith("b7 ")]
    assert "1.00 µs" in line
    assert "▁▅█" in line
    assert "4.00 µs" in line


def test_noise_is_no_mountain_in_a_short_curve():
    [line] = [line for line in shown(curves=curves(13, 1e-6, 1.02e-6, 1e-6)).splitlines() if line.startswith("b7 ")]
    assert "▁▁▁" in line


def test_a_curve_of_nothing_is_no_error():
    curve = a_curve(dict.fromkeys((1, 2, 3), 0.0), metric="share", unit="1")
    assert "share by n" in shown(curves=(curve,))


def test_a_flat_curve_is_no_error():
    curve = a_curve(dict.fromkeys((1, 2, 3), 1e-6))
    assert "1.00 µs" in shown(curves=(curve,))


def test_a_mechanism_has_its_title_beside_its_way():
    case = a_case_finding(title="steady example", caveats=("noisy",))
    text = shown(case, titles={"example/steady": "steady example"})
    assert re.search("^steady example  steady +operation", text, re.MULTILINE)
    assert "steady example: one operation is one example" in text
    assert "  steady example (example/steady@same): noisy" in text


def test_a_curve_has_the_title_of_its_mechanism_and_its_place_in_words():
    curve = a_curve({1: 1e-6, 2: 2e-6, 4: 4e-6}, title="steady example")
    assert f"steady example ({curve.probe}) operation by n, one CPU" in shown(curves=(curve,))
    many = tuple(replace(curve, probe=f"a/b{number}") for number in range(13))
    assert re.search(r"steady example +one CPU +1.00 µs", shown(curves=many))
