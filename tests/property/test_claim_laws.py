# SPDX-License-Identifier: Apache-2.0
"""Laws of verdicts: units, sides and order are a matter of taste, and a range that contains another holds more."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.judge.claims import Claim, ClaimVerdict, Sourced
from steelyard.judge.verdicts import judge_claims
from tests.unit.judge.sessions import weighed
from tests.unit.judge.test_verdicts import SOURCE

A, B = {"case": "question/a@same"}, {"case": "question/b@same"}

blocks = st.integers(min_value=1, max_value=9)
# In steps, so that a scaled cost is still a whole number of nanoseconds for a million operations.
costs = st.integers(min_value=100, max_value=10_000).map(lambda n: n * 1e-9)
pairs = blocks.flatmap(lambda n: st.tuples(*[st.lists(costs, min_size=n, max_size=n)] * 2))
edges = st.floats(min_value=0.2, max_value=4.9)


def verdict(a, b, **test):
    test = {"rule": "ratio", "of": A, "over": B, **test}
    claim = msgspec.convert({"id": "x", "statement": "x", "said": "x", "scope": "x", "test": test}, type=Claim)
    session = weighed({A["case"]: a, B["case"]: b})
    return judge_claims(session, [Sourced(source=SOURCE, claim=claim)]).findings[0].verdict


@settings(max_examples=60, deadline=None)
@given(pairs, edges)
def test_a_ratio_does_not_depend_on_the_unit(pair, edge):
    a, b = pair
    assert verdict(a, b, at_least=edge) is verdict([8 * cost for cost in a], [8 * cost for cost in b], at_least=edge)


@settings(max_examples=60, deadline=None)
@given(pairs, edges)
def test_sides_may_be_changed(pair, edge):
    a, b = pair
    turned = verdict(a, b, of=B, over=A, at_most=1 / edge)
    straight = verdict(a, b, at_least=edge)
    assert turned is straight


@settings(max_examples=60, deadline=None)
@given(pairs, edges)
def test_at_least_and_at_most_never_agree(pair, edge):
    a, b = pair
    at_least, at_most = verdict(a, b, at_least=edge), verdict(a, b, at_most=edge)
    opposite = {
        ClaimVerdict.HOLDS: ClaimVerdict.FAILS,
        ClaimVerdict.FAILS: ClaimVerdict.HOLDS,
        ClaimVerdict.UNDECIDED: ClaimVerdict.UNDECIDED,
    }
    assert at_most is opposite[at_least]


@settings(max_examples=60, deadline=None)
@given(pairs, edges)
def test_what_holds_in_a_range_holds_with_an_end_open(pair, edge):
    a, b = pair
    if verdict(a, b, at_least=edge, at_most=edge * 3) is ClaimVerdict.HOLDS:
        assert verdict(a, b, at_least=edge) is ClaimVerdict.HOLDS
        assert verdict(a, b, at_most=edge * 3) is ClaimVerdict.HOLDS


@settings(max_examples=60, deadline=None)
@given(pairs)
def test_the_order_of_blocks_says_nothing(pair):
    a, b = pair
    assert verdict(a, b, at_least=1.0) is verdict(a[::-1], b[::-1], at_least=1.0)


@settings(max_examples=60, deadline=None)
@given(pairs, edges)
def test_fewer_than_six_blocks_never_decide(pair, edge):
    a, b = pair
    if len(a) < 6:
        assert verdict(a, b, at_least=edge) is ClaimVerdict.UNDECIDED
