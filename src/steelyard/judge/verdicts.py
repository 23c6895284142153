# SPDX-License-Identifier: Apache-2.0
"""Claims held against a session: holds, fails or undecided, with the evidence, or why there is no answer.

Two cases are compared block by block (`stats.comparison`), a single figure by the interval of its median
(`stats.summary`), a sweep by pairs of its points or by `stats.growth`. "Holds" needs the whole interval inside the
range of the claim and "fails" the whole interval outside, and both must stand when all ranges of all claims are judged
together (`stats.sign_flips`). Growth is judged by the weights of its forms, each sweep by itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, pairwise

import msgspec
import numpy as np

from steelyard.judge import ranges, studies
from steelyard.judge.cases import disturbed
from steelyard.judge.claims import (
    Claim,
    ClaimVerdict,
    Equal,
    Flat,
    Growth,
    MeasuredTest,
    Order,
    Range,
    Ratio,
    Simulated,
    Sourced,
    Sweep,
)
from steelyard.judge.evidence import Column, Measured, NoAnswer, other_unit
from steelyard.judge.published import Source
from steelyard.judge.reasons import Fact, Reason, Said, Why, of
from steelyard.judge.stats import growth, sign_flips
from steelyard.judge.stats.checks import FloatArray, known
from steelyard.judge.stats.comparison import VERDICT_CONFIDENCE
from steelyard.judge.stats.growth import Form
from steelyard.judge.stats.planning import fewest_blocks
from steelyard.judge.stats.summary import median_interval, middle
from steelyard.records import Loops, Record, Session

# Fewer points leave no degree of freedom to choose a form with (`stats.growth`).
_GROWTH_POINTS = 5


class FigureSeen(Record, frozen=True, kw_only=True):
    """A figure that a verdict rests on, in its base unit; ``low`` and ``high`` are None with too few blocks.

    ``loops``: of the function that was timed, where the build kept them.
    """

    case: str
    metric: str
    unit: str
    net: bool
    n: int
    median: float
    low: float | None
    high: float | None
    loops: Loops | None = None


class RangeSeen(Record, frozen=True, kw_only=True):
    """A figure (``over`` is None) or a ratio, its interval, and the range that the claim says it lies in.

    The interval is this test's own; the verdict is that in the family of all ranges. ``n``: blocks, 0 of a simulation.
    """

    of: str
    over: str | None
    unit: str
    value: float
    low: float | None
    high: float | None
    n: int
    at_least: float | None
    at_most: float | None
    verdict: ClaimVerdict


class GrowthSeen(Record, frozen=True, kw_only=True):
    """The form of a curve; "cannot tell" where several ``candidates`` remain. Rises are relative, over the sweep.

    ``stable``: leaving out any one block gives the same form. ``excluded``: the claimed form is ruled out, also without
    any one of the blocks.
    """

    parameter: str
    claimed: Form
    form: str
    weight: float
    candidates: tuple[Form, ...]
    misfit: float
    rise_low: float
    rise_high: float
    stable: bool
    excluded: bool = False


class Settle(Record, frozen=True, kw_only=True):
    """What would decide: this number of further blocks of the same session, or None where no number of them will.

    ``first``: these blocks give the first interval; how many decide is not known before.
    """

    blocks: int | None
    minutes: float | None
    first: bool = False


class ClaimFinding(Record, frozen=True, kw_only=True):
    """A claim with its verdict. ``reason`` says why there is no clear one; ``caveats`` are the doubts of its runs."""

    claim: Claim
    source: Source
    verdict: ClaimVerdict
    reason: Reason | None = None
    figures: tuple[FigureSeen, ...] = ()
    ranges: tuple[RangeSeen, ...] = ()
    growth: GrowthSeen | None = None
    settle: Settle | None = None
    caveats: tuple[Said, ...] = ()

    @property
    def simulated(self) -> bool:
        """Whether a simulation answers it, which is the same beside all sessions."""
        return isinstance(self.claim.test, Simulated)


class ClaimFindings(Record, frozen=True, kw_only=True):
    """All claims held against a session.

    ``void`` says why the session proves nothing, if its controls failed; ``edges`` is the size of the family: the ends
    of ranges that were judged together. ``compilers`` are those of timed parts with variants. ``titles``: of
    mechanisms, by probe.
    """

    path: str
    started: str
    machine_key: str
    cpu: str
    void: Reason | None
    blocks: int
    confidence: float
    edges: int
    findings: tuple[ClaimFinding, ...]
    compilers: tuple[str, ...] = ()
    titles: dict[str, str] = msgspec.field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class _Evidence:
    """A claim for which there is evidence: the columns and the tests that decide it, or its growth."""

    columns: tuple[Column, ...]
    tests: tuple[ranges.RangeTest, ...] = ()
    growth: GrowthSeen | None = None
    only_extreme: bool = False


def judge_claims(session: Session, claims: Sequence[Sourced] | None = None) -> ClaimFindings:
    """Every claim of the library, or those given, held against a session."""
    held = studies.library().claims if claims is None else tuple(claims)
    measured = Measured(session)
    found = [_evidence_if_any(item, measured) for item in held]
    rows = [
        row for evidence in found if isinstance(evidence, _Evidence) for test in evidence.tests for row in test.rows
    ]
    p_values = iter(sign_flips.adjusted(rows))
    findings = []
    for item, evidence in zip(held, found, strict=True):
        if isinstance(evidence, ClaimFinding):
            findings.append(evidence)
            continue
        own = [np.array([next(p_values) for _ in test.rows]) for test in evidence.tests]
        findings.append(_finding(item, evidence, own, len(rows), measured.block_s))
    machine = session.header.machine
    return ClaimFindings(
        path=session.path,
        started=session.header.started,
        machine_key=machine.key,
        cpu=machine.facts.get("cpu", ""),
        void=measured.void,
        blocks=measured.blocks,
        confidence=VERDICT_CONFIDENCE,
        edges=len(rows),
        findings=tuple(findings),
        compilers=tuple(sorted({run.compiler for run in session.runs if run.timed})),
        titles=session.header.titles,
    )


# --- evidence ---------------------------------------------------------------------------------------------------------


def _evidence_if_any(item: Sourced, measured: Measured) -> _Evidence | ClaimFinding:
    test = item.claim.test
    if isinstance(test, Simulated):
        return _of_simulation(item, test)
    try:
        return _evidence(test, measured)
    except NoAnswer as none:
        return ClaimFinding(claim=item.claim, source=item.source, verdict=none.verdict, reason=none.reason)


def _of_simulation(item: Sourced, rule: Simulated) -> ClaimFinding:
    """What a simulation says is the same each time: it has no interval, and the verdict needs no session."""
    of, *over = item.named
    value, unit = (of.value / over[0].value, "1") if over else (of.value, of.unit)
    low, high = rule.at_least, rule.at_most
    within = (low is None or value >= low) and (high is None or value <= high)
    verdict = ClaimVerdict.HOLDS if within else ClaimVerdict.FAILS
    seen = RangeSeen(
        of=rule.of, over=rule.over, unit=unit, value=value, low=value, high=value, n=0,
        at_least=low, at_most=high, verdict=verdict,
    )  # fmt: skip
    figures = tuple(
        FigureSeen(
            case=one.mechanism, metric=one.origin, unit=one.unit, net=False, n=0, median=one.value, low=None, high=None
        )
        for one in item.named
    )
    return ClaimFinding(claim=item.claim, source=item.source, verdict=verdict, figures=figures, ranges=(seen,))


def _evidence(test: MeasuredTest, measured: Measured) -> _Evidence:
    match test:
        case Ratio() as rule:
            of, over = measured.column(rule.of), measured.column(rule.over)
            return _Evidence((of, over), (ranges.ratio(of, over, rule.at_least, rule.at_most),))
        case Equal() as rule:
            of, over = measured.column(rule.of), measured.column(rule.over)
            return _Evidence((of, over), (ranges.ratio(of, over, 1 / (1 + rule.margin), 1 + rule.margin),))
        case Order() as rule:
            columns = tuple(measured.column(operand) for operand in rule.rising)
            return _Evidence(columns, tuple(ranges.ratio(dear, cheap, 1.0, None) for cheap, dear in pairwise(columns)))
        case Range() as rule:
            column = measured.column(rule.of)
            _check_unit(column, rule.unit)
            return _Evidence((column,), (ranges.figure(column, rule.at_least, rule.at_most),))
        case Flat() as rule:
            return _flat(measured.sweep(rule.along), rule)
        case Growth() as rule:
            return _growth(measured.sweep(rule.along), rule, measured.cpus)


def _check_unit(column: Column, unit: str) -> None:
    if column.metric.unit != unit:
        raise other_unit(column, unit)


def _flat(points: dict[int, Column], rule: Flat) -> _Evidence:
    if len(points) < 2:
        raise _too_few_points(ClaimVerdict.NOT_MEASURED, rule.along, len(points), 2)
    blocks = {x: int(np.isfinite(column.values).sum()) for x, column in points.items()}
    # Points that were measured in fewer blocks, for a table, would leave every pair that they are in undecided.
    columns = tuple(column for x, column in points.items() if 2 * blocks[x] >= max(blocks.values()))
    kept = columns if len(columns) > 1 else tuple(points.values())
    tests = tuple(ranges.ratio(b, a, 1 / rule.factor, rule.factor) for a, b in combinations(kept, 2))
    return _Evidence(kept, tests, only_extreme=True)


def _growth(points: dict[int, Column], rule: Growth, cpus: int) -> _Evidence:
    columns = tuple(points.values())
    if len(points) < _GROWTH_POINTS:
        raise _too_few_points(ClaimVerdict.UNDECIDED, rule.along, len(points), _GROWTH_POINTS)
    fewest = min(int(np.isfinite(column.values).sum()) for column in columns)
    if fewest < fewest_blocks():
        raise NoAnswer(ClaimVerdict.UNDECIDED, Why.FEW_BLOCKS_AT_A_POINT, n=fewest, needed=fewest_blocks())
    table = np.array([column.values for column in columns])
    if np.nanmin(table) <= 0:
        raise NoAnswer(ClaimVerdict.UNDECIDED, Why.POINT_NOT_ABOVE_ZERO)
    placed = columns[0].runs.planned.case.placement
    fit = partial(_fit, list(points), cpus=None if placed == "same" else float(cpus))
    fitted = fit(table)
    without_one = [fit(np.delete(table, block, axis=1)) for block in range(table.shape[1])]
    return _Evidence(
        columns,
        growth=GrowthSeen(
            parameter=rule.along.parameter,
            claimed=rule.form,
            form=fitted.form,
            weight=fitted.confidence,
            candidates=fitted.candidates,
            misfit=fitted.misfit,
            rise_low=fitted.rise_low,
            rise_high=fitted.rise_high,
            stable=all(one.form == fitted.form for one in without_one),
            excluded=all(rule.form in one.ruled_out for one in (fitted, *without_one)),
        ),
    )


def _fit(n: Sequence[int], table: FloatArray, cpus: float | None) -> growth.Growth:
    """The growth of the points' medians over the blocks (columns of the table)."""
    return growth.fit_growth(n, np.nanmedian(table, axis=1), cpus=cpus)


