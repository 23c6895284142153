# SPDX-License-Identifier: Apache-2.0
"""What a report says: judged sessions, how they compare, what is drawn, and all that it takes to repeat them.

`show` draws it and adds nothing; `rules` holds it against the rules of scientific benchmarking.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from steelyard.judge import error_rates, plots, studies
from steelyard.judge.answers import Answers, answer
from steelyard.judge.comparisons import Comparisons, compare_sessions
from steelyard.judge.error_rates import ProofTable
from steelyard.judge.explain import Explanations, explain
from steelyard.judge.explain import library as composites
from steelyard.judge.findings import Findings, judge
from steelyard.judge.plots import Plot
from steelyard.judge.setup import Setup, setup_of
from steelyard.judge.stats.comparison import VERDICT_CONFIDENCE
from steelyard.judge.studies import Library
from steelyard.judge.verdicts import ClaimFindings, judge_claims
from steelyard.records import Record, Session

Kind = Literal["cost", "rate", "count", "ratio"]
Centre = Literal["median", "arithmetic mean", "harmonic mean", "geometric mean"]
#: How an interval is made: of two order statistics, or of both sides' medians and sentinels.
Interval = Literal["order statistics", "medians and sentinels"]


class Method(Record, frozen=True, kw_only=True):
    """How figures of one kind are summarised. ``normality`` says how it was looked into, where an interval needs it."""

    of: Kind
    centre: Centre
    interval: Interval
    assumes_normal: bool = False
    normality: str | None = None


#: What `stats` does.
METHODS = (
    Method(of="cost", centre="median", interval="order statistics"),
    Method(of="rate", centre="median", interval="order statistics"),
    Method(of="count", centre="median", interval="order statistics"),
    Method(of="ratio", centre="median", interval="medians and sentinels"),
)


class Judged(Record, frozen=True, kw_only=True):
    """One session of a report. ``prefix`` stands before the ids of its figures and sections.

    ``picture``: what the answers show of their prices.
    """

    label: str
    prefix: str
    findings: Findings
    planned: tuple[str, ...]
    claims: ClaimFindings
    answers: Answers
    explanations: Explanations
    setup: Setup
    prices: tuple[Plot, ...]
    curves: tuple[Plot, ...]
    studies: tuple[Plot, ...] = ()
    picture: Plot | None = None

    @property
    def plots(self) -> tuple[Plot, ...]:
        """All that is drawn of the session, or stands in a table because it has few points."""
        return (*([self.picture] if self.picture else []), *self.prices, *self.curves, *self.studies)


class Report(Record, frozen=True, kw_only=True):
    """Everything that a report may say. ``apart``: labels of sessions on other machines, which are not ranked."""

    confidence: float
    sessions: tuple[Judged, ...]
    comparisons: tuple[Comparisons, ...]
    apart: tuple[str, ...]
    methods: tuple[Method, ...]
    proof: ProofTable


def report(sessions: Sequence[Session], *, margin: float = 0.02, library: Library | None = None) -> Report:
    """The report of one session, or of several: the first is what those of the same machine are compared with.

    ``library``: the studies that they stand beside, if not those that come with the tool.
    """
    others = library or studies.library()
    first = sessions[0]
    same = [session for session in sessions[1:] if session.header.machine.key == first.header.machine.key]
    letters = [chr(ord("A") + number) if len(sessions) > 1 else "" for number in range(len(sessions))]
    judged = tuple(_judged(session, letter, others) for session, letter in zip(sessions, letters, strict=True))
    return Report(
        confidence=VERDICT_CONFIDENCE,
        sessions=judged,
        comparisons=tuple(compare_sessions(first, session, margin=margin) for session in same),
        apart=tuple(one.label for one in judged if one.findings.machine_key != first.header.machine.key),
        methods=METHODS,
        proof=error_rates.measured(),
    )


def _judged(session: Session, letter: str, others: Library) -> Judged:
    findings, claims = judge(session, others), judge_claims(session, others.claims)
    prefix = f"{letter.lower()}-" if letter else ""
    answers = answer(findings, claims)
    return Judged(
        label=f"session {letter}".strip(),
        prefix=prefix,
        findings=findings,
        planned=tuple(planned.case.name for planned in session.plan.cases) if session.plan else (),
        claims=claims,
        answers=answers,
        explanations=explain(session, composites()),
        setup=setup_of(session, findings),
        prices=plots.of_prices(findings, prefix),
        curves=plots.of_curves(findings, prefix),
        studies=plots.of_studies(findings, prefix),
        picture=plots.of_answers(findings, answers, prefix),
    )
