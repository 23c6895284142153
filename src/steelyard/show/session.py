# SPDX-License-Identifier: Apache-2.0
"""A session: its tables, curves and doubts on a terminal, and its cases as objects for programs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import groupby
from typing import Any

import msgspec

from steelyard.judge.cases import CaseFinding, Figure
from steelyard.judge.curves import Curve, Matrix, way_of
from steelyard.judge.findings import Findings
from steelyard.judge.prices import MARGIN, PriceList
from steelyard.show import (
    caches,
    comparison,
    connections,
    energy,
    figure_text,
    loaded,
    models,
    naming,
    neighbours,
    reasons,
    steps,
    tables,
    void,
)
from steelyard.show.console import Cell, Console, grid, lines, words
from steelyard.show.doubts import grouped, listed, said_once, show_disturbances, show_skips
from steelyard.units import format_duration, format_quantity

_BAR_WIDTH = 40
_EIGHTHS = " ▏▎▍▌▋▊▉█"

#: With more of them nobody reads on: cases then have one line each, and so have curves.
_MANY_LINES = 150
_MANY_CURVES = 12


def show(findings: Findings, console: Console, *, whole: bool = False) -> None:
    """The session: what machine, the price lists, the tables, the curves, and every doubt.

    ``whole``: each case by all of its metrics, however many lines they are.
    """
    _head(findings, console)
    shown = [case for case in findings.cases if not case.control]
    by_question: dict[str, list[CaseFinding]] = {}
    for case in shown:
        by_question.setdefault(_question_of(case.probe), []).append(case)
    alike = defaultdict(lambda: naming.Alike(()), {key: naming.Alike(of) for key, of in by_question.items()})
    for question, lists in groupby(findings.prices, key=lambda prices: prices.question):
        for prices in lists:
            _price_list(prices, findings, alike[question], console)
        _said_of_all(alike[question], console)
    metrics = _all_metrics if whole or sum(1 + len(case.others) for case in shown) <= _MANY_LINES else _main_metric
    for question, members in by_question.items():
        _question(question, members, alike[question], metrics, console)
    if metrics is _main_metric:
        console.print(f"{len(shown)} cases, each by its main metric; `steelyard show --all` has the others")
        console.print()
    for matrix in findings.matrices:
        _matrix(matrix, alike[_question_of(matrix.family)], console)
    tables.show(findings.tables, console)
    models.show(findings.models, console)
    connections.show(findings.holders, console)
    if len(findings.curves) > _MANY_CURVES:
        _short_curves(findings.curves, alike, console)
    else:
        for curve in findings.curves:
            _curve(curve, alike[_question_of(curve.probe)], console)
    listed(console, "how much they keep up with", (figure_text.knee(knee) for knee in findings.knees))
    listed(console, "how much more several do than one", (figure_text.scaling(one) for one in findings.scalings))
    loaded.show(findings.loaded, console)
    listed(console, neighbours.TITLE, neighbours.sentences(findings.beside))
    listed(console, energy.TITLE, energy.sentences(findings.cases))
    _caches(findings, console)
    _doubts(findings, alike, console)
    _foot(findings, console)


def _question_of(name: str) -> str:
    """The question of a probe or of a family."""
    return name.partition("/")[0]


def _said_of_all(alike: naming.Alike, console: Console) -> None:
    if alike.settings:
        console.print(f"all: {' '.join(alike.settings)}", style="dim")
        console.print()


def _head(findings: Findings, console: Console) -> None:
    machine = findings.machine
    console.print(
        words(
            (machine.get("cpu", "a machine"), "bold"),
            f", {machine.get('logical cpus', '?')} CPUs, {machine.get('memory', '? GiB')}, "
            f"kernel {findings.environment.get('kernel', '?')}, machine key {findings.machine_key}",
        )
    )
    state = "" if findings.complete else " — not complete: `steelyard run --resume` goes on"
    console.print(words(f"{findings.started}, {findings.blocks} blocks, seed {findings.seed}", (state, "yellow")))
    void.show(findings.void, console)
    console.print()


def _label(case: CaseFinding, alike: naming.Alike) -> str:
    return f"  {' '.join(alike.own(naming.settings_of(case)))}"


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
#: The rank of what the processor counted.
_COUNTERS = 3
_WORDS = ("case", "way", "of one", "runtime")
_GAP = 2


_Rows = Callable[[CaseFinding, naming.Alike], list[dict[str, Cell]]]


def _main_metric(case: CaseFinding, alike: naming.Alike) -> list[dict[str, Cell]]:
    return [_row(case, alike)]


def _all_metrics(case: CaseFinding, alike: naming.Alike) -> list[dict[str, Cell]]:
    others = ({"case": words(f"    {other.metric}", style="dim"), **_figure_cells(other)} for other in case.others)
    return [_row(case, alike), *others]


def _question(
    question: str, cases: Sequence[CaseFinding], alike: naming.Alike, metrics: _Rows, console: Console
) -> None:
    rows: list[dict[str, Cell]] = []
    for _, members in groupby(cases, key=lambda case: case.probe):
        group = list(members)
        rows.append({"case": words(*_mechanism(group[0])), "median": words(group[0].main.metric, style="dim")})
        for case in group:
            rows += metrics(case, alike)
    counted = dict.fromkeys((figure_text.counter(figure) for case in cases for figure in case.counters), _COUNTERS)
    _grid(rows, {**_COLUMNS, **counted}, question, console)
    for operation, probes in grouped((case.operation, case.called) for case in cases):
        console.print(f"{', '.join(probes)}: one operation is {operation}", style="dim")
    _said_of_all(alike, console)
    if not alike.settings:
        console.print()


def _mechanism(case: CaseFinding) -> list[str | tuple[str, str]]:
    """Its title, and the way by which it can be typed below its question."""
    way = way_of(case.probe)
    return [case.title, "  ", (way, "cyan")] if case.title else [(way, "cyan")]


def _grid(rows: Sequence[dict[str, Cell]], ranks: Mapping[str, int], title: str, console: Console) -> None:
    table = grid(title=title)
    columns = _that_fit(rows, ranks, console.width)
    for name in columns:
        table.add_column(name, justify="left" if name in _WORDS else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(row.get(name, "") for name in columns))
    console.print(table)


def _that_fit(rows: Sequence[dict[str, Cell]], ranks: Mapping[str, int], width: int) -> list[str]:
    """The columns that have anything to say, without as many of the least important as the width asks for."""
    widths = {
        name: max(len(name), *(words(row[name]).cell_len for row in rows if name in row))
        for name in ranks
        if any(row.get(name) for row in rows)
    }
    while sum(widths.values()) + _GAP * len(widths) > width and max(ranks[name] for name in widths) > 0:
        del widths[max(widths, key=lambda name: ranks[name])]
    return list(widths)


def _row(case: CaseFinding, alike: naming.Alike) -> dict[str, Cell]:
    return {
        "case": _label(case, alike),
        **_figure_cells(case.main),
        "less overhead": figure_text.net(case.main),
        "user": _maybe(case.user_s, "s"),
        "system": _maybe(case.system_s, "s"),
        "switches": _maybe(case.switches, "1"),
        "published": figure_text.published(case.main),
        **{figure_text.counter(each): format_quantity(each.median, each.unit) for each in case.counters},
    }


def _maybe(value: float | None, unit: str) -> str:
    return "" if value is None else format_quantity(value, unit)


def _figure_cells(figure: Figure) -> dict[str, Cell]:
    """Median and interval, or both modes where one number would be a lie; then the lower and the upper end."""
    unit = figure.unit
    ends = {
        "minimum": format_quantity(figure.minimum, unit),
        "p25": format_quantity(figure.p25, unit),
        "p99": format_quantity(figure.p99, unit),
    }
    if figure.n == 1:
        return {"median": format_quantity(figure.median, unit)}
    if figure.modes:
        modes = " / ".join(format_quantity(mode.median, unit) for mode in figure.modes)
        shares = " / ".join(f"{mode.share:.0%}{f' {mode.where}' if mode.where else ''}" for mode in figure.modes)
        bimodal = words(shares if figure.modes[0].where else f"bimodal {shares}", style="yellow")
        return {"median": words(modes, style="yellow"), "95 % interval": bimodal, **ends}
    return {
        "median": format_quantity(figure.median, unit),
        "95 % interval": figure_text.interval(figure),
        **ends,
    }


def _bar(share: float) -> str:
    eighths = round(share * _BAR_WIDTH * 8)
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")


def _curve(curve: Curve, alike: naming.Alike, console: Console) -> None:
    """A curve as bars on a log scale from a third of the smallest point, so that every point has a bar."""
    named = f"{curve.title} ({curve.probe})" if curve.title else curve.probe
    held = naming.settings(alike.own(curve.settings))
    console.print(f"{named} {curve.metric} by {curve.parameter}, {held}", style="bold")
    table = grid((curve.parameter, "median", "(log scale)"), (curve.parameter, "median"))
    medians = [point.median for point in curve.points if point.median > 0]
    floor = math.log(min(medians) / 3) if medians else 0.0
    span = (math.log(max(medians)) - floor) if medians else 1.0
    for point in curve.points:
        bar = _bar((math.log(point.median) - floor) / span) if point.median > 0 else ""
        table.add_row(str(point.x), format_quantity(point.median, curve.unit), bar)
    console.print(table)
    console.print()


def _short_curves(curves: Sequence[Curve], alike: Mapping[str, naming.Alike], console: Console) -> None:
    """A line each: the first and the last point, and between them all points, from the curve's least to its largest.

    The scale is logarithmic and covers a factor of two at least, so that noise does not look like growth.
    """
    groups: dict[tuple[str, str, str], list[Curve]] = {}
    for curve in curves:
        groups.setdefault((_question_of(curve.probe), curve.metric, curve.parameter), []).append(curve)
    for (question, metric, parameter), members in groups.items():
        title = f"{metric} by {parameter}, first and last point (each curve on a log scale of its own)"
        console.print(words(title, style="bold"))
        table = grid(show_header=False)
        for justify in ("left", "left", "right", "left", "right"):
            table.add_column(justify=justify, no_wrap=True)
        for curve in members:
            first, last = (format_quantity(curve.points[end].median, curve.unit) for end in (0, -1))
            medians = [point.median for point in curve.points]
            way = curve.title or way_of(curve.probe)
            held = naming.settings(alike[question].own(curve.settings))
            table.add_row(way, held, first, steps.of(medians, medians), last)
        console.print(table)
        console.print()


_SWITCHES_SAID = "per operation, switches: by the kernel; switched: proven by the probe, if operations need not be one"
#: As `_COLUMNS`.
_PRICE_COLUMNS = {
    "way": 0,
    "cost": 0,
    "95 % interval": 1,
    "of one": 0,
    "switches": 3,
    "switched": 1,
    "runtime": 4,
}


def _price_list(prices: PriceList, findings: Findings, alike: naming.Alike, console: Console) -> None:
    """A line a way, the best first; numbers of contexts and the like as the way's own table has them first."""
    cases = {case.case: case for case in findings.cases}
    ways = naming.Alike(cases[name] for name in prices.cases)
    said = {*ways.settings, prices.where}
    rows = [_price(cases[name], said) for name in prices.cases]
    if len({words(row["runtime"]).plain for row in rows}) == 1:
        rows = [{name: cell for name, cell in row.items() if name != "runtime"} for row in rows]
    at = " ".join([prices.question, *alike.own(prices.sizes), *([prices.where] if prices.where else [])])
    title = f"{at}, the price list: every way once, the best first"
    others = dict.fromkeys((name for row in rows for name in row if name not in _PRICE_COLUMNS), 2)
    _grid(rows, {**_PRICE_COLUMNS, **others}, title, console)
    if prices.runner_up:
        first, second = (naming.of_case(cases[name], said) for name in prices.cases[:2])
        console.print(words(f"{second} against {first}: {comparison.verdict(prices.runner_up, MARGIN)}"))
    if any("switched" in row for row in rows):
        console.print(_SWITCHES_SAID, style="dim")
    console.print()


