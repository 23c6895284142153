# SPDX-License-Identifier: Apache-2.0
"""A composite cost as a sum of measured simple ones, and the residual that they do not explain.

What a cost is made of is declared in library/composites/*.toml, one file a composite. Its parts are added block by
block where they were measured in the session of the composite, and by `stats.sums` where they come from another one.
The residual is never clamped: parts that cost more than the whole are said to.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, partial
from importlib import resources

import msgspec
import numpy as np

from steelyard.errors import InstallationError
from steelyard.judge.claims import ClaimVerdict, Operand
from steelyard.judge.evidence import Column, Measured, NoAnswer, other_unit
from steelyard.judge.reasons import Fact, Reason, Said, Why, of
from steelyard.judge.samples import FloatArray
from steelyard.judge.stats.checks import known
from steelyard.judge.stats.interval import INTERVAL_CONFIDENCE
from steelyard.judge.stats.summary import median_interval, middle
from steelyard.judge.stats.sums import Total, total
from steelyard.records import Case, CasePattern, Record, Session, Value

#: A residual above this share of the cost is said to be large.
LARGE = 0.25
#: What the kernel counts of a batch.
ACCOUNTED = ("minor_faults", "voluntary", "involuntary")
_PLACEHOLDER = re.compile(r"\{([a-z0-9_]+)\}")


class State(StrEnum):
    """What the interval of the residual allows to be said."""

    EXPLAINED = "explained"
    RESIDUAL = "a residual"
    LARGE_RESIDUAL = "a large residual"
    OVER_EXPLAINED = "over-explained"
    UNDECIDED = "undecided"
    INCOMPLETE = "incomplete"


class Part(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of the simple costs: ``times`` of it, for each ``per`` of the composite where that is said.

    ``case`` may hold ``{parameter}`` and ``{placement}`` of the composite. ``per`` is an integer parameter or a metric
    of unit 1 of the composite, or what the kernel counted of one operation of it: ``minor_faults``, ``voluntary`` or
    ``involuntary`` switches. ``less`` is a case whose cost is taken off each time. A metric in bytes per second
    stands for the time of that many bytes.
    """

    what: str
    case: str
    because: str
    metric: str | None = None
    net: bool = False
    less: str | None = None
    times: float = 1.0
    per: str | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be a part."""
        if not (self.times > 0 and math.isfinite(self.times)):
            raise ValueError(f"{self.what!r} is there a number of times above 0, not {self.times}")
        for template in (self.case, self.less):
            if template is not None and CasePattern.parse(_PLACEHOLDER.sub("x", template)) is None:
                raise ValueError(f"{template!r} is not a case: write question/way[param=value,…]@placement")


class Composite(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A cost that is made of others. ``case`` is the pattern of the cases that it is about."""

    case: str
    made_of: str
    source: str
    part: tuple[Part, ...]
    metric: str | None = None
    net: bool = False
    note: str | None = None

    def __post_init__(self) -> None:
        """Refuse what is not a case, or made of nothing."""
        if CasePattern.parse(self.case) is None:
            raise ValueError(f"{self.case!r} is not a case: write question/way[param=value,…]@placement")
        if not self.part:
            raise ValueError("a composite has parts")

    @property
    def pattern(self) -> CasePattern:
        """The cases that it is about."""
        pattern = CasePattern.parse(self.case)
        assert pattern is not None, "checked when it was made"  # noqa: S101
        return pattern

    @property
    def probes(self) -> frozenset[str]:
        """The probes that measure it and its parts."""
        templates = [template for part in self.part for template in (part.case, part.less) if template is not None]
        patterns = (CasePattern.parse(_PLACEHOLDER.sub("x", template)) for template in templates)
        return frozenset({self.pattern.probe, *(pattern.probe for pattern in patterns if pattern)})

    def is_meant_by(self, text: str) -> bool:
        """Whether a case, a probe, a question or a way, as a person types it, stands for this composite."""
        own, asked = self.pattern, CasePattern.parse(text)
        if asked is None:
            return text in own.probe.split("/")
        return (
            own.probe == asked.probe
            and (None in (own.placement, asked.placement) or own.placement == asked.placement)
            and all(asked.parameters.get(key, value) == value for key, value in own.parameters.items())
        )


