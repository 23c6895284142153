# SPDX-License-Identifier: Apache-2.0
"""Composite costs taken apart: what adds up, what does not, what is missing, and from where it came."""

import msgspec
import pytest

from steelyard.judge.explain import Composite, Part, State, bound, explain, library, meant, nearest, needed
from steelyard.show.reasons import said
from tests.unit.judge.sessions import noisy, steady, the_case, weighed

WHOLE = "message/tube[size=64,kind=thread]@same"
CALL = "call/enter@same"
COPY = "cache/copy[size=64]@same"
TUBE = Composite(
    case="message/tube@same",
    made_of="two calls and two copies",
    source="made up",
    part=(
        Part(what="calls", case=CALL, times=2, because="one a side"),
        Part(what="copies", case="cache/copy[size={size}]@{placement}", times=2, because="one a side"),
    ),
)


def noisy_around(cost):
    """A cost whose noise is its own, unlike that of its parts."""
    return [cost * (1 + offset) for offset in (0.02, -0.02, 0.01, -0.01, 0.015, -0.015, 0.03, -0.03)]


def held(costs, composite=TUBE, **more):
    return explain(weighed(costs), {"tube": composite}, **more)


def the_one(costs, composite=TUBE, **more):
    found = held(costs, composite, **more)
    assert found.absent == ()
    (one,) = found.explained
    return one


def test_parts_that_add_up_leave_a_rest_that_cannot_be_told_from_nothing():
    one = the_one({WHOLE: noisy_around(10e-6), CALL: steady(2e-6), COPY: steady(3e-6)})
    assert one.state is State.EXPLAINED
    assert one.explained.value == pytest.approx(10e-6, rel=0.02)
    assert one.residual.low <= 0 <= one.residual.high


@pytest.mark.parametrize(
    ("whole", "state"), [(11e-6, State.RESIDUAL), (20e-6, State.LARGE_RESIDUAL), (9e-6, State.OVER_EXPLAINED)]
)
def test_the_rest_is_what_the_parts_leave_and_is_never_clamped(whole, state):
    one = the_one({WHOLE: steady(whole), CALL: steady(2e-6), COPY: steady(3e-6)})
    assert one.state is state
    assert one.residual.value == pytest.approx(whole - 10e-6, rel=0.02)
    assert one.residual.share == pytest.approx((whole - 10e-6) / whole, rel=0.02)
    assert one.residual.low < one.residual.high


def test_each_part_has_its_times_its_cost_and_its_share():
    one = the_one({WHOLE: steady(20e-6), CALL: steady(2e-6), COPY: steady(3e-6)})
    calls, copies = one.parts
    assert (calls.label, calls.times, copies.label, copies.times) == (CALL, 2, COPY, 2)
    assert (calls.each, calls.cost, calls.share) == pytest.approx((2e-6, 4e-6, 0.2), rel=0.01)
    assert calls.low < calls.cost < calls.high


def test_drift_that_all_have_in_common_does_not_widen_the_rest():
    drift = [1 + block / 4 for block in range(8)]
    costs = {WHOLE: 11e-6, CALL: 2e-6, COPY: 3e-6}
    one = the_one({name: [cost * share for share in drift] for name, cost in costs.items()})
    assert one.residual.share_low == pytest.approx(1 / 11)
    assert one.residual.share_high == pytest.approx(1 / 11)
    assert one.state is State.RESIDUAL


def test_blocks_in_which_a_part_is_missing_are_left_out():
    one = the_one({WHOLE: steady(20e-6), CALL: [None, *steady(2e-6)[1:]], COPY: steady(3e-6)})
    assert one.n == 8
    assert one.residual.value == pytest.approx(10e-6, rel=0.02)


def test_too_few_blocks_are_undecided():
    one = the_one({WHOLE: [20e-6] * 5, CALL: [2e-6] * 5, COPY: [3e-6] * 5})
    assert (one.state, one.residual.low, one.residual.high) == (State.UNDECIDED, None, None)


def test_a_rest_that_may_be_nothing_and_may_be_large_is_undecided():
    assert the_one({WHOLE: noisy(11e-6), CALL: steady(2e-6), COPY: steady(3e-6)}).state is State.UNDECIDED


def test_a_part_that_was_not_measured_is_named_and_nothing_is_summed_up():
    one = the_one({WHOLE: steady(20e-6), CALL: steady(2e-6)})
    assert (one.state, one.residual, one.explained) == (State.INCOMPLETE, None, None)
    assert [(part.what, part.case) for part in one.missing] == [("copies", COPY)]
    assert "no " in said(one.missing[0].reason)
    assert len(one.parts) == 1


def test_a_part_that_could_not_be_measured_here_has_the_reason():
    session = weighed({WHOLE: steady(20e-6), CALL: steady(2e-6)}, skips={"cache/copy": "no compiler"})
    (one,) = explain(session, {"tube": TUBE}).explained
    assert "no compiler" in said(one.missing[0].reason)


def test_a_composite_that_the_session_lacks_is_absent():
    found = held({CALL: steady(2e-6)})
    assert found.explained == ()
    assert [(one.composite, one.case) for one in found.absent] == [("tube", TUBE.case)]


def test_a_session_that_has_it_in_another_placement_alone_is_told_what_can_be_explained():
    elsewhere = WHOLE.replace("@same", "@free")
    (one,) = held({elsewhere: steady(20e-6)}, asked="message").absent
    assert said(one.reason) == (
        f"the session has 1 other case of its probe, the first {elsewhere}; what can be explained is {TUBE.case}: "
        f"`steelyard run {TUBE.pattern.probe} --placement same` measures it"
    )


