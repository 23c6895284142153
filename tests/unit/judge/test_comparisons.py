# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from steelyard.judge.comparisons import (
    alpha_at,
    compare_cases,
    compare_files,
    compare_machines,
    compare_sessions,
    find_pairs,
    metrics_of,
)
from steelyard.judge.fleet import FleetCase, FleetData, FleetMachine
from steelyard.judge.stats.signed_rank import exact_level
from steelyard.records import ForeignFile, ForeignSample
from steelyard.show.comparison import verdict
from steelyard.show.reasons import said
from tests.unit.judge.sessions import steady, weighed


def a_file(path, *, processes=True, **samples):
    return ForeignFile(
        path=path,
        tool="test",
        samples=tuple(
            ForeignSample(name=name, unit="s", better="lower", runs=tuple(runs), processes_known=processes)
            for name, runs in samples.items()
        ),
    )


def costs(centre, seed, n=20, spread=0.01):
    return centre * np.exp(np.random.default_rng(seed).normal(0, spread, n))


def test_a_large_difference_between_files_is_found_and_is_worse():
    found = compare_files(a_file("a", x=costs(1.0, 1)), a_file("b", x=costs(1.3, 2)), margin=0.05)
    [case] = found.cases
    assert (case.verdict, case.worse) == ("different", True)
    assert case.low < 1.3 < case.high


def test_what_became_cheaper_is_different_but_not_worse():
    [case] = compare_files(a_file("a", x=costs(1.3, 1)), a_file("b", x=costs(1.0, 2)), margin=0.05).cases
    assert (case.verdict, case.worse) == ("different", False)


def test_files_of_the_same_program_are_never_called_different():
    [case] = compare_files(a_file("a", x=costs(1.0, 1)), a_file("b", x=costs(1.0, 2)), margin=0.02).cases
    assert case.verdict != "different"


def test_a_file_without_processes_gets_a_wider_interval_and_a_caveat():
    a, b = costs(1.0, 1), costs(1.08, 2)
    known = compare_files(a_file("a", x=a), a_file("b", x=b), margin=0.0)
    unknown = compare_files(a_file("a", processes=False, x=a), a_file("b", processes=False, x=b), margin=0.0)
    assert unknown.cases[0].high / unknown.cases[0].low > known.cases[0].high / known.cases[0].low
    assert known.cases[0].verdict == "different"
    assert unknown.cases[0].verdict == "undecided"
    assert any("process" in said(caveat) for caveat in unknown.caveats)


def test_what_only_one_file_has_is_left_out_by_name():
    found = compare_files(a_file("a", x=costs(1, 1), y=costs(1, 2)), a_file("b", x=costs(1, 3)), margin=0.02)
    assert [said(one) for one in found.left_out] == ["y: only in a"]


def test_three_values_are_too_few_for_a_verdict():
    [case] = compare_files(a_file("a", x=[1, 1, 1]), a_file("b", x=[2, 2, 2]), margin=0.02).cases
    assert (case.verdict, case.high) == ("undecided", None)


def test_looks_spend_the_error_rate_and_no_more():
    looks = [10, 15, 20]
    spent = [alpha_at(look, looks, 20) for look in looks]
    assert spent[0] < spent[1] < spent[2]
    really = [exact_level(look, 1 - alpha) for look, alpha in zip(looks, spent, strict=True)]
    assert 0.03 < sum(really) <= 0.04 + 1e-12


# --- pairs of cases and other metrics ---------------------------------------------------------------------------------

PIPE, RING = "message/pipe[size={}]@{}", "message/ring[size={},stores=nt]@{}"


def a_session_of_channels(placements=("cross",), **more):
    costs = {}
    for place in placements:
        for size in (200, 65536):
            costs[PIPE.format(size, place)] = steady(size * 1e-9)
            costs[RING.format(size, place)] = steady(size * 2e-9)
    return weighed({**costs, **more})