class PartSeen(Record, frozen=True, kw_only=True):
    """A part with its figures in the unit of the whole: ``each`` once, ``cost`` all times together.

    ``label`` names the case and what of it is meant; ``session`` is where it was measured, if not with the whole.
    """

    what: str
    because: str
    label: str
    times: float
    each: float
    cost: float
    low: float | None
    high: float | None
    share: float
    session: str | None = None


class PartMissing(Record, frozen=True, kw_only=True):
    """A part without a figure. ``case`` is what to measure."""

    what: str
    case: str
    reason: Reason


class Sum(Record, frozen=True, kw_only=True):
    """A cost with its interval, None with too few blocks; and its share of the whole."""

    value: float
    low: float | None
    high: float | None
    share: float
    share_low: float | None = None
    share_high: float | None = None


class Explanation(Record, frozen=True, kw_only=True):
    """A case with its parts. ``residual`` is there when no part is missing."""

    composite: str
    case: str
    metric: str
    unit: str
    made_of: str
    source: str
    note: str | None
    state: State
    n: int
    whole: Sum
    parts: tuple[PartSeen, ...]
    missing: tuple[PartMissing, ...]
    explained: Sum | None
    residual: Sum | None = msgspec.field(name="rest")
    caveats: tuple[Said, ...]


class Unexplained(Record, frozen=True, kw_only=True):
    """A composite of which the session has no case, and why not."""

    composite: str
    case: str
    made_of: str
    reason: Reason


class Explanations(Record, frozen=True, kw_only=True):
    """Composites held against a session. ``void`` says why the session proves nothing, if its controls failed.

    ``titles``: of mechanisms, by probe.
    """

    path: str
    started: str
    machine_key: str
    cpu: str
    void: Reason | None
    blocks: int
    confidence: float
    explained: tuple[Explanation, ...]
    absent: tuple[Unexplained, ...]
    titles: dict[str, str] = msgspec.field(default_factory=dict)


@cache
def library() -> Mapping[str, Composite]:
    """Every composite by the name of its file. Raises InstallationError with the file and what is wrong in it."""
    found: dict[str, Composite] = {}
    folder = resources.files("steelyard.judge.library")
    alike = msgspec.toml.decode((folder / "parts.toml").read_bytes())
    for path in sorted((folder / "composites").iterdir(), key=lambda path: path.name):
        try:
            entry = msgspec.toml.decode(path.read_bytes())
            entry["part"] = [{**alike.get(part.pop("like", ""), {}), **part} for part in entry.get("part", [])]
            found[path.name.removesuffix(".toml")] = msgspec.convert(entry, Composite)
        except msgspec.DecodeError as error:
            raise InstallationError(f"library/composites/{path.name}: {error}") from error
    return found


def meant(text: str) -> dict[str, Composite]:
    """The composites that a name, a case, a probe, a question or a way stands for."""
    return {name: one for name, one in library().items() if name == text or one.is_meant_by(text)}


def nearest(text: str) -> list[str]:
    """Suggestions for a text that names no composite: names, probes and ways, the nearest first."""
    pattern = CasePattern.parse(text)
    probes = [composite.pattern.probe for composite in library().values()]
    ways = [way for probe in probes for way in probe.split("/")]
    typed = pattern.probe if pattern else text
    return difflib.get_close_matches(typed, dict.fromkeys([*probes, *library(), *ways]), n=3, cutoff=0.5)


def bound(template: str, case: Case) -> str:
    """A part's case with the parameters and the placement of the composite's put in.

    Raises KeyError with the name that the composite does not have.
    """
    values = {**case.parameters, "placement": case.placement}
    return _PLACEHOLDER.sub(lambda match: str(values[match[1]]), template)


def needed(composite: Composite, case: Case) -> tuple[str, ...]:
    """The cases to measure together with a composite's, so that it can be explained."""
    templates = [template for part in composite.part for template in (part.case, part.less) if template is not None]
    return tuple(dict.fromkeys(bound(template, case) for template in templates))


