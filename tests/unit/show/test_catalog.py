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