def _too_few_points(verdict: ClaimVerdict, sweep: Sweep, points: int, needed: int) -> NoAnswer:
    facts: dict[str, Fact] = {
        "points": points,
        "parameter": sweep.parameter,
        "smallest": sweep.smallest,
        "needed": needed,
    }
    if sweep.largest is None:
        return NoAnswer(verdict, Why.FEW_POINTS, **facts)
    return NoAnswer(verdict, Why.FEW_POINTS_WITHIN, largest=sweep.largest, **facts)


# --- verdicts ---------------------------------------------------------------------------------------------------------


def _finding(
    item: Sourced, evidence: _Evidence, p_values: Sequence[FloatArray], edges: int, block_s: float
) -> ClaimFinding:
    verdicts = [test.together(own) for test, own in zip(evidence.tests, p_values, strict=True)]
    verdict = _of_growth(evidence.growth) if evidence.growth else _of_all(verdicts)
    undecided = [test for test, one in zip(evidence.tests, verdicts, strict=True) if one is ClaimVerdict.UNDECIDED]
    open_question = verdict is ClaimVerdict.UNDECIDED and bool(undecided)
    return ClaimFinding(
        claim=item.claim,
        source=item.source,
        verdict=verdict,
        reason=_why(undecided, edges) if open_question else _why_growth(evidence.growth, verdict),
        figures=tuple(dict.fromkeys(_seen(column) for column in evidence.columns)),
        ranges=_ranges(evidence, verdicts, verdict),
        growth=evidence.growth,
        settle=_settle(undecided, edges, block_s) if open_question else None,
        caveats=_caveats(evidence.columns),
    )


