# SPDX-License-Identifier: Apache-2.0
"""Findings as tables and curves on a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from steelyard.judge.findings import CaseFinding, Cell, Curve, Figure, Findings, Matrix
from steelyard.records import Descriptor, Disturbance, Machine, Skip
from steelyard.units import format_duration, format_interval, format_quantity

_BAR_WIDTH = 40
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def show(findings: Findings, console: Console) -> None:
    """The whole session: what machine, the tables, the curves, and every doubt."""
    _head(findings, console)
    shown = [case for case in findings.cases if not case.control]
    for question, members in groupby(shown, key=lambda case: case.probe.split("/")[0]):
        _question(question, list(members), console)
    for matrix in findings.matrices:
        _matrix(matrix, console)
    for curve in findings.curves:
        _curve(curve, console)
    _doubts(findings, console)
    _foot(findings, console)


def _head(findings: Findings, console: Console) -> None:
    machine = findings.machine
    console.print(
        f"[bold]{escape(machine['cpu'])}[/], {machine['logical cpus']} CPUs, {machine['memory']}, "
        f"kernel {escape(findings.environment['kernel'])}, machine key {findings.machine_key}"
    )
    state = "" if findings.complete else " [yellow]— not complete: `steelyard run --resume` goes on[/]"
    console.print(f"{findings.started}, {findings.blocks} blocks, seed {findings.seed}{state}")
    if findings.void:
        console.print(Text(f"VOID, do not use these figures: {findings.void}", style="bold red"))
    console.print()


def _label(case: CaseFinding) -> str:
    inner = " ".join(f"{key}={value}" for key, value in case.parameters.items())
    return f"  {inner} @{case.placement}" if inner else f"  @{case.placement}"


#: Columns in order; those with the highest number are left out first where the terminal is narrow.
_COLUMNS = {
    "case": 0,
    "median": 0,
    "95 % interval": 0,
    "minimum": 6,
    "p25": 8,
    "p99": 5,
    "less overhead": 2,
    "user": 4,
    "system": 4,
    "switches": 3,
    "published": 1,
}
_GAP = 2


def _question(question: str, cases: Sequence[CaseFinding], console: Console) -> None:
    rows: list[dict[str, Text]] = []
    for probe, members in groupby(cases, key=lambda case: case.probe):
        group = list(members)
        head = Text.assemble((probe.split("/")[1], "cyan"), (f"  {group[0].main.metric}", "dim"))
        rows.append({"case": head})
        for case in group:
            rows.append(_row(case))
            rows += [
                {"case": Text(f"    {other.metric}", style="dim"), **_figure_cells(other)} for other in case.others
            ]
    columns = _that_fit(rows, console.width)
    gap = (0, _GAP, 0, 0)
    table = Table(title=question, title_justify="left", title_style="bold", box=None, pad_edge=False, padding=gap)
    for name in columns:
        table.add_column(name, justify="left" if name == "case" else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(row.get(name, Text()) for name in columns))
    console.print(table)
    operations = dict.fromkeys((case.probe, case.operation) for case in cases)
    for probe, operation in operations:
        console.print(f"[dim]{escape(probe)}: one operation is {escape(operation)}[/]")
    console.print()


def _that_fit(rows: Sequence[dict[str, Text]], width: int) -> list[str]:
    """The columns that have anything to say, without as many of the least important as the width asks for."""
    widths = {
        name: max(len(name), *(row[name].cell_len for row in rows if name in row))
        for name in _COLUMNS
        if any(row.get(name) for row in rows)
    }
    while sum(widths.values()) + _GAP * len(widths) > width and max(_COLUMNS[name] for name in widths) > 0:
        del widths[max(widths, key=lambda name: _COLUMNS[name])]
    return list(widths)


def _row(case: CaseFinding) -> dict[str, Text]:
    return {
        "case": Text(_label(case)),
        **_figure_cells(case.main),
        "less overhead": Text(_net(case.main)),
        "user": Text(_maybe(case.user_s, "s")),
        "system": Text(_maybe(case.system_s, "s")),
        "switches": Text(_maybe(case.switches, "1")),
        "published": Text(_published(case.main)),
    }


def _maybe(value: float | None, unit: str) -> str:
    return "" if value is None else format_quantity(value, unit)


def _figure_cells(figure: Figure) -> dict[str, Text]:
    """Median and interval, or both modes where one number would be a lie; then the lower and the upper end."""
    unit = figure.unit
    ends = {
        "minimum": Text(format_quantity(figure.minimum, unit)),
        "p25": Text(format_quantity(figure.p25, unit)),
        "p99": Text(format_quantity(figure.p99, unit)),
    }
    if figure.modes:
        modes = " / ".join(format_quantity(mode.median, unit) for mode in figure.modes)
        shares = " / ".join(f"{mode.share:.0%}" for mode in figure.modes)
        bimodal = Text(f"bimodal {shares}", style="yellow")
        return {"median": Text(modes, style="yellow"), "95 % interval": bimodal, **ends}
    low = -math.inf if figure.low is None else figure.low
    high = math.inf if figure.high is None else figure.high
    interval = Text(format_interval(low, high, figure.median, unit))
    return {"median": Text(format_quantity(figure.median, unit)), "95 % interval": interval, **ends}


def _net(figure: Figure) -> str:
    net = figure.net
    if net is None:
        return ""
    if net.high is None or net.low is None:
        return f"~{format_quantity(net.median, figure.unit)}"
    if net.high < 0:
        return "see caveats"
    if net.at_most:
        return f"at most {format_quantity(net.high, figure.unit)}"
    return f"{format_quantity(net.median, figure.unit)} {format_interval(net.low, net.high, net.median, figure.unit)}"


def _published(figure: Figure) -> str:
    return ", ".join(
        f"{format_quantity(item.figure.value, item.figure.unit)} ({item.source.year}){'!' if item.figure.error else ''}"
        for item in figure.published[:2]
    )


def _bar(share: float) -> str:
    eighths = round(share * _BAR_WIDTH * 8)
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")


def _curve(curve: Curve, console: Console) -> None:
    """A curve as bars on a log scale from a third of the smallest point, so that every point has a bar."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), title_justify="left")
    table.title = Text(f"{curve.probe} {curve.metric} by {curve.parameter}, {curve.fixed}", style="bold")
    table.add_column(curve.parameter, justify="right")
    table.add_column("median", justify="right", no_wrap=True)
    table.add_column("(log scale)", justify="left", no_wrap=True)
    medians = [point.median for point in curve.points if point.median > 0]
    floor = math.log(min(medians) / 3) if medians else 0.0
    span = (math.log(max(medians)) - floor) if medians else 1.0
    for point in curve.points:
        bar = _bar((math.log(point.median) - floor) / span) if point.median > 0 else ""
        table.add_row(str(point.x), format_quantity(point.median, curve.unit), bar)
    console.print(table)
    console.print()


