# SPDX-License-Identifier: Apache-2.0
"""The truth table of claims: every rule against sessions in which it holds, fails, and cannot be told."""

import msgspec
import numpy as np
import pytest

from steelyard.judge import studies
from steelyard.judge.claims import Claim, ClaimVerdict, Simulated, Sourced
from steelyard.judge.published import Source
from steelyard.judge.verdicts import judge_claims
from steelyard.show.reasons import said
from steelyard.show.visible import json_text
from tests.studies import a_study
from tests.unit.judge.sessions import noisy, steady, weighed

SOURCE = Source(id="example", title="An example", year=2000, url="https://example.org", machine="none")
A, B, C = "question/a@same", "question/b@same", "question/c@free"
SWEEP = {"of": {"case": "question/a@same"}, "parameter": "n"}


def a_claim(name="example", **test):
    claim = msgspec.convert(
        {"id": name, "statement": "It is so.", "said": "so", "scope": "here", "test": test}, type=Claim
    )
    return Sourced(source=SOURCE, claim=claim)


def of(case, **more):
    return {"case": case, **more}


def judged(session, **test):
    return judge_claims(session, [a_claim(**test)]).findings[0]


def swept(cost, ns=(1, 2, 8, 64, 512, 4096), blocks=8):
    return {f"question/a[n={n}]@same": steady(cost(n), blocks) for n in ns}


RATIO = {"rule": "ratio", "of": of(A), "over": of(B), "at_least": 4.0, "at_most": 6.0}
AT_LEAST = {"rule": "ratio", "of": of(A), "over": of(B), "at_least": 4.0}
EQUAL = {"rule": "equal", "of": of(A), "over": of(B), "margin": 0.1}
ORDER = {"rule": "order", "rising": [of(A), of(B), of(C)]}
FIGURE = {"rule": "figure", "of": of(A), "unit": "s", "at_least": 50e-6}
WITHIN = {"rule": "figure", "of": of(A), "unit": "s", "at_least": 60e-9, "at_most": 70e-9}
SHARE = {"rule": "figure", "of": of(A, metric="share"), "unit": "1", "at_most": 0.05}
FLAT = {"rule": "flat", "along": SWEEP, "factor": 1.25}
LINEAR = {"rule": "growth", "along": SWEEP, "form": "n"}