def test_a_part_may_be_there_once_for_each_of_a_parameter():
    part = Part(what="bytes", case=CALL, per="size", times=0.5, because="half of them")
    one = the_one({WHOLE: steady(100e-6), CALL: steady(2e-6)}, msgspec.structs.replace(TUBE, part=(part,)))
    assert (one.parts[0].times, one.parts[0].cost) == pytest.approx((32, 64e-6), rel=0.01)


def test_a_part_may_be_there_as_often_as_was_counted_in_each_block():
    part = Part(what="switches", case=CALL, per="share", because="counted")
    composite = msgspec.structs.replace(TUBE, part=(part,))
    counts = [2.0, 3.0] * 4
    costs = {WHOLE: [5e-6 * count for count in counts], CALL: [4e-6] * 8}
    session = weighed(costs, shares={WHOLE: counts})
    (one,) = explain(session, {"tube": composite}).explained
    assert one.parts[0].times == 2.5
    # Block by block the part is four fifths, whatever the count was there.
    assert (one.residual.share_low, one.residual.share_high) == pytest.approx((0.2, 0.2))


def test_something_may_be_taken_off_a_part():
    part = Part(what="calls", case=CALL, less=COPY, because="without it")
    one = the_one(
        {WHOLE: steady(20e-6), CALL: steady(5e-6), COPY: steady(3e-6)}, msgspec.structs.replace(TUBE, part=(part,))
    )
    assert one.parts[0].cost == pytest.approx(2e-6, rel=0.02)
    assert one.parts[0].label == f"{CALL} less {COPY}"


def test_parts_may_come_from_another_session_and_their_intervals_are_put_together():
    costs = {WHOLE: noisy_around(11e-6), CALL: steady(2e-6), COPY: noisy_around(3e-6)}
    paired = the_one(costs)
    here = weighed({name: costs[name] for name in (WHOLE, CALL)})
    there = msgspec.structs.replace(weighed({COPY: costs[COPY]}), path="other.session.jsonl")
    (apart,) = explain(here, {"tube": TUBE}, others=[there]).explained
    assert [part.session for part in apart.parts] == [None, "other.session.jsonl"]
    assert apart.residual.value == pytest.approx(paired.residual.value, rel=0.2)
    assert apart.residual.high - apart.residual.low > paired.residual.high - paired.residual.low
    assert apart.residual.share == pytest.approx(apart.residual.value / apart.whole.value)


def test_only_what_was_asked_for_is_explained():
    other = WHOLE.replace("64", "128")
    costs = {WHOLE: steady(20e-6), other: steady(40e-6), CALL: steady(2e-6), COPY: steady(3e-6)}
    assert [one.case for one in held(costs).explained] == [WHOLE, other]
    assert [one.case for one in held(costs, asked=other).explained] == [other]


def test_doubts_of_the_whole_and_of_its_parts_travel_with_it():
    session = weighed({WHOLE: steady(20e-6), CALL: steady(2e-6), COPY: steady(3e-6)})
    runs = [msgspec.structs.replace(run, caveats=("a doubt",)) if run.case == CALL else run for run in session.runs]
    (one,) = explain(msgspec.structs.replace(session, runs=tuple(runs)), {"tube": TUBE}).explained
    assert tuple(map(said, one.caveats)) == (f"{CALL}: a doubt",)


def test_parameters_and_placement_are_those_of_the_composite():
    case = the_case(WHOLE)
    assert bound("cache/copy[size={size},by={kind}]@{placement}", case) == "cache/copy[size=64,by=thread]@same"
    assert needed(TUBE, case) == (CALL, COPY)
    with pytest.raises(KeyError, match="pages"):
        bound("cache/copy[size={pages}]", case)


@pytest.mark.parametrize(
    "wrong", [{"case": "no case at all"}, {"times": 0}, {"times": float("nan")}, {"less": "neither"}]
)
def test_what_can_be_no_part_is_refused(wrong):
    with pytest.raises(ValueError, match=r"is not a case|a number of times"):
        Part(**{"what": "calls", "case": CALL, "because": "so"} | wrong)


def test_a_composite_is_found_by_how_people_name_it():
    assert all(TUBE.is_meant_by(text) for text in ("tube", "message", "message/tube", WHOLE, "message/tube@same"))
    assert not any(TUBE.is_meant_by(text) for text in ("pipe", "message/tube@cross", "call/enter"))
    assert meant("switch/pipe").keys() == {"switch_pipe"} == meant("switch_pipe").keys()


def test_the_library_is_read_file_by_file():
    assert {"switch_pipe"} <= library().keys()


def test_its_probes_are_those_of_the_whole_of_the_parts_and_of_what_is_taken_off():
    part = Part(what="switches", case="switch/yield[kind={kind}]@same", less="call/enter@same", because="one a side")
    assert Composite(case="message/tube@same", made_of="a switch", source="made up", part=(part,)).probes == {
        "message/tube",
        "switch/yield",
        "call/enter",
    }


@pytest.mark.parametrize(
    ("typed", "meant_by_it"),
    [("switch/pip", "switch/pipe"), ("pipes", "pipe"), ("lock_mutx", "lock_mutex"), ("switch/pip@same", "switch/pipe")],
)
def test_the_nearest_to_what_was_typed_comes_first(typed, meant_by_it):
    assert nearest(typed)[0] == meant_by_it
    assert meant(meant_by_it)


def test_nothing_is_near_to_what_has_nothing_in_common():
    assert nearest("2718281828") == []