def _matrix(matrix: Matrix, console: Console) -> None:
    """Ways across, the parameter down, a published figure below ours; split where the terminal is narrow."""
    cells = {way: [_matrix_cell(row.get(way), matrix.unit) for row in matrix.rows.values()] for way in matrix.ways}
    widths = {
        way: max(len(way), *(len(line) for cell in cells[way] for line in cell.split("\n"))) for way in matrix.ways
    }
    left = list(matrix.ways)
    while left:
        shown = [left.pop(0)]
        room = console.width - len(matrix.parameter) - 8 - widths[shown[0]]
        while left and room > widths[left[0]] + _GAP:
            room -= widths[left[0]] + _GAP
            shown.append(left.pop(0))
        table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
        title = f"{matrix.family} {matrix.metric} by {matrix.parameter}, {matrix.fixed} (published in brackets)"
        console.print(Text(title, style="bold"))
        table.add_column(matrix.parameter, justify="right")
        for way in shown:
            table.add_column(way, justify="right", no_wrap=True)
        for number, x in enumerate(matrix.rows):
            table.add_row(str(x), *(Text(cells[way][number]) for way in shown))
        console.print(table)
        console.print()


def _matrix_cell(cell: Cell | None, unit: str) -> str:
    if cell is None:
        return ""
    ours = format_quantity(cell.median, unit)
    return ours if cell.published is None else f"{ours}\n({format_quantity(cell.published, unit)})"


