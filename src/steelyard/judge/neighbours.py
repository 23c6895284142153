# SPDX-License-Identifier: Apache-2.0
"""What neighbours do to the cases of a session: each against the same case alone, block by block."""

from __future__ import annotations

from typing import Literal

from steelyard.judge.comparisons import Compared, compare_cases
from steelyard.judge.reasons import Reason, Said
from steelyard.records import Case, Neighbour, Record, Session

#: The same as of `steelyard compare`.
MARGIN = 0.02


class Suffers(Record, frozen=True, kw_only=True):
    """A case beside its neighbours against the same case alone.

    ``factor``: how many times what is worse has grown, with its interval as in `Compared`: of a bandwidth what is left
    of it, upside down. Below one the case is better off.
    """

    case: Case
    alone: Case
    title: str
    neighbours: tuple[Neighbour, ...]
    of: Compared

    @property
    def factor(self) -> tuple[float, float, float | None]:
        """Middle, low and high end; None for an end that is not known."""
        ratio, low, high = self.of.ratio, self.of.low, self.of.high
        if self.of.better != "higher":
            return ratio, low, high
        return 1 / ratio, 0.0 if high is None else 1 / high, 1 / low if low > 0 else None

    @property
    def where(self) -> Literal["other", "same", "both"]:
        """The CPUs of its neighbours, as in `Neighbour`."""
        places = {one.where for one in self.neighbours}
        return "both" if len(places) > 1 else places.pop()


class Beside(Record, frozen=True, kw_only=True):
    """All that suffer or do not. All verdicts together hold at ``confidence``."""

    margin: float
    confidence: float
    cases: tuple[Suffers, ...]
    left_out: tuple[Said, ...] = ()
    void: Reason | None = None

    def of(self, case: str) -> Suffers | None:
        """What neighbours do to the case of this name."""
        return next((one for one in self.cases if one.case.name == case), None)


def beside(session: Session, *, each_alone: bool = False) -> Beside | None:
    """The verdict on each case that was measured alone and beside neighbours; None where there is none.

    each_alone: as of `compare_cases`.
    """
    variants = {one.label: one for one in session.header.variants if one.beside}
    planned = [item.case for item in session.plan.cases] if session.plan else []
    alone = {case.name: case for case in planned if case.variant is None}
    cases = {case.name: case for case in planned if case.variant in variants and _alone(case) in alone}
    selected = {case.name for case in session.header.selection}
    pairs = [(name, _alone(case), name) for name, case in cases.items() if name in selected]
    if not pairs:
        return None
    found = compare_cases(session, pairs, ("alone", "beside neighbours"), margin=MARGIN, each_alone=each_alone)
    return Beside(
        margin=found.margin,
        confidence=found.confidence,
        left_out=found.left_out,
        void=found.void,
        cases=tuple(
            Suffers(
                case=cases[one.case],
                alone=alone[_alone(cases[one.case])],
                title=session.header.probes[cases[one.case].probe].descriptor.called,
                neighbours=variants[cases[one.case].variant or ""].beside,
                of=one,
            )
            for one in found.cases
        ),
    )


def _alone(case: Case) -> str:
    return Case(probe=case.probe, placement=case.placement, parameters=case.parameters).name
