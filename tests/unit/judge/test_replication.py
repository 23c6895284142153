# SPDX-License-Identifier: Apache-2.0
"""A study run again: what it asks for, how many blocks decide it, and what is said of it."""

import pytest

from steelyard.judge import studies
from steelyard.judge.claims import ClaimVerdict
from steelyard.judge.findings import judge
from steelyard.judge.replication import POINTS_OF_FLAT, blocks_for, needs, replicate
from steelyard.judge.verdicts import judge_claims
from steelyard.show.reasons import said
from tests.studies import a_study
from tests.unit.judge.sessions import noisy, steady, weighed

RATIO = """
[[claim]]
id = "{id}"
statement = "A costs at least twice as much as B."
said = "twice"
scope = "anywhere"
[claim.test]
rule = "ratio"
of = {{ case = "{of}" }}
over = {{ case = "{over}" }}
at_least = 2.0
"""
FLAT = """
[[claim]]
id = "flat"
statement = "A is flat."
said = "flat"
scope = "anywhere"
[claim.test]
rule = "flat"
factor = 1.25
along = { of = { case = "question/a@same" }, parameter = "n", smallest = 2 }
"""
FIGURES = """
[[figure]]
mechanism = "a, then"
case = "question/a"
value = 2e-9
unit = "s"
[[figure]]
mechanism = "b, then"
case = "question/b"
value = 1e-9
corrected = 4e-9
error = "it was divided by too many"
unit = "s"
[[figure]]
mechanism = "nobody's"
value = 1.0
unit = "s"
[[figure]]
mechanism = "row 2"
value = 8e-9
unit = "s"
"""
TABLES = """
[[table]]
title = "By n"
rows_are = "n"
rows = ["2", "4"]
[[table.column]]
head = "old"
era = "then"
mechanism = "row {row}"
[[table.column]]
head = "here"
era = "now"
case = "question/c[n={row}]@same"
"""
ERRATA = """
right = "It measured."
[[erratum]]
section = "two"
concluded = "c does not grow"
so = "it does"
fault = "fact"
cases = ["question/c@same", "question/d@same"]
"""


def run_again(session, study):
    library = studies.Library([*studies.library().studies, study])
    return replicate(session, judge(session, library), study, library)


def test_a_study_needs_its_claims_cases_its_tables_and_any_case_that_a_figure_may_stand_beside():
    claims = RATIO.format(id="r", of="question/a[n=2]@same", over="question/b@same") + FLAT
    found = needs(a_study(claims=claims, figures=FIGURES, tables=TABLES, errata=ERRATA))
    exact = [need.case for need in found if not need.whatever]
    assert exact == [
        "question/a[n=2]@same",
        "question/b@same",
        "question/a@same",
        "question/c[n=2]@same",
        "question/c[n=4]@same",
    ]
    [swept] = [need for need in found if need.along]
    assert (swept.along.parameter, swept.points) == ("n", POINTS_OF_FLAT)
    assert [need.case for need in found if need.whatever] == [
        "question/a",
        "question/b",
        "question/c@same",
        "question/d@same",
    ]


@pytest.mark.parametrize("claims", [1, 12, 40])
def test_the_planned_blocks_decide_every_clear_statement_together(claims):
    pairs = [(f"question/a{n}@same", f"question/b{n}@same") for n in range(claims)]
    study = a_study(claims="".join(RATIO.format(id=f"r{n}", of=a, over=b) for n, (a, b) in enumerate(pairs)))
    blocks = blocks_for(study.claims)

    def verdicts(blocks):
        costs = {a: steady(9e-9, blocks) for a, _ in pairs} | {b: steady(1e-9, blocks) for _, b in pairs}
        library = studies.Library([study])
        return {one.verdict for one in judge_claims(weighed(costs), library.claims).findings}

    assert verdicts(blocks) == {ClaimVerdict.HOLDS}
    assert verdicts(5) == {ClaimVerdict.UNDECIDED}


def test_every_end_of_a_range_is_a_question():
    one = a_study(claims=RATIO.format(id="r", of="question/a@same", over="question/b@same"))
    assert blocks_for(one.claims) < blocks_for([*one.claims] * 30)
    assert blocks_for(a_study(claims=FLAT).claims) > blocks_for(one.claims)
    assert blocks_for([]) == blocks_for(one.claims)