def explain(
    session: Session, composites: Mapping[str, Composite], *, asked: str | None = None, others: Sequence[Session] = ()
) -> Explanations:
    """These composites, for each of their cases in the session that ``asked`` stands for.

    others: sessions of the same machine, in this order, for parts that this one does not have.
    """
    measured, elsewhere = Measured(session), [Measured(other) for other in others]
    explained: list[Explanation] = []
    absent: list[Unexplained] = []
    for name, composite in composites.items():
        cases = [case for case in measured.cases(composite.pattern) if _is_asked(asked, case)]
        if not cases:
            absent.append(_absent(name, composite, composite.case, _why_none(measured, composite, asked)))
        for case in cases:
            try:
                explained.append(_explain(name, composite, case, [measured, *elsewhere]))
            except NoAnswer as answer:
                absent.append(_absent(name, composite, case.name, answer.reason))
    header = session.header
    return Explanations(
        path=session.path,
        started=header.started,
        machine_key=header.machine.key,
        cpu=header.machine.facts["cpu"],
        void=measured.void,
        blocks=measured.blocks,
        confidence=INTERVAL_CONFIDENCE,
        explained=tuple(explained),
        absent=tuple(absent),
        titles=header.titles,
    )


def _is_asked(asked: str | None, case: Case) -> bool:
    pattern = CasePattern.parse(asked) if asked else None
    return pattern is None or pattern.matches(case)


def _why_none(measured: Measured, composite: Composite, asked: str | None) -> Reason:
    """Why a composite has no case, with what the session has of its probe."""
    if measured.cases(composite.pattern):
        return Reason(Why.NO_CASE, case=asked)
    near = [case.name for case in measured.cases(CasePattern(probe=composite.pattern.probe))]
    if not near:
        return Reason(Why.NO_CASE, case=composite.case)
    facts: dict[str, Fact] = {"near": near[0], "n": len(near), "case": composite.case}
    if composite.pattern.placement is None:
        return Reason(Why.OTHER_CASES, **facts)
    where: dict[str, Fact] = {"probe": composite.pattern.probe, "placement": composite.pattern.placement}
    return Reason(Why.OTHER_CASES_PLACED, **facts, **where)


def _absent(name: str, composite: Composite, case: str, reason: Reason) -> Unexplained:
    return Unexplained(composite=name, case=case, made_of=composite.made_of, reason=reason)


# --- one composite ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Term:
    """A part in numbers. ``source`` is the place of its session in the list; 0 is that of the whole.

    ``costs`` holds one number a block of its session, ``each`` the same for one time.
    """

    part: Part
    label: str
    source: int
    times: float
    each: FloatArray
    costs: FloatArray
    columns: tuple[Column, ...]


def _explain(name: str, composite: Composite, case: Case, sessions: Sequence[Measured]) -> Explanation:
    whole = sessions[0].column(Operand(case=case.name, metric=composite.metric, net=composite.net))
    terms: list[_Term] = []
    missing: list[PartMissing] = []
    for part in composite.part:
        try:
            terms.append(_term(part, case, whole, sessions))
        except NoAnswer as answer:
            missing.append(PartMissing(what=part.what, case=bound(part.case, case), reason=answer.reason))
    centre = middle(_there(whole.values))
    explained = residual = None
    if not missing:
        explained = _sum([], terms, whole, sign=1.0)
        residual = _sum([whole.values], terms, whole, sign=-1.0)
    return Explanation(
        composite=name,
        case=case.name,
        metric=whole.metric.name,
        unit=whole.metric.unit,
        made_of=composite.made_of,
        source=composite.source,
        note=composite.note,
        state=_state(residual),
        n=_there(whole.values).size,
        whole=_of_whole(whole),
        parts=tuple(_seen(term, centre, sessions) for term in terms),
        missing=tuple(missing),
        explained=explained,
        residual=residual,
        caveats=_caveats([whole, *(column for term in terms for column in term.columns)]),
    )


def _term(part: Part, case: Case, whole: Column, sessions: Sequence[Measured]) -> _Term:
    source, column, less = _where(part, case, sessions)
    each = _in_unit(column, whole)
    label = " ".join([column.case, *([] if part.metric is None else [part.metric])])
    if less is not None:
        each = each - _in_unit(less, whole)
        label = f"{label} less {less.case}"
    counts = _counts(part, case, whole, sessions[0])
    # Blocks of another session are not those of the whole, and its counts have no place there but their median.
    times = counts if source == 0 else np.full(each.size, middle(_there(counts)))
    return _Term(
        part=part,
        label=f"{label} less its overhead" if part.net else label,
        source=source,
        times=middle(_there(counts)),
        each=each,
        costs=times * each,
        columns=(column, *((less,) if less else ())),
    )


