# SPDX-License-Identifier: Apache-2.0
import ast
import string
from pathlib import Path

import steelyard.judge
from steelyard.judge.reasons import Reason, Why, all_of, of
from steelyard.show import reasons
from steelyard.show.visible import json_text


def takes(why: Why) -> set[str]:
    """The facts that the sentence of this takes."""
    return {name for _, name, _, _ in string.Formatter().parse(reasons._SENTENCES[why]) if name}


def given(source: str) -> list[tuple[str, set[str], bool]]:
    """Every reason that a source makes: what is meant, its facts, and whether it has others besides."""
    found = []
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    for call in (one for one in calls if ast.unparse(one.func) in ("Reason", "NoAnswer")):
        names = {keyword.arg for keyword in call.keywords}
        for one in (node for argument in call.args for node in ast.walk(argument)):
            if isinstance(one, ast.Attribute) and ast.unparse(one.value) == "Why":
                found.append((one.attr, names - {None}, None in names))
    return found


def test_everything_that_is_meant_has_a_sentence():
    assert set(reasons._SENTENCES) == set(Why)


def test_every_reason_of_judge_has_the_facts_of_its_sentence():
    seen = set()
    for path in Path(steelyard.judge.__file__).parent.rglob("*.py"):
        for why, names, others in given(path.read_text()):
            seen.add(why)
            wanted = takes(Why[why])
            assert names <= wanted if others else names == wanted, f"{path}: {why}"
    assert {"NO_CASE", "FEW_POINTS", "VOID"} <= seen


def test_a_fact_too_few_would_be_found():
    assert given("raise NoAnswer(verdict, Why.SEVERAL_CASES, case=x, n=2)") == [("SEVERAL_CASES", {"case", "n"}, False)]
    assert takes(Why.SEVERAL_CASES) == {"case", "n", "names"}


def test_numbers_stand_with_what_they_count_and_ratios_as_changes():
    assert reasons.said(Reason(Why.FEW_RUNS, n=1)).startswith("1 run: ")
    assert reasons.said(Reason(Why.COPIES_DIFFER, ratio=0.9, n=12)).endswith(" by −10.0 % over 12 blocks")
    assert reasons.said(Reason(Why.OTHER_UNIT, case="a/b@same", metric="x", unit="B", wanted="s")) == (
        "a/b@same x is in 'B', and 's' is needed"
    )


def test_a_reason_may_hold_others_and_the_words_of_a_probe():
    void = all_of([of("null probe", Reason(Why.NO_TIME)), of("sentinel", "{odd} words")])
    assert reasons.said(void) == (
        "null probe: a run of it took no time at all: its clock is wrong, or the file is; sentinel: {odd} words"
    )
    assert reasons.said_if(None) is None


def test_programs_get_the_sentence():
    made = {"void": Reason(Why.NO_CASE, case="a/b"), "caveats": ["x", Reason(Why.NOT_COMPLETE)]}
    assert reasons.builtins(made) == {"void": "the session has no a/b", "caveats": ["x", "not complete"]}
    assert '"not complete"' in json_text(made)