def _of_all(verdicts: Sequence[ClaimVerdict]) -> ClaimVerdict:
    """One range missed refutes the claim; it holds when all ranges are kept."""
    if ClaimVerdict.FAILS in verdicts:
        return ClaimVerdict.FAILS
    return ClaimVerdict.UNDECIDED if ClaimVerdict.UNDECIDED in verdicts else ClaimVerdict.HOLDS


def _of_growth(seen: GrowthSeen) -> ClaimVerdict:
    """It holds only by a form that is told, and told without any one of the blocks as well.

    It fails as soon as the claimed form is out of the question, although several others may remain.
    """
    if seen.excluded:
        return ClaimVerdict.FAILS
    return ClaimVerdict.HOLDS if seen.stable and seen.form == seen.claimed else ClaimVerdict.UNDECIDED


def _why_growth(seen: GrowthSeen | None, verdict: ClaimVerdict) -> Reason | None:
    if seen is None or verdict is not ClaimVerdict.UNDECIDED:
        return None
    return Reason(Why.NO_ONE_FORM if seen.form == "cannot tell" else Why.FORM_CHANGES)


def _why(undecided: Sequence[ranges.RangeTest], edges: int) -> Reason:
    fewest = min(test.blocks for test in undecided)
    if fewest < fewest_blocks():
        return Reason(Why.FEW_BLOCKS, n=fewest, needed=fewest_blocks())
    if all(test.alone is not ClaimVerdict.UNDECIDED for test in undecided):
        return Reason(Why.NOT_IN_THE_FAMILY, edges=edges)
    return Reason(Why.ACROSS_AN_END)