def _price(case: CaseFinding, said: Collection[str]) -> dict[str, Cell]:
    cells = _figure_cells(case.main)
    return {
        "way": words(*_mechanism(case), *(f" {word}" for word in naming.settings_of(case) if word not in said)),
        "cost": cells["median"],
        "95 % interval": cells.get("95 % interval", ""),
        "of one": words(case.main.metric, style="dim"),
        **_price_of_other_kinds(case),
        "runtime": words(case.runtime.partition(" (")[0].partition(",")[0], style="dim"),
    }


def _price_of_other_kinds(case: CaseFinding) -> dict[str, Cell]:
    """The switches that a time paid for; beside the bytes of one kind those of the others."""
    if case.main.unit == "B":
        return {other.metric: format_quantity(other.median, "B") for other in case.others if other.unit == "B"}
    counts = {"switches": case.switches, "switched": case.switched}
    return {name: words(f"{count:.2f}") for name, count in counts.items() if count is not None}


def _matrix(matrix: Matrix, alike: naming.Alike, console: Console) -> None:
    """Ways down, the parameter across, a published figure below ours; split where the terminal is narrow."""
    said = "published in brackets" + (
        "; unpinned: a mixture of one CPU and several" if "@free" in matrix.settings else ""
    )
    cells = {x: [figure_text.cell(row.get(way), matrix.unit) for way in matrix.ways] for x, row in matrix.rows.items()}
    widths = {x: max(len(str(x)), *(len(line) for cell in column for line in cell)) for x, column in cells.items()}
    ways = [naming.called(title, own) for title, *own in matrix.ways]
    first = max(len(matrix.parameter), *map(len, ways))
    left = list(matrix.rows)
    while left:
        shown = [left.pop(0)]
        room = console.width - first - _GAP - widths[shown[0]]
        while left and room >= widths[left[0]] + _GAP:
            room -= widths[left[0]] + _GAP
            shown.append(left.pop(0))
        table = grid((matrix.parameter, *map(str, shown)), [str(x) for x in shown])
        held = naming.settings(alike.own(matrix.settings))
        title = f"{matrix.family} {matrix.metric} by {matrix.parameter}, {held} ({said})"
        console.print(words(title, style="bold"))
        for number, way in enumerate(ways):
            table.add_row(way, *(lines(*cells[x][number]) for x in shown))
        console.print(table)
        console.print()


