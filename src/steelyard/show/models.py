# SPDX-License-Identifier: Apache-2.0
"""Which model serves which load, as tables and sentences: on a terminal, in a page and in the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from steelyard.errors import UsageError
from steelyard.judge.findings import Findings
from steelyard.judge.models import Asked, Load, Models, Served, Standing, Threads
from steelyard.show import connections, markdown, naming
from steelyard.show.console import Console, grid, lines, words
from steelyard.units import counted, format_duration, format_quantity

TITLE = "which model serves a load at the least CPU time"
#: More loads than these are a table for each value of what they differ by first.
_MOST_COLUMNS = 6
_MARKS = {Standing.CHEAPEST: " ●", Standing.WITHIN: " ●", Standing.DEARER: "", Standing.UNDECIDED: " ?"}
_STYLES = {Standing.CHEAPEST: "bold green", Standing.WITHIN: "green", Standing.UNDECIDED: "yellow"}
#: How the page of the documentation begins.
_OPENING = """\
# Which model for a server

Processes, threads, coroutines or events? Each of these programs is the same service, built as a competent user of its
model would build it: a request costs CPU time, waits, and costs CPU time again ([`serve/`](../reference/serve.md)). The
fair figure on a small machine is CPU time a request at one rate. A model is good enough for a load if it is proven to
take at most {margin:g} % more than the cheapest. This page is generated from a session; no figure in it is typed.

## Where a thread for each connection is good enough
"""
#: Parameters by the words that a sentence has for them.
_WORDS = {"work_ns": "work", "wait_us": "wait", "connections": "connections"}


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table of models down and loads across. ``over``: what all its loads ask; a head has a line for each setting."""

    over: str
    heads: tuple[tuple[str, ...], ...]
    rows: tuple[tuple[str, tuple[Served | None, ...]], ...]


def sheets(found: Models) -> list[Sheet]:
    """The tables of all loads."""
    names = [one.name for one in found.loads[0].asked]
    apart = names[0] if len(found.loads) > _MOST_COLUMNS and len(names) > 1 else None
    parts: dict[str, list[Load]] = {}
    for load in found.loads:
        over = [setting(one) for one in load.asked if one.name == apart]
        parts.setdefault(", ".join([*over, *_place(found, load)]), []).append(load)
    return [_sheet(found, over, loads, apart) for over, loads in parts.items()]


def _place(found: Models, load: Load) -> list[str]:
    """Where it was served, if that was not the same for all."""
    return [naming.setting(load.where)] if len({one.where for one in found.loads}) > 1 else []


def _sheet(found: Models, over: str, loads: Sequence[Load], apart: str | None) -> Sheet:
    return Sheet(
        over=over,
        heads=tuple(tuple(setting(one) for one in load.asked if one.name != apart) for load in loads),
        rows=tuple(
            (title, served)
            for probe, title in found.titles.items()
            if any(served := tuple(load.of(probe) for load in loads))
        ),
    )


def setting(asked: Asked) -> str:
    """``wait 1.00 ms``, ``no wait``, ``10000 connections``."""
    word = _WORDS.get(asked.name, asked.name)
    if asked.seconds == 0:
        return f"no {word}"
    if asked.seconds is not None:
        return f"{word} {_plain(asked.seconds)}"
    return f"{asked.value} {word}" if asked.name in _WORDS else naming.setting(f"{asked.name}={asked.value}")


def _plain(seconds: float) -> str:
    """A time without digits that say nothing: 1 ms and not 1.00 ms."""
    number, unit = format_quantity(seconds, "s").split()
    return f"{float(number):g} {unit}"


def cell(served: Served | None) -> str:
    """The cost of the cheapest, the ratio of the others; a mark for those that are good enough or not decided."""
    if served is None:
        return "–"
    figure = format_quantity(served.cost_s, "s") if served.standing is Standing.CHEAPEST else f"×{served.ratio:.2f}"
    return figure + _MARKS[served.standing]


def legend(found: Models) -> str:
    """How the tables are to be read."""
    return (
        f"CPU time of a request: of the cheapest, and of the others as a multiple of it. ●: within "
        f"{100 * found.margin:g} % of the cheapest; ?: not decided; –: not measured. Each verdict is at "
        f"{100 * found.confidence:g} % by itself."
    )


def asked_of_all(found: Models) -> str:
    """What all loads ask alike."""
    return naming.settings(f"{name}={value}" for name, value in found.alike.items())


def threads(found: Models) -> list[str]:
    """Where a thread a connection is good enough, a sentence for each work and wait."""
    return [_of_threads(one) for one in found.threads]


def _of_threads(one: Threads) -> str:
    load = ", ".join(map(setting, one.asked)) or "this load"
    ratios = ", ".join(
        f"{cell(served).removesuffix(' ●')} with {connections}"
        for connections, served in one.at
        if not served.standing.good_enough
    )
    if one.enough == one.at[-1][0]:
        return f"{load}: good enough up to {one.enough} connections, the most that were measured"
    begin = f"good enough up to {one.enough} connections" if one.enough is not None else "not proven good enough"
    return f"{load}: {begin}; {ratios}"


def good_enough(found: Models) -> Iterator[tuple[str, str]]:
    """Each load with the models that are good enough for it."""
    for load in found.loads:
        names = [one.title for one in load.served if one.standing.good_enough]
        undecided = sum(one.standing is Standing.UNDECIDED for one in load.served)
        more = f"; {undecided} not decided" if undecided else ""
        yield ", ".join([*map(setting, load.asked), *_place(found, load)]) or "this load", "; ".join(names) + more


