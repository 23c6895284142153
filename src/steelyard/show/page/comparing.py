# SPDX-License-Identifier: Apache-2.0
"""Sessions against each other; those of other machines side by side, and not ranked."""

from __future__ import annotations

from steelyard.judge.cases import CaseFinding
from steelyard.judge.comparisons import Compared, Comparisons
from steelyard.judge.report import Report
from steelyard.show import naming, reasons, void
from steelyard.show.page import figures
from steelyard.show.page.markup import Markup, fold, joined, listed, table, tag
from steelyard.units import format_interval, format_quantity

#: Ratios of a question that are drawn in the open; more of them are folded away.
_OPEN = 40


def comparisons(report: Report) -> Markup:
    """All pairs with the first session, then the machines side by side."""
    labels = [judged.label for judged in report.sessions if judged.label not in report.apart][1:]
    parts = [
        _pair(found, label, number)
        for number, (found, label) in enumerate(zip(report.comparisons, labels, strict=True))
    ]
    if report.apart:
        parts.append(_apart(report))
    return joined(parts)


def _pair(found: Comparisons, label: str, number: int) -> Markup:
    counts = {
        word: sum(case.verdict == word for case in found.cases) for word in ("different", "equivalent", "undecided")
    }
    groups: dict[str, list[Compared]] = {}
    for case in found.cases:
        groups.setdefault(case.case.split("/")[0], []).append(case)
    title = naming.capital(label)
    return joined(
        [
            tag("h3", f"{title} against session A"),
            tag(
                "p",
                f"Of {len(found.cases)} cases that both have, {counts['different']} are different, "
                f"{counts['equivalent']} equivalent within {100 * found.margin:g} %, and {counts['undecided']} "
                f"undecided. All verdicts together hold at {100 * found.confidence:.3g} % (Holm). What the machine "
                "itself changed between the sessions is divided out by the sentinel.",
            ),
            *void.note(found.void),
            *([listed(map(reasons.said, found.caveats))] if found.caveats else []),
            *(
                _group(f"ratios-{number}-{place}", question, cases, found)
                for place, (question, cases) in enumerate(groups.items())
            ),
            *(
                [
                    fold(
                        f"{len(found.left_out)} cases that only one of them has",
                        listed(map(reasons.said, found.left_out)),
                    )
                ]
                if found.left_out
                else []
            ),
        ]
    )


def _group(name: str, question: str, cases: list[Compared], found: Comparisons) -> Markup:
    ordered = sorted(cases, key=lambda case: (-case.ratio, case.case))
    figure = figures.ratios(name, question, ordered, found)
    differ = sum(case.verdict == "different" for case in cases)
    if differ and len(cases) <= _OPEN:
        return figure
    return fold(f"{question}: {len(cases)} ratios, {differ or 'none'} different", figure)


def _apart(report: Report) -> Markup:
    """Medians in the order of the plan. No ratio: it would be of machines as well as of cases."""
    shown = report.sessions
    found: dict[str, dict[str, CaseFinding]] = {}
    for judged in shown:
        for case in judged.findings.cases:
            if not case.control:
                found.setdefault(case.case, {})[judged.label] = case
    rows = [
        (name, *(_median(cases.get(judged.label)) for judged in shown))
        for name, cases in found.items()
        if len(cases) > 1
    ]
    machines = [
        f"{judged.label}: {judged.findings.machine.get('cpu', '')}, machine key {judged.findings.machine_key}"
        for judged in shown
    ]
    return joined(
        [
            tag("h3", "Different machines, side by side"),
            tag(
                "p",
                f"{', '.join(report.apart)} of another machine than session A: shown beside it and not ranked, for a "
                "ratio would be of the machines as well as of the mechanisms.",
            ),
            listed(machines),
            fold(
                f"{len(rows)} cases of more than one session",
                table(("case", *(judged.label for judged in shown)), rows, caption="median and 95 % interval"),
            ),
        ]
    )


def _median(case: CaseFinding | None) -> str:
    if case is None:
        return ""
    main = case.main
    median = format_quantity(main.median, main.unit)
    if main.modes:
        return f"{' / '.join(format_quantity(mode.median, main.unit) for mode in main.modes)} (two modes)"
    if main.low is None or main.high is None:
        return median
    return f"{median} {format_interval(main.low, main.high, main.median, main.unit)}"
