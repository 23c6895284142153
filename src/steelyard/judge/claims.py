# SPDX-License-Identifier: Apache-2.0
"""The language of claims: falsifiable statements with scope and rule. `studies` reads them, `verdicts` judges them."""

from __future__ import annotations

import itertools
import math
from enum import StrEnum
from typing import Any

import msgspec

from steelyard.judge.published import Source, check_case, put
from steelyard.judge.stats.growth import Form
from steelyard.records import CasePattern, Record


class ClaimVerdict(StrEnum):
    """What a session says of a claim."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"
    NOT_COMPARABLE = "not comparable"
    NOT_MEASURED = "not measured"


class Operand(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A figure of a case: its main metric unless another is named; ``net`` takes the overhead of its baseline off."""

    case: str
    metric: str | None = None
    net: bool = False

    def __post_init__(self) -> None:
        """Refuse what is not a case."""
        check_case(self.case)

    @property
    def pattern(self) -> CasePattern:
        """The case as a pattern; what it leaves out, the session must leave no choice about."""
        pattern = CasePattern.parse(self.case)
        assert pattern is not None, "checked when it was made"  # noqa: S101
        return pattern


class Sweep(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A metric over an integer parameter of a probe, all else as the case says, within both ends inclusive."""

    of: Operand
    parameter: str
    smallest: int = 1
    largest: int | None = None

    def __post_init__(self) -> None:
        """Refuse a sweep whose parameter the case has fixed."""
        if self.parameter in self.of.pattern.parameters:
            raise ValueError(f"{self.of.case!r} fixes {self.parameter}, over which it should be swept")


class _Rule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="rule"):
    """What is asked of some figures."""

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The figures that a session must have."""
        found: list[Operand] = []
        for value in (getattr(self, name) for name in self.__struct_fields__):
            for one in value if isinstance(value, tuple) else (value,):
                found += [one] if isinstance(one, Operand) else [one.of] if isinstance(one, Sweep) else []
        return tuple(found)


class _WithinRange(_Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something lies within a range, of which one end may be open."""

    at_least: float | None = None
    at_most: float | None = None

    def __post_init__(self) -> None:
        """Refuse a range that is open at both ends or empty."""
        low, high = self.at_least, self.at_most
        if low is None and high is None:
            raise ValueError("a range needs at_least, at_most or both")
        if low is not None and high is not None and not low < high:
            raise ValueError(f"no figure lies both above {low} and below {high}")


class Ratio(_WithinRange, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="ratio"):
    """One cost over another lies within a range."""

    of: Operand
    over: Operand

    def __post_init__(self) -> None:
        """Refuse a range that no ratio of costs can lie in."""
        super().__post_init__()
        if any(end is not None and end <= 0 for end in (self.at_least, self.at_most)):
            raise ValueError("a ratio of costs lies above zero: at_least and at_most must too")


class Equal(_Rule, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="equal"):
    """Two costs differ by no more than a margin: 0.05 is the band from 1/1.05 to 1.05."""

    of: Operand
    over: Operand
    margin: float

    def __post_init__(self) -> None:
        """Refuse a margin that nothing can lie in."""
        if not 0 < self.margin < math.inf:
            raise ValueError(f"a margin is a fraction above 0, not {self.margin}")


class Order(_Rule, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="order"):
    """Each of these costs less than the next."""

    rising: tuple[Operand, ...]

    def __post_init__(self) -> None:
        """Refuse an order of one."""
        if len(self.rising) < 2:
            raise ValueError("an order needs at least two operands")


class Range(_WithinRange, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="figure"):
    """A figure in its base unit lies within a range."""

    of: Operand
    unit: str


class Growth(_Rule, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="growth"):
    """A cost grows with a parameter in this form."""

    along: Sweep
    form: Form


class Flat(_Rule, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="flat"):
    """No two points of a sweep differ by more than a factor."""

    along: Sweep
    factor: float

    def __post_init__(self) -> None:
        """Refuse a factor that nothing can lie in."""
        if not 1 < self.factor < math.inf:
            raise ValueError(f"a factor must be above 1, not {self.factor}")


class Simulated(_WithinRange, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="simulated"):
    """A simulated figure, or one over another, lies within a range: what no machine of today can be asked.

    Figures are named by their mechanism; where nobody simulated one, the published figure of that name is taken.
    """

    of: str
    over: str | None = None

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """The figures that are compared."""
        return (self.of,) if self.over is None else (self.of, self.over)


MeasuredTest = Ratio | Equal | Order | Range | Growth | Flat
ClaimTest = MeasuredTest | Simulated


class Claim(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A statement that a session can contradict.

    ``statement`` is ours, one sentence; ``said`` is what the source said, as a fact with its figure; ``scope`` says
    where the statement is meant to be true; ``note`` is what was found wrong with it, or with how it was come by.
    ``advice`` is what one should do if the statement is true. ``setting`` is the one of several settings of its entry
    that this claim is about, by parameter.
    """

    id: str
    statement: str
    said: str
    scope: str
    test: ClaimTest
    note: str | None = None
    advice: str | None = None
    setting: dict[str, str] = msgspec.field(default_factory=dict)


class Named(Record, frozen=True, kw_only=True):
    """A figure that a claim about a simulation names. ``origin``: simulated, or published."""

    mechanism: str
    value: float
    unit: str
    origin: str


class Sourced(Record, frozen=True, kw_only=True):
    """A claim together with who made it. ``named``: the figures that it names, if it is about a simulation."""

    source: Source
    claim: Claim
    named: tuple[Named, ...] = ()


class _Settings(Record, frozen=True, kw_only=True):
    each: dict[str, list[str]]


def expand(entry: dict[str, Any]) -> list[Claim]:
    """The claims of an entry: one, or with ``each`` one for every combination of these parameters' values.

    In the texts of such an entry ``{parameter}`` stands for the value. Raises msgspec.ValidationError.
    """
    each = msgspec.convert({"each": entry.get("each", {})}, type=_Settings).each
    rest = {key: value for key, value in entry.items() if key != "each"}
    settings = [dict(zip(each, values, strict=True)) for values in itertools.product(*each.values())]
    claims = [msgspec.convert({**put(rest, setting), "setting": setting}, type=Claim) for setting in settings]
    for key in each:
        if f"{{{key}}}" not in entry["id"]:
            raise msgspec.ValidationError(f"`each` makes several claims of it, and the id lacks {{{key}}}")
    return claims
