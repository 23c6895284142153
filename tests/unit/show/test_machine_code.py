# SPDX-License-Identifier: Apache-2.0
"""Machine code as evidence: counted beside a figure, printed in full when asked for."""

import io

import pytest

from steelyard.judge.findings import judge
from steelyard.judge.verdicts import judge_claims
from steelyard.records import Plan, ProbeFacts
from steelyard.show import claims, machine_code
from steelyard.show.console import Console
from steelyard.show.page import claims as page
from tests.making import a_case, a_choice, a_descriptor, a_header, a_planned, a_run, a_session
from tests.unit.judge.test_advice import LIBRARY

CASES = [a_case("code/x", way=way, compiler="gcc", level="2") for way in ("plain", "advised")]
LOOPS = {"plain__gcc_O2": (("add (%rdi),%eax", "jne <+0x0>"), ("<b>",)), "advised__gcc_O2": ()}


def a_compiled_session():
    parameters = tuple(a_choice(name, value) for name, value in CASES[0].parameters.items())
    descriptor = a_descriptor("code/x", parameters=parameters)
    header = a_header(*CASES, probes=(descriptor,))
    header.probes["code/x"] = ProbeFacts(descriptor=descriptor, sha256="00", loops=LOOPS)
    runs = [
        a_run(case, block, cost, timed=f"{case.parameters['way']}__gcc_O2")
        for block in range(1, 9)
        for case, cost in zip(CASES, (2e-9, 1e-9), strict=True)
    ]
    return a_session(Plan(cases=tuple(map(a_planned, CASES)), blocks=8), *runs, header=header)


def printed(show, what):
    stream = io.StringIO()
    show(what, Console(file=stream, width=150))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("loops", "said"),
    [
        (None, ""),
        ((), "no loop"),
        ((("ret",),), "a loop of 1 instruction"),
        ((("a", "b", "c"),), "a loop of 3 instructions"),
        ((("a", "b"), ("a",), ("a",) * 4), "loops of 2, 1 and 4 instructions"),
    ],
)
def test_loops_are_counted(loops, said):
    assert machine_code.counted(loops) == said


def test_the_count_stands_beside_the_figure_that_a_verdict_rests_on():
    text = printed(claims.show, judge_claims(a_compiled_session(), LIBRARY))
    assert "way=plain,compiler=gcc,level=2]@same operation 2.00 ns" in " ".join(text.split())
    assert "loops of 2 and 1 instructions" in " ".join(text.split())
    assert "no loop" in text


def test_the_machine_code_stands_beside_the_verdict_on_the_page_and_is_no_markup():
    text = page.claims(judge_claims(a_compiled_session(), LIBRARY))
    assert "add (%rdi),%eax\njne &lt;+0x0&gt;\n\n&lt;b&gt;" in text


def test_all_of_it_is_printed_case_by_case():
    text = printed(machine_code.show, judge(a_compiled_session()))
    assert "[way=plain,compiler=gcc,level=2]@same\n    loops of 2 and 1 instructions\n      add (%rdi),%eax\n" in text


def test_a_session_that_kept_none_says_where_there_is_some():
    case = a_case()
    assert "probes/code/" in printed(machine_code.show, judge(a_session(a_run(case), header=a_header(case))))