TABLE = [
    (RATIO, {A: steady(5e-6), B: steady(1e-6)}, ClaimVerdict.HOLDS),
    (RATIO, {A: steady(3e-6), B: steady(1e-6)}, ClaimVerdict.FAILS),
    (RATIO, {A: steady(9e-6), B: steady(1e-6)}, ClaimVerdict.FAILS),
    (RATIO, {A: noisy(5e-6), B: steady(1e-6)}, ClaimVerdict.UNDECIDED),
    (RATIO, {A: steady(5e-6, 5), B: steady(1e-6, 5)}, ClaimVerdict.UNDECIDED),
    (RATIO, {A: steady(5e-6)}, ClaimVerdict.NOT_MEASURED),
    (AT_LEAST, {A: steady(400e-6), B: steady(1e-6)}, ClaimVerdict.HOLDS),
    (AT_LEAST, {A: steady(2e-6), B: steady(1e-6)}, ClaimVerdict.FAILS),
    (AT_LEAST, {A: steady(4e-6), B: steady(1e-6)}, ClaimVerdict.UNDECIDED),
    (EQUAL, {A: steady(1.02e-6), B: steady(1e-6)}, ClaimVerdict.HOLDS),
    (EQUAL, {A: steady(1.3e-6), B: steady(1e-6)}, ClaimVerdict.FAILS),
    (EQUAL, {A: noisy(1e-6), B: steady(1e-6)}, ClaimVerdict.UNDECIDED),
    (ORDER, {A: steady(1e-6), B: steady(2e-6), C: steady(3e-6)}, ClaimVerdict.HOLDS),
    (ORDER, {A: steady(1e-6), B: steady(3e-6), C: steady(2e-6)}, ClaimVerdict.FAILS),
    (ORDER, {A: steady(1e-6), B: steady(2e-6), C: noisy(2e-6)}, ClaimVerdict.UNDECIDED),
    (ORDER, {A: steady(3e-6), B: steady(2e-6), C: noisy(2e-6)}, ClaimVerdict.FAILS),
    (ORDER, {A: steady(1e-6), B: steady(2e-6)}, ClaimVerdict.NOT_MEASURED),
    (FIGURE, {A: steady(55e-6)}, ClaimVerdict.HOLDS),
    (FIGURE, {A: steady(15e-6)}, ClaimVerdict.FAILS),
    (FIGURE, {A: steady(50e-6)}, ClaimVerdict.UNDECIDED),
    (WITHIN, {A: steady(65e-9)}, ClaimVerdict.HOLDS),
    (WITHIN, {A: steady(35e-9)}, ClaimVerdict.FAILS),
    (WITHIN, {A: steady(180e-9)}, ClaimVerdict.FAILS),
    (WITHIN, {A: steady(69.8e-9)}, ClaimVerdict.UNDECIDED),
    ({**FIGURE, "unit": "B"}, {A: steady(55e-6)}, ClaimVerdict.NOT_MEASURED),
    (FLAT, swept(lambda _n: 1e-6), ClaimVerdict.HOLDS),
    (FLAT, swept(lambda n: 1e-6 if n < 4096 else 2e-6), ClaimVerdict.FAILS),
    (FLAT, {**swept(lambda _n: 1e-6), "question/a[n=8]@same": noisy(1e-6)}, ClaimVerdict.UNDECIDED),
    (FLAT, swept(lambda _n: 1e-6, ns=(8,)), ClaimVerdict.NOT_MEASURED),
    (FLAT, {B: steady(1e-6)}, ClaimVerdict.NOT_MEASURED),
    (LINEAR, swept(lambda n: 1e-6 + n * 1e-7), ClaimVerdict.HOLDS),
    (LINEAR, swept(lambda n: 1e-6 + np.log(n) * 1e-6), ClaimVerdict.FAILS),
    (LINEAR, swept(lambda _n: 1e-6), ClaimVerdict.FAILS),
    (LINEAR, swept(lambda n: 1e-6 + n * 1e-7, ns=(1, 8, 64)), ClaimVerdict.UNDECIDED),
    (LINEAR, swept(lambda n: 1e-6 + n * 1e-7, blocks=5), ClaimVerdict.UNDECIDED),
    ({**LINEAR, "form": "log n"}, swept(lambda n: 1e-6 + np.log(n) * 1e-6), ClaimVerdict.HOLDS),
    ({**LINEAR, "form": "1"}, swept(lambda _n: 1e-6), ClaimVerdict.HOLDS),
]


@pytest.mark.parametrize(("test", "costs", "verdict"), TABLE)
def test_the_truth_table(test, costs, verdict):
    assert judged(weighed(costs), **test).verdict is verdict


@pytest.mark.parametrize(
    ("shares", "verdict"),
    [([0.0] * 8, ClaimVerdict.HOLDS), ([1.0] * 8, ClaimVerdict.FAILS), ([0.0, 1.0] * 4, ClaimVerdict.UNDECIDED)],
)
def test_a_share_may_be_nothing_or_all(shares, verdict):
    assert judged(weighed({A: steady(1e-6)}, shares={A: shares}), **SHARE).verdict is verdict


def test_what_the_machine_lacks_is_not_comparable():
    found = judged(weighed({A: steady(1e-6)}, skips={"question/b": "no such clock"}), **RATIO)
    assert found.verdict is ClaimVerdict.NOT_COMPARABLE
    assert said(found.reason) == "question/b: no such clock"


def test_what_would_decide_is_said_where_it_can_be():
    found = judged(weighed({A: steady(5e-6, 4), B: steady(1e-6, 4)}), **RATIO)
    assert found.settle.blocks == 2
    assert found.settle.minutes == pytest.approx(2 * 2 * 0.01 / 60)
    assert "too few" in said(found.reason)
    assert judged(weighed({A: steady(5e-6), B: steady(1e-6)}), **RATIO).settle is None


def test_the_evidence_is_the_ratio_its_range_and_the_figures():
    found = judged(weighed({A: steady(5e-6), B: [1e-6] * 8}), **RATIO)
    (seen,) = found.ranges
    assert (seen.of, seen.over, seen.unit, seen.n) == (A, B, "1", 8)
    assert seen.value == pytest.approx(5, rel=0.01)
    assert seen.low < 5 < seen.high
    assert (seen.at_least, seen.at_most, seen.verdict) == (4.0, 6.0, ClaimVerdict.HOLDS)
    assert [figure.case for figure in found.figures] == [A, B]
    assert found.figures[1].median == pytest.approx(1e-6)