def _caches(findings: Findings, console: Console) -> None:
    if findings.caches:
        agree = "agree" if findings.caches.agrees else "do not agree"
        title = f"the caches: steps of the latency curve and reported sizes {agree}"
        listed(console, title, caches.sentences(findings.caches))


def _doubts(findings: Findings, alike: Mapping[str, naming.Alike], console: Console) -> None:
    """Caveats once each with the cases they belong to, then failures, skips and what disturbed the machine."""

    def named(case: str) -> str:
        return naming.with_name(case, findings.titles)

    def in_words(case: CaseFinding) -> str:
        shared = alike[_question_of(case.probe)].settings
        return naming.of_case(case, shared) if shared and not case.control else named(case.case)

    doubts = ((reasons.said(caveat), in_words(case)) for case in findings.cases for caveat in case.caveats)
    listed(console, "caveats", said_once(doubts))
    listed(
        console,
        "controls",
        (f"{control.name} {control.state}: {reasons.said(control.showed)}" for control in findings.controls),
    )
    listed(console, "failed", (f"{named(case)}: {error}" for case, error in findings.failures.items()))
    listed(console, "cleaned up", (f"{named(case)}: {'; '.join(what)}" for case, what in findings.leftovers.items()))
    show_skips(findings.skips, console)
    show_disturbances(findings.disturbances, console)
    errors = (
        (f"{item.figure.error} [{item.source.id}, {item.source.year}]", item.figure.mechanism)
        for item in findings.known_wrong
    )
    listed(console, "known errors of published figures (marked !)", said_once(errors))


