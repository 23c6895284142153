# SPDX-License-Identifier: Apache-2.0
"""What others say, with its verdict here and the evidence."""

from __future__ import annotations

from itertools import groupby

from steelyard.judge.claims import ClaimVerdict
from steelyard.judge.verdicts import ClaimFinding, ClaimFindings
from steelyard.show import machine_code
from steelyard.show.claims import SIGNS, answered, counts, evidence, short
from steelyard.show.page.markup import Markup, definitions, fold, joined, tag

_CAVEATS = 3


def claims(findings: ClaimFindings) -> Markup:
    """The answered claims in the open, by source; the others folded away, and so are sources without an answer."""
    ranked = sorted(findings.findings, key=lambda finding: finding.source.id)
    by_source = [list(members) for _, members in groupby(ranked, key=lambda finding: finding.source.id)]
    heard = [members for members in by_source if any(map(answered, members))]
    silent = [members for members in by_source if members not in heard]
    return joined(
        [
            tag("p", f"{counts(findings)}.", class_="lead"),
            *map(_source, heard),
            *(
                [fold(f"{len(silent)} sources of which this session answers nothing", *map(_source, silent))]
                * bool(silent)
            ),
            tag("p", _method(findings), class_="soft"),
        ]
    )


def _source(members: list[ClaimFinding]) -> Markup:
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
            *(_claim(one) for one in decided),
            *([fold(f"{len(undecided)} undecided", *(_claim(one) for one in undecided))] if undecided else []),
            *(
                [fold(f"{len(unanswered)} not measured, or not comparable", *(_claim(one) for one in unanswered))]
                if unanswered
                else []
            ),
        ]
    )


def _claim(finding: ClaimFinding) -> Markup:
    claim, verdict = finding.claim, finding.verdict
    here = [text for heading, text in evidence(finding) if heading in {"here", ""}]
    why = [(heading, text) for heading, text in evidence(finding) if heading not in {"here", ""}]
    shown = finding.caveats[:_CAVEATS]
    more = len(finding.caveats) - len(shown)
    pairs = [
        *([("here", joined(tag("div", text) for text in here))] if here else []),
        *((heading, text) for heading, text in why),
        ("said", claim.said),
        ("scope", claim.scope),
        *([("but", claim.note)] if claim.note else []),
        *(
            (figure.case, fold(machine_code.counted(figure.loops), tag("pre", machine_code.listing(figure.loops))))
            for figure in finding.figures
            if figure.loops
        ),
        *(("caveat", caveat) for caveat in shown),
        *([("", f"and {more} more caveats")] if more > 0 else []),
    ]
    word = tag("span", f"{SIGNS[verdict]} {verdict.value}", class_=f"verdict {verdict.value.replace(' ', '-')}")
    found = tag("span", short(finding), class_="found") if finding.ranges or finding.growth else Markup()
    return tag(
        "details",
        tag("summary", word, tag("span", claim.statement, found, class_="statement")),
        definitions(pairs),
        class_="claim",
    )


def _method(findings: ClaimFindings) -> str:
    return (
        f"Intervals are of {findings.confidence:.0%}. A verdict stands only if it also does when all {findings.edges} "
        "ends of ranges are judged together (sign flips of whole blocks, Westfall and Young), so that the chance of "
        f"even one wrong verdict is held at {1 - findings.confidence:.0%}."
    )
