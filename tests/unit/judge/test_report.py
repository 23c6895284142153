# SPDX-License-Identifier: Apache-2.0

from tests.reporting import a_report


def test_a_session_of_the_same_machine_is_compared_and_one_of_another_stands_apart():
    made = a_report()
    [compared] = made.comparisons
    assert (compared.a, compared.b) == ("a", "b")
    assert made.apart == ("session C",)
    assert [judged.label for judged in made.sessions] == ["session A", "session B", "session C"]