def _foot(findings: Findings, console: Console) -> None:
    if findings.wall_s and findings.timed_share is not None:
        console.print(
            f"{findings.runs} runs in {format_duration(findings.wall_s)}, {findings.timed_share:.0%} of it in timed "
            f"batches; {findings.disturbed_runs} runs were disturbed"
        )
    console.print(f"session file: {findings.path}", soft_wrap=True)


# --- for programs -----------------------------------------------------------------------------------------------------


def as_json(findings: Findings) -> list[dict[str, Any]]:
    """One object a case; controls and baselines are marked as such."""
    return [
        {**_case_as_json(case), **_beside_as_json(findings, case), "void": findings.void} for case in findings.cases
    ]


def _beside_as_json(findings: Findings, case: CaseFinding) -> dict[str, Any]:
    found = findings.beside
    suffers = found.of(case.case) if found else None
    return {"beside": neighbours.as_json(suffers, found.margin)} if found and suffers else {}


def _case_as_json(case: CaseFinding) -> dict[str, Any]:
    return {
        "case": case.case,
        **_figure_as_json(case.main),
        "user": case.user_s,
        "system": case.system_s,
        "switches": case.switches,
        "control": case.control,
        "others": [_figure_as_json(figure) for figure in case.others],
        "caveats": list(case.caveats),
        **({"energy": msgspec.to_builtins(case.energy)} if case.energy else {}),
        **({"counters": [_figure_as_json(figure) for figure in case.counters]} if case.counters else {}),
    }


def _figure_as_json(figure: Figure) -> dict[str, Any]:
    return {
        "metric": figure.metric,
        "unit": figure.unit,
        "better": figure.better,
        "median": figure.median,
        "low": figure.low,
        "high": figure.high,
        "minimum": figure.minimum,
        "p25": figure.p25,
        "p99": figure.p99,
        "n": figure.n,
        "net": msgspec.to_builtins(figure.net),
        "modes": msgspec.to_builtins(figure.modes),
        "published": msgspec.to_builtins(figure.published),
    }
