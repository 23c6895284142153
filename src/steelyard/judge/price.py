# SPDX-License-Identifier: Apache-2.0
"""What the doings of a live process cost: its counts times the prices of a session.

The parts are those of library/effort.toml. Each is a cost of its own, whatever the program does meanwhile. What a
system call does in the kernel, and what a switch does to the caches, comes on top, so the sum is a lower bound. Prices
have the intervals of the session.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

import msgspec
import numpy as np

from steelyard.errors import InstallationError
from steelyard.judge.claims import Operand
from steelyard.judge.evidence import Measured, NoAnswer
from steelyard.judge.reasons import Said
from steelyard.judge.stats.checks import known
from steelyard.judge.stats.interval import INTERVAL_CONFIDENCE
from steelyard.judge.stats.summary import median_interval, middle
from steelyard.records import Effort, Record, Session, Skip


class PartEntry(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that is counted. Its price is ``each`` times the cost of a case, less ``times`` that of another.

    within: another part has it already, so that it is not in the sum.
    """

    counted: str
    what: str
    of: Operand
    because: str
    each: float = 1.0
    less: Operand | None = None
    times: float = 1.0
    within: bool = False


class InsteadEntry(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A cheaper kind of switch."""

    what: str
    of: Operand


class EffortEntry(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What library/effort.toml holds."""

    part: tuple[PartEntry, ...]
    instead: tuple[InsteadEntry, ...] = ()


class PriceOf(Record, frozen=True, kw_only=True):
    """The price of one, in seconds, with its interval; None where the session has too few blocks for one."""

    seconds: float
    low: float | None
    high: float | None


class PricedPart(Record, frozen=True, kw_only=True):
    """Something that the process did ``count`` times: its price and its share of the CPU time of the process.

    count: None where it could not be counted. price: None where the session has none. there: the price of another
    session. within: another part has it already.
    """

    what: str
    case: str
    because: str
    count: int | None
    a_second: float | None
    price: PriceOf | None
    share: float | None
    there: PriceOf | None = None
    within: bool = False


class Instead(Record, frozen=True, kw_only=True):
    """The share of the CPU time if the switches because of waiting were of this kind."""

    what: str
    case: str
    share: float


class Priced(Record, frozen=True, kw_only=True):
    """An effort with its prices. Shares are of the CPU time of the process, which is 0 for one that slept.

    share: of all parts together. instead: the switches as another kind. there: how many times the parts cost on the
    other session what they cost here. void: why the session proves nothing.
    """

    effort: Effort
    session: str
    on: str | None
    parts: tuple[PricedPart, ...]
    share: float | None
    waiting_share: float | None
    instead: tuple[Instead, ...]
    there: float | None
    void: Said | None
    skips: tuple[Skip, ...]


@cache
def library() -> EffortEntry:
    """What is counted and what it costs. Raises InstallationError with the field that is wrong."""
    file = resources.files("steelyard.judge.library") / "effort.toml"
    try:
        return msgspec.toml.decode(file.read_bytes(), type=EffortEntry)
    except msgspec.DecodeError as error:
        raise InstallationError(f"library/effort.toml: {error}") from error


def wanted() -> list[str]:
    """The cases to measure: the prices, and the first of what a switch could be instead."""
    return [*_needed(), *(entry.of.case for entry in library().instead[:1])]


def _needed() -> list[str]:
    operands = [operand for part in library().part for operand in (part.of, part.less) if operand]
    return list(dict.fromkeys(operand.case for operand in operands))


def lacking(session: Session) -> list[str]:
    """The prices that a session does not have, by their cases."""
    measured = Measured(session)
    return [case for case in _needed() if _price(measured, Operand(case=case)) is None]


def price(effort: Effort, session: Session, on: Session | None = None) -> Priced:
    """The effort at the prices of a session, and at those of another."""
    here, there = Measured(session), Measured(on) if on else None
    cpu_s, seconds = effort.cpu_s, max(effort.seconds, 1e-9)
    parts, skips = [], list(effort.skips)
    for entry in library().part:
        count, found = effort.counts.get(entry.counted), _price_of(here, entry)
        if found is None and not entry.within:
            skips.append(Skip(subject=entry.what, reason=f"{session.path} has no {entry.of.case}"))
        parts.append(
            PricedPart(
                what=entry.what,
                case=entry.of.case,
                because=entry.because,
                count=count,
                a_second=None if count is None else count / seconds,
                price=found,
                share=None if count is None or found is None or cpu_s <= 0 else count * found.seconds / cpu_s,
                there=_price_of(there, entry) if there else None,
                within=entry.within,
            )
        )
    waiting = parts[0]
    return Priced(
        effort=effort,
        session=session.path,
        on=on.path if on else None,
        parts=tuple(parts),
        share=_sum([part.share for part in parts if not part.within]),
        waiting_share=waiting.share,
        instead=tuple(_instead(here, waiting, cpu_s)),
        there=_ratio(parts) if there else None,
        void=here.void or (there.void if there else None),
        skips=tuple(skips),
    )


def _price_of(measured: Measured, entry: PartEntry) -> PriceOf | None:
    found = _price(measured, entry.of)
    less = _price(measured, entry.less) if entry.less else None
    if found is None or (entry.less and less is None):
        return None
    off = entry.times * less.seconds if less else 0.0
    return PriceOf(
        seconds=entry.each * found.seconds - off,
        low=None if found.low is None else entry.each * found.low - off,
        high=None if found.high is None else entry.each * found.high - off,
    )


def _price(measured: Measured, operand: Operand) -> PriceOf | None:
    try:
        values = measured.column(operand).values
    except NoAnswer:
        return None
    there = values[np.isfinite(values)]
    interval = median_interval(there, INTERVAL_CONFIDENCE)
    return PriceOf(seconds=middle(there), low=known(interval.low), high=known(interval.high))


def _sum(shares: list[float | None]) -> float | None:
    known = [share for share in shares if share is not None]
    return sum(known) if known else None


def _instead(measured: Measured, waiting: PricedPart, cpu_s: float) -> list[Instead]:
    """What is left of the CPU time grows or shrinks with the switches, so their share is of the new whole."""
    if waiting.count is None or waiting.price is None or cpu_s <= 0:
        return []
    rest = max(0.0, cpu_s - waiting.count * waiting.price.seconds)
    found = [(entry, price) for entry in library().instead if (price := _price(measured, entry.of))]
    costs = [(entry, waiting.count * price.seconds) for entry, price in found]
    return [
        Instead(what=entry.what, case=entry.of.case, share=cost / (rest + cost)) for entry, cost in costs if rest + cost
    ]


def _ratio(parts: list[PricedPart]) -> float | None:
    both = [(part.count, part.price, part.there) for part in parts if not part.within]
    pairs = [(count * a.seconds, count * b.seconds) for count, a, b in both if count and a and b]
    here = sum(a for a, _ in pairs)
    return sum(b for _, b in pairs) / here if here > 0 else None
