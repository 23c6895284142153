# SPDX-License-Identifier: Apache-2.0
import msgspec
import pytest

from steelyard.judge.reasons import Reason, Why, all_of, of


def test_reasons_with_the_same_facts_are_one():
    reasons = [Reason(Why.NO_CASE, case=case) for case in ("a/b", "a/b", "a/c")]
    assert len(set(reasons)) == 2
    assert Reason(Why.NO_CASE, case="a/b") != Reason(Why.NOT_MEASURED, case="a/b")


@pytest.mark.parametrize("use", [str, "{}".format, msgspec.to_builtins, msgspec.json.encode])
def test_what_forgets_to_ask_for_its_words_is_told_so(use):
    with pytest.raises(TypeError):
        use(Reason(Why.NO_TIME))


def test_several_are_one_reason_and_each_is_in_it_once():
    assert all_of([]) is None
    both = all_of([of("a", "x"), "y", of("a", "x")])
    assert both == Reason(Why.ALL, parts=(of("a", "x"), "y"))
