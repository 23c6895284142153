# SPDX-License-Identifier: Apache-2.0
"""Markdown: a table of the cases and the doubts below it, for a comment or a page."""

from __future__ import annotations

from steelyard.judge.comparisons import Compared, Comparisons
from steelyard.judge.ledger import CaseEntry, Ledger
from steelyard.show import reasons, void
from steelyard.show.comparison import interval, verdict
from steelyard.show.markdown import code, table, text
from steelyard.units import format_change, format_interval, format_quantity


def _row(case: Compared, margin: float) -> tuple[str, ...]:
    return (
        code(case.case),
        format_quantity(case.a, case.unit),
        format_quantity(case.b, case.unit),
        f"{format_change(case.ratio)} {interval(case)}",
        ("**worse**: " if case.worse else "") + verdict(case, margin),
    )


def comparisons(found: Comparisons) -> str:
    """A table with what differs first, and the doubts below it."""
    order = {"different": 0, "undecided": 1, "equivalent": 2}
    cases = sorted(found.cases, key=lambda case: (not case.worse, order[case.verdict]))
    lines = [f"a: {code(found.a)}, b: {code(found.b)}, margin {100 * found.margin:g} %", ""]
    if found.void:
        lines += [f"**{text(void.said(found.void))}**", ""]
    head = ("case", "a", "b", "b against a", "verdict")
    lines += table(head, (_row(case, found.margin) for case in cases), numbers=head[1:4])
    lines += ["", *(f"- {text(reasons.said(line))}" for line in (*found.left_out, *found.caveats))]
    return "\n".join(lines).rstrip() + "\n"


def export(ledger: Ledger) -> str:
    """A session: its machine, a row a case, then every caveat once."""
    findings = ledger.findings
    facts = findings.machine
    lines = [
        text(
            f"{facts.get('cpu', 'unknown CPU')}, {facts.get('logical cpus', '?')} CPUs, "
            f"machine {findings.machine_key}, {findings.started}, {findings.blocks} blocks"
        ),
        "",
    ]
    if findings.void:
        lines += [f"**{text(void.said(findings.void))}**", ""]
    head = ("case", "figure", "median", "95 % interval", "minimum", "runs")
    lines += table(head, (_session_row(entry) for entry in ledger.cases), numbers=head[2:])
    caveats = dict.fromkeys(reasons.said(caveat) for entry in ledger.cases for caveat in entry.finding.caveats)
    doubts = [*caveats, *(item.what for item in findings.disturbances)]
    doubts += [f"{case} failed: {error}" for case, error in findings.failures.items()]
    doubts += [f"{skip.subject} was skipped: {reasons.said(skip.reason)}" for skip in findings.skips]
    lines += ["", *(f"- {text(doubt)}" for doubt in doubts)]
    return "\n".join(lines).rstrip() + "\n"


def _session_row(entry: CaseEntry) -> tuple[str, ...]:
    main = entry.finding.main
    return (
        code(entry.case.name),
        text(main.metric),
        format_quantity(main.median, main.unit),
        format_interval(main.low, main.high, main.median, main.unit, "–"),
        format_quantity(main.minimum, main.unit),
        str(main.n),
    )