def _settle(undecided: Sequence[ranges.RangeTest], edges: int, block_s: float) -> Settle:
    """Blocks until the last of these tests is decided, as far as can be foreseen."""
    needed = [ranges.blocks_more(test, edges) for test in undecided]
    known = [blocks for blocks in needed if blocks is not None]
    if len(known) < len(needed):
        return Settle(blocks=None, minutes=None)
    first = any(test.blocks < fewest_blocks() for test in undecided)
    return Settle(blocks=max(known), minutes=max(known) * block_s / 60, first=first)


def _seen(column: Column) -> FigureSeen:
    there = column.values[np.isfinite(column.values)]
    interval = median_interval(there, VERDICT_CONFIDENCE)
    return FigureSeen(
        case=column.case,
        metric=column.metric.name,
        unit=column.metric.unit,
        net=column.net,
        n=there.size,
        median=middle(there),
        low=known(interval.low),
        high=known(interval.high),
        loops=column.runs.loops,
    )


def _ranges(evidence: _Evidence, verdicts: Sequence[ClaimVerdict], whole: ClaimVerdict) -> tuple[RangeSeen, ...]:
    """The tests, or of the pairs of a sweep the one that lies furthest apart of those that decided."""
    seen = [_range(test, verdict) for test, verdict in zip(evidence.tests, verdicts, strict=True)]
    if not evidence.only_extreme or not seen:
        return tuple(seen)
    return (max((one for one in seen if one.verdict is whole), key=lambda one: abs(math.log(one.value))),)


def _range(test: ranges.RangeTest, verdict: ClaimVerdict) -> RangeSeen:
    estimate = test.estimate_at(VERDICT_CONFIDENCE)
    unbounded = math.isinf(estimate.high)
    return RangeSeen(
        of=_label(test.of),
        over=_label(test.over) if test.over else None,
        unit="1" if test.over else test.of.metric.unit,
        value=estimate.value,
        low=None if unbounded else estimate.low,
        high=None if unbounded else estimate.high,
        n=estimate.n,
        at_least=test.at_least,
        at_most=test.at_most,
        verdict=verdict,
    )


def _label(column: Column) -> str:
    """The case, with its metric where that is not the main one."""
    main = column.metric == column.runs.descriptor.metrics[0]
    return " ".join([column.case, *([] if main else [column.metric.name]), *(["less overhead"] if column.net else [])])


def _caveats(columns: Sequence[Column]) -> tuple[Said, ...]:
    said = [of(column.case, caveat) for column in columns for caveat in column.doubts]
    said += [of(column.case, caveat) for column in columns for caveat in disturbed(column.runs)]
    return tuple(dict.fromkeys(said))
