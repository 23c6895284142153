# SPDX-License-Identifier: Apache-2.0
"""What should make a reader doubt: controls, caveats, failures, skips, disturbances and wrong figures of others."""

from __future__ import annotations

from collections.abc import Iterable

from steelyard.judge.findings import Findings
from steelyard.show import naming, reasons
from steelyard.show.page.markup import Markup, fold, joined, listed, table, tag

_SIGNS = {"passed": "✓", "doubtful": "?", "failed": "✗", "too few blocks to tell": "?"}
_KINDS = {"passed": "passed", "doubtful": "few", "failed": "failed", "too few blocks to tell": "few"}
_IN_THE_OPEN = 6


def doubts(findings: Findings) -> Markup:
    """All of them, the short lists in the open."""

    def named(case: str) -> str:
        return naming.with_name(case, findings.titles)

    by_caveat: dict[str, list[str]] = {}
    for case in findings.cases:
        for caveat in case.caveats:
            by_caveat.setdefault(reasons.said(caveat), []).append(named(case.case))
    errors = dict.fromkeys(
        f"{item.figure.mechanism}: {item.figure.error} [{item.source.id}, {item.source.year}]"
        for item in findings.known_wrong
    )
    return joined(
        [
            _controls(findings),
            _list("What disturbed the machine", (f"{one.what}; {one.advice}" for one in findings.disturbances)),
            _list("Caveats", (f"{caveat}: {_some(cases)}" for caveat, cases in by_caveat.items())),
            _list("Failed", (f"{named(case)}: {error}" for case, error in findings.failures.items())),
            _list(
                "Could not be measured here",
                (f"{skip.subject}: {reasons.said(skip.reason)}" for skip in findings.skips),
            ),
            _list(
                "Cleaned up after", (f"{named(case)}: {'; '.join(what)}" for case, what in findings.leftovers.items())
            ),
            _list("Known errors of published figures", errors),
        ]
    )


def _controls(findings: Findings) -> Markup:
    if not findings.controls:
        return tag("p", "This session carries no controls: nothing says whether it can be believed.")
    rows = [
        (
            control.name,
            tag("span", f"{_SIGNS[control.state]} {control.state}", class_=f"verdict {_KINDS[control.state]}"),
            reasons.said(control.showed),
        )
        for control in findings.controls
    ]
    return joined(
        [tag("h3", "Controls"), tag("div", table(("control", "state", "what it showed"), rows), class_="prose")]
    )


def _some(cases: list[str]) -> str:
    return ", ".join(cases) if len(cases) <= 2 else f"{cases[0]} and {len(cases) - 1} more"


def _list(title: str, items: Iterable[str]) -> Markup:
    lines = list(items)
    if not lines:
        return Markup()
    shown, rest = lines[:_IN_THE_OPEN], lines[_IN_THE_OPEN:]
    return joined([tag("h3", title), listed(shown), *([fold(f"{len(rest)} more", listed(rest))] if rest else [])])
