# SPDX-License-Identifier: Apache-2.0
"""A study run again: what it asks for, how many blocks that takes, and the study held against a session."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from steelyard.judge.answers import Absence, missed_by, varied
from steelyard.judge.cases import Figure
from steelyard.judge.claims import Claim, ClaimVerdict, Equal, Flat, Growth, Order, Range, Ratio, Simulated, Sweep
from steelyard.judge.explain import meant
from steelyard.judge.findings import Findings, measured
from steelyard.judge.published import Erratum, Published, Source
from steelyard.judge.reasons import Said
from steelyard.judge.stats.planning import fewest_blocks
from steelyard.judge.studies import Library, Study
from steelyard.judge.tables import StudyTable
from steelyard.judge.verdicts import ClaimFinding, ClaimFindings, judge_claims
from steelyard.records import Case, CasePattern, Record, Session, Skip

#: Statements that a summary shows.
MOST_TELLING = 5
#: Points of a sweep that are measured for a growth, which five decide at the least, and for a flat line.
POINTS_OF_GROWTH, POINTS_OF_FLAT = 8, 5
#: Runs that take as long as the pilot of a case, which has few values and looks for their length.
_PILOT_RUNS = 1.5


class Need(Record, frozen=True, kw_only=True):
    """A case that a study asks for, in this number of ``blocks``. ``along`` is swept in ``points`` points.

    ``whatever``: any measured case that this pattern stands for will do.
    """

    case: str
    blocks: int = fewest_blocks()
    along: Sweep | None = None
    points: int = 1
    whatever: bool = False


class Replicated(Record, frozen=True, kw_only=True):
    """A published figure and ours; ``times`` is ours over theirs, corrected where theirs is known to be wrong."""

    published: Published
    case: str | None = None
    value: float | None = None
    unit: str = ""
    times: float | None = None


class Shown(Record, frozen=True, kw_only=True):
    """What cases that an erratum rests on gave here: one figure, or the least and the greatest of several."""

    case: str
    cases: int
    least: float
    greatest: float
    unit: str


class ErratumSeen(Record, frozen=True, kw_only=True):
    """An erratum with what this machine shows of it."""

    erratum: Erratum
    shown: tuple[Shown, ...]


class Replication(Record, frozen=True, kw_only=True):
    """A study held against a session. ``session`` has the study's tables alone, ``claims`` its statements alone.

    ``figures``: those published that no table of its shows. ``telling``: the statements that fail by most, then some
    that hold. ``absent``: why statements could not be asked. ``explained``: a case of a telling statement that
    `explain` can take apart.
    """

    source: Source
    right: str
    session: Findings
    claims: ClaimFindings
    figures: tuple[Replicated, ...]
    errata: tuple[ErratumSeen, ...]
    counts: dict[ClaimVerdict, int]
    telling: tuple[ClaimFinding, ...]
    absent: tuple[Absence, ...]
    explained: str | None

    @property
    def tables(self) -> tuple[StudyTable, ...]:
        """The study's tables."""
        return self.session.tables


class Outlook(Record, frozen=True, kw_only=True):
    """What running a study again takes here: about how many seconds a run of each case, and in how many blocks.

    ``languages``: of its probes. ``missing`` says what cannot
    be measured here, and why.
    """

    study: Study
    run_s: dict[Case, float]
    blocks_of: dict[Case, int]
    languages: tuple[str, ...]
    missing: tuple[Skip, ...]

    @property
    def blocks(self) -> int:
        """Blocks of the session."""
        return max(self.blocks_of.values(), default=0)

    @property
    def seconds(self) -> float:
        """About how long it takes."""
        return math.fsum((self.blocks_of[case] + _PILOT_RUNS) * seconds for case, seconds in self.run_s.items())


# --- before measuring -------------------------------------------------------------------------------------------------


def needs(study: Study) -> tuple[Need, ...]:
    """What a study asks for: the cases of its statements and tables, then those of figures and errata that lack one."""
    blocks = blocks_for(study.claims)
    exact = [
        *(need for claim in study.claims for need in _of_claim(claim, blocks)),
        *(
            Need(case=case)
            for table in study.tables
            for column in table.column
            if column.era == "now"
            for case in table.cases(column)
        ),
    ]
    any_of = [figure.case for figure in study.figures if figure.case]
    any_of += [case for erratum in study.errata for case in erratum.cases]
    return tuple(dict.fromkeys([*exact, *(Need(case=case, whatever=True) for case in any_of)]))


