# SPDX-License-Identifier: Apache-2.0
"""Which machine is called different, on small made-up fleets; tests/honesty measures how often that is wrong."""

import math

import msgspec
import numpy as np
import pytest

from steelyard.judge import fleet
from steelyard.judge.fleet import FleetCase, FleetData, FleetMachine, gather, judge_fleet
from steelyard.records import End, Placed
from steelyard.show.reasons import said
from tests.making import a_case, a_header, a_machine, a_planned, a_run, a_session
from tests.reporting import the_golden_session

MACHINES, BLOCKS = 24, 20
CASES = tuple(FleetCase(name=f"{family}/c{n}@same", unit="s", better="lower") for family in "abcd" for n in range(5))


def a_fleet(sessions=1, machines=MACHINES, cases=CASES, keys=("key",), seed=5) -> FleetData:
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(machines), sessions)
    level = rng.normal(0, 0.003, (machines, len(cases), 1))[owner] - 14
    logs = level + rng.normal(0, 0.01, (len(owner), len(cases), BLOCKS))
    named = tuple(FleetMachine(name=f"n{k}", key=keys[k % len(keys)], about="Example CPU") for k in range(machines))
    return FleetData(named, cases, owner, np.exp(logs))


def with_factor(data: FleetData, machine: int, factor, *, cases=slice(None), sessions=slice(None)) -> FleetData:
    numbers = data.numbers.copy()
    rows = np.flatnonzero(data.owner == machine)[sessions]
    numbers[rows, cases] *= factor
    return FleetData(data.machines, data.cases, data.owner, numbers)


def machines_of(data: FleetData, **more):
    return {one.name: one for group in judge_fleet(data, **more).groups for one in group.machines}


def accused(data: FleetData, **more) -> set[str]:
    return {name for name, one in machines_of(data, **more).items() if one.verdict == "different"}


FAMILY_B = slice(5, 10)


def test_a_healthy_fleet_has_nobody_accused_and_its_machines_are_alike():
    found = machines_of(a_fleet())
    assert {one.verdict for one in found.values()} == {"equivalent"}
    assert all(one.suspicions == () for one in found.values())


def test_a_machine_that_is_slower_in_a_family_is_found_with_the_family_and_by_how_much():
    found = machines_of(with_factor(a_fleet(), 7, 1.05, cases=FAMILY_B))
    assert [name for name, one in found.items() if one.verdict == "different"] == ["n7"]
    [oddity] = found["n7"].oddities
    assert (oddity.kind, oddity.what, oddity.cases) == ("level", "b", 5)
    assert oddity.low < 1.05 < oddity.high * 1.01
    assert oddity.ratio == pytest.approx(1.05, abs=0.01)
    assert oddity.most.startswith("b/")
    assert oddity.p_value <= 0.04
    assert (found["n7"].furthest, found["n7"].furthest_ratio) == ("b", oddity.ratio)


def test_a_faster_machine_is_as_odd_as_a_slower_one():
    assert accused(with_factor(a_fleet(), 7, 1 / 1.05, cases=FAMILY_B)) == {"n7"}


def test_more_is_cheaper_where_more_is_better():
    rates = tuple(a_case_with(case, better="higher", unit="B/s") for case in CASES)
    data = a_fleet(cases=rates)
    [oddity] = machines_of(with_factor(data, 7, 1 / 1.05, cases=FAMILY_B))["n7"].oddities
    assert oddity.ratio == pytest.approx(1.05, abs=0.015)


def a_case_with(case: FleetCase, **more) -> FleetCase:
    return FleetCase(**{"name": case.name, "unit": case.unit, "better": case.better, **more})


def test_one_case_alone_singles_a_machine_out_as_well():
    [oddity] = machines_of(with_factor(a_fleet(), 7, 1.08, cases=slice(3, 4)))["n7"].oddities
    assert (oddity.what, oddity.cases) == ("a/c3@same", 1)


def test_what_is_unusual_but_within_the_margin_is_no_oddity():
    data = with_factor(a_fleet(), 7, 1.05, cases=FAMILY_B)
    assert accused(data, margin=0.10) == set()


def test_what_is_beyond_the_margin_but_usual_in_a_scattered_fleet_is_no_oddity():
    data = a_fleet()
    wide = np.exp(np.random.default_rng(1).normal(0, 0.05, (MACHINES, len(CASES), 1)))
    scattered = FleetData(data.machines, data.cases, data.owner, data.numbers * wide)
    found = list(machines_of(scattered).values())
    assert not any(one.verdict == "different" for one in found)
    assert sum(one.verdict == "undecided" for one in found) > MACHINES / 2


def test_a_session_that_was_slow_from_end_to_end_is_a_suspicion_until_a_second_one_says_so():
    once = machines_of(with_factor(a_fleet(), 7, 1.4))["n7"]
    assert (once.verdict, once.oddities, once.suspicions[0].what) == ("undecided", (), "all")
    twice = a_fleet(sessions=2)
    assert accused(with_factor(twice, 7, 1.4, sessions=slice(1))) == set()
    [oddity] = machines_of(with_factor(twice, 7, 1.4))["n7"].oddities
    assert (oddity.what, oddity.cases) == ("all", 20)
    assert oddity.ratio == pytest.approx(1.4, abs=0.02)


def test_what_moves_whole_blocks_accuses_nobody():
    data = a_fleet()
    numbers = data.numbers.copy()
    numbers[::3, :, 4:9] *= 1.5
    assert accused(FleetData(data.machines, data.cases, data.owner, numbers)) == set()