def test_what_fails_by_most_is_told_first_and_what_was_not_asked_has_its_reason():
    study = a_study(
        claims="".join(
            RATIO.format(id=name, of=f"question/{name}@same", over="question/b@same")
            for name in ("holding", "failing", "worst", "open", "absent", "skipped")
        )
    )
    costs = {"b": 1e-9, "holding": 9e-9, "failing": 1e-9, "worst": 0.1e-9}
    session = weighed(
        {**{f"question/{name}@same": steady(cost) for name, cost in costs.items()}, "question/open@same": noisy(2e-9)},
        skips={"question/skipped": "no compiler for it"},
    )
    found = run_again(session, study)
    assert [one.claim.id for one in found.telling] == ["worst", "failing", "holding"]
    assert found.counts == {
        ClaimVerdict.HOLDS: 1,
        ClaimVerdict.FAILS: 2,
        ClaimVerdict.UNDECIDED: 1,
        ClaimVerdict.NOT_MEASURED: 1,
        ClaimVerdict.NOT_COMPARABLE: 1,
    }
    assert {said(one.reason): one.subjects for one in found.absent} == {
        "the session has no question/absent@same": ("absent",),
        "question/skipped: no compiler for it": ("skipped",),
    }


def test_the_family_is_the_study_s_own_statements():
    study = a_study(claims=RATIO.format(id="r", of="call/syscall@same", over="call/direct@same"))
    session = weighed({"call/syscall@same": steady(100e-9), "call/direct@same": steady(1e-9)})
    assert run_again(session, study).claims.edges == 1
    assert judge_claims(session).edges > 1


def test_figures_stand_over_the_corrected_ones_and_those_of_tables_are_not_said_twice():
    session = weighed({"question/a@same": steady(6e-9), "question/b@same": steady(2e-9)})
    rows = run_again(session, a_study(figures=FIGURES, tables=TABLES)).figures
    assert [(row.published.figure.mechanism, row.case) for row in rows] == [
        ("a, then", "question/a@same"),
        ("b, then", "question/b@same"),
        ("nobody's", None),
    ]
    assert [row.times for row in rows[:2]] == pytest.approx([3.0, 0.5], rel=0.02)


def test_its_tables_have_ours_beside_theirs_and_how_many_times_that_is():
    session = weighed({f"question/c[n={n}]@same": steady(n * 2e-9) for n in (2, 4)})
    [table] = run_again(session, a_study(figures=FIGURES, tables=TABLES)).tables
    then, now = table.columns
    assert (then.times, now.times[1]) == ((), None)
    assert now.times[0] == pytest.approx(0.5, rel=0.02)


def test_a_table_of_which_nothing_was_measured_is_still_the_study_s():
    [table] = run_again(weighed({"call/direct@same": steady(1e-9)}), a_study(figures=FIGURES, tables=TABLES)).tables
    assert [column.era for column in table.columns] == ["then"]


def test_an_erratum_says_what_its_cases_gave_here():
    session = weighed({f"question/c[n={n}]@same": steady(n * 1e-9) for n in (2, 4, 8)})
    [seen] = run_again(session, a_study(errata=ERRATA)).errata
    [shown] = seen.shown
    assert (shown.case, shown.cases, shown.unit) == ("question/c@same", 3, "s")
    assert (shown.least, shown.greatest) == pytest.approx((2e-9, 8e-9), rel=0.02)


def test_a_case_that_can_be_explained_is_named():
    study = a_study(claims=RATIO.format(id="r", of="create/fork[resident_mib=0]@same", over="call/direct@same"))
    session = weighed({"create/fork[resident_mib=0]@same": steady(60e-6), "call/direct@same": steady(1e-9)})
    assert run_again(session, study).explained == "create/fork[resident_mib=0]@same"
    other = a_study(claims=RATIO.format(id="r", of="question/a@same", over="question/b@same"))
    made = weighed({"question/a@same": steady(1e-6), "question/b@same": steady(1e-9)})
    assert run_again(made, other).explained is None


def test_a_statement_on_growth_needs_as_many_blocks_as_a_ratio_and_a_table_fewer():
    ratio = RATIO.format(id="r", of="question/a[n=2]@same", over="question/b@same") * 1
    growth = FLAT.replace('rule = "flat"', 'rule = "growth"').replace("factor = 1.25", 'form = "n"')
    study = a_study(claims=ratio + growth, tables=TABLES)
    found = {need.case: need.blocks for need in needs(study)}
    assert found["question/a[n=2]@same"] == blocks_for(study.claims)
    assert found["question/a@same"] == blocks_for(study.claims)
    assert found["question/c[n=2]@same"] == 6


def test_an_erratum_may_be_about_another_figure_of_its_cases():
    study = a_study(errata=ERRATA + 'metric = "share"\n')
    session = weighed({"question/c@same": steady(2e-9)}, shares={"question/c@same": [0.25] * 8})
    [seen] = run_again(session, study).errata
    assert [(one.case, one.least) for one in seen.shown] == [("question/c@same", 0.25)]
