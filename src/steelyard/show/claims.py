# SPDX-License-Identifier: Apache-2.0
"""Claims with their verdicts: for people on a terminal, and as objects for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import groupby
from typing import Any

import msgspec
from rich.padding import Padding

from steelyard.judge.claims import ClaimVerdict
from steelyard.judge.reasons import Said
from steelyard.judge.verdicts import ClaimFinding, ClaimFindings, FigureSeen, GrowthSeen, RangeSeen, Settle
from steelyard.show import machine_code, naming, reasons, void
from steelyard.show.console import Cell, Console, grid, headed, words
from steelyard.units import counted, format_interval, format_quantity

STYLES = {
    ClaimVerdict.HOLDS: "bold green",
    ClaimVerdict.FAILS: "bold red",
    ClaimVerdict.UNDECIDED: "bold yellow",
    ClaimVerdict.NOT_COMPARABLE: "dim",
    ClaimVerdict.NOT_MEASURED: "dim",
}
#: Titles of mechanisms, by probe.
Titles = Mapping[str, str]
#: A sign beside each word, for those who see no colours and for print.
SIGNS = {
    ClaimVerdict.HOLDS: "✓",
    ClaimVerdict.FAILS: "✗",
    ClaimVerdict.UNDECIDED: "?",
    ClaimVerdict.NOT_COMPARABLE: "–",
    ClaimVerdict.NOT_MEASURED: "–",
}
#: Doubts printed of one claim; a loaded machine gives a new one with every run.
_CAVEATS = 3


def show(findings: ClaimFindings, console: Console, *, every: bool = False) -> None:
    """The claims that the session answers, source by source; ``every`` claim with the reason where it does not."""
    console.print(f"{findings.cpu}, machine key {findings.machine_key}, {findings.started}", style="bold")
    console.print(f"{findings.path}, {findings.blocks} blocks", soft_wrap=True)
    void.show(findings.void, console)
    console.print()
    spoken = {finding.source.id for finding in findings.findings if decided_here(finding)}
    kept = [finding for finding in findings.findings if every or (answered(finding) and finding.source.id in spoken)]
    ranked = sorted(kept, key=lambda finding: (finding.source.id, not answered(finding)))
    for _, members in groupby(ranked, key=lambda finding: finding.source.id):
        group = list(members)
        source = group[0].source
        console.print(f"{source.cited}, {source.year}", style="bold")
        console.print(f"on {source.machine}", style="dim")
        console.print()
        for finding in group:
            _claim(finding, findings.titles, console)
    if left := len(findings.findings) - len(kept):
        console.print(
            f"{left} claims that this session does not answer are left out: `steelyard claims --all` has them."
        )
        console.print()
    _foot(findings, console)


def show_short(findings: ClaimFindings, console: Console) -> None:
    """A line for each claim that the session answers, by source; then the count of all."""
    console.print("claims of others, held against this session", style="bold")
    void.show(findings.void, console)
    kept = [finding for finding in findings.findings if decided_here(finding)]
    for source, members in groupby(kept, key=lambda finding: finding.source):
        console.print(f"  {source.cited}, {source.year}", style="dim")
        table = grid(show_header=False)
        for finding in members:
            word = words(finding.verdict.value.upper(), style=STYLES[finding.verdict])
            table.add_row("", word, finding.claim.statement)
        console.print(table)
    console.print(counts(findings))
    console.print("`steelyard claims` shows the evidence, and where a statement was wrong.")


def as_json(findings: ClaimFindings) -> list[dict[str, Any]]:
    """One object a claim."""
    return [_object(finding, findings.void) for finding in findings.findings]


def _object(finding: ClaimFinding, why_void: Said | None) -> dict[str, Any]:
    claim = finding.claim
    return {
        "id": claim.id,
        "statement": claim.statement,
        "verdict": finding.verdict.value,
        "reason": finding.reason,
        "void": why_void,
        "ranges": msgspec.to_builtins(finding.ranges),
        "figures": msgspec.to_builtins(finding.figures),
        "growth": msgspec.to_builtins(finding.growth),
        "settle": msgspec.to_builtins(finding.settle),
        "caveats": list(finding.caveats),
        "said": claim.said,
        "scope": claim.scope,
        "note": claim.note,
        "test": msgspec.to_builtins(claim.test),
        "source": msgspec.to_builtins(finding.source),
    }


def answered(finding: ClaimFinding) -> bool:
    """Whether the session says anything of the claim."""
    return finding.verdict not in {ClaimVerdict.NOT_COMPARABLE, ClaimVerdict.NOT_MEASURED}


def decided_here(finding: ClaimFinding) -> bool:
    """Whether the figures of the session say anything of the claim, and not a simulation."""
    return answered(finding) and not finding.simulated


def _claim(finding: ClaimFinding, titles: Titles, console: Console) -> None:
    claim = finding.claim
    console.print(words((finding.verdict.value.upper(), STYLES[finding.verdict]), "  ", (claim.id, "cyan")))
    said = words(claim.statement, style="bold" if answered(finding) else "")
    lines: list[tuple[str, Cell]] = [("claim", said), *evidence(finding, titles), *context(finding)]
    console.print(Padding(headed(lines, 8), (0, 0, 1, 2), expand=False))


def evidence(finding: ClaimFinding, titles: Titles) -> list[tuple[str, str]]:
    """The lines of what was found, each with its heading; ``titles`` are those of mechanisms, by probe."""
    lines = [("here", _range(one, titles)) for one in finding.ranges]
    if finding.growth:
        lines.append(("here", _growth(finding.growth)))
    if not (len(finding.ranges) == 1 and finding.ranges[0].over is None):
        lines += [("", _figure(figure, titles)) for figure in finding.figures]
    if finding.reason:
        lines.append(("why", reasons.said(finding.reason)))
    if finding.settle:
        lines.append(("to tell", _settle(finding.settle)))
    return lines


def context(finding: ClaimFinding) -> list[tuple[str, str]]:
    """What was said, where it is meant to hold, what is wrong with it, and the first of its caveats."""
    claim, more = finding.claim, len(finding.caveats) - _CAVEATS
    return [
        ("said", claim.said),
        ("scope", claim.scope),
        *([("but", claim.note)] if claim.note else []),
        *(("caveat", reasons.said(caveat)) for caveat in finding.caveats[:_CAVEATS]),
        *([("caveat", f"and {more} more, which --json prints")] if more > 0 else []),
    ]


def short(finding: ClaimFinding) -> str:
    """What was found, without the cases that it was found in; empty if nothing was."""
    found = [f"{_number(one)}, claimed {_claimed(one)}" for one in finding.ranges]
    return "; ".join([*found, *([_growth(finding.growth)] if finding.growth else [])])


def _range(seen: RangeSeen, titles: Titles) -> str:
    """A single figure with the name of its case; of a ratio the cases stand below."""
    if seen.over:
        what = f"{_in_words(seen.of, titles)} over {_in_words(seen.over, titles)}"
    else:
        case, space, more = seen.of.partition(" ")
        what = f"{naming.with_name(case, titles)}{space}{more}"
    by = counted(seen.n, "block") if seen.n else "simulated"
    return f"{_number(seen)} ({what}, {by}); claimed: {_claimed(seen)}"


def _in_words(label: str, titles: Titles) -> str:
    """A case, perhaps with its metric and whether its overhead is subtracted."""
    case, space, more = label.partition(" ")
    return f"{naming.in_words(case, titles)}{space}{more}"


def _number(seen: RangeSeen) -> str:
    times = " times" if seen.over else ""
    value = format_quantity(seen.value, seen.unit)
    if seen.n == 0:
        return f"{value}{times}"
    if seen.low is None or seen.high is None:
        return f"{value}{times} without an interval"
    return f"{value}{times} {format_interval(seen.low, seen.high, seen.value, seen.unit)}"


def _claimed(seen: RangeSeen) -> str:
    low, high = (None if end is None else format_quantity(end, seen.unit) for end in (seen.at_least, seen.at_most))
    if low and high:
        return f"{low} to {high}"
    return f"at least {low}" if low else f"at most {high}"


def _growth(growth: GrowthSeen) -> str:
    match growth.form:
        case "1":
            told = "does not grow"
        case "cannot tell" if growth.excluded:
            told = f"does not grow as {growth.claimed}"
        case "cannot tell":
            told = "cannot tell"
        case form:
            told = f"grows as {form}"
    return (
        f"{told} over {growth.parameter} (weight {growth.weight:.0%}, possible: {', '.join(growth.candidates)}; "
        f"misfit {growth.misfit:.0%}); claimed: {growth.claimed}"
    )


def _figure(figure: FigureSeen, titles: Titles) -> str:
    name = f"{naming.with_name(figure.case, titles)} {figure.metric}{' less overhead' if figure.net else ''}"
    value = format_quantity(figure.median, figure.unit)
    if figure.low is not None and figure.high is not None:
        value += f" {format_interval(figure.low, figure.high, figure.median, figure.unit)}"
    code = machine_code.counted(figure.loops)
    return f"{name} {value}{f', {code}' if code else ''}"


def _settle(settle: Settle) -> str:
    if settle.blocks is None or settle.minutes is None:
        return "it lies too near to an end of the range, or scatters too far, for more blocks to tell"
    if settle.first:
        return f"{counted(settle.blocks, 'block')} more give the first interval, {_time(settle.minutes)}"
    return f"about {counted(settle.blocks, 'block')} more, {_time(settle.minutes)}"


def _time(minutes: float) -> str:
    return "under a minute" if minutes < 1 else f"about {minutes:.0f} min"


def counts(findings: ClaimFindings) -> str:
    """How many claims got each verdict; those that a simulation answers are not counted."""
    counts = Counter(finding.verdict for finding in findings.findings if not finding.simulated)
    return ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in ClaimVerdict)


def method(findings: ClaimFindings) -> str:
    """How a verdict comes about, and how sure it is."""
    return (
        f"Intervals are of {findings.confidence:.0%}, of the ratio within blocks or of the median. A verdict stands "
        f"only if it also does when all {findings.edges} ends of ranges are judged together (sign flips of whole "
        "blocks, Westfall and Young), so that the chance of even one wrong verdict is held at "
        f"{1 - findings.confidence:.0%}. Growth is judged by Akaike weights, each sweep by itself."
    )


def _foot(findings: ClaimFindings, console: Console) -> None:
    console.print(counts(findings), style="bold")
    console.print(method(findings), style="dim")
    if any(finding.verdict is ClaimVerdict.NOT_MEASURED for finding in findings.findings):
        advice = "Not measured: `steelyard run 'CASE'` measures a case, if `steelyard list` has its probe."
        console.print(advice, style="dim")
