# SPDX-License-Identifier: Apache-2.0
"""What a session says of the advice that its claims carry: whether following it still pays.

An advice is as good as its claims. Where those are about several settings of a compiler, level 0 is a program that no
compiler improved, and the others are what people run: advice that pays at level 0 alone is followed by the compiler.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from steelyard.judge.claims import ClaimVerdict
from steelyard.judge.published import Source
from steelyard.judge.verdicts import ClaimFinding
from steelyard.records import Record

#: The parameter by which a setting says how much was optimised, and its value for not at all.
_LEVEL, _NONE = "level", "0"
#: An advised way that takes this much longer than the plain one costs something: as far off as claims of gain ask for.
_COSTS = 1.05


class Conclusion(StrEnum):
    """What becomes of an advice."""

    WORTH = "still worth following"
    COMPILER = "the compiler does it"
    NOT_TRUE = "no longer true"
    UNDECIDED = "undecided"
    NOT_MEASURED = "not measured"


class AdviceFinding(Record, frozen=True, kw_only=True):
    """An advice with its claims. Where they disagree, ``where`` names those that an advice worth following is true of.

    ``costs`` names the claims of optimised programs in which following it makes them slower by 5 % or more.
    """

    advice: str
    source: Source
    conclusion: Conclusion
    claims: tuple[ClaimFinding, ...]
    where: tuple[str, ...] = ()
    costs: tuple[str, ...] = ()


def judge_advice(findings: Iterable[ClaimFinding]) -> tuple[AdviceFinding, ...]:
    """Every advice of these claims, in their order."""
    groups: dict[tuple[str, str], list[ClaimFinding]] = {}
    for finding in findings:
        if finding.claim.advice is not None:
            groups.setdefault((finding.source.id, finding.claim.advice), []).append(finding)
    return tuple(_judged(group) for group in groups.values())


def _judged(group: list[ClaimFinding]) -> AdviceFinding:
    optimised = [finding for finding in group if not _is_plain(finding)]
    conclusion = _conclusion([one.verdict for one in optimised], [one.verdict for one in group if _is_plain(one)])
    true_of = [finding for finding in optimised if finding.verdict is ClaimVerdict.HOLDS]
    partly = conclusion is Conclusion.WORTH and len(true_of) < len(optimised)
    return AdviceFinding(
        advice=group[0].claim.advice or "",
        source=group[0].source,
        conclusion=conclusion,
        claims=tuple(group),
        where=tuple(map(label, true_of)) if partly else (),
        costs=tuple(label(finding) for finding in optimised if _costs(finding)),
    )


def label(finding: ClaimFinding) -> str:
    """What tells a claim from the others of its advice: its setting as people write it, or its id."""
    setting = finding.claim.setting
    words = [f"-O{value}" if key == _LEVEL else value for key, value in setting.items()]
    return " ".join(words) or finding.claim.id


def _is_plain(finding: ClaimFinding) -> bool:
    return finding.claim.setting.get(_LEVEL) == _NONE


def _conclusion(optimised: list[ClaimVerdict], plain: list[ClaimVerdict]) -> Conclusion:
    if ClaimVerdict.HOLDS in optimised:
        return Conclusion.WORTH
    if ClaimVerdict.UNDECIDED in optimised:
        return Conclusion.UNDECIDED
    if ClaimVerdict.FAILS not in optimised:
        return Conclusion.NOT_MEASURED
    return Conclusion.COMPILER if ClaimVerdict.HOLDS in plain else Conclusion.NOT_TRUE


def _costs(finding: ClaimFinding) -> bool:
    """Whether a ratio of what is advised against lies below 1 by the margin of costs, with its whole interval."""
    found = finding.ranges
    return (
        finding.verdict is ClaimVerdict.FAILS
        and len(found) == 1
        and found[0].over is not None
        and found[0].high is not None
        and found[0].high < 1 / _COSTS
    )
