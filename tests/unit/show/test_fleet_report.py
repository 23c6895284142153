# SPDX-License-Identifier: Apache-2.0
import io

import msgspec

from steelyard.judge.fleet import FamilySpread, FleetFindings, GroupFindings, MachineFindings, Oddity
from steelyard.show import fleet_report
from steelyard.show.console import Console

SLOW = Oddity(
    kind="level", what="memory", cases=28, ratio=1.051, low=1.046, high=1.055, p_value=0.001, most="memory/copy@same",
    most_ratio=1.06,
)  # fmt: skip
WHOLE = Oddity(kind="level", what="all", cases=300, ratio=1.4, low=1.39, high=1.41, p_value=0.001)
WIDE = Oddity(kind="scatter", what="lock", cases=6, ratio=6.5, p_value=0.01, most="lock/x@same", most_ratio=7.0)


def a_fleet(*machines: MachineFindings, keys=("0123456789ab",)) -> FleetFindings:
    families = (
        FamilySpread(family="memory", cases=28, spread=0.004, found_from=0.024),
        FamilySpread(family="lock", cases=6, spread=0.01, found_from=None),
    )
    groups = tuple(
        GroupFindings(key=key, about="[b]CPU", machines=machines, families=families, caveats=("one session",))
        for key in keys
    )
    return FleetFindings(margin=0.02, confidence=0.96, groups=groups, sessions=3, left_out=("x: void",))


MACHINES = (
    MachineFindings(name="n1", sessions=1, verdict="equivalent", furthest="memory", furthest_ratio=1.004),
    MachineFindings(name="n2\x1b[2J", sessions=1, verdict="different", oddities=(SLOW, WIDE)),
    MachineFindings(name="n3", sessions=1, verdict="undecided", suspicions=(WHOLE,)),
)


def printed(found: FleetFindings, *, every=False) -> str:
    out = io.StringIO()
    fleet_report.show(found, Console(file=out, width=200), every=every)
    return out.getvalue()


def test_only_what_is_odd_is_listed_and_the_others_are_counted():
    text = printed(a_fleet(*MACHINES))
    assert "3 machines of key 0123456789ab ([b]CPU): 1 different, 1 equivalent, 1 undecided" in text
    assert "+5.1 % [+4.6, +5.5] in memory (28 cases), most in memory/copy@same (+6.0 %)" in text
    assert "its runs scatter 6.5 times as far in lock (6 cases), most in lock/x@same (7)" in text
    assert "measure it again: +40.0 % [+39.0, +41.0] as a whole, but not in two sessions" in text
    assert "n1" not in text
    assert "\x1b" not in text
    assert "caveat: one session" in text
    assert "left out: x: void" in text
    assert "furthest off in memory: +0.4 %" in printed(a_fleet(*MACHINES), every=True)


def test_the_case_that_is_furthest_off_has_its_title_beside_its_name():
    titled = msgspec.structs.replace(a_fleet(*MACHINES), titles={"memory/copy": "copying memory"})
    assert "most in copying memory (memory/copy@same) (+6.0 %)" in printed(titled)


def test_what_could_have_been_found_stands_below():
    text = printed(a_fleet(*MACHINES))
    assert [line.split() for line in text.splitlines() if line.startswith(("memory", "lock"))] == [
        ["memory", "28", "0.4", "%", "2.4", "%"],
        ["lock", "6", "1.0", "%", "–"],
    ]


def test_other_hardware_is_not_ranked():
    assert "unranked" in printed(a_fleet(*MACHINES, keys=("a", "b")))
    assert "unranked" not in printed(a_fleet(*MACHINES))


def test_programs_get_one_object_a_machine():
    first, second, _ = fleet_report.as_json(a_fleet(*MACHINES))
    assert (first["key"], first["verdict"]) == ("0123456789ab", "equivalent")
    assert second["oddities"][0]["ratio"] == 1.051
