# SPDX-License-Identifier: Apache-2.0
"""The language of claims: the library can be read, and a mistake in it is named with its file, claim and field."""

import pytest

from steelyard.errors import StudyError
from steelyard.judge import claims, studies
from steelyard.judge.claims import Growth, Operand, Range, Sweep
from steelyard.records import CasePattern
from tests.studies import a_study

SOURCE = "shell909090/context"
FILE = "mine/example/claims.toml"
GOOD = """
[[claim]]
id = "example"
statement = "A costs at most twice B."
said = "twice"
scope = "anywhere"
[claim.test]
rule = "ratio"
of = { case = "question/a@same" }
over = { case = "question/b[size=1]@same", metric = "time", net = true }
at_most = 2.0
"""


def read(text):
    return a_study(claims=text).claims


def test_the_library_can_be_read():
    library = studies.library().claims
    assert len(library) >= 45
    assert {item.source.id for item in library} >= {SOURCE}


@pytest.mark.parametrize("item", studies.library().claims, ids=lambda item: item.claim.id)
def test_a_claim_of_the_library_says_what_a_reader_needs(item):
    claim = item.claim
    assert claim.statement.endswith(".")
    assert claim.statement.count(". ") == 0, "one sentence"
    assert claim.said.strip()
    assert claim.scope.strip()
    for operand in claim.test.operands:
        assert CasePattern.parse(operand.case) is not None
        assert "@" in operand.case, "a result that does not say its placement is no result"
    if isinstance(claim.test, Range):
        assert claim.test.unit in {"s", "B", "B/s", "1/s", "1"}


def test_a_claim_is_read_with_its_operands():
    (claim,) = read(GOOD)
    assert claim.test.at_most == 2.0
    assert claim.test.over == Operand(case="question/b[size=1]@same", metric="time", net=True)


MISTAKES = {
    "unknown field": (GOOD.replace("scope =", "scoop ="), "scoop"),
    "unknown field of a rule": (GOOD.replace("at_most", "atmost"), "atmost"),
    "unknown field of an operand": (GOOD.replace("net = true", "nett = true"), "nett"),
    "unknown rule": (GOOD.replace('"ratio"', '"ration"'), "ration"),
    "missing rule": (GOOD.replace('rule = "ratio"\n', ""), "rule"),
    "no case": (GOOD.replace("question/a@same", "question a"), "question a"),
    "wrong type": (GOOD.replace("at_most = 2.0", 'at_most = "2"'), "at_most"),
    "open range": (GOOD.replace("at_most = 2.0", ""), "at_least"),
    "empty range": (GOOD + "at_least = 3.0\n", "3.0"),
    "ratio of nothing": (GOOD.replace("at_most = 2.0", "at_most = -2.0"), "above zero"),
    "several claims of one id": (GOOD.replace("[claim.test]", 'each = { size = ["1", "2"] }\n[claim.test]'), "{size}"),
    "settings that are no lists": (GOOD.replace("[claim.test]", "each = { size = 1 }\n[claim.test]"), "each"),
}


@pytest.mark.parametrize(("text", "named"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_named_with_file_and_field(text, named):
    with pytest.raises(StudyError) as raised:
        read(text)
    assert FILE in str(raised.value)
    assert "example" in str(raised.value)
    assert named in str(raised.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Sweep(of=Operand(case="q/a[n=1]@same"), parameter="n"),
        lambda: claims.Equal(of=Operand(case="q/a"), over=Operand(case="q/b"), margin=0.0),
        lambda: claims.Order(rising=(Operand(case="q/a"),)),
        lambda: claims.Flat(along=Sweep(of=Operand(case="q/a"), parameter="n"), factor=1.0),
    ],
    ids=["fixed sweep", "no margin", "order of one", "no factor"],
)
def test_a_rule_that_says_nothing_is_refused(make):
    with pytest.raises(ValueError, match=r"\w"):
        make()


def test_growth_names_one_of_the_known_forms():
    text = GOOD[: GOOD.index("[claim.test]")] + (
        '[claim.test]\nrule = "growth"\nform = "n squared"\nalong = { of = { case = "q/a@same" }, parameter = "n" }\n'
    )
    with pytest.raises(StudyError, match="n squared"):
        read(text)
    (claim,) = read(text.replace("n squared", "n log n"))
    assert isinstance(claim.test, Growth)
