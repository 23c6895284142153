# SPDX-License-Identifier: Apache-2.0
"""Latency by bandwidth, as a session says it."""

import pytest

from steelyard.judge.findings import judge
from steelyard.records import Plan
from tests.making import a_case, a_descriptor, a_header, a_metric, a_planned, a_run, a_session, a_value, an_integer
from tests.unit.judge.sessions import OPERATIONS, QUIET

BANDWIDTH = a_metric("bandwidth", unit="B/s", better="neither", over="bytes", per="wall")


def session(points, bandwidth=BANDWIDTH, blocks=8, **more):
    """A session in which a load took so long (s) while so much was moved (B/s), by the delay of those who move."""
    cases = {delay: a_case("cache/loaded", delay=delay, size=64) for delay in points}
    runs = [
        a_run(
            cases[delay],
            block + 1,
            values=(
                a_value(
                    latency * QUIET[block], OPERATIONS, counts={
                        "checked": OPERATIONS, "bytes": round(moved * latency * QUIET[block] * OPERATIONS)
                    }
                ),
            ),
        )
        for delay, (latency, moved) in points.items()
        for block in range(blocks)
    ]  # fmt: skip
    descriptor = a_descriptor(
        "cache/loaded",
        title="load",
        metrics=(a_metric("load"), bandwidth),
        parameters=(
            an_integer("delay", *points, curves=("bandwidth",), maximum=10**6),
            an_integer("size", 64),
        ),
        **more,
    )
    header = a_header(*cases.values(), probes=(descriptor,))
    return a_session(Plan(cases=tuple(map(a_planned, cases.values())), blocks=blocks), *runs, header=header)


CURVE = {0: (200e-9, 20e9), 1000: (120e-9, 10e9), 100_000: (100e-9, 1e9)}


def test_points_stand_by_bandwidth_and_the_last_against_the_first():
    [found] = judge(session(CURVE)).loaded
    assert (found.probe, found.title, found.fixed) == ("cache/loaded", "load", ("size=64", "@same"))
    assert [round(point.bandwidth.median / 1e9) for point in found.points] == [1, 10, 20]
    assert [point.latency.median for point in found.points] == pytest.approx([100e-9, 120e-9, 200e-9], rel=0.02)
    assert found.most.ratio == pytest.approx(2, rel=0.01)
    assert found.most.low < 2.01
    assert found.most.high > 1.99


def test_one_point_is_no_curve():
    assert judge(session({0: CURVE[0]})).loaded == ()


@pytest.mark.parametrize("more", [{"unit": "1", "better": "neither"}, {"unit": "B/s", "better": "higher"}])
def test_a_bandwidth_that_is_the_aim_or_another_quantity_is_no_load(more):
    assert judge(session(CURVE, a_metric("bandwidth", over="bytes", per="wall", **more))).loaded == ()