def test_two_ways_are_paired_by_their_equal_parameters():
    session = a_session_of_channels()
    pairs, alone = find_pairs(session, "message/pipe", "message/ring")
    assert pairs == [
        (f"size={size}@cross", PIPE.format(size, "cross"), RING.format(size, "cross")) for size in (200, 65536)
    ]
    assert alone == []
    found = compare_cases(session, pairs, ("pipe", "ring"), margin=0.02)
    assert [(case.verdict, round(case.ratio, 6)) for case in found.cases] == [("different", 2.0)] * 2


def test_placements_are_paired_too_unless_they_are_what_is_compared():
    session = a_session_of_channels(("same", "free"))
    pairs, _ = find_pairs(session, "message/pipe", "message/ring")
    assert [label for label, _, _ in pairs] == ["size=200@same", "size=65536@same", "size=200@free", "size=65536@free"]
    pairs, _ = find_pairs(session, "message/pipe@same", "message/pipe@free")
    assert [label for label, _, _ in pairs] == ["size=200", "size=65536"]


def test_a_parameter_that_is_given_is_what_is_compared():
    session = a_session_of_channels(("same", "free"))
    pairs, _ = find_pairs(session, "message/pipe[size=200]", "message/pipe[size=65536]")
    assert [label for label, _, _ in pairs] == ["@same", "@free"]


def test_one_case_each_is_a_pair_whatever_the_two_are():
    session = a_session_of_channels()
    a, b = PIPE.format(200, "cross"), RING.format(65536, "cross")
    assert find_pairs(session, a, b) == ([(b, a, b)], [])


def test_what_has_no_partner_is_named_and_what_has_two_is_refused():
    session = a_session_of_channels(**{PIPE.format(9, "cross"): steady(1e-6)})
    _, alone = find_pairs(session, "message/pipe", "message/ring")
    assert [*map(said, alone)] == ["message/pipe[size=9]@cross: message/ring has no case with the same parameters"]
    twice = a_session_of_channels(**{"message/ring[size=200,stores=t]@cross": steady(1e-6)})
    with pytest.raises(ValueError, match=r'"message/ring" stands for 2 cases .* say which'):
        find_pairs(twice, "message/pipe", "message/ring")
    with pytest.raises(ValueError, match="say which"):
        find_pairs(session, "message/pipe[size=9]", "message/ring")


def test_another_metric_than_the_main_one_is_compared_when_it_is_asked_for():
    names = ("example/a@same", "example/b@same")
    shares = {names[0]: steady(0.5), names[1]: steady(0.25)}
    session = weighed(dict.fromkeys(names, steady(1e-6)), shares=shares)
    assert metrics_of(session, names) == ["operation", "share", "cpu", "user", "system", "wall"]
    [main] = compare_cases(session, [("x", *names)], ("a", "b"), margin=0.02).cases
    found = compare_cases(session, [("x", *names)], ("a", "b"), margin=0.02, metric="share")
    [share] = found.cases
    assert (main.metric, main.verdict, main.ratio) == ("operation", "equivalent", 1.0)
    assert (share.metric, share.verdict, round(share.ratio, 6)) == ("share", "different", 0.5)
    assert found.metric == "share"
    [wall] = compare_cases(session, [("x", *names)], ("a", "b"), margin=0.02, metric="wall").cases
    assert wall.a == main.a
    none = compare_cases(session, [("x", *names)], ("a", "b"), margin=0.02, metric="cpu")
    assert (none.cases, *map(said, none.left_out)) == ((), "x: no block has cpu of both")


def test_sessions_are_compared_by_another_metric_and_name_the_cases_without_it():
    names = ("example/a@same", "example/b@same")
    shares = {names[0]: steady(0.5)}
    before = weighed(dict.fromkeys(names, steady(1e-6)), shares=shares)
    after = weighed(dict.fromkeys(names, steady(1e-6)), shares={names[0]: steady(0.25)})
    found = compare_sessions(before, after, margin=0.02, metric="share")
    assert [(case.case, case.metric, round(case.ratio, 6)) for case in found.cases] == [(names[0], "share", 0.5)]
    assert f"{names[1]}: not both have share" in map(said, found.left_out)


