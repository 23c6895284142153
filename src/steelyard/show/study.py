# SPDX-License-Identifier: Apache-2.0
"""A study run again: its tables then and now, its statements with both figures, its errata, and a summary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from rich.padding import Padding
from rich.table import Table

from steelyard.judge.claims import ClaimVerdict
from steelyard.judge.replication import Outlook, Replication, Shown
from steelyard.judge.verdicts import ClaimFinding
from steelyard.show import claims as claim_words
from steelyard.show import figure_text, naming, reasons, tables, void
from steelyard.show.claims import SIGNS, STYLES
from steelyard.show.console import Console, grid, headed, words
from steelyard.show.doubts import grouped
from steelyard.units import counted, format_duration, format_quantity

_ASKED = (ClaimVerdict.HOLDS, ClaimVerdict.FAILS, ClaimVerdict.UNDECIDED)
#: Reasons for an absence that the summary says, and names for each.
_MOST_REASONS, _MOST_NAMES = 3, 3
#: More blocks than these nobody measures for a statement: its figure lies on an end of what is claimed.
_WORTH_MEASURING = 60


def show(found: Replication, console: Console) -> None:
    """The study whole: tables, other figures, statements, errata, and what could not be asked."""
    console.print(f"{found.source.cited}, {found.source.year}", style="bold")
    console.print(f"its machine: {found.source.machine}", style="dim")
    void.show(found.session.void, console)
    console.print()
    tables.show(found.tables, console)
    _figures(found, console)
    _statements(found, console)
    _errata(found, console)
    _absent(found, console)


# --- figures ----------------------------------------------------------------------------------------------------------


def _figures(found: Replication, console: Console) -> None:
    rows = found.figures
    measured = [row for row in rows if row.case is not None]
    if not measured:
        return
    console.print("figures", style="bold")
    numbers = ("then", "now", "times")
    table = grid(("", *numbers, ""), numbers)
    for row in measured:
        figure = row.published.figure
        then = format_quantity(figure.value, figure.unit) + ("!" if figure.error else "")
        now = "–" if row.value is None else format_quantity(row.value, row.unit)
        by = words(naming.with_name(row.case or "", found.session.titles), style="dim")
        table.add_row(figure.mechanism, then, now, figure_text.times(row.times), by)
    console.print(table)
    if any(row.published.figure.error for row in measured):
        console.print(tables.WRONG, style="dim")
    if len(measured) < len(rows):
        console.print(f"{len(rows) - len(measured)} more figures have no case that was measured.", style="dim")
    console.print()


# --- statements -------------------------------------------------------------------------------------------------------


def _statements(found: Replication, console: Console) -> None:
    asked = [one for one in found.claims.findings if one.verdict in _ASKED]
    if asked:
        console.print("statements", style="bold")
    for one in sorted(asked, key=lambda one: _ASKED.index(one.verdict)):
        console.print(
            words((f"{SIGNS[one.verdict]} {one.verdict.value}", STYLES[one.verdict]), "  ", one.claim.statement)
        )
        console.print(Padding(_both(one, found.session.titles), (0, 0, 0, 2), expand=False))
    if asked:
        console.print()


def _both(one: ClaimFinding, titles: claim_words.Titles) -> Table:
    """What the study has and what is found here, below each other."""
    here = ("simulated" if one.simulated else "here", claim_words.short(one) or "–")
    why = [line for line in claim_words.evidence(one, titles) if line[0] in {"why", "to tell"}]
    return headed([("then", one.claim.said), here, *why], 7)


# --- errata, and what was not asked -----------------------------------------------------------------------------------


def _errata(found: Replication, console: Console) -> None:
    if not found.errata:
        return
    console.print("where the study was wrong", style="bold")
    console.print(Padding(words(f"It got right: {found.right}"), (0, 0, 0, 2), expand=False))
    for seen in found.errata:
        erratum = seen.erratum
        console.print(words("  ", (erratum.section, "cyan")))
        here = [("here", shown(one, found.session.titles)) for one in seen.shown]
        lines = [("said", erratum.concluded), ("but", erratum.so), *here]
        console.print(Padding(headed(lines, 7), (0, 0, 0, 4), expand=False))
    console.print()


def shown(one: Shown, titles: claim_words.Titles) -> str:
    """What a case of an erratum gave here."""
    case = naming.with_name(one.case, titles)
    if one.cases == 1:
        return f"{case} {format_quantity(one.least, one.unit)}"
    ends = f"{format_quantity(one.least, one.unit)} to {format_quantity(one.greatest, one.unit)}"
    return f"{case} {ends} in {one.cases} cases"


def absences(found: Replication) -> list[str]:
    """Statements that could not be asked, by the reason."""
    return [f"{', '.join(absence.subjects)}: {reasons.said(absence.reason)}" for absence in found.absent]


def _absent(found: Replication, console: Console) -> None:
    lines = absences(found)
    if lines:
        console.print("not asked, and why", style="bold")
    for line in lines:
        console.print(Padding(words(line), (0, 0, 0, 2), expand=False))
    if lines:
        console.print()


# --- the summary ------------------------------------------------------------------------------------------------------


def show_summary(found: Replication, console: Console) -> None:
    """A screen: how many statements hold, the most telling ones, how sure that is, what is missing, what next."""
    session = found.session
    machine = session.machine.get("cpu", "this machine")
    kernel = f", Linux {session.environment['kernel']}" if "kernel" in session.environment else ""
    console.print(words((f"{found.source.name} ({found.source.year}) on {machine}{kernel}", "bold")))
    void.show(session.void, console)
    if session.void:
        return
    console.print(verdicts(found))
    for one in found.telling:
        console.print(words((f"{SIGNS[one.verdict]} ", STYLES[one.verdict]), one.claim.statement))
        console.print(Padding(words(f"then {one.claim.said}", style="dim"), (0, 0, 0, 2), expand=False))
        where = "simulated" if one.simulated else "here"
        console.print(Padding(words(f"{where} {claim_words.short(one)}"), (0, 0, 0, 2), expand=False))
    console.print()
    console.print(headed([*sure(found), *_missing(found), *_next(found)], 8, "bold"))
    console.print()


def verdicts(found: Replication) -> str:
    """How many statements got which verdict, and what else the study has."""
    asked = sum(found.counts.get(verdict, 0) for verdict in _ASKED)
    rest = len(found.claims.findings) - asked
    holds, fails, undecided = (found.counts.get(verdict, 0) for verdict in _ASKED)
    return (
        f"{counted(len(found.claims.findings), 'statement')}: {holds} hold, {fails} fail, {undecided} undecided, "
        f"{rest} not asked; {counted(len(found.tables), 'table')}, "
        f"{counted(len(found.errata), 'erratum', 'errata')}"
    )


def sure(found: Replication) -> list[tuple[str, str]]:
    """How sure the verdicts are, with headings."""
    session = found.session
    states = [f"{control.name} {control.state}" for control in session.controls if control.state != "passed"]
    open_ones = [one for one in found.claims.findings if one.verdict is ClaimVerdict.UNDECIDED]
    lines = [
        (
            "how sure",
            f"{', '.join(states) or 'controls passed'}; {counted(session.blocks, 'block')}; "
            f"{session.disturbed_runs} of {session.runs} runs disturbed; a wrong verdict among all "
            f"{len(found.claims.findings)} has a chance of {1 - found.claims.confidence:.0%} at the most",
        )
    ]
    if open_ones:
        lines.append(("", f"{counted(len(open_ones), 'statement')} undecided{_more(open_ones)}"))
    return lines


def _more(undecided: Sequence[ClaimFinding]) -> str:
    """What more blocks would do for them."""
    foreseen = [one.settle for one in undecided if one.settle]
    if first := [settle.blocks for settle in foreseen if settle.first and settle.blocks]:
        return f": {counted(max(first), 'more block')} give{'s' * (max(first) == 1)} the first intervals"
    near = [settle.blocks for settle in foreseen if settle.blocks and settle.blocks <= _WORTH_MEASURING]
    return f": about {counted(max(near), 'more block')} would decide {len(near)} of them" if near else ""


def _missing(found: Replication) -> list[tuple[str, str]]:
    lines = [
        ("" if number else "not asked", f"{_named(absence.subjects)}: {reasons.said(absence.reason)}")
        for number, absence in enumerate(found.absent[:_MOST_REASONS])
    ]
    if len(found.absent) > _MOST_REASONS:
        rest = sum(len(absence.subjects) for absence in found.absent[_MOST_REASONS:])
        lines.append(("", f"and {rest} more, for {len(found.absent) - _MOST_REASONS} other reasons"))
    return lines


def _named(names: Sequence[str]) -> str:
    rest = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")


def _next(found: Replication) -> list[tuple[str, str]]:
    name, path = found.source.name, found.session.path
    lines = {
        f"steelyard study {name} --session {path} --report {name}.html": "as a page, with its curves drawn again"
        if any(table.at for table in found.tables)
        else "as a page",
        f"steelyard claims {path} --source {name}": "all the evidence",
    }
    if found.explained:
        lines[f"steelyard explain '{found.explained}' --measure"] = "why it costs that much here"
    return [("" if number else "next", f"{command}   {why}") for number, (command, why) in enumerate(lines.items())]


def show_overview(found: Sequence[Replication], console: Console) -> None:
    """A line a study: how many of its statements got which verdict."""
    void.show(found[0].session.void, console)
    numbers = ("year", "statements", "hold", "fail", "undecided", "not asked")
    table = grid(("study", *numbers), numbers, names={"study": "cyan"})
    for one in found:
        asked = [one.counts.get(verdict, 0) for verdict in _ASKED]
        rest = len(one.claims.findings) - sum(asked)
        table.add_row(one.source.name, *map(str, (one.source.year, len(one.claims.findings), *asked, rest)))
    console.print(table)
    console.print()
    path = found[0].session.path
    console.print(f"`steelyard study NAME --session {path}` shows one of them whole.", soft_wrap=True)


# --- the list ---------------------------------------------------------------------------------------------------------


def show_list(found: Sequence[Outlook], console: Console) -> None:
    """The studies there are, what each needs and how long it takes, and what is missing for it here."""
    numbers = ("year", "statements", "tables", "cases", "takes about", "missing here")
    table = grid(("study", *numbers), numbers, names={"study": "cyan"})
    for one in found:
        study = one.study
        table.add_row(
            study.source.name,
            str(study.source.year),
            str(len(study.claims)),
            str(len(study.tables)),
            str(len(one.run_s)),
            format_duration(one.seconds),
            counted(len(one.missing), "mechanism") if one.missing else "nothing",
        )
    console.print(table)
    console.print()
    missing = grouped((skip.reason, skip.subject) for one in found for skip in one.missing)
    if missing:
        console.print("missing here, and what would bring it in", style="bold")
    for reason, subjects in missing:
        studies = [one.study.source.name for one in found if any(skip.reason == reason for skip in one.missing)]
        console.print(words(f"  {_named(subjects)} (", (_named(studies), "cyan"), f"): {reason}"))
    if missing:
        console.print()
    console.print("`steelyard study NAME` runs one again, `--all` all of them; `--budget` bounds it.")


def list_as_json(found: Sequence[Outlook]) -> list[dict[str, Any]]:
    """One object a study."""
    return [
        {
            "name": one.study.source.name,
            "source": msgspec.to_builtins(one.study.source),
            "statements": len(one.study.claims),
            "tables": len(one.study.tables),
            "figures": len(one.study.figures),
            "errata": len(one.study.errata),
            "languages": list(one.languages),
            "cases": [case.name for case in one.run_s],
            "blocks": one.blocks,
            "seconds": one.seconds,
            "missing": msgspec.to_builtins(one.missing),
        }
        for one in found
    ]


def as_json(found: Replication) -> dict[str, Any]:
    """The study as an object: its statements as `claims --json` has them, its tables, figures and errata."""
    session = found.session
    return {
        "study": found.source.name,
        "source": msgspec.to_builtins(found.source),
        "session": session.path,
        "machine": {"key": session.machine_key, **session.machine, **session.environment},
        "void": session.void,
        "blocks": session.blocks,
        "seconds": session.wall_s,
        "counts": {verdict.value: found.counts.get(verdict, 0) for verdict in ClaimVerdict},
        "statements": claim_words.as_json(found.claims),
        "tables": msgspec.to_builtins(found.tables),
        "figures": msgspec.to_builtins(found.figures),
        "right": found.right,
        "errata": msgspec.to_builtins(found.errata),
        "absent": reasons.builtins(found.absent),
    }