def _where(part: Part, case: Case, sessions: Sequence[Measured]) -> tuple[int, Column, Column | None]:
    """The first session that has all of a part; raises NoAnswer with the reason of the composite's own session."""
    own: NoAnswer | None = None
    for source, measured in enumerate(sessions):
        try:
            column = measured.column(Operand(case=bound(part.case, case), metric=part.metric, net=part.net))
            less = measured.column(Operand(case=bound(part.less, case))) if part.less else None
        except NoAnswer as answer:
            own = own or answer
        else:
            return source, column, less
    assert own is not None, "there is always the composite's own session"  # noqa: S101
    raise own


def _in_unit(column: Column, whole: Column) -> FloatArray:
    """A part's figures in the unit of the whole: bytes per second become seconds a byte."""
    if column.metric.unit == whole.metric.unit:
        return column.values
    if (column.metric.unit, whole.metric.unit) == ("B/s", "s"):
        return 1 / column.values
    raise other_unit(column, whole.metric.unit)


def _counts(part: Part, case: Case, whole: Column, measured: Measured) -> FloatArray:
    """How often a part is there, block by block."""
    if part.per is None:
        return np.full(whole.values.size, part.times)
    number = case.parameters.get(part.per)
    if isinstance(number, int):
        return np.full(whole.values.size, part.times * number)
    if part.per in ACCOUNTED:
        return part.times * whole.runs.numbers(partial(_accounted, part.per))
    counted = measured.column(Operand(case=case.name, metric=part.per))
    return part.times * counted.values


def _accounted(name: str, value: Value) -> float | None:
    count: int | None = getattr(value, name)
    return None if count is None else count / value.operations


def _seen(term: _Term, whole: float, sessions: Sequence[Measured]) -> PartSeen:
    costs = _there(term.costs)
    interval = median_interval(costs, INTERVAL_CONFIDENCE)
    return PartSeen(
        what=term.part.what,
        because=term.part.because,
        label=term.label,
        times=term.times,
        each=middle(_there(term.each)),
        cost=middle(costs),
        low=known(interval.low),
        high=known(interval.high),
        share=middle(costs) / whole,
        session=sessions[term.source].path if term.source else None,
    )


def _sum(first: list[FloatArray], terms: Sequence[_Term], whole: Column, sign: float) -> Sum:
    """The terms with this sign, and what comes first, added: within blocks in a session, by `stats.sums` beyond."""
    samples = []
    for source in sorted({0, *(term.source for term in terms)}):
        rows = [sign * term.costs for term in terms if term.source == source] + (first if source == 0 else [])
        if rows:
            samples.append(_there(np.sum(rows, axis=0)))
    found = total(samples, INTERVAL_CONFIDENCE)
    centre = middle(_there(whole.values))
    if len(samples) > 1:
        return _as_sum(found, found.value / centre)
    rows = [sign * term.costs for term in terms] + first
    shares = total([_there(np.sum(rows, axis=0) / whole.values)], INTERVAL_CONFIDENCE)
    return _as_sum(found, shares.value, shares)


def _of_whole(whole: Column) -> Sum:
    return _as_sum(total([_there(whole.values)], INTERVAL_CONFIDENCE), 1.0)


def _as_sum(found: Total, share: float, shares: Total | None = None) -> Sum:
    return Sum(
        value=found.value,
        low=known(found.interval.low),
        high=known(found.interval.high),
        share=share,
        share_low=known(shares.interval.low) if shares else None,
        share_high=known(shares.interval.high) if shares else None,
    )


def _state(residual: Sum | None) -> State:
    if residual is None:
        return State.INCOMPLETE
    if residual.low is None or residual.high is None:
        return State.UNDECIDED
    if residual.high < 0:
        return State.OVER_EXPLAINED
    if residual.low > 0:
        return State.LARGE_RESIDUAL if residual.share > LARGE else State.RESIDUAL
    # It may be nothing: that explains the cost only if it cannot be much either.
    most = (
        residual.high * residual.share / residual.value
        if residual.share_high is None and residual.value
        else residual.share_high
    )
    return State.EXPLAINED if most is not None and most <= LARGE else State.UNDECIDED


def _there(values: FloatArray) -> FloatArray:
    there = values[np.isfinite(values)]
    if there.size == 0:
        raise NoAnswer(ClaimVerdict.NOT_MEASURED, Why.NO_BLOCK_WITH_ALL)
    return there


def _caveats(columns: Sequence[Column]) -> tuple[Said, ...]:
    return tuple(dict.fromkeys(of(column.case, caveat) for column in columns for caveat in column.doubts))
