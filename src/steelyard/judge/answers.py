# SPDX-License-Identifier: Apache-2.0
"""What a first session answers, on one screen: prices by group, what is unlike its fame, how sure, what is missing.

`library/first_session.toml` names the prices and the statements; a session that has only some of them shows those.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib import resources

import msgspec

from steelyard.errors import InstallationError
from steelyard.judge import studies
from steelyard.judge.cases import CaseFinding
from steelyard.judge.claims import ClaimVerdict, Operand
from steelyard.judge.findings import Findings
from steelyard.judge.reasons import Said
from steelyard.judge.verdicts import ClaimFinding, ClaimFindings
from steelyard.records import Placement, Record

#: Statements that the screen shows: those that fail by most, then those that hold.
MOST_FAILING = 5
MOST_HOLDING = 1
#: Fewest prices that are shown as a screen: the best-known ones.
WORTH_A_SCREEN = 10
#: Half the width of an interval, as a share of its price, that is called narrow.
NARROW = 0.03


class PriceEntry(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A price of the screen: the words for it and the case that measures it."""

    what: str
    case: str
    metric: str | None = None
    net: bool = False
    known: bool = False


class GroupEntry(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Prices of one kind. ``at``: the placement of each column, for cases that name none."""

    title: str
    price: tuple[PriceEntry, ...]
    at: tuple[Placement, ...] = ()


class FirstSession(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a first session is about."""

    claims: tuple[str, ...]
    group: tuple[GroupEntry, ...]

    def operands(self, *, known: bool) -> list[Operand]:
        """The figures of its prices, those with an overhead less it; ``known``: of the best-known prices alone."""
        return [
            operand
            for group in self.group
            for price in group.price
            if price.known or not known
            for operand in _operands(price, group)
        ]


class Amount(Record, frozen=True, kw_only=True):
    """A price in its base unit. ``at_most``: it can't be told from zero, and only ``high`` may be said."""

    case: str
    unit: str
    median: float
    low: float | None
    high: float | None
    at_most: bool = False

    @property
    def spread(self) -> float | None:
        """The farther end of its interval, as a share of the price; None without an interval."""
        if self.low is None or self.high is None or self.median <= 0:
            return None
        return max(self.high - self.median, self.median - self.low) / self.median


class Price(Record, frozen=True, kw_only=True):
    """A line of the screen. ``times``: the first amount over the cheapest; ``across``: the last over the first."""

    what: str
    amounts: tuple[Amount | None, ...]
    times: float | None = None
    across: float | None = None


class Group(Record, frozen=True, kw_only=True):
    """Prices of one kind, the cheapest first."""

    title: str
    at: tuple[Placement, ...]
    prices: tuple[Price, ...]


class Absence(Record, frozen=True, kw_only=True):
    """What is missing for one reason, which says what would bring it in."""

    subjects: tuple[str, ...]
    reason: Said


class Answers(Record, frozen=True, kw_only=True):
    """The screen of a session. ``narrow`` of ``prices`` have an interval within NARROW."""

    groups: tuple[Group, ...]
    failing: tuple[ClaimFinding, ...]
    holding: tuple[ClaimFinding, ...]
    verdicts: dict[ClaimVerdict, int]
    narrow: int
    prices: int
    absent: tuple[Absence, ...]


@cache
def first_session() -> FirstSession:
    """What the library says of it. Raises InstallationError with the field that is wrong."""
    file = resources.files("steelyard.judge.library") / "first_session.toml"
    try:
        found = msgspec.toml.decode(file.read_bytes(), type=FirstSession)
    except msgspec.DecodeError as error:
        raise InstallationError(f"library/first_session.toml: {error}") from error
    ids = {item.claim.id for item in studies.library().claims}
    for name in found.claims:
        if name not in ids:
            raise InstallationError(f"library/first_session.toml: no claim of the library has the id {name!r}")
    return found


def operands(*, known: bool = False) -> list[Operand]:
    """Every figure that a first session needs: of its prices and of its claims, or of the ``known`` prices alone."""
    first = first_session()
    of_claims = [item.claim for item in studies.library().claims if item.claim.id in first.claims and not known]
    return [*first.operands(known=known), *(operand for claim in of_claims for operand in claim.test.operands)]


def _operands(price: PriceEntry, group: GroupEntry) -> list[Operand]:
    cases = [f"{price.case}@{placement}" for placement in group.at] if "@" not in price.case else [price.case]
    return [Operand(case=case, metric=price.metric, net=price.net) for case in cases]


def answer(findings: Findings, claims: ClaimFindings) -> Answers:
    """The screen of a judged session."""
    cases = [case for case in findings.cases if "~" not in case.case]
    groups = [group for entry in first_session().group if (group := _group(entry, cases))]
    amounts = [amount for group in groups for price in group.prices for amount in price.amounts if amount]
    asked = [finding for finding in claims.findings if not finding.simulated]
    failing = [finding for finding in asked if finding.verdict is ClaimVerdict.FAILS]
    holding = [finding for finding in asked if finding.verdict is ClaimVerdict.HOLDS]
    return Answers(
        groups=tuple(groups),
        failing=tuple(varied(sorted(failing, key=missed_by, reverse=True), MOST_FAILING)),
        holding=tuple(varied(holding, MOST_HOLDING)),
        verdicts=Counter(_counted(finding) for finding in asked),
        narrow=sum(amount.spread is not None and amount.spread <= NARROW for amount in amounts),
        prices=len(amounts),
        absent=_absent(findings),
    )


def _counted(finding: ClaimFinding) -> ClaimVerdict:
    """The verdict as the screen counts it: of a statement that was not asked, "undecided" says nothing."""
    asked = finding.claim.id in first_session().claims
    return ClaimVerdict.NOT_MEASURED if finding.verdict is ClaimVerdict.UNDECIDED and not asked else finding.verdict


def _group(entry: GroupEntry, cases: Sequence[CaseFinding]) -> Group | None:
    prices = []
    for price in entry.price:
        amounts = tuple(_amount(operand, cases) for operand in _operands(price, entry))
        if any(amounts):
            prices.append(Price(what=price.what, amounts=amounts))
    if not prices:
        return None
    firsts = [price.amounts[0] for price in prices]
    cheapest = min((first.median for first in firsts if first and not first.at_most), default=0.0)
    rated = [_rated(price, cheapest) for price in prices]
    rated.sort(key=lambda price: next(amount.median for amount in price.amounts if amount))
    return Group(title=entry.title, at=entry.at, prices=tuple(rated))


def _rated(price: Price, cheapest: float) -> Price:
    first, last = price.amounts[0], price.amounts[-1]
    times = first.median / cheapest if first and cheapest > 0 and not first.at_most else None
    across = last.median / first.median if first and last and len(price.amounts) > 1 and first.median > 0 else None
    return msgspec.structs.replace(price, times=times, across=across)


def _amount(operand: Operand, cases: Sequence[CaseFinding]) -> Amount | None:
    found = [case for case in cases if case.is_meant_by(operand.pattern)]
    if len(found) != 1:
        return None
    case = found[0]
    figure = next((one for one in (case.main, *case.others) if operand.metric in (None, one.metric)), None)
    if figure is None:
        return None
    net = figure.net if operand.net else None
    return Amount(
        case=case.case,
        unit=figure.unit,
        median=net.median if net else figure.median,
        low=net.low if net else figure.low,
        high=net.high if net else figure.high,
        at_most=net.at_most if net else False,
    )


def missed_by(finding: ClaimFinding) -> float:
    """By which factor, as a logarithm, the figure lies outside of what was claimed."""
    missed = [0.0]
    for seen in finding.ranges:
        ends = [end for end in (seen.at_least, seen.at_most) if end is not None and end > 0]
        if seen.verdict is ClaimVerdict.FAILS and seen.value > 0 and ends:
            missed.append(min(abs(math.log(seen.value / end)) for end in ends))
    return max(missed)


def varied(findings: Sequence[ClaimFinding], most: int) -> list[ClaimFinding]:
    """The first of them, and of those that rest on one figure only the first: what several said is said once."""
    kept: dict[str, ClaimFinding] = {}
    for finding in findings:
        kept.setdefault(finding.figures[0].case if finding.figures else finding.claim.id, finding)
    return list(kept.values())[:most]


def _absent(findings: Findings) -> tuple[Absence, ...]:
    """Skips by their reason, the reason of most first."""
    by_reason: dict[Said, dict[str, None]] = {}
    for skip in findings.skips:
        probe = skip.subject.partition("[")[0].partition("@")[0]
        by_reason.setdefault(skip.plain, {})[probe] = None
    ranked = sorted(by_reason.items(), key=lambda item: -len(item[1]))
    return tuple(Absence(subjects=tuple(subjects), reason=reason) for reason, subjects in ranked)