def test_other_metrics_and_net_figures_are_named_as_such():
    session = weighed(
        {A: steady(5e-6), B: steady(1e-6), "question/loop@same": [0.5e-6] * 8},
        shares={B: [1.0] * 8},
        baselines={A: "question/loop@same"},
    )
    test = {"rule": "ratio", "of": of(A, net=True), "over": of(B, metric="share"), "at_most": 1.0}
    (seen,) = judged(session, **test).ranges
    assert seen.of == f"{A} less overhead"
    assert seen.over == f"{B} share"
    assert seen.value == pytest.approx(4.5e-6, rel=0.01)


def test_a_flat_claim_rests_on_the_points_that_have_blocks_enough():
    costs = swept(lambda n: 1e-6, ns=(1, 64, 4096), blocks=16)
    costs |= {name: cost[:6] + [None] * 10 for name, cost in swept(lambda n: 3e-6, ns=(8,), blocks=16).items()}
    found = judged(weighed(costs), **FLAT)
    assert found.verdict is ClaimVerdict.HOLDS
    assert len(found.figures) == 3


def test_a_flat_claim_shows_the_pair_furthest_apart():
    (seen,) = judged(weighed(swept(lambda n: 1e-6 * (1 + n / 4096), ns=(1, 64, 4096))), **FLAT).ranges
    assert {seen.of, seen.over} == {"question/a[n=1]@same", "question/a[n=4096]@same"}


def test_the_growth_that_was_found_is_shown():
    growth = judged(weighed(swept(lambda n: 1e-6 + n * 1e-7)), **LINEAR).growth
    assert (growth.form, growth.claimed, growth.parameter, growth.stable) == ("n", "n", "n", True)


def test_a_growth_that_hangs_on_one_block_is_undecided():
    costs = swept(lambda n: 1e-6 + n * 1e-7, ns=(1, 2, 4, 8, 16, 32), blocks=6)
    for name in list(costs)[::2]:
        costs[name] = [cost * factor for cost, factor in zip(costs[name], (3, 1, 3, 1, 3, 0.3), strict=True)]
    found = judged(weighed(costs), **LINEAR)
    assert found.verdict is ClaimVerdict.UNDECIDED
    assert found.reason


def test_a_growth_that_is_out_of_the_question_fails_although_several_others_remain():
    """It rises up to 10 contexts and hardly beyond: no line, whatever it is."""
    saturates = dict(zip((2, 4, 8, 10, 20, 40), (1.19, 1.24, 1.40, 1.51, 1.54, 1.56), strict=True))
    found = judged(weighed(swept(lambda n: saturates[n] * 1e-6, ns=tuple(saturates))), **LINEAR)
    assert found.growth.form == "cannot tell"
    assert found.growth.excluded
    assert found.verdict is ClaimVerdict.FAILS
    assert found.reason is None


def test_a_constant_that_wins_for_want_of_points_rules_no_growth_out():
    noise = [1.0, 1.06, 0.97, 1.08, 1.02]
    costs = dict(zip((1, 2, 4, 8, 16), noise, strict=True))
    found = judged(weighed(swept(lambda n: costs[n] * 1e-6, ns=tuple(costs))), **LINEAR)
    assert found.verdict is ClaimVerdict.UNDECIDED


def test_with_too_few_blocks_what_is_missing_are_the_first_intervals():
    few = judged(weighed({A: steady(55e-6, 3)}), **FIGURE)
    assert (few.settle.blocks, few.settle.first) == (3, True)
    across = judged(weighed({A: [40e-6, 70e-6] * 5}), **FIGURE)
    assert across.verdict is ClaimVerdict.UNDECIDED
    assert not across.settle.first


def test_the_doubts_of_its_runs_travel_with_a_verdict():
    session = weighed({A: steady(55e-6)})
    first = msgspec.structs.replace(session.runs[0], caveats=("the clock jumped",), disturbed=("steal",))
    found = judged(msgspec.structs.replace(session, runs=(first, *session.runs[1:])), **FIGURE)
    assert tuple(map(said, found.caveats)) == (
        f"{A}: the clock jumped",
        f"{A}: 1 of 8 runs were disturbed, also when repeated",
    )


@pytest.mark.parametrize(
    ("metrics", "carried"),
    [(("share",), False), (("operation",), True), (("share", "operation"), True), ((), True)],
)
def test_a_doubt_of_other_metrics_alone_does_not_travel_with_a_verdict(metrics, carried):
    session = weighed({A: steady(55e-6)}, shares={A: [0.1] * 8})
    concerned = {"share: a doubt": metrics} if metrics else {}
    doubtful = msgspec.structs.replace(session.runs[0], caveats=("share: a doubt",), caveat_metrics=concerned)
    found = judged(msgspec.structs.replace(session, runs=(doubtful, *session.runs[1:])), **FIGURE)
    assert tuple(map(said, found.caveats)) == ((f"{A}: share: a doubt",) if carried else ())


