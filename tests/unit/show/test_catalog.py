# SPDX-License-Identifier: Apache-2.0
from steelyard.records import Skip
from steelyard.show import catalog
from tests.making import a_choice, a_descriptor, an_integer
from tests.reporting import printed


def test_the_catalog_is_shown_by_question_with_sweeps_and_placements():
    descriptor = a_descriptor(
        parameters=(an_integer("n", 1, 2), a_choice("kind", "a", "b")), placements=("same", "free")
    )
    text = printed(catalog.show, [descriptor], [Skip(subject="a/b", reason="no [Go]")])
    assert "n=1,2 kind=a,b @same,@free" in text
    assert "a/b: no [Go]" in text


def test_a_title_stands_beside_what_can_be_typed():
    titled = a_descriptor("lock/counter_pi", title="mutex with priority inheritance")
    text = printed(catalog.show, [titled, a_descriptor("lock/mine")], [])
    assert [line.rstrip() for line in text.splitlines()] == [
        *(
            "lock",
            "  mutex with priority inheritance  lock/counter_pi",
            "      What does an example cost?",
            "      @same",
        ),
        *("  lock/mine", "      What does an example cost?", "      @same"),
    ]