def test_a_machine_whose_runs_scatter_is_found_and_in_which_family():
    data = a_fleet(sessions=3)
    rows = np.flatnonzero(data.owner == 7)
    struck = np.random.default_rng(2).random((len(rows), 5, BLOCKS)) < 0.25
    numbers = data.numbers.copy()
    numbers[rows, FAMILY_B] *= np.where(struck, 1.3, 1.0)
    [oddity] = machines_of(FleetData(data.machines, data.cases, data.owner, numbers))["n7"].oddities
    assert (oddity.kind, oddity.what) == ("scatter", "b")
    assert oddity.ratio > 3
    assert oddity.low is None


def test_machines_of_two_keys_are_not_held_against_each_other():
    data = a_fleet(keys=("old", "new"))
    numbers = data.numbers.copy()
    numbers[1::2] *= 3
    found = judge_fleet(FleetData(data.machines, data.cases, data.owner, numbers))
    assert [(group.key, len(group.machines)) for group in found.groups] == [("old", 12), ("new", 12)]
    assert {one.verdict for group in found.groups for one in group.machines} == {"equivalent"}


def test_machines_stand_in_the_order_in_which_people_count():
    data = a_fleet(machines=12)
    turned = FleetData(data.machines[::-1], data.cases, data.owner, data.numbers)
    assert list(machines_of(turned)) == [f"n{number}" for number in range(12)]


def test_too_few_machines_accuse_nobody_and_it_is_said():
    [group] = judge_fleet(with_factor(a_fleet(machines=5), 0, 2.0, cases=FAMILY_B)).groups
    assert all(one.verdict != "different" for one in group.machines)
    assert "too few" in said(group.caveats[0])
    assert all(family.found_from is None for family in group.families)


def test_one_session_a_machine_is_a_caveat():
    assert any("one session" in said(text) for text in judge_fleet(a_fleet()).groups[0].caveats)
    assert judge_fleet(a_fleet(sessions=2)).groups[0].caveats == ()


def test_missing_cases_and_blocks_are_no_oddity():
    data = a_fleet()
    numbers = data.numbers.copy()
    numbers[3, 4] = np.nan
    numbers[5, :, 10:] = np.nan
    numbers[6, 2, 0] = 0.0
    assert accused(FleetData(data.machines, data.cases, data.owner, numbers)) == set()


def test_the_spread_of_the_machines_says_what_could_be_found():
    [group] = judge_fleet(a_fleet()).groups
    whole, *families = group.families
    assert (whole.family, [one.family for one in families]) == ("all", ["a", "b", "c", "d"])
    assert all(0 < one.spread < 0.01 for one in families)
    assert all(0.01 < one.found_from < 0.05 for one in families)


@pytest.mark.parametrize("quantile", [0.25, 0.5])
def test_ranks_cover_the_quantile_as_often_as_they_say(quantile):
    rng = np.random.default_rng(3)
    low, high = fleet._ranks(30, quantile)
    ordered = np.sort(rng.random((20_000, 30)), axis=1)
    covered = np.mean((ordered[:, low - 1] <= quantile) & (quantile <= ordered[:, high - 1]))
    assert 0.95 <= covered <= 0.985
    assert fleet._ranks(0, quantile) == (0, 0)
    assert fleet._ranks(1, quantile) == (0, 0)


# --- from sessions ----------------------------------------------------------------------------------------------------


def a_session_on(node: str, *seconds: float, key="0123456789ab", path="a"):
    case, control = a_case("call/direct"), a_case("call/loop")
    placed = Placed(plan="p", token=f"{node}.1", node=node)
    header = a_header(case, placed=placed, machine=a_machine(key=key))
    plan = msgspec.structs.replace(
        a_session().plan, cases=(a_planned(case), a_planned(control, control=True)), blocks=len(seconds)
    )
    header = msgspec.structs.replace(header, probes={**header.probes, "call/loop": header.probes["call/direct"]})
    end = End(at="2026-01-02T03:04:06+00:00", reason="blocks", blocks=len(seconds), wall_s=1.0, timed_s=0.5)
    runs = [a_run(one, block, second) for block, second in enumerate(seconds, 1) for one in (case, control)]
    return a_session(plan, *runs, end, header=header, path=path)


def test_sessions_become_numbers_by_machine_case_and_block_without_what_serves_the_lab():
    data, left_out = gather([a_session_on("n1", 1e-6, 2e-6), a_session_on("n2", 3e-6), a_session_on("n1", 4e-6)])
    assert [machine.name for machine in data.machines] == ["n1", "n2"]
    assert [case.name for case in data.cases] == ["call/direct@same"]
    assert data.owner.tolist() == [0, 1, 0]
    assert data.numbers[:, 0].tolist()[0] == pytest.approx([1e-6, 2e-6])
    assert math.isnan(data.numbers[1, 0, 1])
    assert left_out == ()


def test_what_is_not_complete_or_void_is_left_out_and_said():
    whole = a_session_on("n1", 1e-6)
    torn = msgspec.structs.replace(whole, end=None, path="torn")
    data, left_out = gather([whole, torn])
    assert (len(data.owner), *map(said, left_out)) == (1, "torn: not complete")


def test_a_session_of_no_fleet_counts_for_its_key():
    data, _ = gather([the_golden_session()])
    assert [machine.name for machine in data.machines] == [the_golden_session().header.machine.key]


def test_nothing_gives_no_groups():
    data, _ = gather([])
    assert judge_fleet(data).groups == ()