def test_a_void_session_says_so():
    null, copy = "null/null[delay_percent=0,copy=0]@same", "null/null[delay_percent=0,copy=1]@same"
    session = weighed({A: steady(55e-6, 12), null: steady(1e-6, 12), copy: steady(2e-6, 12)})
    assert judge_claims(session, [a_claim(**FIGURE)]).void
    assert judge_claims(weighed({A: steady(55e-6)}), [a_claim(**FIGURE)]).void is None


def test_a_clear_verdict_survives_a_family_that_a_doubtful_one_does_not():
    """Six blocks of which one is on the wrong side of doubt: sure alone, and not among many that vary as much."""
    generator = np.random.default_rng(5)
    names = [f"question/x{number}@same" for number in range(30)]
    costs = {name: list(1e-6 * np.exp(generator.normal(0, 0.1, 6))) for name in names}
    costs |= {A: [0.9e-6, 0.95e-6, 0.7e-6, 0.99e-6, 0.6e-6, 0.98e-6], B: [1e-6] * 6, C: steady(9e-6, 6)}
    doubtful = a_claim("doubtful", rule="ratio", of=of(A), over=of(B), at_most=1.0)
    clear = a_claim("clear", rule="ratio", of=of(C), over=of(B), at_least=2.0)
    crowd = [
        a_claim(f"x{number}", rule="ratio", of=of(name), over=of(B), at_least=1.0) for number, name in enumerate(names)
    ]
    session = weighed(costs)
    alone = judge_claims(session, [doubtful])
    assert alone.findings[0].verdict is ClaimVerdict.HOLDS
    together = judge_claims(session, [doubtful, clear, *crowd])
    assert together.edges == 32
    found = {finding.claim.id: finding for finding in together.findings}
    assert found["clear"].verdict is ClaimVerdict.HOLDS
    assert found["doubtful"].verdict is ClaimVerdict.UNDECIDED
    assert "family of 32" in said(found["doubtful"].reason)
    assert found["doubtful"].settle.blocks >= 1


def test_the_whole_library_has_an_answer_for_a_session_without_any_of_it():
    findings = judge_claims(weighed({A: steady(1e-6)})).findings
    assert len(findings) == len(studies.library().claims)
    measured = [finding for finding in findings if not isinstance(finding.claim.test, Simulated)]
    assert {finding.verdict for finding in measured} == {ClaimVerdict.NOT_MEASURED}
    assert all(finding.reason for finding in measured)


SIMULATED = """
[[claim]]
id = "{id}"
statement = "The old scheduler takes at most twice as long as the new one."
said = "twice"
scope = "simulated"
[claim.test]
rule = "simulated"
of = "the old one"
over = "the new one"
at_most = {most}
"""
FIGURES = """
[[figure]]
mechanism = "{name}"
value = {value}
unit = "s"
"""


def test_a_claim_about_a_simulation_is_answered_without_a_case():
    old = FIGURES.format(name="the old one", value=3e-6) + "fitted = false\n"
    both = FIGURES.format(name="the old one", value=9e-6) + FIGURES.format(name="the new one", value=2e-6)
    said = SIMULATED.format(id="kept", most=2.0) + SIMULATED.format(id="broken", most=1.4)
    library = studies.Library([a_study(simulated=old, figures=both, claims=said)])
    found = {one.claim.id: one for one in judge_claims(weighed({A: steady(1e-6)}), library.claims).findings}
    assert {name: one.verdict for name, one in found.items()} == {
        "kept": ClaimVerdict.HOLDS,
        "broken": ClaimVerdict.FAILS,
    }
    assert found["kept"].ranges[0].value == pytest.approx(1.5), "simulated goes before published"
    assert [(figure.case, figure.metric) for figure in found["kept"].figures] == [
        ("the old one", "simulated"),
        ("the new one", "published"),
    ]


def test_findings_can_be_kept_as_json():
    session = weighed({A: steady(5e-6, 4), B: steady(1e-6, 4), **swept(lambda n: n * 1e-6)})
    found = judge_claims(session, [a_claim(**RATIO), a_claim("grows", **{**LINEAR, "along": {**SWEEP, "smallest": 2}})])
    assert msgspec.json.decode(json_text(found))["edges"] == 0
