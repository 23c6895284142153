# SPDX-License-Identifier: Apache-2.0
"""What others say, with its verdict here and the evidence."""

from __future__ import annotations

from itertools import groupby

from steelyard.judge.claims import ClaimVerdict
from steelyard.judge.verdicts import ClaimFinding, ClaimFindings
from steelyard.show import machine_code
from steelyard.show.claims import SIGNS, Titles, answered, context, counts, evidence, method, short
from steelyard.show.page.markup import Markup, definitions, fold, joined, tag


def claims(findings: ClaimFindings) -> Markup:
    """The answered claims in the open, by source; the others folded away, and so are sources without an answer."""
    ranked = sorted(findings.findings, key=lambda finding: finding.source.id)
    by_source = [list(members) for _, members in groupby(ranked, key=lambda finding: finding.source.id)]
    heard = [members for members in by_source if any(map(answered, members))]
    silent = [members for members in by_source if members not in heard]
    return joined(
        [
            tag("p", f"{counts(findings)}.", class_="lead"),
            *(_source(members, findings.titles) for members in heard),
            *(
                [
                    fold(
                        f"{len(silent)} sources of which this session answers nothing",
                        *(_source(members, findings.titles) for members in silent),
                    )
                ]
                * bool(silent)
            ),
            tag("p", method(findings), class_="soft"),
        ]
    )


def _source(members: list[ClaimFinding], titles: Titles) -> Markup:
    source = members[0].source
    order = list(ClaimVerdict)
    said = sorted((one for one in members if answered(one)), key=lambda one: order.index(one.verdict))
    decided = [one for one in said if one.verdict is not ClaimVerdict.UNDECIDED]
    undecided = [one for one in said if one.verdict is ClaimVerdict.UNDECIDED]
    unanswered = [one for one in members if not answered(one)]
    return joined(
        [
            tag("h3", f"{source.cited}, {source.year}"),
            tag("p", f"Machine: {source.machine}.", class_="soft"),
            *_claims(decided, titles),
            *([fold(f"{len(undecided)} undecided", *_claims(undecided, titles))] if undecided else []),
            *(
                [fold(f"{len(unanswered)} not measured, or not comparable", *_claims(unanswered, titles))]
                if unanswered
                else []
            ),
        ]
    )


def _claims(findings: list[ClaimFinding], titles: Titles) -> list[Markup]:
    return [_claim(finding, titles) for finding in findings]


def _claim(finding: ClaimFinding, titles: Titles) -> Markup:
    claim, verdict = finding.claim, finding.verdict
    found_lines = evidence(finding, titles)
    here = [text for heading, text in found_lines if heading in {"here", ""}]
    why = [(heading, text) for heading, text in found_lines if heading not in {"here", ""}]
    pairs = [
        *([("here", joined(tag("div", text) for text in here))] if here else []),
        *((heading, text) for heading, text in why),
        *context(finding),
        *(
            (figure.case, fold(machine_code.counted(figure.loops), tag("pre", machine_code.listing(figure.loops))))
            for figure in finding.figures
            if figure.loops
        ),
    ]
    word = tag("span", f"{SIGNS[verdict]} {verdict.value}", class_=f"verdict {verdict.value.replace(' ', '-')}")
    found = tag("span", short(finding), class_="found") if finding.ranges or finding.growth else Markup()
    return tag(
        "details",
        tag("summary", word, tag("span", claim.statement, found, class_="statement")),
        definitions(pairs),
        class_="claim",
    )