def _doubts(findings: Findings, console: Console) -> None:
    """Caveats once each with the cases they belong to, then failures, skips and what disturbed the machine."""
    by_caveat: dict[str, list[str]] = {}
    for case in findings.cases:
        for caveat in case.caveats:
            by_caveat.setdefault(caveat, []).append(case.case)
    _list(console, "caveats", (f"{_some(cases)}: {caveat}" for caveat, cases in by_caveat.items()))
    _list(console, "controls", (f"{control.name} {control.state}: {control.said}" for control in findings.controls))
    _list(console, "failed", (f"{case}: {error}" for case, error in findings.failures.items()))
    _list(console, "cleaned up", (f"{case}: {'; '.join(what)}" for case, what in findings.leftovers.items()))
    show_skips(findings.skips, console)
    show_disturbances(findings.disturbances, console)
    errors = {
        f"{item.figure.mechanism}: {item.figure.error} [{item.source.id}, {item.source.year}]": None
        for case in findings.cases
        for item in case.main.published
        if item.figure.error
    }
    _list(console, "known errors of published figures (marked !)", errors)


def _some(cases: Sequence[str]) -> str:
    return cases[0] if len(cases) == 1 else f"{cases[0]} and {len(cases) - 1} more"


def _list(console: Console, title: str, items: Iterable[str]) -> None:
    lines = list(items)
    if lines:
        console.print(Text(title, style="bold"))
        for line in lines:
            console.print(Text(f"  {line}"))
        console.print()


def show_skips(skips: Sequence[Skip], console: Console) -> None:
    """What could not be measured, and why."""
    _list(console, "could not be measured here", (f"{skip.subject}: {skip.reason}" for skip in skips))


def show_disturbances(disturbances: Sequence[Disturbance], console: Console) -> None:
    """What disturbs, and what to do."""
    _list(console, "what disturbs", (f"{item.severity}: {item.what}; {item.advice}" for item in disturbances))


def _foot(findings: Findings, console: Console) -> None:
    if findings.wall_s and findings.timed_share is not None:
        console.print(
            f"{findings.runs} runs in {format_duration(findings.wall_s)}, {findings.timed_share:.0%} of it in timed "
            f"batches; {findings.disturbed_runs} runs were disturbed"
        )
    console.print(f"session file: {findings.path}", markup=False, soft_wrap=True)


def show_catalog(descriptors: Sequence[Descriptor], skips: Sequence[Skip], console: Console) -> None:
    """What can be measured, by question."""
    for question, members in groupby(descriptors, key=lambda descriptor: descriptor.probe.split("/")[0]):
        console.print(f"[bold]{question}[/]")
        for descriptor in members:
            console.print(f"  [cyan]{descriptor.probe}[/]  {escape(descriptor.question)}")
            sweeps = [f"{p.name}={','.join(map(str, p.sweep))}" for p in descriptor.parameters]
            console.print(f"      [dim]{escape(' '.join([*sweeps, '@' + ',@'.join(descriptor.placements)]))}[/]")
    show_skips(skips, console)


def show_machine(
    machine: Machine, disturbances: Sequence[Disturbance], skips: Sequence[Skip], console: Console
) -> None:
    """The machine, what disturbs it and what it can't measure."""
    table = Table(
        box=None, pad_edge=False, show_header=False, title_justify="left", title="machine", title_style="bold"
    )
    table.add_row("key", machine.key)
    for name, fact in {**machine.facts, **machine.environment}.items():
        table.add_row(Text(name), Text(fact))
    console.print(table)
    console.print()
    show_disturbances(disturbances, console)
    show_skips(skips, console)
