# SPDX-License-Identifier: Apache-2.0
"""The screen of a first session: at most 60 lines of 100 columns, in words that need no manual."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from steelyard.judge.answers import NARROW, Absence, Amount, Answers, Group, Price
from steelyard.judge.claims import ClaimVerdict
from steelyard.judge.findings import Findings
from steelyard.judge.verdicts import ClaimFinding
from steelyard.show import claims as claim_words
from steelyard.show import reasons, void
from steelyard.show.console import Console, words
from steelyard.show.naming import PLACES
from steelyard.units import format_duration, format_quantity

#: Columns of the screen, and of each of its two halves.
WIDTH = 100
_HALF = 49
_WHAT, _PRICE, _SPREAD, _TIMES = 27, 9, 6, 7
#: Reasons for an absence that the screen says, and names for each.
_MOST_ABSENT = 2
_MOST_NAMES = 3

_Line = list[tuple[str, str]]


def show(findings: Findings, answers: Answers, console: Console) -> None:
    """The machine, the prices, what is unlike its fame, how sure all that is, what is missing, and what next."""
    for line in lines(findings, answers, console.width):
        console.print(words(*line), soft_wrap=True)


def lines(findings: Findings, answers: Answers, width: int = WIDTH) -> list[_Line]:
    """The lines of the screen, each as pieces of text with their styles."""
    if findings.void:
        return [_machine(findings), *_void(findings)]
    half = [group for group in answers.groups if len(group.at) < 2]
    whole = [group for group in answers.groups if len(group.at) > 1]
    return [
        _machine(findings),
        _session(findings),
        [],
        *(_two_columns(half) if width >= WIDTH else [line for group in half for line in _narrow(group)]),
        *(line for group in whole for line in _wide(group)),
        *_statements(answers),
        [],
        *_sure(findings, answers),
        *_absent(answers.absent),
        *_next(),
    ]


def _machine(findings: Findings) -> _Line:
    facts = findings.machine
    said = [facts.get("cpu", "unknown CPU"), f"{facts.get('logical cpus', '?')} CPUs", facts.get("memory", "")]
    said.append("virtual machine" if facts.get("hypervisor") == "yes" else "")
    said.append(f"Linux {findings.environment['kernel']}" if "kernel" in findings.environment else "")
    return [(", ".join(fact for fact in said if fact), "bold")]


def _session(findings: Findings) -> _Line:
    took = f"{format_duration(findings.wall_s)}, " if findings.wall_s else ""
    return [(f"{took}{findings.blocks} blocks, {findings.runs} runs; {findings.started[:16].replace('T', ' ')}", "dim")]


def _void(findings: Findings) -> list[_Line]:
    return [
        [],
        [(void.said(findings.void or ""), "bold red")],
        [(void.NEXT, "")],
        [(f"The figures are kept: steelyard show --all {findings.path}", "")],
    ]


# --- prices -----------------------------------------------------------------------------------------------------------


def _two_columns(groups: Sequence[Group]) -> list[_Line]:
    """The groups in two halves of the screen, cut where they come closest in length."""
    blocks = [_narrow(group) for group in groups]
    heights = [len(block) for block in blocks]
    cut = min(range(len(blocks), -1, -1), key=lambda place: abs(sum(heights[:place]) - sum(heights[place:])))
    left = [line for block in blocks[:cut] for line in block]
    right = [line for block in blocks[cut:] for line in block]
    rows = max(len(left), len(right))
    left, right = ([*side, *([[]] * (rows - len(side)))] for side in (left, right))
    return [[*_padded(a, _HALF), ("  ", ""), *b] for a, b in zip(left, right, strict=True)]


def _padded(line: _Line, width: int) -> _Line:
    return [*line, (" " * max(0, width - sum(len(text) for text, _ in line)), "")]


def _narrow(group: Group) -> list[_Line]:
    """A group of one column: what, price, half of its interval, times the cheapest."""
    rows: list[_Line] = [[(f"{group.title.upper():{_HALF - _TIMES}}", "bold"), (f"{'times':>{_TIMES}}", "dim")]]
    for price in group.prices:
        rows.append([(f"{price.what:{_WHAT}.{_WHAT}}", ""), *_amount(price.amounts[0]), (_times(price.times), "")])
    return rows


def _wide(group: Group) -> list[_Line]:
    """A group with a column a placement, and how many times as much the last costs as the first."""
    first, *others = (f"{PLACES[place]:>{_PRICE + _SPREAD}}" for place in group.at)
    head: _Line = [(f"{group.title.upper():{_WHAT + 11}}", "bold"), (f"{first}{'times':>{_TIMES}}", "dim")]
    rows = [[*head, *((column, "dim") for column in others)]]
    for price in group.prices:
        row: _Line = [(f"{price.what:{_WHAT + 11}}", ""), *_amount(price.amounts[0]), (_times(price.times), "")]
        for amount in price.amounts[1:]:
            row += _amount(amount)
        row.append((_across(price), ""))
        rows.append(row)
    return rows


def _across(price: Price) -> str:
    if price.across is None:
        return ""
    if price.across >= 1:
        return f"   {_number(price.across)} times as much"
    return f"   {_number(1 / price.across)} times less"


def _amount(amount: Amount | None) -> _Line:
    if amount is None:
        return [(f"{'–':>{_PRICE}}{'':{_SPREAD}}", "dim")]
    if amount.at_most and amount.high is not None:
        return [(f"{'< ' + format_quantity(amount.high, amount.unit):>{_PRICE}}", "cyan"), (" " * _SPREAD, "")]
    return [
        (f"{format_quantity(amount.median, amount.unit):>{_PRICE}}", "cyan"),
        (f"{spread(amount):>{_SPREAD}}", "dim"),
    ]


def spread(amount: Amount) -> str:
    """The farther end of the interval in whole per cent, at least one; nothing where there is no interval."""
    if amount.spread is None:
        return ""
    percent = max(1, round(100 * amount.spread))
    return f"±{percent} %" if percent < 100 else f"±{_number(percent / 100)}×"


def _times(times: float | None) -> str:
    return f"{ratio(times):>{_TIMES}}"


def ratio(times: float | None) -> str:
    """A ratio to the cheapest; nothing where there is none."""
    return "" if times is None else _number(times)


def _number(value: float) -> str:
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


# --- statements -------------------------------------------------------------------------------------------------------


def _statements(answers: Answers) -> list[_Line]:
    if not answers.failing and not answers.holding:
        return []
    rows: list[_Line] = [[("WHAT PEOPLE SAY, AND HERE", "bold")]]
    for finding in (*answers.failing, *answers.holding):
        holds = finding.verdict is ClaimVerdict.HOLDS
        rows.append([("✓ " if holds else "✗ ", "bold green" if holds else "bold red"), (_said(finding), "")])
        rows.append([(f"  {_cut(f'here {claim_words.short(finding)}', WIDTH - 2)}", "dim")])
    rows.append([(f"  {more(answers)}: steelyard claims --short", "dim")])
    return rows


def _said(finding: ClaimFinding) -> str:
    who = f" ({finding.source.id.rpartition('/')[2]}, {finding.source.year})"
    return _cut(finding.claim.statement, WIDTH - 2 - len(who)) + who


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def more(answers: Answers) -> str:
    """How many statements hold, fail, are open or were not asked, beside those that are shown."""
    count = answers.verdicts
    holds = count[ClaimVerdict.HOLDS] - len(answers.holding)
    fails = count[ClaimVerdict.FAILS] - len(answers.failing)
    rest = count[ClaimVerdict.NOT_MEASURED] + count[ClaimVerdict.NOT_COMPARABLE]
    return f"{holds} more hold, {fails} more fail, {count[ClaimVerdict.UNDECIDED]} need longer, {rest} were not asked"


# --- how sure, what is missing, what next -----------------------------------------------------------------------------


def _sure(findings: Findings, answers: Answers) -> list[_Line]:
    open_ones = [control.name for control in findings.controls if control.state != "passed"]
    passed = f"too few blocks for: {', '.join(open_ones)}" if open_ones else "controls passed"
    return [
        _row(
            "how sure",
            f"{passed}; {answers.narrow} of {answers.prices} prices within ±{100 * NARROW:.0f} %; "
            f"{findings.disturbed_runs} of {findings.runs} runs disturbed",
        )
    ]


def _absent(absent: Iterable[Absence]) -> list[_Line]:
    found = list(absent)
    rows = [
        _row("left out" if number == 0 else "", _cut(f"{_names(one.subjects)}: {reasons.said(one.reason)}", WIDTH - 10))
        for number, one in enumerate(found[:_MOST_ABSENT])
    ]
    if len(found) > _MOST_ABSENT:
        more = sum(len(one.subjects) for one in found[_MOST_ABSENT:])
        rows.append(
            _row("", f"and {more} more mechanisms, for {len(found) - _MOST_ABSENT} other reasons: steelyard show --all")
        )
    return rows


def _names(subjects: Sequence[str]) -> str:
    families = {subject.partition("/")[0] for subject in subjects}
    if len(subjects) > _MOST_NAMES and len(families) == 1:
        return f"{len(subjects)} of {families.pop()}/"
    return ", ".join(subjects[:_MOST_NAMES]) + (f" and {len(subjects) - _MOST_NAMES} more" if len(subjects) > 3 else "")


def _next() -> list[_Line]:
    commands = {
        "steelyard explain switch/pipe --measure": "what a price is made of",
        "steelyard report": "the same as a page, with curves",
        "steelyard show --all": "every figure and every doubt",
    }
    return [
        _row("" if number else "next", f"{command:42}{why}") for number, (command, why) in enumerate(commands.items())
    ]


def _row(head: str, text: str) -> _Line:
    return [(f"{head:10}", "bold"), (text, "")]
