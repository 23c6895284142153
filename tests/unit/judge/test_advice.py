# SPDX-License-Identifier: Apache-2.0
"""Advice is concluded from the verdicts of its claims alone."""

import pytest
from msgspec.structs import replace

from steelyard.judge.advice import Conclusion, judge_advice, label
from steelyard.judge.claims import ClaimVerdict, Sourced
from steelyard.judge.published import Source
from steelyard.judge.verdicts import judge_claims
from tests.studies import a_study
from tests.unit.judge.sessions import steady, weighed

SOURCE = Source(id="some/one", title="Some advice", year=2012, url="", machine="")
ENTRY = """
[[claim]]
id = "faster-{compiler}-{level}"
advice = "Do it."
statement = "It is faster."
said = "faster"
scope = "anywhere"
each = { compiler = ["gcc", "clang"], level = ["0", "2"] }
[claim.test]
rule = "ratio"
of = { case = "code/x[way=plain,compiler={compiler},level={level}]@same" }
over = { case = "code/x[way=advised,compiler={compiler},level={level}]@same" }
at_least = 1.05
"""
STUDY = a_study(claims=ENTRY)
LIBRARY = tuple(Sourced(source=STUDY.source, claim=claim) for claim in STUDY.claims)
SETTINGS = [("gcc", "0"), ("gcc", "2"), ("clang", "0"), ("clang", "2")]


def gaining(*gains):
    """The findings of a session in which the advised way is so many times as fast, by setting; None: not measured."""
    costs = {}
    for (compiler, level), gain in zip(SETTINGS, gains, strict=True):
        if gain is not None:
            for way, cost in (("plain", gain * 1e-9), ("advised", 1e-9)):
                costs[f"code/x[way={way},compiler={compiler},level={level}]@same"] = steady(cost)
    return judge_claims(weighed(costs), LIBRARY).findings


def concluded(*verdicts):
    """What becomes of an advice whose claims, by setting, have these verdicts."""
    findings = gaining(*(2.0 for _ in SETTINGS))
    given = [replace(finding, verdict=verdict) for finding, verdict in zip(findings, verdicts, strict=True)]
    [found] = judge_advice(given)
    return found


def test_an_entry_for_several_settings_is_a_claim_for_each():
    assert [item.claim.id for item in LIBRARY] == ["faster-gcc-0", "faster-gcc-2", "faster-clang-0", "faster-clang-2"]
    assert LIBRARY[2].claim.setting == {"compiler": "clang", "level": "0"}
    assert LIBRARY[2].claim.test.of.case == "code/x[way=plain,compiler=clang,level=0]@same"


def test_advice_is_worth_following_where_it_pays_in_optimised_programs():
    [found] = judge_advice(gaining(2.0, 2.0, 1.0, 2.0))
    assert found.conclusion is Conclusion.WORTH
    assert found.where == found.costs == ()


def test_what_pays_in_one_of_them_alone_is_worth_following_there():
    [found] = judge_advice(gaining(2.0, 2.0, 2.0, 1.0))
    assert found.conclusion is Conclusion.WORTH
    assert found.where == ("gcc -O2",)


def test_what_pays_only_where_nothing_is_optimised_is_done_by_the_compiler():
    [found] = judge_advice(gaining(2.0, 1.0, 2.0, 1.0))
    assert found.conclusion is Conclusion.COMPILER


def test_what_pays_nowhere_is_no_longer_true():
    [found] = judge_advice(gaining(1.0, 1.0, 1.0, 1.0))
    assert found.conclusion is Conclusion.NOT_TRUE


def test_what_makes_an_optimised_program_slower_is_said():
    [found] = judge_advice(gaining(0.5, 0.5, 2.0, 1.0))
    assert found.costs == ("gcc -O2",), "what is slower without optimisation is nobody's loss"


def test_what_the_session_does_not_have_is_not_measured():
    [found] = judge_advice(gaining(2.0, None, None, None))
    assert found.conclusion is Conclusion.NOT_MEASURED


HOLDS, FAILS, OPEN, NONE = ClaimVerdict.HOLDS, ClaimVerdict.FAILS, ClaimVerdict.UNDECIDED, ClaimVerdict.NOT_MEASURED


@pytest.mark.parametrize(
    ("verdicts", "conclusion"),
    [
        ((HOLDS, OPEN, HOLDS, FAILS), Conclusion.UNDECIDED),
        ((HOLDS, OPEN, HOLDS, HOLDS), Conclusion.WORTH),
        ((OPEN, FAILS, NONE, NONE), Conclusion.NOT_TRUE),
        ((HOLDS, FAILS, NONE, NONE), Conclusion.COMPILER),
        ((NONE, FAILS, HOLDS, NONE), Conclusion.COMPILER),
        ((FAILS, NONE, FAILS, NONE), Conclusion.NOT_MEASURED),
    ],
)
def test_doubt_is_no_conclusion(verdicts, conclusion):
    assert concluded(*verdicts).conclusion is conclusion


def test_claims_without_advice_are_left_out():
    plain = [Sourced(source=SOURCE, claim=replace(item.claim, advice=None)) for item in LIBRARY]
    assert judge_advice(judge_claims(weighed({"code/y@same": steady(1e-9)}), plain).findings) == ()


def test_a_claim_is_named_by_its_setting_or_by_its_id():
    findings = gaining(2.0, 2.0, 2.0, 2.0)
    assert [label(finding) for finding in findings] == ["gcc -O0", "gcc -O2", "clang -O0", "clang -O2"]
    assert label(replace(findings[0], claim=replace(findings[0].claim, setting={}))) == "faster-gcc-0"


def test_every_advice_of_the_library_is_told_apart_by_its_labels():
    session = weighed({"code/y@same": steady(1e-9)})
    for found in judge_advice(judge_claims(session).findings):
        labels = [label(finding) for finding in found.claims]
        assert len(set(labels)) == len(labels), found.advice
        assert found.advice.endswith("."), found.advice