def _of_claim(claim: Claim, blocks: int) -> Iterator[Need]:
    match claim.test:
        case Growth(along=along):
            yield Need(case=along.of.case, blocks=blocks, along=along, points=POINTS_OF_GROWTH)
        case Flat(along=along):
            yield Need(case=along.of.case, blocks=blocks, along=along, points=POINTS_OF_FLAT)
        case _ as test:
            yield from (Need(case=operand.case, blocks=blocks) for operand in test.operands)


def blocks_for(claims: Sequence[Claim]) -> int:
    """Blocks for the statements to be decided together: each end of a range is a question.

    As many as decide all of them if every block agrees, and twice as many again as give an interval, because some do
    not.
    """
    return fewest_blocks(max(1, sum(_ends(claim) for claim in claims))) + 2 * fewest_blocks()


def _ends(claim: Claim) -> int:
    match claim.test:
        case Ratio(at_least=low, at_most=high) | Range(at_least=low, at_most=high):
            return (low is not None) + (high is not None)
        case Equal():
            return 2
        case Order(rising=rising):
            return len(rising) - 1
        case Flat():
            return 2 * math.comb(POINTS_OF_FLAT, 2)
        case Growth() | Simulated():
            return 0


# --- after it ---------------------------------------------------------------------------------------------------------


def replicate(session: Session, findings: Findings, study: Study, library: Library) -> Replication:
    """A study held against a session, of which ``findings`` says what was measured."""
    there = measured(findings.cases)
    claims = judge_claims(session, [item for item in library.claims if item.source == study.source])
    found = claims.findings
    failing = [one for one in found if one.verdict is ClaimVerdict.FAILS]
    holding = [one for one in found if one.verdict is ClaimVerdict.HOLDS]
    telling = varied([*sorted(failing, key=missed_by, reverse=True), *holding], MOST_TELLING)
    tables = tuple(table.filled(there) for table in library.tables if table.source == study.source)
    return Replication(
        source=study.source,
        right=study.right,
        session=msgspec.structs.replace(findings, tables=tables),
        claims=claims,
        figures=tuple(row for published in _untabled(study) for row in _replicated(published, findings)),
        errata=tuple(
            ErratumSeen(
                erratum=erratum,
                shown=tuple(one for case in erratum.cases for one in _shown(case, erratum.metric, findings)),
            )
            for erratum in study.errata
        ),
        counts=Counter(one.verdict for one in found),
        telling=tuple(telling),
        absent=_absent(found),
        explained=next((figure.case for one in telling for figure in one.figures if meant(figure.case)), None),
    )


def _untabled(study: Study) -> list[Published]:
    tabled = {
        mechanism
        for table in study.tables
        for column in table.column
        if column.era == "then"
        for mechanism in table.mechanisms(column)
    }
    return [Published(source=study.source, figure=figure) for figure in study.figures if figure.mechanism not in tabled]


def _replicated(published: Published, findings: Findings) -> list[Replicated]:
    """A row for each case that the figure may stand beside; one without ours where there is none."""
    of = published.figure
    rows = [
        Replicated(
            published=published,
            case=case,
            value=figure.median,
            unit=figure.unit,
            times=of.times(figure.median, figure.unit),
        )
        for case, figure in _figures(of.case, of.metric, findings)
    ]
    return rows or [Replicated(published=published)]


def _shown(text: str, metric: str | None, findings: Findings) -> list[Shown]:
    found = _figures(text, metric, findings)
    if not found:
        return []
    medians = [figure.median for _, figure in found]
    case = found[0][0] if len(found) == 1 else text
    return [Shown(case=case, cases=len(found), least=min(medians), greatest=max(medians), unit=found[0][1].unit)]


def _figures(text: str | None, metric: str | None, findings: Findings) -> list[tuple[str, Figure]]:
    """The figures of the cases that a pattern stands for, by the case's name."""
    pattern = CasePattern.parse(text or "")
    there = [case for case in findings.cases if pattern is not None and case.is_meant_by(pattern)]
    return [(case.case, figure) for case in there if (figure := case.figure(metric or case.main.metric))]


def _absent(findings: Sequence[ClaimFinding]) -> tuple[Absence, ...]:
    """Statements that could not be asked by the reason, the reason of most first."""
    unasked = (ClaimVerdict.NOT_MEASURED, ClaimVerdict.NOT_COMPARABLE)
    by_reason: dict[Said, list[str]] = {}
    for finding in findings:
        if finding.verdict in unasked:
            by_reason.setdefault(finding.reason or "", []).append(finding.claim.id)
    ranked = sorted(by_reason.items(), key=lambda item: -len(item[1]))
    return tuple(Absence(subjects=tuple(subjects), reason=reason) for reason, subjects in ranked)
