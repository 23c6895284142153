# SPDX-License-Identifier: Apache-2.0
"""The rate up to which a server keeps up."""

import pytest

from steelyard.judge.knees import RatePoint, knees


def points(*seen: tuple[int, float | None, float | None], probe="request/a", fixed="@cross"):
    return [
        RatePoint(probe=probe, title=probe, fixed=fixed, rate=rate, answered=answered, latency_s=latency)
        for rate, answered, latency in seen
    ]


@pytest.mark.parametrize(
    ("seen", "kept", "lost"),
    [
        (((100, 1.0, 1e-3), (200, 1.0, 2e-3), (400, 0.7, 300e-3)), 200, 400),
        (((100, 1.0, 1e-3), (200, 1.0, 11e-3)), 100, 200),  # answered, but out of a queue
        (((100, 1.0, 1e-3), (200, 0.99, 9e-3)), 200, None),
        (((100, 0.5, 1e-3), (200, 0.3, 2e-3)), None, 100),
        (((100, 1.0, 1e-3), (200, 1.0, None), (400, 0.5, 1.0)), 100, None),  # the generator was the limit
        (((400, 0.6, 1.0), (100, 1.0, 1e-3)), 100, 400),  # in any order
    ],
)
def test_the_knee_lies_between_the_last_rate_that_was_kept_and_the_first_that_was_not(seen, kept, lost):
    [knee] = knees(points(*seen))
    assert (knee.kept, knee.lost) == (kept, lost)


def test_one_rate_has_no_knee():
    assert knees(points((100, 1.0, 1e-3))) == ()


def test_each_server_under_each_load_has_its_own():
    found = knees(
        [
            *points((100, 1.0, 1e-3), (200, 1.0, 1e-3)),
            *points((100, 1.0, 1e-3), (200, 0.1, 1.0), probe="request/b"),
            *points((100, 1.0, 1e-3), (200, 1.0, 1e-3), fixed="keep_alive=no @cross"),
        ]
    )
    assert [(knee.probe, knee.fixed, knee.kept) for knee in found] == [
        ("request/a", "@cross", 200),
        ("request/b", "@cross", 100),
        ("request/a", "keep_alive=no @cross", 200),
    ]
