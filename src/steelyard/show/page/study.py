# SPDX-License-Identifier: Apache-2.0
"""A study run again, as a page: what it comes to, its figures and tables, its statements, and where it was wrong."""

from __future__ import annotations

from steelyard.judge.plots import of_studies
from steelyard.judge.replication import Replication
from steelyard.judge.verdicts import ClaimFinding
from steelyard.show import claims as claim_words
from steelyard.show import figure_text, naming, void
from steelyard.show import study as study_words
from steelyard.show.page import claims, figures, studies
from steelyard.show.page.markup import Markup, definitions, joined, listed, named, table, tag
from steelyard.units import format_quantity


def head(found: Replication) -> list[Markup]:
    """What the page is about."""
    source, session = found.source, found.session
    machine = session.machine.get("cpu", "this machine")
    return [
        tag("p", "Steelyard", class_="mark"),
        tag("h1", f"{source.title} ({source.year})"),
        tag("p", f"Run again on {machine}. {study_words.verdicts(found)}.", class_="lede"),
        *void.note(session.void),
        definitions(
            [
                ("Source", tag("a", source.url, href=source.url) if source.url.startswith("http") else source.url),
                ("Its machine", source.machine),
                *((heading.capitalize() or "And", text) for heading, text in study_words.sure(found)),
            ],
            "facts",
        ),
    ]


def parts(found: Replication) -> list[tuple[str, str, Markup]]:
    """The sections of a study: id, title and contents."""
    name = found.source.name
    drawn = [figures.curves(plot) for plot in of_studies(found.session, f"{name}-")]
    tables = [piece for one in found.tables for piece in (tag("h3", one.title), studies.study_table(one))]
    sections = [
        ("telling", "In short", _telling(found)),
        ("figures", "Its figures, then and now", joined([*drawn, *tables, _figures(found)])),
        ("statements", "Its statements", claims.claims(found.claims)),
        ("errata", "Where it was wrong", _errata(found)),
        ("absent", "Not asked, and why", listed(study_words.absences(found)) if found.absent else Markup()),
    ]
    return [(f"{name}-{id_}", title, contents) for id_, title, contents in sections if contents]


def _telling(found: Replication) -> Markup:
    items = [tag("li", *_statement(finding)) for finding in found.telling]
    return tag("ul", *items, class_="statements") if items else Markup()


def _statement(finding: ClaimFinding) -> list[Markup]:
    return [
        tag("strong", f"{claim_words.SIGNS[finding.verdict]} ", class_=finding.verdict.value),
        tag("span", finding.claim.statement),
        tag("div", f"Then: {finding.claim.said}.", class_="here"),
        tag("div", f"Here: {claim_words.short(finding)}.", class_="here"),
    ]


def _figures(found: Replication) -> Markup:
    measured = [
        (
            row.published.figure.mechanism,
            format_quantity(row.published.figure.value, row.published.figure.unit),
            "" if row.value is None else format_quantity(row.value, row.unit),
            figure_text.times(row.times),
            named(naming.in_words(row.case, found.session.titles), row.case),
        )
        for row in found.figures
        if row.case is not None
    ]
    if not measured:
        return Markup()
    return table(("figure", "then", "now", "times", "case"), measured, caption="Figures that stand in no table")


def _errata(found: Replication) -> Markup:
    if not found.errata:
        return Markup()
    rows = [
        (
            seen.erratum.section,
            seen.erratum.concluded,
            seen.erratum.so,
            joined(tag("div", study_words.shown(one, found.session.titles)) for one in seen.shown),
        )
        for seen in found.errata
    ]
    return joined(
        [
            tag("p", f"It got right: {found.right}"),
            table(("where", "what was concluded", "what is so", "here"), rows, numbers_from=9),
        ]
    )