def show(found: Models | None, console: Console) -> None:
    """The tables, and the sentences about threads; nothing without models."""
    if found is None:
        return
    for sheet in sheets(found):
        console.print(words(", ".join(filter(None, (TITLE, sheet.over))), style="bold"))
        _print(sheet, console)
    console.print(legend(found), style="dim")
    console.print(f"all: {asked_of_all(found)}", style="dim")
    console.print()
    if found.threads:
        console.print("where a thread a connection is good enough", style="bold")
        for said in threads(found):
            console.print(f"  {said}")
        console.print()


def _print(sheet: Sheet, console: Console) -> None:
    """A table, in parts where the terminal is narrow."""
    columns = list(zip(sheet.heads, zip(*(cells for _, cells in sheet.rows), strict=True), strict=True))
    first = max(len(title) for title, _ in sheet.rows) + 2
    while columns:
        shown = [columns.pop(0)]
        room = console.width - first - _width(shown[0])
        while columns and room >= _width(columns[0]):
            room -= _width(columns[0])
            shown.append(columns.pop(0))
        table = grid(show_header=False)
        for number in range(1 + len(shown)):
            table.add_column(justify="right" if number else "left", no_wrap=True)
        table.add_row("", *(lines(*head, style="dim") for head, _ in shown))
        for row, (title, _) in enumerate(sheet.rows):
            table.add_row(title, *(_styled(cells[row]) for _, cells in shown))
        console.print(table)
        console.print()


def _width(column: tuple[tuple[str, ...], tuple[Served | None, ...]]) -> int:
    head, cells = column
    return 2 + max(len(word) for word in (*head, *map(cell, cells)))


def _styled(served: Served | None) -> Text:
    return words(cell(served), style=_STYLES.get(served.standing, "") if served else "")


def summary(found: Models) -> list[tuple[str, ...]]:
    """Of each model under how many loads it is good enough, dearer and not decided, and its largest ratio."""
    rows: list[tuple[str, ...]] = []
    for probe, title in found.titles.items():
        served = [one for load in found.loads if (one := load.of(probe))]
        enough = sum(one.standing.good_enough for one in served)
        dearer = sum(one.standing is Standing.DEARER for one in served)
        worst = max(one.ratio for one in served)
        rows.append(
            (title, f"{enough} of {len(served)}", str(dearer), str(len(served) - enough - dearer), f"×{worst:.2f}")
        )
    return rows


def page(sessions: Sequence[tuple[Findings, str]], figure: str) -> str:
    """The page of the documentation, of sessions and their commands; ``figure`` is where the picture of the first lies.

    The first session answers the question; further ones add more models under fewer loads, and memory.
    """
    (first, _), *further = sessions
    found = _models_of(first)
    heads = ("model", "good enough", "dearer", "not decided", "dearest")
    held = next((findings.holders for findings, _ in sessions if findings.holders), ())
    said = [
        _OPENING.format(margin=100 * found.margin),
        *bullets(threads(found)),
        "",
        "## Which models are good enough",
        "",
        f"{_size(found)}. Of each model: under how many loads it is good enough, dearer or not decided, and how many "
        "times as much as the cheapest it takes at most.",
        "",
        *markdown.table(heads, ([markdown.text(cell) for cell in row] for row in summary(found)), heads[1:]),
        "",
        f"![{TITLE}]({figure})",
        "",
        *bullets(f"{load}: {names}" for load, names in good_enough(found)),
        "",
        "## Every load",
        "",
        *as_markdown(found),
    ]
    for findings, _ in further:
        if findings.models:
            said += [f"## {_size(findings.models)}", "", *as_markdown(findings.models)]
    if held:
        said += [f"## {naming.capital(connections.TITLE)}", "", *connections.as_markdown(held), ""]
    said += ["## How it was measured", ""]
    for findings, command in sessions:
        said += [_measured(findings), "", "```", f"$ {command}", "```", ""]
    return "\n".join(said)


def _models_of(findings: Findings) -> Models:
    if findings.void is not None:
        raise UsageError(f"{findings.path} is void and proves nothing: measure again when nothing else runs")
    if findings.models is None:
        raise UsageError(f"{findings.path} has no load that three models of serve/ served: measure 'serve/*'")
    return findings.models


def _size(found: Models) -> str:
    return f"{counted(len(found.titles), 'model')} under {counted(len(found.loads), 'load')}"


def _measured(findings: Findings) -> str:
    machine, kernel = findings.machine, findings.environment.get("kernel", "?")
    cases = counted(len([case for case in findings.cases if not case.control]), "case")
    return (
        f"On {markdown.text(machine.get('cpu', 'a machine'))}, {machine.get('logical cpus', '?')} CPUs, kernel "
        f"{markdown.text(kernel)}, {findings.started[:10]}: {cases} in {counted(findings.blocks, 'block')}, each a "
        f"process of its own in each block; {counted(findings.runs, 'run')} in "
        f"{format_duration(findings.wall_s or 0.0)}, of which {findings.disturbed_runs} were disturbed."
    )


def as_markdown(found: Models) -> list[str]:
    """The lines of all tables and sentences."""
    said: list[str] = []
    for sheet in sheets(found):
        heads = [", ".join(head) for head in sheet.heads]
        rows = [[markdown.text(title), *map(cell, cells)] for title, cells in sheet.rows]
        title = [f"### {naming.capital(sheet.over)}", ""] if sheet.over else []
        said += [*title, *markdown.table(["model", *heads], rows, heads), ""]
    said += [legend(found), "", f"All loads: {asked_of_all(found)}.", ""]
    return said


def bullets(items: Iterable[str]) -> list[str]:
    """A list in Markdown."""
    return [f"- {markdown.text(item)}" for item in items]
