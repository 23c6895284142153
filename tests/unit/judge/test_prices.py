# SPDX-License-Identifier: Apache-2.0
"""Price lists: all ways to do one thing, the best first."""

from msgspec.structs import replace

from steelyard.judge.findings import judge
from steelyard.judge.prices import PriceList
from steelyard.records import Case, Run
from tests.making import (
    a_case,
    a_choice,
    a_descriptor,
    a_header,
    a_metric,
    a_run,
    a_session,
    a_value,
    an_integer,
)
from tests.unit.judge.sessions import steady, weighed


def priced(*names: str, **costs: float) -> PriceList:
    figures = dict.fromkeys(names, 1e-6) | {f"switch/{way}@same": cost for way, cost in costs.items()}
    [prices] = judge(weighed({name: steady(cost) for name, cost in figures.items()})).prices
    return prices


def test_a_question_with_three_ways_has_a_price_list_with_the_cheapest_first():
    prices = priced(b=2e-6, c=3e-6, a=1e-6)
    assert (prices.question, prices.unit) == ("switch", "s")
    assert prices.cases == ("switch/a@same", "switch/b@same", "switch/c@same")


def test_the_runner_up_has_its_verdict_against_the_first():
    clear = priced(b=2e-6, c=3e-6, a=1e-6).runner_up
    assert (clear.verdict, round(clear.ratio, 6)) == ("different", 2.0)
    assert priced(b=1e-6, c=3e-6, a=1e-6).runner_up.verdict == "equivalent"


def test_two_ways_have_no_price_list():
    assert judge(weighed({f"switch/{way}@same": steady(1e-6) for way in "ab"})).prices == ()


def test_a_way_is_listed_once_for_each_of_its_choices_by_its_first_number_and_placement():
    names = [f"switch/p[kind={kind},n={n}]@{at}" for kind in ("a", "b") for n in (2, 9) for at in ("same", "free")]
    assert set(priced(*names, q=1e-6, r=1e-6).cases) == {
        "switch/p[kind=a,n=2]@same",
        "switch/p[kind=b,n=2]@same",
        "switch/q@same",
        "switch/r@same",
    }


def sized(*ways: str, sizes=(200, 65536), placements=("same",), switched=None) -> list[PriceList]:
    """The price lists of ways that were measured at these sizes. switched: the share of switches by size."""
    metrics = (a_metric(), a_metric("switched", unit="1", better="neither", over="switches", per="operations"))
    parameters = (an_integer("size", *sizes, maximum=10**9, unit="B"),)
    probes = [a_descriptor(f"message/{way}", metrics=metrics, parameters=parameters) for way in ways]
    cases = [a_case(f"message/{way}", at, size=size) for way in ways for size in sizes for at in placements]
    cases.append(a_case("message/own"))
    runs = [
        a_run(case, block, values=(a_value(1e-6, counts={"checked": 1000, "switches": share}),))
        for case in cases
        for share in [(switched or {}).get(case.parameters.get("size"), 1000)]
        for block in range(1, 7)
    ]
    return list(judge(a_session(*runs, header=a_header(*cases, probes=tuple(probes)))).prices)


def test_a_price_list_has_one_size_and_one_placement_and_ways_without_a_size_stand_in_all():
    found = sized("pipe", "tcp", placements=("same", "cross"))
    assert [(prices.sizes, prices.where) for prices in found] == [(("size=200",), "@same"), (("size=65536",), "@same")]
    assert set(found[0].cases) == {"message/pipe[size=200]@same", "message/tcp[size=200]@same", "message/own@same"}
    three = sized("pipe", "tcp", "udp", placements=("same", "cross"))
    assert [(prices.sizes, prices.where) for prices in three][2:] == [
        (("size=200",), "@cross"),
        (("size=65536",), "@cross"),
    ]


def test_a_size_at_which_hardly_anything_switches_is_not_replaced_by_another_size():
    for prices in sized("pipe", "tcp", switched={200: 0}):
        [size] = prices.sizes
        assert all(f"[{size}]" in case or case == "message/own@same" for case in prices.cases)


def test_a_sweep_of_sizes_has_a_price_list_of_its_first_size_alone():
    assert [prices.sizes for prices in sized("pipe", "tcp", sizes=(1, 2, 4, 8, 16))] == [("size=1",)]


def test_bytes_do_not_depend_on_the_placement_and_stand_in_one_list():
    at = {"thread": "free", "process": "free", "fiber": "same"}
    cases = [a_case(f"memory/{way}", placement) for way, placement in at.items()]
    probes = tuple(a_descriptor(case.probe, metrics=(a_metric(unit="B"),)) for case in cases)
    runs = [a_run(case, block) for case in cases for block in range(1, 7)]
    [prices] = judge(a_session(*runs, header=a_header(*cases, probes=probes))).prices
    assert (len(prices.cases), prices.where) == (3, "")


def test_a_way_is_listed_once_however_it_was_compiled():
    cases = [a_case("code/p", compiler=compiler) for compiler in ("gcc", "clang")]
    others = [a_case(f"code/{way}") for way in ("a", "b")]
    built = a_descriptor("code/p", parameters=(replace(a_choice("compiler", "gcc", "clang"), built=True),))
    runs = [a_run(case, block) for case in (*cases, *others) for block in range(1, 7)]
    session = a_session(*runs, header=a_header(*cases, *others, probes=(built,)))
    [prices] = judge(session).prices
    assert set(prices.cases) == {"code/p[compiler=gcc]@same", "code/a@same", "code/b@same"}


def test_a_number_at_which_nothing_switched_is_no_price_where_there_is_another():
    cases = [a_case("switch/yield", n=n) for n in (1, 2)]
    others = [a_case(f"switch/{way}") for way in ("a", "b")]
    switched = a_metric("switched_fraction", unit="1", better="neither", over="switches", per="operations")
    descriptor = a_descriptor("switch/yield", metrics=(a_metric(), switched), parameters=(an_integer("n", 1, 2),))

    def ran(case: Case, switches: int) -> list[Run]:
        value = a_value(counts={"checked": 1000, "switches": switches})
        return [a_run(case, block, values=(value,)) for block in range(1, 7)]

    session = a_session(
        *ran(cases[0], 0),
        *ran(cases[1], 1000),
        *(run for other in others for run in ran(other, 0)),
        header=a_header(*cases, *others, probes=(descriptor,)),
    )
    findings = judge(session)
    assert [case.switched for case in findings.cases] == [0.0, 1.0, None, None]
    [prices] = findings.prices
    assert "switch/yield[n=2]@same" in prices.cases
    assert "switch/yield[n=1]@same" not in prices.cases
