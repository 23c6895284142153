# SPDX-License-Identifier: Apache-2.0
from steelyard.records import Disturbance, Skip
from steelyard.show import doubts
from tests.reporting import printed


def test_what_is_said_of_several_is_said_once_with_how_many_they_are():
    said = [("too few runs", "a"), ("noisy", "b"), ("too few runs", "c"), ("too few runs", "c")]
    assert doubts.said_once(said) == ["a and 1 more: too few runs", "b: noisy"]


def test_an_empty_list_has_no_title():
    assert printed(lambda console: doubts.listed(console, "caveats", [])) == ""
    assert printed(lambda console: doubts.listed(console, "caveats", ["one"])).splitlines() == ["caveats", "  one", ""]


def test_a_reason_does_not_repeat_the_probe_that_gave_it():
    text = printed(doubts.show_skips, [Skip(subject="a/b[n=1]@same", reason="a/b: no such device")])
    assert "a/b[n=1]@same: no such device" in text


def test_a_disturbance_says_what_to_do():
    noise = Disturbance(what="noise", advice="close the window", severity="warning")
    assert "warning: noise; close the window" in printed(doubts.show_disturbances, [noise])