def test_an_undecided_verdict_says_what_is_missing():
    names = ("example/a@same", "example/b@same")
    few = weighed({names[0]: steady(1e-6, 4), names[1]: steady(2e-6, 4)})
    [case] = compare_cases(few, [("x", *names)], ("a", "b"), margin=0.02).cases
    assert (case.verdict, case.high, case.more_blocks) == ("undecided", None, 2)
    assert verdict(case, 0.02).startswith("undecided: 2 more blocks, about ")
    [files] = compare_files(a_file("a", x=[1, 1, 1]), a_file("b", x=[2, 2, 2]), margin=0.02).cases
    assert verdict(files, 0.02) == "undecided: 3 more runs of each"
    [near] = compare_files(a_file("a", x=costs(1.0, 1)), a_file("b", x=costs(1.02, 2)), margin=0.02).cases
    assert near.verdict == "undecided"
    assert near.tells_from > 0.02
    assert verdict(near, 0.02) == f"undecided: here only differences from {100 * near.tells_from:.1f} % on can be told"


# --- over machines ----------------------------------------------------------------------------------------------------


def a_fleet_of(machines: int, ratio: float = 1.0, *, keys=("k",), seed=1, better="lower") -> FleetData:
    """Machines that differ by a third from each other, each measured in two sessions, all so many times as costly."""
    rng = np.random.default_rng(seed)
    own = np.random.default_rng(99).normal(0, 0.3, (machines, 2, 1))
    owner = np.repeat(np.arange(machines), 2)
    logs = own[owner] + np.log(ratio) + rng.normal(0, 0.01, (len(owner), 2, 10)) - 14
    return FleetData(
        tuple(FleetMachine(name=f"n{k}", key=keys[k % len(keys)]) for k in range(machines)),
        tuple(FleetCase(name=f"a/{name}@same", unit="s", better=better, metric="operation") for name in "xy"),
        owner,
        np.exp(logs),
    )


def test_a_kernel_is_compared_within_each_machine_however_much_machines_differ():
    [found] = compare_machines(a_fleet_of(12), a_fleet_of(12, 1.05, seed=2), ("old", "new"), margin=0.02)
    assert (found.kind, found.a, found.b) == ("machines", "old", "new")
    for case in found.cases:
        assert (case.verdict, case.worse, case.n) == ("different", True, 12)
        assert case.low < 1.05 < case.high
        assert case.high - case.low < 0.02


def test_the_same_kernel_twice_is_equivalent_and_few_machines_say_nothing():
    [same] = compare_machines(a_fleet_of(12), a_fleet_of(12, seed=2), ("a", "b"), margin=0.02)
    assert {case.verdict for case in same.cases} == {"equivalent"}
    [few] = compare_machines(a_fleet_of(4), a_fleet_of(4, 1.05, seed=2), ("a", "b"), margin=0.02)
    assert {case.verdict for case in few.cases} == {"undecided"}
    assert {(case.more_blocks, case.more_minutes) for case in few.cases} == {(3, None)}
    assert verdict(few.cases[0], few.margin) == "undecided: 3 more machines"


def test_kinds_of_machines_are_apart_and_those_of_one_side_only_are_named():
    a, b = a_fleet_of(20, keys=("x", "y")), a_fleet_of(18, 1.05, keys=("x", "y"), seed=2)
    first, second = compare_machines(a, b, ("old", "new"), margin=0.02)
    assert {case.n for case in (*first.cases, *second.cases)} == {9}
    assert [*map(said, first.left_out)] == ["n18: only in old", "n19: only in old"]
    assert "9 machines of key x" in said(first.caveats[0])
    assert compare_machines(a, a_fleet_of(20, keys=("z",)), ("old", "new"), margin=0.02) == ()
